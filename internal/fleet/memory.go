package fleet

import (
	"cmp"
	"fmt"
	"strings"
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
)

// SeenNowhere is the seen state of a task that its source does not show.
const SeenNowhere = "-"

// TaskLeft is the state in which a session, or a person, leaves a task.
type TaskLeft struct {
	State  TaskState // that it stands in; empty: nothing is said of it
	Source string    // it is an item of; empty: it is a file
	Item   string    // its id there
	Seen   string    // of the task in its source, see [Task.Seen]; empty: as it is seen next
	Owed   TaskCall  // the call that its tracker has yet to get; empty: none

	// The next fields are for the count of sessions, and not stored.
	Changed bool // the state is another than before
	Worked  bool // an agent was at work
	Last    bool // of its category no other task is left that could be worked on
}

// TaskMemory is kept of a task until its source shows a change.
type TaskMemory struct {
	TaskLeft
	Task      TaskID
	Run       RunID     // that left it last; empty: a person
	Since     time.Time // of the last that was left
	Sessions  int       // that worked on it since its state last changed
	Failures  int       // that failed at it, in a row
	Fruitless int       // that worked on it and were not productive, in a row
	Taken     int       // that worked on it since it was opened, whatever its source has shown since
	Rests     Round     // of its category: the first in which it may be worked on; 0: it does not rest
	Reason    string    // of the last of these sessions
	Trouble   string    // why its source does not show the state; empty: nothing is known to be in the way
}

