// Package must ends a test at an error that the test is not about, and compares what the test is about.
package must

import (
	"errors"

	"github.com/google/go-cmp/cmp"
)

// T is a test of package testing, or one of package rapid.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Do ends the test if there is an error, and shows all of them.
func Do(t T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Get is the value of a call, and ends the test if the call failed: must.Get(os.ReadFile(name))(t).
func Get[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Equal fails the test, and lets it go on, if what it got is not as wanted.
func Equal(t T, what string, got, want any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(got, want, options...); diff != "" {
		t.Errorf("%s (-got +want):\n%s", what, diff)
	}
}
