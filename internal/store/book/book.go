// Package book is what a write to the store decides: pure functions from what is on record to what
// is to be. A store reads the rows, asks here within its transaction, and writes the answer; what
// explains a decision beforehand asks the same function.
package book

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Take is how a request for a claim ends, by the claim on record: one that was never granted has
// no epoch.
func Take(c fleet.Claim, t store.TakeRequest, now time.Time) fleet.Grant {
	own := t.Renews && c.Holder == t.Holder && c.ReleasedAt.IsZero()
	switch {
	case own && c.ExpiresAt.After(now):
		return fleet.Renewed
	case own || c.Free(now, known(t.Known, c)):
		return fleet.Granted
	default:
		return fleet.Denied
	}
}

// Repeats reports whether a request was granted already, and is made by one who never heard so.
func Repeats(c fleet.Claim, t store.TakeRequest, now time.Time) bool {
	return t.Attempt != "" && c.Attempt == t.Attempt && c.Holder == t.Holder && c.Current(now)
}

// Released reports whether a claim was given back already by this hold, in these words.
func Released(c fleet.Claim, h store.Hold, ending fleet.Ending, reason string) bool {
	return h.Epoch > 0 && c.Epoch == h.Epoch && c.Holder == h.Holder && !c.ReleasedAt.IsZero() && c.Ending == ending && c.Reason == reason
}

// known is what the caller knows of the session that holds a claim. Nothing frees a
// session's claim from who has not asked: it counts as living.
func known(k store.Known, c fleet.Claim) fleet.Liveness {
	if k.Holder == c.Holder && k.Epoch == c.Epoch && k.Session != "" {
		return k.Session
	}
	return fleet.Lives
}

// AsPicked refuses a run whose task another session, or a person, has left in another state since
// the run looked: that session's claim was granted and given back in between.
func AsPicked(t store.RunTake, m fleet.TaskMemory) error {
	if t.Task == "" || m.Run == t.Memory.Run && m.State == t.Memory.State {
		return nil
	}
	return fleet.RefusedError{
		Reason: fmt.Sprintf("task %q was left %s while this run looked", t.Task, m.State), Outcome: fleet.RunDenied,
	}
}

// NotApart refuses a run because of another, which is at a task that changes the same files.
func NotApart(run fleet.RunID, task fleet.TaskID) error {
	return fleet.RefusedError{
		Reason:  fmt.Sprintf("run %s took task %q while this run looked, and [review] serialize has files of both", run, task),
		Outcome: fleet.RunDenied,
	}
}

// Left is what is remembered of a task once a session has ended: the state that it left it in, what
// is owed to the task's source, and how many worked on it in vain. Now is the round of its category.
// It reports false if nobody has worked on the task, and nothing need be remembered of that.
func Left(before fleet.TaskMemory, r fleet.Run, now fleet.Round) (m fleet.TaskMemory, remembered bool) {
	m = before.After(r, now)
	untouched := m == before && !r.Left.Changed
	if r.Left.State != "" {
		m.TaskLeft = r.Left
		if r.Left.Changed || r.Left.Source != "" || before.State == "" {
			m.Run, m.Branch, m.Trouble = r.ID, "", ""
		} else if m.Owed == "" {
			m.Owed = before.Owed // its file still lacks this state
		}
	}
	return m, !untouched || before.State != "" || m.Owed != ""
}
