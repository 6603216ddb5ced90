package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

const entries = `select id, category, agent, key, epoch, round, load, coalesce(started_at, created_at), ended_at is null,
coalesce((select grade from fates where run = id and belief = 1 order by seq desc limit 1), grade), grade, held,
coalesce(nth, 0), coalesce(counted, 0), counted_in, day, coalesce(tokens, reserved_tokens), coalesce(usd, reserved_usd) from runs `

// missing are the runs that another row speaks of and that are not there.
const missing = `select 'run ' || run || ' of fire ' || fire from choices where run <> '' and run not in (select id from runs)
union select 'run ' || followed_by || ', which followed run ' || id from runs where followed_by <> '' and followed_by not in (select id from runs)
union select 'run ' || run || ', which held lane ' || category || '.' || lane from lane_holds where run not in (select id from runs)
union select 'run ' || run || ', which was denied ' || key from denials where run not in (select id from runs)
union select 'fire ' || fire || ' of run ' || id from runs where fire is not null and fire not in (select id from fires)`

// Ledger reads all that the figures of the store can be worked out from, at one instant.
func (d *DB) Ledger(ctx context.Context) (l store.Ledger, err error) {
	l = store.Ledger{
		Arms: map[fleet.Category]bandit.Arm{}, Checkpoints: map[fleet.Category][]store.Checkpoint{},
		Alarms: map[fleet.Category]int{}, Claims: map[fleet.Key]fleet.Claim{},
	}
	err = d.view(ctx, func(t tx) error {
		for _, read := range []func(context.Context, *store.Ledger) error{t.ledgerOfArms, t.ledgerOfRuns, t.ledgerOfBudgets} {
			if err := read(ctx, &l); err != nil {
				return err
			}
		}
		return t.run(ctx, table.Claims().Select(func(c book.Claim) { l.Claims[c.Key] = c.Claim }, ""))
	})
	return l, wrap(err, "read ledger")
}

func (t tx) ledgerOfArms(ctx context.Context, l *store.Ledger) error {
	arms, err := t.arms(ctx)
	if err != nil {
		return err
	}
	for c, a := range arms {
		l.Arms[c] = a.Arm
	}
	_, err = collect(ctx, t, func(row scanner) (c fleet.Category, err error) {
		var (
			settings, arm []byte
			p             store.Checkpoint
		)
		if err = row.Scan(&c, &settings, &arm); err == nil {
			err = unmarshalBoth(settings, &p.Settings, arm, &p.Arm)
		}
		l.Checkpoints[c] = append(l.Checkpoints[c], p)
		return c, err
	}, "select category, settings, arm from checkpoints order by category, seq")
	if err != nil {
		return err
	}
	_, err = collect(ctx, t, func(row scanner) (c fleet.Category, err error) {
		n := 0
		err = row.Scan(&c, &n)
		l.Alarms[c] = n
		return c, err
	}, "select category, count(*) from grade_changes join runs on runs.id = run group by category")
	return err
}

func (t tx) ledgerOfRuns(ctx context.Context, l *store.Ledger) (err error) {
	if l.Runs, err = t.entries(ctx, "order by id"); err != nil {
		return err
	}
	l.Fires, err = collect(ctx, t, func(row scanner) (m store.Moves, err error) {
		var rounds, due []byte
		if err = row.Scan(&m.Fire, &rounds, &due); err == nil {
			err = unmarshalBoth(rounds, &m.Rounds, due, &m.Due)
		}
		return m, err
	}, "select id, rounds, due from fires order by id")
	if err != nil {
		return err
	}
	var last sql.NullInt64
	if err := t.QueryRowContext(ctx, "select max(fires) from fleet").Scan(&last); err != nil {
		return err
	}
	l.LastFire = fleet.FireID(last.Int64)
	l.Missing, err = collect(ctx, t, func(row scanner) (text string, err error) {
		err = row.Scan(&text)
		return text, err
	}, missing)
	return err
}

func (t tx) entries(ctx context.Context, tail string, args ...any) ([]store.Entry, error) {
	return collect(ctx, t, func(row scanner) (e store.Entry, err error) {
		err = row.Scan(&e.ID, &e.Category, &e.Agent, &e.Key, &e.Epoch, &e.Round, &e.Load, table.When(&e.Began), &e.Open, &e.Grade, &e.First, &e.Held,
			&e.Nth, &e.Counted, &e.In, &e.Day, &e.Tokens, &e.USD)
		return e, err
	}, entries+tail, args...)
}

func (t tx) ledgerOfBudgets(ctx context.Context, l *store.Ledger) (err error) {
	scan := func(row scanner) (s store.DaySpent, err error) {
		err = row.Scan(&s.Day, &s.Scope, &s.Runs, &s.Tokens, &s.USD)
		return s, err
	}
	if l.Spent, err = collect(ctx, t, scan, "select day, scope, runs, tokens, usd from spent"); err != nil {
		return err
	}
	l.Resets, err = collect(ctx, t, scan, `select date(at / 1000, 'unixepoch'), scope, runs - kept_runs, tokens - kept_tokens, usd - kept_usd
from resets`)
	return err
}

func unmarshalBoth(text []byte, v any, text2 []byte, v2 any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return err
	}
	return json.Unmarshal(text2, v2)
}
