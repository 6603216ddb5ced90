package table

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

func (r Reader) runs(ctx context.Context, tail string, args ...any) ([]fleet.Run, error) {
	return read(ctx, r, "runs", func(add func(fleet.Run)) Statement {
		return Runs().Select(func(run Run) { add(run.Run) }, tail, args...)
	})
}

// Run reads one run. Without it the error wraps [fleet.ErrNotFound].
func (r Reader) Run(ctx context.Context, id fleet.RunID) (fleet.Run, error) {
	list, err := r.runs(ctx, "where id = $1", id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("run %s: %w", id, fleet.ErrNotFound)
	}
	if err != nil {
		return fleet.Run{}, err
	}
	return list[0], nil
}

// Overran reads the runs whose sessions ended after their leases.
func (r Reader) Overran(ctx context.Context, since time.Time) ([]fleet.Run, error) {
	return r.runs(ctx, "where overran_to > $1 order by overran_to, id", since.UnixMilli())
}

// Tail reads the last output of a run's agent.
func (r Reader) Tail(ctx context.Context, id fleet.RunID) (tail fleet.Tail, at time.Time, err error) {
	err = r.Read(ctx, func(now time.Time) []Statement {
		at = now
		return []Statement{Tails().Select(func(t fleet.Tail) { tail = t }, "where run = $1", id)}
	})
	if err == nil && tail.Run == "" {
		err = fleet.ErrNotFound
	}
	return tail, at, wrap(err, "read what run %s printed last", id)
}

// Watched reads the runs with commits whose work is still watched for review outcomes.
func (r Reader) Watched(ctx context.Context, since, became time.Time, limit int) ([]fleet.Run, error) {
	return r.runs(ctx, `where commits <> '[]' and id >= $1 and ended_at is not null
and (fated_at is null or fated_at >= $2) order by id desc limit $3`,
		fleet.NewRunID(since, 0), became.UnixMilli(), limit)
}

// LastRuns reads the latest runs that match a query, newest first.
func (r Reader) LastRuns(ctx context.Context, q store.RunQuery) (list []fleet.Run, err error) {
	parts := [][]fleet.RunID{nil}
	if len(q.IDs) > 0 {
		ids := slices.Sorted(slices.Values(q.IDs))
		slices.Reverse(ids)
		parts = slices.Collect(slices.Chunk(ids, maxPlaces))
	}
	err = r.Read(ctx, func(time.Time) (ask []Statement) {
		for _, ids := range parts {
			tail, args := lastRuns(q, ids)
			ask = append(ask, Runs().Select(func(run Run) { list = append(list, run.Run) }, tail, args...))
		}
		return ask
	})
	return list[:min(len(list), q.Limit)], wrap(err, "read runs")
}

func lastRuns(q store.RunQuery, ids []fleet.RunID) (tail string, values []any) {
	var w where
	if len(ids) > 0 {
		w = where{[]string{"id in " + places(ids)}, args(ids)}
	}
	w.add(q.Prefix != "", "id >= ? and id < ?", q.Prefix, q.Prefix+"{") // { follows z
	w.add(q.Before != "", "id < ?", q.Before)
	w.add(q.Category != "", "category = ?", q.Category)
	w.add(q.Task != "", "task = ? and task <> ''", q.Task)
	w.add(q.Outcome != "", "outcome = ?", q.Outcome)
	w.add(q.Agent != "", "agent = ?", q.Agent)
	w.add(q.Host != "", "host = ?", q.Host)
	w.add(q.Fire != 0, "fire = ?", q.Fire)
	w.add(q.Ended, "ended_at is not null")
	w.add(q.Landed, landing+" is not null")
	if q.Landed {
		return w.latest(landing+" desc, id desc", q.Limit)
	}
	return w.latest("id desc", q.Limit)
}

// landing is the time at which a run's work landed.
const landing = "coalesce((select decided_at from reviews where run = runs.id and decision = 'landed'), landed_at)"

