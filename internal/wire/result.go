package wire

import "stint/internal/fleet"

// Result is stint/result@1: what a session says of itself.
type Result struct {
	Schema    string        `json:"schema"`
	Outcome   fleet.Outcome `json:"outcome"`
	Grade     *float64      `json:"grade"`
	Reason    string        `json:"reason"`
	TaskState string        `json:"task_state"`
	Path      string        `json:"path"` // of the result file
}

// NewResult is a result as JSON.
func NewResult(o fleet.Outcome, grade *float64, reason, taskState, path string) Result {
	return Result{Schema: "stint/result@1", Outcome: o, Grade: grade, Reason: reason, TaskState: taskState, Path: path}
}
