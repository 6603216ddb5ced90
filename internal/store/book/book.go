// Package book is what a write to the store decides: pure functions from what is on record to what
// is to be. A store reads the rows, asks here within its transaction, and writes the answer; what
// explains a decision beforehand asks the same function.
package book

import (
	"fmt"

	"stint/internal/fleet"
	"stint/internal/store"
)

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
			m.Run, m.Trouble = r.ID, ""
		}
	}
	return m, !untouched || before.State != "" || m.Owed != ""
}
