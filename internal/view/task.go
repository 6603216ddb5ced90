package view

import (
	"cmp"
	"time"

	"stint/internal/fleet"
)

// TaskEntry is a task, and what the fleet knows beside its source.
type TaskEntry struct {
	fleet.Task
	Blocked   string // why the open task cannot be worked on
	StateFrom string // where its state is from, if not its source
}

// Task shows a task.
func Task() View[TaskEntry] {
	type task = TaskEntry
	return View[task]{
		Schema[task]("stint/task@1"),
		Link("id", "Task", "", func(t task) Ref { return OfTask(t.ID) }),
		Word("category", "Category", "", func(t task) fleet.Category { return t.Category }),
		Enum("state", "State", "", fleet.TaskStates(), func(t task) fleet.TaskState { return t.State }),
		Word("priority", "Priority", "urgent, high, medium or low", func(t task) fleet.Priority { return t.Priority }),
		Text("title", "Title", "", func(t task) string { return t.Title }),
		Text("", "Why", "", func(t task) string { return cmp.Or(t.Blocked, t.WaitingFor, t.StateFrom) }).Rare().Listed(),
		Text("state_from", "State from", "where its state is from, if its source says another",
			func(t task) string { return t.StateFrom }).Alone(),
		Text("blocked", "Blocked", "why an open task is not workable", func(t task) string { return t.Blocked }).Alone(),
		At("created", "Created", "", func(t task) time.Time { return t.Created }).OrNull().Alone(),
		Texts("tags", "Tags", "", func(t task) []string { return t.Tags }).Alone(),
		Texts("requires", "Requires", "", func(t task) []string { return t.Requires }).Alone(),
		At("wait", "Wait", "", func(t task) time.Time { return t.Wait }).OrNull().Alone(),
		Text("waiting_for", "Waiting for", "", func(t task) string { return t.WaitingFor }).Alone(),
		Text("next_action", "Next action", "", func(t task) string { return t.NextAction }).Alone(),
		Text("success_criterion", "Done when", "", func(t task) string { return t.SuccessCriterion }).Alone(),
		Word("assigned_to", "Assigned to", "", func(t task) string { return t.AssignedTo }).Alone(),
		Word("family", "Family", "", func(t task) string { return t.Family }).Alone(),
		Texts("paths", "Paths", "patterns of the files that it is to change", func(t task) []string { return t.Paths }).Alone(),
		Text("path", "File", "", func(t task) string { return t.Path }).Alone(),
		Bool("workable", "", func(t task) bool { return t.State.Workable() && t.Blocked == "" }),
	}
}

// Tasks shows tasks.
func Tasks() View[[]TaskEntry] { return List("stint/tasks@1", "tasks", "", Task()) }
