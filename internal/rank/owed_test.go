package rank

import (
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestOwed has a task wait whose tracker has not got the report of the last session: it would come after the next
// session's own.
func TestOwed(t *testing.T) {
	t.Parallel()
	owed := fleet.TaskMemory{Run: "0r1", TaskLeft: fleet.TaskLeft{State: fleet.StateTodo, Source: "gh", Owed: fleet.CallRelease}}
	task := fleet.Task{ID: "gh-1", Source: "gh", Category: "code", State: fleet.StateTodo, Memory: &owed}
	ready, blocked := Queue{Tasks: []fleet.Task{task}}.Workable()
	if len(ready) != 0 || len(blocked) != 1 {
		t.Fatalf("got %d ready and %+v blocked, want the task blocked", len(ready), blocked)
	}
	must.Equal(t, "reason", blocked[0].Reason, ReasonOwed)
	owed.Owed = ""
	if ready, _ = (Queue{Tasks: []fleet.Task{task}}).Workable(); len(ready) != 1 {
		t.Error("got the task blocked once it is paid, want it ready")
	}
}
