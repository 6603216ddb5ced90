package task

// The pure edit, for the fuzzer, and the write below it, for the race that no
// test can time.
var (
	WithState = withState
	Replace   = replace
	ErrMoved  = errMoved
)
