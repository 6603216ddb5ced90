package book

import (
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/store/table"
)

// judgeTask updates a task's memory by a session's end: the state in which it left the task, the call owed to its
// source, and the number of sessions without result. It is part of the end: if we die before the end is written, the
// task's memory is as before.
func (p Tx) judgeTask(r fleet.Run) {
	if r.Task == "" || r.Key == "" || r.Verdict.Outcome == fleet.Lost {
		return // another holder decides now
	}
	before := p.task(r.Task)
	m, remembered := Left(before, r, p.arm(r.Category).Round)
	switch {
	case m == before:
	case remembered:
		m.Since = p.Now()
		p.putTask(m)
	case before.Taken == 0:
		p.Tasks.Delete(before)
	}
}

func (p Tx) putTask(m fleet.TaskMemory) {
	m.Changed, m.Worked, m.Last = false, false, false
	p.Tasks.Put(m)
}

// LeaveTask remembers the state that a person gives a task, or a call that a session owes its source.
func (p Tx) LeaveTask(h store.Hold, m fleet.TaskMemory) error {
	p.Ahead(p.Claims.Like(claimRow(h.Key)), p.Tasks.Like(m))
	if err := p.Fence(h, p.Now()); err != nil {
		return err
	}
	p.remember(m)
	return nil
}

// remember stores a task's state. Results of sessions stay, unless the state has changed.
func (p Tx) remember(m fleet.TaskMemory) {
	if before := p.task(m.Task); !m.Changed {
		m.Sessions, m.Failures, m.Fruitless, m.Taken, m.Rests, m.Reason = before.Sessions, before.Failures, before.Fruitless, before.Taken, before.Rests, before.Reason
	}
	m.Since = p.Now()
	p.putTask(m)
}

// forgotten keeps only the number of a task's sessions.
func forgotten(m fleet.TaskMemory) fleet.TaskMemory {
	f := fleet.TaskMemory{Task: m.Task, Since: m.Since, Taken: m.Taken}
	f.Source, f.Item = m.Source, m.Item
	return f
}

// SeeTasks merges the states at the sources into the memory. It skips tasks that changed meanwhile.
func (p Tx) SeeTasks(list []store.TaskSight) {
	p.Ahead(p.Tasks.Ask("task", table.In(plain.Each(list, func(s store.TaskSight) fleet.TaskID { return s.Task }))))
	for _, s := range list {
		m, found := p.Tasks.Get(fleet.TaskMemory{Task: s.Task})
		if !found || m.Run != s.Run || m.State != s.State || m.Seen != s.Was || m.Owed != s.Owed {
			continue
		}
		switch {
		case s.Forget && (s.Over || s.Taken == 0):
			p.Tasks.Delete(m)
			continue
		case s.Forget:
			m = forgotten(m)
		default:
			if s.Edited {
				m = m.Anew()
			}
			m.Seen, m.Trouble = s.Seen, s.Trouble
			if !s.Owing {
				m.Owed = ""
			}
		}
		p.Tasks.Put(m)
	}
}

// Retry forgets the results of a task's sessions, but not a call owed to its tracker. It reports whether there was
// anything.
func (p Tx) Retry(task fleet.TaskID) (found bool) {
	p.Ahead(p.Reviews.Ask("task", task))
	p.Ahead(p.asksRanking()...)
	if m, remembered := p.Tasks.Get(fleet.TaskMemory{Task: task}); remembered {
		found = true
		if m.Source != "" && m.Owed != "" {
			m = forgotten(m)
			m.Owed, m.Taken = fleet.CallRelease, 0
			p.Tasks.Put(m)
		} else {
			p.Tasks.Delete(m)
		}
	}
	for _, r := range p.Reviews.Where("task", task) {
		if r.Feedback.Rounds > 0 {
			r.Feedback.Rounds, found = 0, true
			p.Reviews.Put(r)
		}
	}
	return p.wake(task) || found
}
