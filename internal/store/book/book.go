// Package book holds the rules of the store's writes: pure functions from the rows on record to the rows to be written.
// A store reads the rows, calls a rule within its transaction, and writes the answer. Commands that explain a decision
// in advance call the same rule.
package book

import (
	"fmt"

	"stint/internal/fleet"
	"stint/internal/store"
)

// TaskChanged refuses an offer if another session, or a person, has changed its task's state since the run looked: that
// session's claim was granted and released in between. It also refuses while the task's tracker is owed a call, which
// would come after this session's own.
func TaskChanged(o store.Offer, m fleet.TaskMemory) string {
	switch {
	case o.Task == "" || m.Owed == "" && m.Run == o.Memory.Run && m.State == o.Memory.State:
		return ""
	case m.Owed != "":
		return fmt.Sprintf("task %q waits for a report to its tracker", o.Task)
	}
	return fmt.Sprintf("task %q was left %s while this run looked", o.Task, m.State)
}

// Left returns a task's memory after a session: the state in which the session left it, the call owed to its source, and
// the number of sessions without result. Now is the category's round. It reports false if nothing need be remembered.
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
