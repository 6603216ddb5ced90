package wire

import "stint/internal/fleet"

// Task is stint/task@1.
type Task struct {
	Schema           string          `json:"schema"`
	ID               fleet.TaskID    `json:"id"`
	Title            string          `json:"title"`
	Category         fleet.Category  `json:"category"`
	State            fleet.TaskState `json:"state"`
	Priority         fleet.Priority  `json:"priority"`
	Created          *string         `json:"created"`
	Tags             []string        `json:"tags"`
	Requires         []string        `json:"requires"`
	Wait             *string         `json:"wait"`
	WaitingFor       string          `json:"waiting_for"`
	NextAction       string          `json:"next_action"`
	SuccessCriterion string          `json:"success_criterion"`
	AssignedTo       string          `json:"assigned_to"`
	Family           string          `json:"family"`
	Paths            []string        `json:"paths"` // patterns of the files that it is to change
	Path             string          `json:"path"`
	Workable         bool            `json:"workable"`
	Blocked          string          `json:"blocked"`    // why an open task is not workable
	StateFrom        string          `json:"state_from"` // where its state is from, if its source says another
}

// NewTask is a task as JSON. Blocked and from may be empty.
func NewTask(t fleet.Task, blocked, from string) Task {
	return Task{
		Schema: "stint/task@1", ID: t.ID, Title: t.Title, Category: t.Category, State: t.State, Priority: t.Priority,
		Created: Time(t.Created), Tags: listed(t.Tags), Requires: listed(t.Requires), Wait: Time(t.Wait),
		WaitingFor: t.WaitingFor, NextAction: t.NextAction, SuccessCriterion: t.SuccessCriterion,
		AssignedTo: t.AssignedTo, Family: t.Family, Paths: listed(t.Paths), Path: t.Path,
		Workable: t.State.Workable() && blocked == "", Blocked: blocked, StateFrom: from,
	}
}

// Tasks is stint/tasks@1.
type Tasks struct {
	Schema string `json:"schema"`
	Tasks  []Task `json:"tasks"`
}

// NewTasks are tasks as JSON.
func NewTasks(list []Task) Tasks { return Tasks{"stint/tasks@1", listed(list)} }