// LessonUses reads the lessons that matched a run, by id.
func (r Reader) LessonUses(ctx context.Context, run fleet.RunID) ([]fleet.LessonUse, error) {
	return read(ctx, r, "lessons of run "+string(run), func(add func(fleet.LessonUse)) Statement {
		return Runs().With("lessons").Select(func(r Run) {
			for _, u := range r.Lessons {
				add(u)
			}
		}, "where id = $1", run)
	})
}

// made returns the range of ids of the runs created in a span: an id begins with that time.
func made(s store.Span) (from, to fleet.RunID) {
	if s.To.IsZero() {
		return fleet.NewRunID(s.From, 0), "{" // it follows z
	}
	return fleet.NewRunID(s.From, 0), fleet.NewRunID(s.To, 0)
}

// Tallies counts the runs created in a span, grouped by their properties.
func (r Reader) Tallies(ctx context.Context, s store.Span, step time.Duration) ([]fleet.Tally, error) {
	span := step.Milliseconds()
	if span == 0 {
		span = 1 << 62 // longer than all time
	}
	return read(ctx, r, "counts of runs", func(add func(fleet.Tally)) Statement {
		from, to := made(s)
		return Statement{SQL: tallies, Args: []any{s.From.UnixMilli(), span, from, to}, Scan: func(row Scanner) error {
			var (
				n      fleet.Tally
				worked int64
			)
			err := row.Scan(When(&n.From), &n.Host, &n.Category, &n.Agent, &n.Source, &n.Outcome, Flag{&n.Fired}, Flag{&n.Claimed},
				&n.Runs, &n.Empty, &n.Graded, &n.Grades, &n.Squares, &n.Tokens, &n.USD, &n.Guessed, &worked)
			n.Worked = time.Duration(worked) * time.Millisecond
			add(n)
			return err
		}}
	})
}

// A tiny grade counts as 0 in the sum of squares: its square is an underflow, which is an error to PostgreSQL.
const tallies = `select $1 + (created_at - $1) / $2 * $2, host, category, agent, source, outcome,
case when fire is not null and source <> 'respawn' then 1 else 0 end, case when epoch > 0 then 1 else 0 end,
count(*), count(*) filter (where outcome = 'noop' or outcome = 'nothing' and task_state not in ('done', 'cancelled')), count(grade),
coalesce(sum(coalesce(final, grade)), 0.0), coalesce(sum(case when coalesce(final, grade) > 1e-150 then coalesce(final, grade) * coalesce(final, grade) end), 0.0),
cast(coalesce(sum(tokens), 0) as bigint), coalesce(sum(usd), 0.0), coalesce(sum(usd) filter (where cost in ('computed', 'assumed')), 0.0),
cast(coalesce(sum(case when ended_at > started_at then ended_at - started_at else 0 end), 0) as bigint)
from runs where id >= $3 and id < $4 group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8`

// FailedTasks counts the sessions of tasks with at least so many failures.
func (r Reader) FailedTasks(ctx context.Context, s store.Span, least int) ([]fleet.TaskTally, error) {
	return read(ctx, r, "counts of sessions by task", func(add func(fleet.TaskTally)) Statement {
		from, to := made(s)
		return Statement{SQL: failedTasks, Args: []any{from, to, least}, Scan: func(row Scanner) error {
			var n fleet.TaskTally
			err := row.Scan(&n.Task, &n.Category, &n.Reason, &n.Sessions, &n.Failed)
			add(n)
			return err
		}}
	})
}

// Category and reason are of the last failure. A failure without a grade tells nothing about the task, as in
// [fleet.TaskMemory.After].
const failedTasks = `select t.task, r.category, r.reason, t.sessions, t.failed from (
select task, max(case when outcome in ('failed', 'timeout', 'abandoned') then id else '' end) as latest, count(*) as sessions,
count(*) filter (where outcome in ('failed', 'timeout', 'abandoned')) as failed from runs
where id >= $1 and id < $2 and task <> '' and key <> '' and (outcome in ('productive', 'noop', 'nothing', 'abandoned')
or outcome in ('failed', 'timeout') and (grade is not null or fault in ('context', 'refusal'))) and fault <> 'agent'
group by task) as t join runs r on r.id = t.latest where t.failed >= $3 order by t.failed desc, t.task`
