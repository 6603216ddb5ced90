package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// RunsSince reads the runs created since a time, oldest first. Ids begin with that time.
func (d *DB) RunsSince(ctx context.Context, since time.Time) ([]fleet.Run, error) {
	return d.listRuns(ctx, "where id >= ? order by id", fleet.NewRunID(since, 0))
}

// Watched reads the runs with commits of which it is looked at what becomes of their work.
func (d *DB) Watched(ctx context.Context, since, became time.Time, limit int) ([]fleet.Run, error) {
	return d.listRuns(ctx, watched, fleet.NewRunID(since, 0), millis(became), limit)
}

const watched = `where commits <> '[]' and id >= ? and ended_at is not null
and not exists (select 1 from fates where run = runs.id and fates.at < ?) order by id desc limit ?`

// LastRuns reads the latest runs that a query asks for, newest first.
func (d *DB) LastRuns(ctx context.Context, q store.RunQuery) ([]fleet.Run, error) {
	tail, args := lastRuns(q)
	return d.listRuns(ctx, tail, args...)
}

func lastRuns(q store.RunQuery) (tail string, args []any) {
	var w where
	ids, _ := json.Marshal(q.IDs) // a list of texts can always be written
	w.add(len(q.IDs) > 0, "id in (select value from json_each(?))", string(ids))
	w.add(q.Before != "", "id < ?", q.Before)
	w.add(q.Category != "", "category = ?", q.Category)
	w.add(q.Task != "", "task = ? and task <> ''", q.Task)
	w.add(q.Outcome != "", "outcome = ?", q.Outcome)
	w.add(q.Agent != "", "agent = ?", q.Agent)
	w.add(q.Fire != 0, "fire = ?", q.Fire)
	w.add(q.Ended, "ended_at is not null")
	w.add(q.Shared, "commits <> '[]' and branch = ''")
	return w.String() + " order by id desc limit ?", append(w.args, q.Limit)
}

// where collects the conditions of a query.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(asked bool, condition string, args ...any) {
	if asked {
		w.conditions, w.args = append(w.conditions, condition), append(w.args, args...)
	}
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return "where " + strings.Join(w.conditions, " and ")
}

func (d *DB) listRuns(ctx context.Context, tail string, args ...any) (list []fleet.Run, err error) {
	err = d.view(ctx, func(t tx) error {
		list, err = t.runs(ctx, tail, args...)
		return err
	})
	return list, wrap(err, "read runs")
}

// FiresSince reads the fires since a time with their choices, oldest first.
func (d *DB) FiresSince(ctx context.Context, since time.Time) ([]fleet.Fire, error) {
	return d.fires(ctx, fireColumns, "where at >= ? order by id", millis(since))
}

// LastFires reads the latest fires that a query asks for with their choices, newest first.
func (d *DB) LastFires(ctx context.Context, q store.FireQuery) ([]fleet.Fire, error) {
	var w where
	w.add(q.Before != 0, "id < ?", q.Before)
	w.add(q.Pool != "", "pool = ?", q.Pool)
	w.add(!q.Until.IsZero(), "at <= ?", millis(q.Until))
	columns := fireColumns
	if q.Brief {
		columns = briefFire
	}
	return d.fires(ctx, columns, w.String()+" order by id desc limit ?", append(w.args, q.Limit)...)
}

