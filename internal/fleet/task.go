package fleet

import (
	"fmt"
	"time"
)

// TaskState is the state of a task, as written in its file.
type TaskState string

const (
	// StateBacklog tasks are workable, after todo. "new" and "paused" are
	// read as backlog.
	StateBacklog TaskState = "backlog"
	// StateTodo tasks are workable, after active ones.
	StateTodo TaskState = "todo"
	// StateActive tasks were begun; they are resumed before anything new.
	StateActive TaskState = "active"
	// StateWaiting tasks wait for something outside the fleet.
	StateWaiting TaskState = "waiting"
	// StateReview tasks wait for a person's review.
	StateReview TaskState = "ready_for_review"
	// StateSomeday tasks are not planned.
	StateSomeday TaskState = "someday"
	// StateDone tasks are finished and satisfy what requires them.
	StateDone TaskState = "done"
	// StateCancelled tasks are given up and satisfy what requires them.
	StateCancelled TaskState = "cancelled"
	// StateExpired tasks were overtaken by time.
	StateExpired TaskState = "expired"
)

// TaskStates lists the states: workable ones first, in the order in which they are
// worked.
func TaskStates() []TaskState {
	return []TaskState{
		StateActive, StateTodo, StateBacklog, StateWaiting, StateReview,
		StateSomeday, StateDone, StateCancelled, StateExpired,
	}
}

// ParseTaskState reads a state or one of its aliases; empty is backlog.
func ParseTaskState(s string) (TaskState, error) {
	switch s {
	case "", "new", "paused":
		return StateBacklog, nil
	}
	for _, state := range TaskStates() {
		if s == string(state) {
			return state, nil
		}
	}
	return "", fmt.Errorf("state %q: want one of %s", s, Listed(TaskStates()))
}

// Workable reports whether a session may work on a task in this state.
func (s TaskState) Workable() bool {
	return s == StateActive || s == StateTodo || s == StateBacklog
}

// WaitsForPerson reports whether nobody but a person brings the task on, for whatever reason, and whoever says so.
func (t Task) WaitsForPerson() bool {
	return t.State == StateWaiting || t.WaitingFor != "" && !t.State.Settled()
}

// Settled reports whether the state satisfies tasks that require this one.
func (s TaskState) Settled() bool {
	return s == StateDone || s == StateCancelled
}

// Priority orders tasks of one state within a category.
type Priority string

const (
	PriorityUrgent Priority = "urgent"
	PriorityHigh   Priority = "high"
	PriorityMedium Priority = "medium"
	PriorityLow    Priority = "low"
)

// ParsePriority reads a priority; empty is medium.
func ParsePriority(s string) (Priority, error) {
	switch p := Priority(s); p {
	case "":
		return PriorityMedium, nil
	case PriorityUrgent, PriorityHigh, PriorityMedium, PriorityLow:
		return p, nil
	}
	return "", fmt.Errorf("priority %q: want urgent, high, medium or low", s)
}

// Rank is 0 for the most pressing priority.
func (p Priority) Rank() int {
	switch p {
	case PriorityUrgent:
		return 0
	case PriorityHigh:
		return 1
	case PriorityMedium:
		return 2
	case PriorityLow:
		return 3
	}
	return 2
}

// Raised is the priority so many classes higher, at most the most pressing.
func (p Priority) Raised(classes int) Priority {
	if classes <= 0 {
		return p
	}
	all := []Priority{PriorityUrgent, PriorityHigh, PriorityMedium, PriorityLow}
	return all[max(0, p.Rank()-classes)]
}

// Task is one unit of work.
type Task struct {
	ID               TaskID
	State            TaskState
	Created          time.Time // zero when not given
	Category         Category  // resolved: the task's own, else by tag, else the default
	Priority         Priority
	Tags             []string
	AssignedTo       string
	NextAction       string
	SuccessCriterion string
	Requires         []string  // task ids or URLs that must be settled first
	Wait             time.Time // not before; zero when not given
	WaitingFor       string    // non-empty: not workable
	Family           string    // sibling tasks share it
	Paths            []string  // patterns of the files that it is to change, see [stint/internal/plain.Matches]
	Title            string    // the body's first heading, else the id
	Body             string    // Markdown after the front matter; a listing may leave it out
	Path             string    // the file the task was read from, absolute
	Source           string    // of whose list it is an item; empty: it is a file
	Modified         time.Time // when it was last changed, its file's ctime; zero when not known
	Item             string    // its id there, which may differ from ID
	Seen             string    // a sum of what its source shows of it, a space, and its state there
	Listed           TaskState // what its source says, where stint remembers another State

	Memory *TaskMemory // what is remembered of it; nil: nothing that holds
}

// InSource is the state that the task's source says.
func (t Task) InSource() TaskState {
	if t.Listed != "" {
		return t.Listed
	}
	return t.State
}

// TaskProblem is a task that could not be read, or something about one. It never stops
// the fleet.
type TaskProblem struct {
	Path   string
	Line   int // 0 when the file as a whole is meant
	Reason string
	Task   TaskID // that the file would be, by its name; empty: it has none

	// Source is set where a whole source of tasks failed: which one.
	Source string
}

// SourceFault is a source of tasks that failed: nobody knows which tasks it has.
type SourceFault struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

func (f SourceFault) String() string { return fmt.Sprintf("source %s failed: %s", f.Source, f.Reason) }

func (p TaskProblem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Reason
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Reason)
}

// Overlap is other work that changes what a session at a task would change.
type Overlap struct {
	Why   string // a sentence: which work changes what; empty: none does
	Waits bool   // until that is over; else its equals come before it
	// Apart are the tasks that no other session may be at meanwhile: they may change a file of the
	// same pattern, of those that one task at a time may change.
	Apart []TaskID
}
