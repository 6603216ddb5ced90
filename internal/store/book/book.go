// Package book is what a write to the store decides: pure functions from what is on record to what
// is to be. A store reads the rows, asks here within its transaction, and writes the answer; what
// explains a decision beforehand asks the same function.
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
