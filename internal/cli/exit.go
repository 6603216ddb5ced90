package cli

import (
	"errors"
	"syscall"

	"stint/internal/fleet"
)

// The exit statuses, for the operator and for systemd. The worker's units count 3,
// 4, 75 and 143 as success.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusNothing     = 3
	statusDenied      = 4
	statusLost        = 5
	statusPartly      = 6
	statusBusy        = 75 // EX_TEMPFAIL of sysexits(3)
	statusInterrupted = 130
	statusTerminated  = 143
)

// statusTable is in every command's help and in the README.
const statusTable = `Exit status:
  0    done
  1    failed
  2    wrong usage or configuration
  3    nothing to do
  4    denied: held by another
  5    lost: the claim is not, or no longer, this holder's at this epoch
  6    partly done: some units started, some did not
  75   lane busy: another session of the category is running; try again at
       the next fire
  130  interrupted
  143  terminated`

// exitStatus maps how a command ended to its exit status. Cause is why its context
// ended, if it did.
func exitStatus(err, cause error) int {
	var (
		stopped signalled
		outcome fleet.OutcomeError
	)
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &outcome):
		return outcomeStatus(outcome.Outcome, cause)
	case errors.Is(err, fleet.ErrLost):
		return statusLost
	case errors.Is(err, fleet.ErrHeld):
		return statusDenied
	case errors.Is(err, fleet.ErrBusy):
		return statusBusy
	case errors.Is(err, fleet.ErrPartly):
		return statusPartly
	case errors.Is(err, fleet.ErrNothing):
		return statusNothing
	case errors.Is(err, fleet.ErrUsage), errors.Is(err, fleet.ErrNotFound):
		return statusUsage // a name that does not exist is a wrong one
	case errors.As(cause, &stopped):
		return signalStatus(stopped)
	default:
		return statusFailed
	}
}

func outcomeStatus(o fleet.Outcome, cause error) int {
	switch o {
	case fleet.Productive, fleet.Noop, fleet.Nothing:
		return statusDone
	case fleet.Failed, fleet.Timeout, fleet.Abandoned:
		return statusFailed
	case fleet.Quota, fleet.Unavailable, fleet.Idle:
		return statusNothing
	case fleet.Cancelled:
		return signalStatus(cause)
	case fleet.Lost:
		return statusLost
	case fleet.Busy:
		return statusBusy
	case fleet.RunDenied:
		return statusDenied
	}
	return statusFailed
}

func signalStatus(cause error) int {
	var s signalled
	if errors.As(cause, &s) && s.signal == syscall.SIGINT {
		return statusInterrupted
	}
	return statusTerminated
}