// Fallbacks counts the fires since a time for which the external selector failed.
func (d *DB) Fallbacks(ctx context.Context, since time.Time) (n int, err error) {
	err = d.view(ctx, func(t tx) error {
		return t.QueryRowContext(ctx, "select count(*) from fires where fallback <> '' and at >= ?", millis(since)).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("read fires: %w", err)
	}
	return n, nil
}

// Entitled sums up what the fires since a time entitled each category to.
func (d *DB) Entitled(ctx context.Context, since time.Time) (map[fleet.Category]float64, error) {
	sums := map[fleet.Category]float64{}
	err := d.view(ctx, func(t tx) error {
		_, err := collect(ctx, t, func(row scanner) (c fleet.Category, err error) {
			var sum float64
			err = row.Scan(&c, &sum)
			sums[c] = sum
			return c, err
		}, entitledSince, millis(since))
		return err
	})
	return sums, wrap(err, "read fires")
}

const entitledSince = "select due.key, total(due.value) from fires, json_each(fires.due) as due where at >= ? group by 1"

// GradeChanges reads the latest changes that a query asks for, newest first.
func (d *DB) GradeChanges(ctx context.Context, q store.ChangeQuery) ([]fleet.GradeChange, error) {
	var w where
	w.add(q.Category != "", "category = ?", q.Category)
	w.add(q.Run != "", "run = ?", q.Run)
	w.add(!q.Since.IsZero(), "at >= ?", millis(q.Since))
	return read(ctx, d, "changes of grades", func(row scanner) (r fleet.GradeChange, err error) {
		err = row.Scan(&r.Run, &r.Fire, &r.Category, table.When(&r.At), &r.Was, &r.Became)
		return r, err
	}, "select run, coalesce(fire, 0), category, at, was, became from grade_changes join runs on runs.id = run "+
		w.String()+" order by at desc, run desc limit ?", append(w.args, q.Limit)...)
}

// LaneHolds reads the acquisitions of lanes that lasted into the time since,
// oldest first.
func (d *DB) LaneHolds(ctx context.Context, since time.Time) ([]fleet.LaneHold, error) {
	return read(ctx, d, "lane holds", func(row scanner) (h fleet.LaneHold, err error) {
		err = row.Scan(&h.Run, &h.Category, &h.Lane, table.When(&h.AcquiredAt), table.When(&h.ReleasedAt))
		return h, err
	}, holdsSince, millis(since))
}

// The index on their end finds those that lasted; of a long past they are few.
const holdsSince = `select run, category, lane, acquired_at, released_at from lane_holds
where released_at is null or released_at > ? order by acquired_at, run`

// DeniedClaims reads the denials since a time, oldest first.
func (d *DB) DeniedClaims(ctx context.Context, since time.Time) ([]fleet.DeniedClaim, error) {
	return d.denials(ctx, denialsSince, millis(since))
}

const denialsSince = "where at >= ? order by at, id"

// LastDenials reads the latest denials that a query asks for, newest first.
func (d *DB) LastDenials(ctx context.Context, q store.DenialQuery) ([]fleet.DeniedClaim, error) {
	tail, args := lastDenials(q)
	return d.denials(ctx, tail, args...)
}

func lastDenials(q store.DenialQuery) (tail string, args []any) {
	var w where
	w.add(q.Run != "", "run = ?", q.Run)
	w.add(q.Key != "", "key = ?", q.Key)
	return w.String() + " order by id desc limit ?", append(w.args, q.Limit)
}

func (d *DB) denials(ctx context.Context, tail string, args ...any) ([]fleet.DeniedClaim, error) {
	return read(ctx, d, "denials", scanDenial, allDenials+tail, args...)
}

const allDenials = "select run, category, key, holder, at from denials "

func scanDenial(row scanner) (n fleet.DeniedClaim, err error) {
	err = row.Scan(&n.Run, &n.Category, &n.Key, &n.Holder, table.When(&n.At))
	return n, err
}

// Tallies counts the runs created since a time, alike ones together.
func (d *DB) Tallies(ctx context.Context, since time.Time, step time.Duration) ([]fleet.Tally, error) {
	return read(ctx, d, "counts of runs", scanTally, talliesSince, millis(since), step.Milliseconds(), fleet.NewRunID(since, 0))
}

const talliesSince = `select
case ?2 when 0 then ?1 else ?1 + (created_at - ?1) / ?2 * ?2 end as span,
category, agent, source, outcome, fire is not null and source <> 'respawn', epoch > 0,
count(*), sum(outcome = 'noop' or outcome = 'nothing' and task_state not in ('done', 'cancelled')), count(grade), total(coalesce(final, grade)), total(coalesce(final, grade) * coalesce(final, grade)), coalesce(sum(tokens), 0), total(usd), total(usd) filter (where cost in ('computed', 'assumed')),
coalesce(sum(max(ended_at - started_at, 0)), 0)
from runs where id >= ?3 group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7`

func scanTally(row scanner) (n fleet.Tally, err error) {
	var worked int64
	err = row.Scan(table.When(&n.From), &n.Category, &n.Agent, &n.Source, &n.Outcome, &n.Fired, &n.Claimed,
		&n.Runs, &n.Empty, &n.Graded, &n.Grades, &n.Squares, &n.Tokens, &n.USD, &n.Guessed, &worked)
	n.Worked = time.Duration(worked) * time.Millisecond
	return n, err
}

// FailedTasks counts the sessions at tasks of which so many failed.
func (d *DB) FailedTasks(ctx context.Context, since time.Time, least int) ([]fleet.TaskTally, error) {
	return read(ctx, d, "counts of sessions by task", func(row scanner) (n fleet.TaskTally, err error) {
		var last fleet.RunID
		err = row.Scan(&n.Task, &last, &n.Category, &n.Reason, &n.Sessions, &n.Failed)
		return n, err
	}, failedTasks, fleet.NewRunID(since, 0), least)
}

// Category and reason are those of the row that the max is from.
const failedTasks = `select task, max(iif(failed, id, '')), category, reason, count(*), sum(failed) from (
select id, task, category, reason, outcome in ('failed', 'timeout', 'abandoned') as failed from runs
where id >= ?1 and task <> '' and key <> '' and outcome in ('productive', 'noop', 'nothing', 'failed', 'timeout', 'abandoned') and fault <> 'agent')
group by task having sum(failed) >= ?2 order by sum(failed) desc, task`

// LessonUses reads the lessons that matched a run, by id.
func (d *DB) LessonUses(ctx context.Context, run fleet.RunID) (list []fleet.LessonUse, err error) {
	err = d.view(ctx, func(t tx) error {
		list, err = t.lessonUses(ctx, run)
		return err
	})
	return list, wrap(err, "read lessons of run %s", run)
}
