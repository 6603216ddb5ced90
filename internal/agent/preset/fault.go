package preset

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"stint/internal/fleet"
)

// The kinds of [Fault] that are no [fleet.FaultKind].
const (
	Quota     = "quota"     // an allowance is used up: nothing works until it comes back, in hours or days
	Throttled = "throttled" // the service wants a pause of seconds to minutes
	Status    = "status"    // the first group has an HTTP status, which says which fault it is
	NoFault   = "none"      // it looks like one, and later patterns are not tried
)

// Fault is a pattern for what a program says when something that is not its own fault stops it.
//
// It is matched line by line, in the text of an error, then its word, then "HTTP " and its status. A group named reset has
// the end of a limit: seconds since 1970, RFC 3339, or a time as people write it, such as "Nov 22nd, 2026 12:18 PM", "3pm"
// or "15:04". A group named after has its length: "7s", "1h30m", "3 days 4 hours".
type Fault struct {
	Kind string
	*regexp.Regexp
}

// Errors is a table of the errors that any program may report. They are tried after those of its own table.
//
//go:embed errors.toml
var Errors string

// AndAny are the errors of a program's own table, and then those of any.
func AndAny(own []string) []string {
	var table struct{ Errors []string }
	_ = toml.Unmarshal([]byte(Errors), &table) // as a test has read it
	return slices.Concat(own, table.Errors)
}

// ParseFaults reads patterns such as "login: please log in": a kind and a regular expression (regexp/syntax). The first one
// that matches counts.
func ParseFaults(texts []string) (list []Fault, err error) {
	kinds := []string{
		Quota, Throttled, Status, NoFault, string(fleet.FaultLogin), string(fleet.FaultForbidden), string(fleet.FaultModel),
		string(fleet.FaultConnection), string(fleet.FaultServer), string(fleet.FaultCut), string(fleet.FaultContext), string(fleet.FaultRefusal),
	}
	for _, text := range texts {
		kind, pattern, _ := strings.Cut(text, ": ")
		if !slices.Contains(kinds, kind) {
			return nil, fleet.WithHint(fmt.Errorf("fault %q: no kind before it", text), "write it like \"login: please log in\", with one of "+strings.Join(kinds, ", "))
		}
		compiled, err := regexp.Compile("(?m)" + pattern)
		if err != nil {
			return nil, fleet.WithHint(fmt.Errorf("fault %q: %w", text, err), "want a regular expression as in https://pkg.go.dev/regexp/syntax")
		}
		list = append(list, Fault{kind, compiled})
	}
	return list, nil
}

// ByStatus is the fault that an HTTP status alone says; "" where it says none.
func ByStatus(status int) fleet.FaultKind {
	switch {
	case status == 401:
		return fleet.FaultLogin
	case status == 403:
		return fleet.FaultForbidden
	case status == 404:
		return fleet.FaultModel // the programs ask for nothing else that may be missing
	case status >= 500 && status < 600:
		return fleet.FaultServer
	}
	return ""
}
