// Package wire is what stint says to programs: the objects that "--json" prints and that
// the web page serves, each with a "schema" that names it and its version. A field is
// never taken out or given another meaning within a version. Times are RFC 3339, UTC;
// lists are never null.
package wire

import (
	"time"

	"stint/internal/plain"
)

// Time writes a time that may be none: null for the zero time.
func Time(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(plain.Stamp(t))
}

// each is a list with an object for each thing, which is never null.
func each[T, Object any](things []T, object func(T) Object) []Object {
	list := make([]Object, 0, len(things))
	for _, t := range things {
		list = append(list, object(t))
	}
	return list
}

// listed is a list that is never null.
func listed[T any](list []T) []T { return append([]T{}, list...) }

// some is a value, or null for that of its type that stands for none.
func some[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}