// Unsynced are the tasks whose source does not show the state in which they were left, and
// of which it is known why.
func Unsynced(memories []TaskMemory) (list []TaskMemory) {
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

// Holds reports whether the task's source still shows the state that it showed then. While an item's tracker has
// yet to get a report, what it shows says nothing.
func (m TaskMemory) Holds(t Task) bool {
	return m.Seen == "" || SeenState(m.Seen) == SeenState(t.Seen) || m.Owed != "" && m.Source != ""
}

// Edited reports whether the source shows another text, or another state, than it did then.
func (m TaskMemory) Edited(t Task) bool { return m.Seen != "" && m.Seen != t.Seen && m.Owed == "" }

// Anew is the memory of a task that somebody has edited: its state stands, and sessions have failed at
// another task than the one that it is now.
func (m TaskMemory) Anew() TaskMemory {
	m.Sessions, m.Failures, m.Fruitless, m.Rests, m.Reason = 0, 0, 0, 0, ""
	return m
}

// SeenState is the state in what was seen of a task.
func SeenState(seen string) string { return seen[strings.LastIndexByte(seen, ' ')+1:] }

const (
	// MostDoublings bounds how often a rest, or a back-off, doubles: 2⁶ is 64 rounds,
	// 32 hours of fires half an hour apart.
	MostDoublings = 6
	// SessionsToLead is the number of sessions that a begun task gets before others. Then it takes turns.
	SessionsToLead = 3
)

// After is the memory once one more session at the task has ended, in the round now: how
// many worked on it, how many of them in vain, and how long it rests. The state in which the
// session leaves the task is not part of it.
func (m TaskMemory) After(r Run, now Round) TaskMemory {
	v, before := r.Verdict, m
	if v.Fault == FaultAgent {
		r.Left.Worked = false
	}
	switch {
	case r.Left.Changed:
		m.Sessions = 0
	case r.Left.Worked:
		m.Sessions++
	}
	if r.Left.Worked {
		m.Taken++
	}
	switch v.Outcome {
	case Failed, Timeout:
		// Without a grade the agent did not start, or cannot be understood, which says nothing
		// of the task; a text that is too long for the model, or refused, was tried.
		if (v.Grade != nil || v.Fault.OfTask()) && !v.Internal {
			m.Failures++
		}
	case Abandoned: // a task that is the death of each worker is not to be tried for ever
		m.Failures++
	case Productive, Nothing:
		m.Failures = 0
	case Noop, Quota, Unavailable, Cancelled, Lost, Busy, RunDenied, Idle:
	}
	m = m.rested(r, now)
	if m.Sessions > before.Sessions || m.Failures > before.Failures || m.Rests > before.Rests {
		m.Reason = v.Reason
	}
	return m
}

// rested counts what brought the task nothing. After an empty session it rests, twice as
// long each time: the first round in which it may be worked on again is 2, 4, … 64 later. A
// grade ends the rest.
func (m TaskMemory) rested(r Run, now Round) TaskMemory {
	switch v := r.Verdict; {
	case v.Outcome == Productive, v.Outcome == Nothing && !v.Empty():
		m.Fruitless, m.Rests = 0, 0
	case v.Empty() && r.Left.Worked, v.Internal: // one that could not begin is not to keep others from their turn
		m.Fruitless++
		m.Rests = now + 1<<min(m.Fruitless, MostDoublings)
	case !r.Left.Worked || v.Outcome == Cancelled:
	default:
		m.Fruitless, m.Rests = m.Fruitless+1, 0
	}
	return m
}

// Rest is for how many more rounds from this one on the task rests.
func (m TaskMemory) Rest(round Round) int { return max(0, int(m.Rests-round)) }

// Fires says for how many more fires of its pool something rests.
func Fires(n int) string {
	if n == 1 {
		return "1 more fire of its pool"
	}
	return fmt.Sprintf("%d more fires of its pool", n)
}

// Emptied says why a task rests.
func (m TaskMemory) Emptied() string {
	text, last := "its last session brought nothing", ": "
	if m.Fruitless > 1 {
		text, last = fmt.Sprintf("its last %d sessions brought nothing", m.Fruitless), ", last: "
	}
	if m.Reason != "" {
		text += last + m.Reason
	}
	return text
}

// manySessions on one task are most of a day's work.
const manySessions = 6

// OverLimit says so of a task that took more than [manySessions] and is still to be worked on; empty: it did not.
func (t *Task) OverLimit() string {
	if t.Memory == nil || t.Memory.Taken <= manySessions || !t.State.Workable() {
		return ""
	}
	return fmt.Sprintf("%d sessions have worked on it, and it is still %s", t.Memory.Taken, t.State)
}

// Waiting is a task that waits for a person because sessions fail at it, or bring it to no
// other state.
type Waiting struct {
	Task     TaskID
	Failures int
	Sessions int       // that worked on it since its state last changed
	State    TaskState // in which they left it
	Since    time.Time
	Reason   string // of the last of them
}

const (
	// FailuresToWait is the number of failed attempts after which a task waits for a person.
	FailuresToWait = 3
	// SessionsToWait is the number of sessions that may leave a task, which is not active, in its
	// state: after them it waits for a person.
	SessionsToWait = 2
)

// Waits reports whether the task waits for a person, and why.
func (m TaskMemory) Waits() (Waiting, bool) {
	q := Waiting{Task: m.Task, Failures: m.Failures, Sessions: m.Sessions, State: m.State, Since: m.Since, Reason: m.Reason}
	unmoved := m.Sessions >= SessionsToWait && m.State.Workable() && m.State != StateActive
	return q, m.Failures >= FailuresToWait || unmoved
}

// WaitingTasks are the tasks that wait for a person.
func WaitingTasks(memories []TaskMemory) (list []Waiting) {
	for _, m := range memories {
		if q, waits := m.Waits(); waits {
			list = append(list, q)
		}
	}
	return list
}

// Why says what the sessions did to the task.
func (q Waiting) Why() string {
	text := fmt.Sprintf("%d sessions worked on it and left it %s", q.Sessions, q.State)
	if q.Failures >= FailuresToWait || q.Failures > 0 && q.Failures >= q.Sessions {
		text = fmt.Sprintf("%d sessions failed at it", q.Failures)
	}
	if q.Reason != "" {
		text += ", last: " + q.Reason
	}
	return text
}

// Recall puts tasks in the states that are remembered of them, and marks those that
// wait for a person. A task that its source has changed since stays as the
// source has it. Tasks with a memory that holds get it. An item that its tracker
// says somebody has in progress waits for them, unless a session began it.
func Recall(tasks []Task, memories []TaskMemory) {
	all := make(map[TaskID]TaskMemory, len(memories))
	for _, m := range memories {
		all[m.Task] = m
	}
	for i := range tasks {
		t := &tasks[i]
		m, ok := all[t.ID]
		if !ok && t.Source != "" && t.State == StateActive && t.AssignedTo != "" && t.WaitingFor == "" {
			t.WaitingFor = t.AssignedTo + ", who has it in progress"
		}
		if !ok || !m.Holds(*t) {
			continue
		}
		if m.Edited(*t) {
			m = m.Anew()
		}
		t.Memory = &m
		if m.State != "" && m.State != t.State {
			t.Listed, t.State = t.State, m.State
		}
		if q, waits := m.Waits(); waits && t.WaitingFor == "" {
			t.WaitingFor = "a person: " + q.Why()
		} else if m.State == StateWaiting && m.Run == "" && m.Reason != "" && t.WaitingFor == "" {
			t.WaitingFor = "a person: " + m.Reason // no session has left it so
		}
	}
}

// Leads reports whether the task comes before those that nobody has begun.
func (t *Task) Leads() bool {
	return t.State == StateActive && (t.Memory == nil || t.Memory.Taken < SessionsToLead)
}

// LeftOpen reports whether sessions have worked on the task and left it open, and nobody
// has changed it since.
func (t *Task) LeftOpen() bool {
	return t.Memory != nil && t.Memory.Run != "" && t.Memory.Taken > 0
}

// From says where the state of a task is from that its source does not show.
func (m TaskMemory) From(t Task) string {
	text := fmt.Sprintf("%s; %s still says %s", m.left(), m.where(), t.InSource())
	switch {
	case m.Trouble != "":
		return text + " until a fire can update it, which failed: " + m.Trouble
	case m.Owed != "":
		return text + " until the next fire updates it"
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
	if m.Run == "" && m.Reason != "" && m.Failures == 0 && m.Fruitless == 0 { // of no session: feedback has
		return verb + ": " + m.Reason
	}
	return verb + " by " + by
}

func (m TaskMemory) where() string {
	return cmp.Or(m.Source, "its file")
}
