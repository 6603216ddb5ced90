package sqlite

import (
	"context"
	"fmt"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

func (t tx) tasks(ctx context.Context) (list []fleet.TaskMemory, err error) {
	err = t.run(ctx, table.Tasks().Select(func(m fleet.TaskMemory) { list = append(list, m) }, "order by task"))
	return list, err
}

func (t tx) task(ctx context.Context, id fleet.TaskID) (m fleet.TaskMemory, err error) {
	m.Task = id
	err = t.run(ctx, table.Tasks().Select(func(found fleet.TaskMemory) { m = found }, "where task = $1", id))
	return m, err
}

func (t tx) putTask(ctx context.Context, m fleet.TaskMemory) error {
	return t.run(ctx, table.Tasks().Put(m))
}

// judgeTask takes the end of a session into what is remembered of its task: the state it
// left it in, what is owed to the task's source, and how many worked on it in vain. It is
// part of the end: if we die before that is written, no session has rested the task.
func (t tx) judgeTask(ctx context.Context, r fleet.Run) error {
	if r.Task == "" || r.Key == "" || r.Verdict.Outcome == fleet.Lost {
		return nil // its holder by now speaks for it
	}
	before, err := t.task(ctx, r.Task)
	if err != nil {
		return err
	}
	now, err := t.round(ctx, r.Category)
	if err != nil {
		return err
	}
	m, remembered := book.Left(before, r, now)
	switch {
	case m == before:
		return nil
	case !remembered:
		_, err := t.ExecContext(ctx, "delete from tasks where task = ? and taken = 0", r.Task)
		return err
	}
	m.Since = t.now
	return t.putTask(ctx, m)
}

// LeaveTask remembers the state that a person gives a task, or that a session owes its
// source a word from now on.
func (d *DB) LeaveTask(ctx context.Context, h store.Hold, m fleet.TaskMemory) error {
	err := d.update(ctx, func(t tx) error {
		if err := t.fence(ctx, h, t.now); err != nil {
			return err
		}
		before, err := t.task(ctx, m.Task)
		if err != nil {
			return err
		}
		if !m.Changed {
			m.Sessions, m.Failures, m.Vain, m.Taken, m.Rests, m.Reason = before.Sessions, before.Failures, before.Vain, before.Taken, before.Rests, before.Reason
		}
		m.Since = t.now
		return t.putTask(ctx, m)
	})
	return wrap(err, "remember task %q", m.Task)
}

// forgotten is a task of which nothing is remembered but how many sessions it has taken.
const forgotten = "state = '', seen = '', owed = '', run = '', branch = '', sessions = 0, failures = 0, vain = 0, rests = 0, reason = '', trouble = ''"

// SeeTasks takes what the sources show into what is remembered, each unless that was
// changed meanwhile.
func (d *DB) SeeTasks(ctx context.Context, list []store.TaskSight) error {
	err := d.update(ctx, func(t tx) error {
		for _, s := range list {
			const same = " where task = ? and run = ? and state = ? and seen = ? and owed = ?"
			query, args := "update tasks set "+forgotten+same, []any{}
			switch {
			case s.Forget && (s.Over || s.Taken == 0):
				query = "delete from tasks" + same
			case !s.Forget:
				owed := fleet.TaskCall("")
				if s.Owing {
					owed = s.Owed
				}
				query, args = "update tasks set seen = ?, owed = ?, branch = ?, trouble = ?"+same, []any{s.Seen, owed, s.Branch, s.Trouble}
			}
			if _, err := t.ExecContext(ctx, query, append(args, s.Task, s.Run, s.State, s.Was, s.Owed)...); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "remember what is seen of tasks")
}

// Retry forgets what sessions left of a task, but that its tracker is owed a word.
func (d *DB) Retry(ctx context.Context, task fleet.TaskID) (found bool, err error) {
	err = d.update(ctx, func(t tx) error {
		for _, query := range []string{
			"update tasks set " + forgotten + `, owed = 'release', taken = 0
where task = ? and source <> '' and owed <> ''`,
			"delete from tasks where task = ? and (source = '' or owed = '')",
			"update feedback set rounds = 0 where task = ? and rounds > 0",
			"update arms set noops = 0, asleep_until = 0, asleep_since = null, vain_at = '' where vain_at = ?",
		} {
			n, err := t.exec(ctx, query, task)
			if err != nil {
				return err
			}
			found = found || n > 0
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("retry task %q: %w", task, err)
	}
	return found, nil
}
