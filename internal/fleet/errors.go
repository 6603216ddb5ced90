package fleet

import (
	"errors"
	"time"
)

// The errors a caller branches on. Adapters translate to these at their border;
// the command line gives each its exit status.
var (
	// ErrUsage is a wrong command line, configuration or payload.
	ErrUsage = errors.New("wrong usage")
	// ErrNotFound is a task, run or file that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrNothing is a request that found nothing to do.
	ErrNothing = errors.New("nothing to do")
	// ErrHeld is a claim that is another's.
	ErrHeld = errors.New("held by another")
	// ErrLost is a claim that is not, or no longer, this holder's at this
	// epoch.
	ErrLost = errors.New("claim lost")
	// ErrPartly is of several units, runs or tasks, of which some failed.
	ErrPartly = errors.New("partly done")
	// ErrBusy is a category whose lanes are all taken.
	ErrBusy = errors.New("lane busy")
)

// RefusedError says why a session may not start although it could have its claim: a
// budget is used up, or its agent cannot work.
type RefusedError struct {
	Reason string
	By     Hindrance
	Until  time.Time // when it ends by itself; zero: when something else changes
	Scope  Scope     // the budget that is used up; empty: the agent cannot work
	// Outcome is the session's: quota for budgets and usage limits, busy while
	// other sessions have the agent's slots, denied where another has left the task
	// meanwhile, unavailable otherwise.
	Outcome Outcome
}

func (e RefusedError) Error() string { return e.Reason }

// OutcomeError is the end of a run as an error: how it ended and why.
type OutcomeError struct {
	Run     RunID
	Outcome Outcome
	Reason  string
}

func (e OutcomeError) Error() string {
	return "run " + string(e.Run) + ": " + string(e.Outcome) + ": " + e.Reason
}
