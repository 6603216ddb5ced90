// Package book has the rules of the store's writes: pure functions from the rows on record to the rows to be written.
// A store reads the rows, asks here within its transaction, and writes the answer. The commands that explain a
// decision beforehand ask the same function.
package book

import (
	"fmt"

	"stint/internal/fleet"
	"stint/internal/store"
)

// AsPicked refuses an offer whose task another session, or a person, has left in another state since
// the run looked: that session's claim was granted and given back in between. So it is while the task's
// tracker is owed a report, which would come after this session's own.
func AsPicked(o store.Offer, m fleet.TaskMemory) string {
	switch {
	case o.Task == "" || m.Owed == "" && m.Run == o.Memory.Run && m.State == o.Memory.State:
		return ""
	case m.Owed != "":
		return fmt.Sprintf("task %q waits for a report to its tracker", o.Task)
	}
	return fmt.Sprintf("task %q was left %s while this run looked", o.Task, m.State)
}

// Left returns the memory of a task after a session has ended: the state in which it was left, the report that its
// source is owed, and the number of sessions in vain. Now is the round of its category. It reports false if nobody
// has worked on the task, and nothing need be remembered.
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
