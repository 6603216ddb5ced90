package table

import (
	"context"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// Ledger reads all that the figures of the store can be worked out from, at one instant.
func (r Reader) Ledger(ctx context.Context) (l store.Ledger, err error) {
	l = store.Ledger{
		Arms: map[fleet.Category]bandit.Arm{}, Checkpoints: map[fleet.Category][]store.Checkpoint{},
		Alarms: map[fleet.Category][]int{}, Claims: map[fleet.Key]fleet.Claim{},
	}
	err = r.Read(ctx, func(time.Time) []Statement {
		return []Statement{
			edge(&l.Edge),
			Arms().Select(func(a Arm) { l.Arms[a.Category] = a.Arm }, ""),
			Checkpoints().Select(func(p Checkpoint) { l.Checkpoints[p.Category] = append(l.Checkpoints[p.Category], p.Checkpoint) }, "order by category, seq"),
			alarms(l.Alarms),
			entries(func(e store.Entry) { l.Runs = append(l.Runs, e) }),
			moves(func(m store.Moves) { l.Fires = append(l.Fires, m) }),
			lastFire(&l.LastFire),
			{SQL: missing, Scan: func(row Scanner) error {
				var (
					text string
					run  fleet.RunID
				)
				err := row.Scan(&text, &run)
				if run == "" || !l.Edge.Gone(run) {
					l.Missing = append(l.Missing, text)
				}
				return err
			}},
			believed(&l.Fates),
			Spending().Select(func(s Spent) { l.Spent = append(l.Spent, store.DaySpent{Day: s.Day, Spent: s.Spent}) }, ""),
			Resets().Select(func(s Reset) { l.Resets = append(l.Resets, struck(s)) }, ""),
			Claims().Select(func(c Claim) { l.Claims[c.Key] = c.Claim }, ""),
		}
	})
	return l, wrap(err, "read ledger")
}

// struck is the figures that a reset took from its day's account for good.
func struck(r Reset) store.DaySpent {
	return store.DaySpent{Day: r.At.UTC().Format(time.DateOnly), Spent: fleet.Spent{
		Scope: r.Scope, Runs: r.Runs - r.KeptRuns, Tokens: r.Tokens - r.KeptTokens, USD: r.USD - r.KeptUSD,
	}}
}

func alarms(all map[fleet.Category][]int) Statement {
	return Statement{SQL: "select category, coalesce(counted, 0) from grade_changes join runs on runs.id = run order by category, counted", Scan: func(row Scanner) error {
		var (
			c fleet.Category
			n int
		)
		err := row.Scan(&c, &n)
		all[c] = append(all[c], n)
		return err
	}}
}

// believed counts what became of runs and moved what is believed.
func believed(n *int) Statement {
	return Statement{SQL: "select count(*) from fates where belief = 1", Scan: func(row Scanner) error { return row.Scan(n) }}
}

// edge reads where the record begins.
func edge(e *store.Edge) Statement {
	return Statement{
		SQL: `select kept_from, kept_fire, (select created_at from runs order by id limit 1), (select at from fires where id = kept_fire + 1) from fleet`,
		Scan: func(row Scanner) error {
			var from int64
			var run, fire time.Time
			err := row.Scan(&from, &e.Fire, When(&run), When(&fire))
			if from > 0 {
				e.From = time.UnixMilli(from).UTC()
			}
			if e.Oldest = run; run.IsZero() || !fire.IsZero() && fire.Before(run) {
				e.Oldest = fire
			}
			return err
		},
	}
}

// Edge reads where the record begins.
func (r Reader) Edge(ctx context.Context) (e store.Edge, err error) {
	err = r.Read(ctx, func(time.Time) []Statement { return []Statement{edge(&e)} })
	return e, wrap(err, "read where the record begins")
}

func moves(add func(store.Moves)) Statement {
	return Statement{SQL: "select id, rounds, due from fires order by id", Scan: func(row Scanner) error {
		var m store.Moves
		err := row.Scan(&m.Fire, JSON{&m.Rounds, "{}"}, JSON{&m.Due, "{}"})
		add(m)
		return err
	}}
}

func entries(add func(store.Entry)) Statement {
	return Statement{
		SQL: `select id, category, agent, key, epoch, round, load, coalesce(started_at, created_at), ended_at,
coalesce((select grade from fates where run = id and belief = 1 order by seq desc limit 1), grade), grade, held, nth, counted, counted_in,
day, coalesce(tokens, reserved_tokens), coalesce(usd, reserved_usd) from runs order by id`,
		Scan: func(row Scanner) error {
			var e store.Entry
			err := row.Scan(&e.ID, &e.Category, &e.Agent, &e.Key, &e.Epoch, &e.Round, &e.Load, When(&e.Began), When(&e.Ended),
				&e.Grade, &e.First, Flag{&e.Held}, Maybe[int]{&e.Nth}, Maybe[int]{&e.Counted}, &e.In, &e.Day, &e.Tokens, &e.USD)
			e.Open = e.Ended.IsZero()
			add(e)
			return err
		},
	}
}

// missing are the runs and fires that another row speaks of and that are not there, and which run.
const missing = `select 'run ' || run || ' of fire ' || fire, run from choices where run <> '' and run not in (select id from runs)
union select 'run ' || followed_by || ', which followed run ' || id, followed_by from runs where followed_by <> '' and followed_by not in (select id from runs)
union select 'run ' || run || ', which held lane ' || category || '.' || lane, run from lane_holds where run not in (select id from runs)
union select 'run ' || run || ', which was denied ' || key, run from denials where run not in (select id from runs)
union select 'fire ' || fire || ' of run ' || id, '' from runs where fire is not null and fire not in (select id from fires)
order by 1`
