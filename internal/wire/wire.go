// Package wire is what stint says to programs: the objects that "--json" prints and that
// the web page serves, each with a "schema" that names it and its version. A field is
// never taken out or given another meaning within a version. Times are RFC 3339, UTC;
// lists are never null.
package wire

import "time"

// Stamp writes a time.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Time writes a time that may be none: null for the zero time.
func Time(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := Stamp(t)
	return &s
}
