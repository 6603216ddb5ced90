package cli

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/plain"
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

// meaning explains an exit status, in help, in manual pages and in the topic exit-status.
func meaning(status int) string {
	return map[int]string{
		statusDone:        "done",
		statusFailed:      "failed",
		statusUsage:       "wrong usage or configuration",
		statusNothing:     "nothing to do",
		statusDenied:      "denied: held by another",
		statusLost:        "lost: the claim is not, or no longer, this holder's at this epoch",
		statusPartly:      "partly done: of several units, runs or tasks, some failed",
		statusBusy:        "busy: another has the lane, fires or lands, or review is full",
		statusInterrupted: "interrupted",
		statusTerminated:  "terminated",
	}[status]
}

// Status is an exit status of a command.
type Status struct {
	Code    int
	Meaning string
}

// Statuses are the statuses that a command exits with. A signal ends a brief command as it
// ends any process.
func Statuses(c *cobra.Command) []Status {
	list := []int{statusDone, statusFailed, statusUsage}
	path := strings.Fields(c.CommandPath())
	for _, e := range entries() {
		if len(path) > 1 && e.name == path[1] {
			list = append(list, e.statuses[strings.Join(path[2:], " ")]...)
			if !e.brief {
				list = append(list, statusInterrupted, statusTerminated)
			}
		}
	}
	return plain.Each(list, func(code int) Status { return Status{code, meaning(code)} })
}

// exitStatus maps a command's end to its exit status. Cause says why its context
// ended, if it did.
func exitStatus(err, cause error) int {
	if outcome, ok := errors.AsType[fleet.OutcomeError](err); ok {
		return outcomeStatus(outcome.Outcome, cause)
	}
	switch {
	case err == nil:
		return statusDone
	case errors.Is(err, fleet.ErrPartly):
		return statusPartly
	case errors.Is(err, fleet.ErrLost):
		return statusLost
	case errors.Is(err, fleet.ErrHeld):
		return statusDenied
	case errors.Is(err, fleet.ErrBusy):
		return statusBusy
	case errors.Is(err, fleet.ErrNothing):
		return statusNothing
	case errors.Is(err, fleet.ErrUsage), errors.Is(err, fleet.ErrNotFound):
		return statusUsage // a name that does not exist is a wrong one
	case errors.As(cause, new(signalled)):
		return signalStatus(cause)
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
	if s, ok := errors.AsType[signalled](cause); ok && s.signal == syscall.SIGINT {
		return statusInterrupted
	}
	return statusTerminated
}

// each does with each of several what was asked for, and goes on after one that fails. Its error
// wraps [fleet.ErrPartly] unless all failed.
func each[T any](list []T, do func(T) error) error {
	var failed []error
	for _, x := range list {
		if err := do(x); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == len(list) {
		return errors.Join(failed...)
	}
	return partly(errors.Join(failed...), nil)
}

// partly is the error of what was done, or not, after something else had failed.
func partly(failed, err error) error {
	if failed == nil || err != nil && !errors.Is(err, fleet.ErrPartly) {
		return errors.Join(failed, err)
	}
	return errors.Join(fmt.Errorf("%w: the rest was not", fleet.ErrPartly), failed, err)
}
