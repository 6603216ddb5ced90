package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// usageError makes err one that the operator has to correct, and reads as err.
type usageError struct{ err error }

func (u usageError) Error() string   { return u.err.Error() }
func (u usageError) Unwrap() []error { return []error{fleet.ErrUsage, u.err} }

// usagef is a [fleet.ErrUsage] with a hint.
func usagef(hint, format string, args ...any) error {
	return fleet.WithHint(usageError{fmt.Errorf(format, args...)}, hint)
}

// fault is an error at a place of the file; its hint travels with err.
type fault struct {
	offset int
	err    error
}

func (f *file) fault(offset int, err error) { f.faults = append(f.faults, fault{offset, err}) }

// Report adds a fault at a dotted key. A hint that err has already is preferred: the code
// that gave it knows more.
func (f *file) Report(key string, err error, hint string) { f.reportAt(f.at[key], key, err, hint) }

func (f *file) reportAt(offset int, key string, err error, hint string) {
	if own := fleet.Hint(err); own != "" {
		hint = own
	}
	f.fault(offset, fleet.WithHint(fmt.Errorf("%s: %w", key, err), hint))
}

// missing reports, at its table, a key that the table must have. A table with a fault of its own is not looked into.
func (f *file) missing(table, key, hint string) {
	offset := f.at[table]
	if table == "" || !slices.ContainsFunc(f.faults, func(before fault) bool { return before.offset == offset }) {
		f.reportAt(offset, key, errors.New("missing"), hint)
	}
}

func (f *file) sort() {
	slices.SortStableFunc(f.faults, func(a, b fault) int { return cmp.Compare(a.offset, b.offset) })
}

// Err is nil without faults. With one, its hint is the error's; with several, each of the
// first twenty has a line with its own, as an error has room for one only.
func (f *file) Err() error {
	f.sort()
	switch len(f.faults) {
	case 0:
		return nil
	case 1:
		return usagef(fleet.Hint(f.faults[0].err), "%s: %w", f.position(f.faults[0].offset), f.faults[0].err)
	}
	const enough = 20 // lines, or the first are off the screen
	var lines []string
	for i, fault := range f.faults {
		if i == enough {
			lines = append(lines, fmt.Sprintf("and %d more", len(f.faults)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %v (%s)", f.position(fault.offset), fault.err, fleet.Hint(fault.err)))
	}
	return usagef(fmt.Sprintf("correct these %d places, then: %s", len(f.faults), "stint config check"),
		"%s", strings.Join(lines, "\n"))
}

// Problem is something about a file that its author should know.
type Problem struct{ Pos, Text string }

// Problems are the faults where they only warn, in the order of the file.
func (f *file) Problems() (list []Problem) {
	f.sort()
	for _, fault := range f.faults {
		list = append(list, Problem{f.position(fault.offset), fault.err.Error()})
	}
	return list
}

// Unread is the file without what was found in it.
func (f *file) Unread() *file {
	unread := *f
	unread.faults = nil
	return &unread
}

// wanted says what a value should have been.
func wanted(want string, got any) error {
	return fmt.Errorf("want %s, not %s", want, describe(got))
}

// describe shows a decoded value within an error: a scalar as it was written.
func describe(value any) string {
	const enough = 40 // characters show which string is meant
	switch v := value.(type) {
	case string:
		if runes := []rune(v); len(runes) > enough {
			return quote(string(runes[:enough]) + "…")
		}
		return quote(v)
	case bool, int64, float64:
		return Literal(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

// meant is the hint for a word that is none of known.
func meant[T ~string](word string, known []T) string {
	words := texts(known)
	if near := fleet.Nearest(word, words); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(words) == 0 {
		return "remove it"
	}
	slices.Sort(words)
	return "want one of: " + strings.Join(words, ", ")
}
