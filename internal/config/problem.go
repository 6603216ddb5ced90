package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Problem is something about a file that its author should know.
type Problem struct{ Pos, Text string }

// usageError makes err one that the operator has to correct, and reads as err.
type usageError struct{ err error }

func (u usageError) Error() string   { return u.err.Error() }
func (u usageError) Unwrap() []error { return []error{fleet.ErrUsage, u.err} }

// usagef is a [fleet.ErrUsage] with a hint.
func usagef(hint, format string, args ...any) error {
	return fleet.WithHint(usageError{fmt.Errorf(format, args...)}, hint)
}

// fault is what is wrong at a place of the file; its hint travels with err.
type fault struct {
	offset int
	err    error
}

func sortFaults(faults []fault) {
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.offset, b.offset) })
}

// check is nil without faults. With one, its hint is the error's; with several,
// each line has its own, as an error has room for one only.
func (s *source) check(faults []fault) error {
	sortFaults(faults)
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return usagef(fleet.Hint(faults[0].err), "%s: %w", s.position(faults[0].offset), faults[0].err)
	}
	const enough = 20 // lines, or the first are off the screen
	var lines []string
	for i, f := range faults {
		if i == enough {
			lines = append(lines, fmt.Sprintf("and %d more", len(faults)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %v (%s)", s.position(f.offset), f.err, fleet.Hint(f.err)))
	}
	return usagef(fmt.Sprintf("correct these %d places, then: %s", len(faults), s.kind.again),
		"%s", strings.Join(lines, "\n"))
}

// wanted says what a value should have been.
func wanted(want string, got any) error {
	return fmt.Errorf("want %s, not %s", want, describe(got))
}

// describe shows a decoded value within an error: a scalar as it was written.
func describe(value any) string {
	const enough = 40 // characters tell which string is meant
	switch v := value.(type) {
	case string:
		if runes := []rune(v); len(runes) > enough {
			return quote(string(runes[:enough]) + "…")
		}
		return quote(v)
	case bool, int64, float64:
		return literal(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}
