package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// fatesOfRun reads into one column what became of a run's work.
const fatesOfRun = `(select json_group_array(json_object('seq', seq, 'at', at, 'kind', kind, 'witness', witness, 'reason', reason, 'grade', grade))
from fates where run = runs.id)`

// AddRun stores a run that no fire planned.
func (d *DB) AddRun(ctx context.Context, r fleet.Run) error {
	err := d.update(ctx, func(t tx) error { return t.insertRun(ctx, r) })
	return wrap(err, "add run %s", r.ID)
}

func (t tx) insertRun(ctx context.Context, r fleet.Run) error {
	_, err := t.ExecContext(ctx, `insert into runs (id, host, boot, fire, category, rank, chain_depth, source, unit, agent, created_at, not_before)
values (?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Host, r.Boot, r.Fire, r.Category, r.Rank, r.ChainDepth, r.Source, r.Unit, r.Agent, millis(r.CreatedAt), nullMillis(r.NotBefore))
	return err
}

// BeginRun marks a run as begun by this process, once. That the process says it again changes nothing.
func (d *DB) BeginRun(ctx context.Context, id fleet.RunID, pid int) error {
	return d.update(ctx, func(t tx) error {
		rows, err := t.exec(ctx,
			"update runs set started_at = coalesce(started_at, ?1), pid = ?2 where id = ?3 and (started_at is null or pid = ?2) and ended_at is null",
			millis(t.now), pid, id)
		return oneRow(rows, err, fmt.Errorf("run %s has begun or ended already: %w", id, fleet.ErrUsage))
	})
}

// TakeForRun takes a claim for a run and, when it is granted, writes task, key, epoch and
// lessons into the run's row and debits the category, all in one transaction.
func (d *DB) TakeForRun(ctx context.Context, r store.RunTake) (grant fleet.Grant, c fleet.Claim, err error) {
	err = d.update(ctx, func(t tx) error {
		grant, c, err = t.take(ctx, r.TakeRequest)
		if err != nil || grant == fleet.Denied {
			return err
		}
		var has bool // the run is at work under this very claim: its session is counted
		err = t.QueryRowContext(ctx, "select key = ? and epoch = ? from runs where id = ?", c.Key, c.Epoch, r.Run).Scan(&has)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		rows, err := t.exec(ctx,
			"update runs set task = ?, key = ?, epoch = ? where id = ? and ended_at is null", r.Task, c.Key, c.Epoch, r.Run)
		if err := oneRow(rows, err, fmt.Errorf("run %s is not open: %w", r.Run, fleet.ErrLost)); err != nil {
			return err
		}
		if err := t.useLessons(ctx, r.Run, r.Lessons); err != nil || has {
			return err
		}
		m, err := t.task(ctx, r.Task)
		if err != nil {
			return err
		}
		if err := book.AsPicked(r, m); err != nil {
			return err
		}
		if err := t.standApart(ctx, r); err != nil {
			return err
		}
		if err := t.debit(ctx, r.Run); err != nil {
			return err
		}
		return t.admit(ctx, r)
	})
	if err != nil {
		return "", fleet.Claim{}, wrap(err, "take claim %q", r.Key) // what was granted was undone
	}
	return grant, c, nil
}

// standApart refuses a run while another is at a task that no other may be at meanwhile: it came
// there since the run looked.
func (t tx) standApart(ctx context.Context, r store.RunTake) error {
	if len(r.Apart) == 0 {
		return nil
	}
	tasks, err := json.Marshal(r.Apart)
	if err != nil {
		return err
	}
	var (
		run  fleet.RunID
		task fleet.TaskID
	)
	row := t.QueryRowContext(ctx, `select id, task from runs where ended_at is null and key <> '' and id <> ?
and task in (select value from json_each(?)) order by id limit 1`, r.Run, string(tasks))
	if err := row.Scan(&run, &task); errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	return book.NotApart(run, task)
}

// Complete ends a run that worked under a claim: outcome, grade and what is
// learnt of it in one transaction, once.
//
// If we die before the commit, the run is open and ungraded, and its claim
// expires. If we die after it, the grade is counted, and calling again changes
// nothing.
func (d *DB) Complete(ctx context.Context, r fleet.Run) error {
	err := d.update(ctx, func(t tx) error {
		if again, err := t.repeats(ctx, r); again || err != nil {
			return err
		}
		if err := t.fence(ctx, store.Hold{Key: r.Key, Holder: r.ID.Holder(), Epoch: r.Epoch}, t.endOf(r)); err != nil {
			return err
		}
		return t.endRun(ctx, r)
	})
	return wrap(err, "complete run %s", r.ID)
}

// EndRun ends a run that holds no claim, or lost it. It counts no grade.
func (d *DB) EndRun(ctx context.Context, r fleet.Run) error {
	r.Verdict.Grade = nil
	err := d.update(ctx, func(t tx) error {
		if again, err := t.repeats(ctx, r); again || err != nil {
			return err
		}
		return t.endRun(ctx, r)
	})
	return wrap(err, "end run %s", r.ID)
}

// repeats reports whether the run has ended on record by this very verdict.
func (t tx) repeats(ctx context.Context, r fleet.Run) (bool, error) {
	ended, err := t.runs(ctx, "where id = ? and ended_at is not null", r.ID)
	return len(ended) > 0 && book.RepeatsEnd(ended[0], r), err
}

// endOf is when a run ended: before this, if it could not be recorded then.
func (t tx) endOf(r fleet.Run) time.Time {
	if r.EndedAt.IsZero() || r.EndedAt.After(t.now) {
		return t.now
	}
	return r.EndedAt
}

func (t tx) endRun(ctx context.Context, r fleet.Run) error {
	if err := t.judgeAgent(ctx, &r); err != nil {
		return err
	}
	v := r.Verdict
	parts, err := json.Marshal(v.Parts)
	if err != nil {
		return err
	}
	commits, err := json.Marshal(append([]string{}, r.Commits...))
	if err != nil {
		return err
	}
	models, err := json.Marshal(append([]string{}, r.Usage.Models...))
	if err != nil {
		return err
	}
	rows, err := t.exec(ctx, `update runs
set ended_at = ?, outcome = ?, grade = ?, reason = ?, parts = ?, task_state = ?, exit_status = ?, fault = ?, held = ?,
tokens = ?, usd = ?, cost = ?, models = ?, commits = ?, branch = ?, quota_until = ?
where id = ? and ended_at is null`,
		millis(t.endOf(r)), v.Outcome, v.Grade, v.Reason, string(parts), v.TaskState, v.ExitStatus, v.Fault, r.Held,
		r.Usage.Tokens, r.Usage.USD, r.Usage.Cost, string(models), string(commits), r.Branch, nullMillis(r.QuotaUntil), r.ID)
	if err := oneRow(rows, err, fmt.Errorf("it has ended already: %w", fleet.ErrLost)); err != nil {
		return err
	}
	for _, take := range []func(context.Context, fleet.Run) error{t.settle, t.judgeTask, t.learnFrom} {
		if err := take(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Abandon gives back what a run whose session is gone has left, and books what that is
// known to have used. The run ended when its session died; its claims and lane are held until
// now.
//
// All of it is one transaction: dying here leaves everything to the next reaping.
func (d *DB) Abandon(ctx context.Context, id fleet.RunID, reason string, used fleet.Usage, died time.Time) (left bool, err error) {
	models, err := json.Marshal(append([]string{}, used.Models...))
	if err != nil {
		return false, fmt.Errorf("abandon run %s: %w", id, err)
	}
	err = d.update(ctx, func(t tx) error {
		now, ended := millis(t.now), millis(t.now)
		if !died.IsZero() && died.Before(t.now) {
			ended = millis(died)
		}
		for i, write := range []struct {
			query string
			args  []any
		}{
			{
				"update runs set ended_at = ?, outcome = ?, reason = ?, tokens = ?, usd = ?, cost = ?, models = ? where id = ? and ended_at is null",
				[]any{ended, fleet.Abandoned, reason, used.Tokens, used.USD, used.Cost, string(models), id},
			},
			{"update lane_holds set released_at = ? where run = ? and released_at is null", []any{now, id}},
		} {
			n, err := t.exec(ctx, write.query, write.args...)
			if err != nil {
				return err
			}
			left = left || n > 0
			if i > 0 || n == 0 {
				continue // only the run itself has an account, and only until it is closed
			}
			if err := t.settle(ctx, fleet.Run{ID: id, Usage: used}); err != nil {
				return err
			}
			runs, err := t.runs(ctx, "where id = ?", id)
			if err != nil {
				return err
			}
			for _, r := range runs {
				if err := t.judgeTask(ctx, r); err != nil {
					return err
				}
			}
		}
		return t.change(ctx, book.Need{Holder: id.Holder()}, func(p *book.Page) error {
			left = p.Abandon(id, reason) || left
			return nil
		})
	})
	if err != nil {
		return false, fmt.Errorf("abandon run %s: %w", id, err)
	}
	return left, nil
}

// Respawn records whether a session follows a run, and the run that does. Its timer runs already.
//
// If we die before it, no session follows: the worker that the timer starts finds no run of its id.
func (d *DB) Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string, b store.Bounds) (by fleet.RunID, why string, err error) {
	err = d.update(ctx, func(t tx) error {
		err := t.QueryRowContext(ctx, "select followed_by, followed from runs where id = ?", run).Scan(&by, &why)
		if errors.Is(err, sql.ErrNoRows) {
			err = fleet.ErrNotFound
		}
		if err != nil || why != "" {
			return err
		}
		if next != nil {
			open, err := t.runs(ctx, "where ended_at is null order by id")
			if err != nil {
				return err
			}
			if taken := book.Taken(b, *next, open); taken != "" {
				next, reason = nil, taken
			} else if err := t.insertRun(ctx, *next); err != nil {
				return err
			} else {
				by = next.ID
			}
		}
		why = reason
		_, err = t.exec(ctx, "update runs set followed_by = ?, followed = ? where id = ?", by, why, run)
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("respawn after run %s: %w", run, err)
	}
	return by, why, nil
}

// OnBranch records the branch that a run works on.
func (d *DB) OnBranch(ctx context.Context, id fleet.RunID, branch string) error {
	err := d.update(ctx, func(t tx) error {
		rows, err := t.exec(ctx, "update runs set branch = ? where id = ? and ended_at is null", branch, id)
		return oneRow(rows, err, fmt.Errorf("it is not open: %w", fleet.ErrLost))
	})
	return wrap(err, "record the branch of run %s", id)
}

// Denied records a denial.
func (d *DB) Denied(ctx context.Context, n fleet.DeniedClaim) error {
	err := d.update(ctx, func(t tx) error {
		_, err := t.ExecContext(ctx, "insert into denials (run, category, key, holder, at) values (?, ?, ?, ?, ?)",
			n.Run, n.Category, n.Key, n.Holder, millis(t.now))
		return err
	})
	return wrap(err, "record denial of run %s", n.Run)
}

func (t tx) runs(ctx context.Context, tail string, args ...any) (list []fleet.Run, err error) {
	err = t.run(ctx, table.Ended(func(r fleet.Run) { list = append(list, r) }, tail, args...)...)
	return list, err
}

// oneRow turns a write that matched no row into refused.
func oneRow(rows int64, err, refused error) error {
	if err == nil && rows != 1 {
		return refused
	}
	return err
}
