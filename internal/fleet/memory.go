package fleet

import (
	"cmp"
	"fmt"
	"time"
)

// TaskCall is something that the source of a task is to be made to know.
type TaskCall string

const (
	// CallStart says that a session begins to work on it.
	CallStart TaskCall = "start"
	// CallDone says that it is done or cancelled.
	CallDone TaskCall = "done"
	// CallRelease says that a session ended without closing it.
	CallRelease TaskCall = "release"
	// CallWrite writes its state into its file.
	CallWrite TaskCall = "write"
)

// SeenNowhere is what is seen of a task that its source does not show.
const SeenNowhere = "-"

// TaskLeft is what a session, or a person, leaves of a task.
type TaskLeft struct {
	State  TaskState // that it stands in; empty: nothing is said of it
	Source string    // it is an item of; empty: it is a file
	Item   string    // its id there
	Seen   string    // of the task in its source, see [Task.Seen]; empty: as it is seen next
	Owed   TaskCall  // what its source has not been told; empty: nothing

	// The next fields are for the count of sessions, and not stored.
	Changed bool // the state is another than before
	Worked  bool // an agent was at work
}

// TaskMemory is what is remembered of a task until its source shows a change.
type TaskMemory struct {
	TaskLeft
	Task     TaskID
	Run      RunID     // that left it last; empty: a person
	Branch   string    // that has the state in the task's file; empty: none, or the workspace's
	Since    time.Time // of the last that was left
	Sessions int       // that worked on it since its state last changed
	Failures int       // that failed at it, in a row
	Reason   string    // of the last of these sessions
	Trouble  string    // why its source does not show the state; empty: nothing is known to be in the way
}

// BranchGone is what is in the way once the branch that has a task's state was deleted.
func BranchGone(branch string) string {
	return "branch " + branch + " is gone"
}

// Untold are the tasks whose source does not show the state in which they were left, and
// of which it is known why.
func Untold(memories []TaskMemory) (list []TaskMemory) {
	for _, m := range memories {
		if m.Trouble != "" {
			list = append(list, m)
		}
	}
	return list
}

// Why says what is in the way of the source.
func (m TaskMemory) Why() string {
	return fmt.Sprintf("%s, but %s does not say so: %s", m.left(), m.where(), m.Trouble)
}

// Holds reports whether the task's source shows no change since. Of an item whose
// tracker is still to be told, a change says nothing.
func (m TaskMemory) Holds(t Task) bool {
	return m.Seen == "" || m.Seen == t.Seen || m.Owed != "" && m.Source != ""
}

// Quarantine is a task that is left alone because sessions fail at it, or bring it to no
// other state.
type Quarantine struct {
	Task     TaskID
	Failures int
	Sessions int       // that worked on it since its state last changed
	State    TaskState // in which they left it
	Since    time.Time
	Reason   string // of the last of them
}

const (
	// FailuresToQuarantine is how many attempts may fail before a task is left alone.
	FailuresToQuarantine = 3
	// SessionsToQuarantine is how many sessions may work on a task that is not active
	// and leave it in its state.
	SessionsToQuarantine = 2
)

// Quarantine reports whether the task is left alone.
func (m TaskMemory) Quarantine() (Quarantine, bool) {
	q := Quarantine{Task: m.Task, Failures: m.Failures, Sessions: m.Sessions, State: m.State, Since: m.Since, Reason: m.Reason}
	unmoved := m.Sessions >= SessionsToQuarantine && m.State.Workable() && m.State != StateActive
	return q, m.Failures >= FailuresToQuarantine || unmoved
}

// Quarantines are the tasks that are left alone.
func Quarantines(memories []TaskMemory) (list []Quarantine) {
	for _, m := range memories {
		if q, aside := m.Quarantine(); aside {
			list = append(list, q)
		}
	}
	return list
}

// Why says what the sessions did to the task.
func (q Quarantine) Why() string {
	text := fmt.Sprintf("%d sessions worked on it and left it %s", q.Sessions, q.State)
	if q.Failures >= FailuresToQuarantine || q.Failures > 0 && q.Failures >= q.Sessions {
		text = fmt.Sprintf("%d sessions failed at it", q.Failures)
	}
	if q.Reason != "" {
		text += ", last: " + q.Reason
	}
	return text
}

// Recall puts tasks in the states that are remembered of them, and marks those in
// quarantine as waiting for a person. What its source has changed since is left as the
// source has it. It returns the memories that hold, by task.
func Recall(tasks []Task, memories []TaskMemory) map[TaskID]TaskMemory {
	if len(memories) == 0 {
		return nil
	}
	all := make(map[TaskID]TaskMemory, len(memories))
	for _, m := range memories {
		all[m.Task] = m
	}
	held := map[TaskID]TaskMemory{}
	for i := range tasks {
		t := &tasks[i]
		m, ok := all[t.ID]
		if !ok || !m.Holds(*t) {
			continue
		}
		held[t.ID] = m
		if m.State != "" && m.State != t.State {
			t.Listed, t.State = t.State, m.State
		}
		if q, aside := m.Quarantine(); aside && t.WaitingFor == "" {
			t.WaitingFor = "a person: " + q.Why()
		}
	}
	return held
}

// From says where the state of a task is from that its source does not show.
func (m TaskMemory) From(t Task) string {
	text := fmt.Sprintf("%s; %s still says %s", m.left(), m.where(), t.InSource())
	switch {
	case m.Trouble != "" && m.Owed != "":
		return text + " until a fire can tell it, which failed: " + m.Trouble
	case m.Trouble != "":
		return text + ", for " + m.Trouble
	case m.Branch != "":
		return text + " until branch " + m.Branch + " is merged"
	case m.Owed != "":
		return text + " until the next fire can tell it"
	case m.Source != "":
		return text + ", and that counts again once it shows a change"
	}
	return text
}

func (m TaskMemory) left() string {
	by, verb := "hand", "left "+string(m.State)
	if m.Run != "" {
		by = "run " + string(m.Run)
	}
	if m.State.Settled() {
		verb = "closed"
	}
	return verb + " by " + by
}

func (m TaskMemory) where() string {
	return cmp.Or(m.Source, "its file")
}

// FileEdit changes one file.
type FileEdit struct {
	Path    string // absolute
	Subject string // of a commit of its own
	// Edit is what the file's bytes become.
	Edit func(path string, data []byte) ([]byte, error)
	// Write makes them that, and reports whether that changed the file.
	Write func(path string) (bool, error)
}
