package task

import "stint/internal/fleet"

// The pure edit, for the fuzzer, and the write below it, for the race that no
// test can time.
var (
	Parse     = Format{}.Parse
	WithState = Format{}.withState
	Replace   = replace
	ErrMoved  = errMoved
)

// WithStateIn is [WithState] of another format.
func WithStateIn(f Format, path string, data []byte, s fleet.TaskState) ([]byte, error) {
	return f.withState(path, data, s)
}
