package book

import (
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/store/table"
)

// judgeTask takes the end of a session into what is remembered of its task: the state it
// left it in, what is owed to the task's source, and how many worked on it in vain. It is
// part of the end: if we die before that is written, no session has rested the task.
func (p Tx) judgeTask(r fleet.Run) {
	if r.Task == "" || r.Key == "" || r.Verdict.Outcome == fleet.Lost {
		return // its holder by now speaks for it
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

// LeaveTask remembers the state that a person gives a task, or that a session owes its
// source a word from now on.
func (p Tx) LeaveTask(h store.Hold, m fleet.TaskMemory) error {
	p.Ahead(p.Claims.Like(claimRow(h.Key)), p.Tasks.Like(m))
	if err := p.Fence(h, p.Now()); err != nil {
		return err
	}
	p.remember(m)
	return nil
}

// remember stores what is left of a task now. What sessions brought it stays, unless its state is another.
func (p Tx) remember(m fleet.TaskMemory) {
	if before := p.task(m.Task); !m.Changed {
		m.Sessions, m.Failures, m.Fruitless, m.Taken, m.Rests, m.Reason = before.Sessions, before.Failures, before.Fruitless, before.Taken, before.Rests, before.Reason
	}
	m.Since = p.Now()
	p.putTask(m)
}

// forgotten is a task of which nothing is remembered but how many sessions it has taken.
func forgotten(m fleet.TaskMemory) fleet.TaskMemory {
	f := fleet.TaskMemory{Task: m.Task, Since: m.Since, Taken: m.Taken}
	f.Source, f.Item = m.Source, m.Item
	return f
}

// SeeTasks takes what the sources show into what is remembered, each unless that was
// changed meanwhile.
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

// Retry forgets what sessions left of a task, but that its tracker is owed a word. It reports
// whether there was anything.
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
