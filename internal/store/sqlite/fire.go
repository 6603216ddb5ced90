package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// RecordFire stores a fire, its choices and the runs it is about to start, all
// or nothing, and returns it as it is recorded.
func (d *DB) RecordFire(ctx context.Context, f store.Firing) (fire fleet.Fire, err error) {
	err = d.update(ctx, func(t tx) error {
		if f.Attempt != "" {
			list, err := t.fires(ctx, fireColumns, "where attempt = ?", f.Attempt)
			if err == nil && len(list) > 0 {
				err = t.addChoices(ctx, list)
				fire = list[0]
			}
			if err != nil || len(list) > 0 {
				return err
			}
		}
		var open []fleet.Run
		if len(f.Runs) > 0 {
			if open, err = t.runs(ctx, "where ended_at is null order by id"); err != nil {
				return err
			}
		}
		var starts []fleet.Run
		fire, starts = book.Arbitrate(f, open)
		fire.ID, err = t.recordFire(ctx, fire, starts, f.Attempt)
		return err
	})
	if err != nil {
		return fleet.Fire{}, fmt.Errorf("record fire: %w", err)
	}
	return fire, nil
}

func (t tx) recordFire(ctx context.Context, f fleet.Fire, runs []fleet.Run, attempt string) (fleet.FireID, error) {
	if f.Due == nil {
		f.Due = map[fleet.Category]float64{}
	}
	due, err := json.Marshal(f.Due)
	if err != nil {
		return 0, err
	}
	allowed, err := json.Marshal(append([]fleet.Category{}, f.Allowed...))
	if err != nil {
		return 0, err
	}
	res, err := t.ExecContext(ctx, "insert into fires (host, at, seed, pool, workers, due, inputs, selection, own, allowed, fallback, attempt) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''))",
		f.Host, millis(f.At), strconv.FormatUint(f.Seed, 10), f.Pool, f.Workers, string(due), string(f.Inputs), string(f.Selection), f.Own, string(allowed), f.Fallback, attempt)
	if err != nil {
		return 0, err
	}
	n, err := res.LastInsertId()
	if err != nil {
		return 0, err
	}
	id := fleet.FireID(n)
	for i, c := range f.Choices {
		_, err := t.ExecContext(ctx, `insert into choices (fire, place, category, decision, reason, refusal, hindrance, source, rank, score, odds, agent, unit, run)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, i+1, c.Category, c.Decision, c.Reason, c.Refusal, c.By, c.Source, c.Rank, c.Score, c.Odds, c.Agent, c.Unit, c.Run)
		if err != nil {
			return 0, err
		}
	}
	for _, r := range runs {
		r.Fire = id
		if err := t.insertRun(ctx, r); err != nil {
			return 0, err
		}
	}
	moved, err := t.move(ctx, f)
	if err != nil {
		return 0, err
	}
	rounds, err := json.Marshal(moved)
	if err != nil {
		return 0, err
	}
	_, err = t.ExecContext(ctx, "update fires set rounds = ? where id = ?", string(rounds), id)
	return id, err
}

// NotStarted records that a fire's unit did not start: its run ends as abandoned and
// the choice failed. It reports false, and writes nothing, when the run has begun.
func (d *DB) NotStarted(ctx context.Context, fire fleet.FireID, run fleet.RunID, reason string) (closed bool, err error) {
	err = d.update(ctx, func(t tx) error {
		n, err := t.exec(ctx, `update runs set ended_at = ?, outcome = ?, reason = ?
where id = ? and started_at is null and ended_at is null`,
			millis(t.now), fleet.Abandoned, reason, run)
		if err != nil || n == 0 {
			return err
		}
		closed = true
		_, err = t.ExecContext(ctx, "update choices set decision = ?, reason = ? where fire = ? and run = ?",
			fleet.StartFailed, reason, fire, run)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("record start of run %s: %w", run, err)
	}
	return closed, nil
}

// Snapshot reads what a ranking needs, at one instant.
func (d *DB) Snapshot(ctx context.Context) (s store.Snapshot, err error) {
	err = d.view(ctx, func(t tx) error {
		if err := t.QueryRowContext(ctx, "select coalesce(max(id), 0) + 1 from fires").Scan(&s.NextFire); err != nil {
			return err
		}
		if s.Arms, err = t.arms(ctx); err != nil {
			return err
		}
		if s.Lessons, err = t.lessons(ctx, ""); err != nil {
			return err
		}
		if s.Pauses, err = t.pauses(ctx); err != nil {
			return err
		}
		if s.Away, err = t.away(ctx); err != nil {
			return err
		}
		if s.Agents, err = t.agents(ctx); err != nil {
			return err
		}
		if s.Spent, err = t.spentToday(ctx); err != nil {
			return err
		}
		if s.Tasks, err = t.tasks(ctx); err != nil {
			return err
		}
		s.Standing, err = t.standing(ctx, store.Listing{})
		return err
	})
	return s, wrap(err, "read store")
}

// Fire reads one fire with its choices; one that does not exist wraps
// [fleet.ErrNotFound].
func (d *DB) Fire(ctx context.Context, id fleet.FireID) (f fleet.Fire, err error) {
	list, err := d.fires(ctx, fireColumns, "where id = ?", id)
	if err != nil {
		return fleet.Fire{}, err
	}
	if len(list) == 0 {
		return fleet.Fire{}, fmt.Errorf("fire %d: %w", id, fleet.ErrNotFound)
	}
	return list[0], nil
}

func (d *DB) fires(ctx context.Context, columns, tail string, args ...any) (list []fleet.Fire, err error) {
	err = d.view(ctx, func(t tx) error {
		if list, err = t.fires(ctx, columns, tail, args...); err != nil {
			return err
		}
		return t.addChoices(ctx, list)
	})
	return list, wrap(err, "read fires")
}

const (
	fireColumns = "id, host, at, seed, pool, workers, due, inputs, selection, own, allowed, fallback"
	briefFire   = "id, host, at, seed, pool, workers, due, x'', x'', own, allowed, fallback"
)

func (t tx) fires(ctx context.Context, columns, tail string, args ...any) ([]fleet.Fire, error) {
	return collect(ctx, t, scanFire, "select "+columns+" from fires "+tail, args...)
}

func scanFire(row scanner) (f fleet.Fire, err error) {
	var (
		seed         string
		due, allowed []byte
	)
	if err := row.Scan(&f.ID, &f.Host, table.When(&f.At), &seed, &f.Pool, &f.Workers, &due, &f.Inputs, &f.Selection, &f.Own, &allowed, &f.Fallback); err != nil {
		return fleet.Fire{}, err
	}
	if f.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return fleet.Fire{}, fmt.Errorf("seed of fire %d: %w", f.ID, err)
	}
	if string(due) != "{}" {
		if err := json.Unmarshal(due, &f.Due); err != nil {
			return fleet.Fire{}, fmt.Errorf("entitlement of fire %d: %w", f.ID, err)
		}
	}
	if string(allowed) != "[]" {
		if err := json.Unmarshal(allowed, &f.Allowed); err != nil {
			return fleet.Fire{}, fmt.Errorf("allow-list of fire %d: %w", f.ID, err)
		}
	}
	return f, nil
}

// addChoices reads the choices of fires. Those that are asked for together follow one
// another, so that one range has them.
func (t tx) addChoices(ctx context.Context, list []fleet.Fire) error {
	if len(list) == 0 {
		return nil
	}
	fires := map[fleet.FireID]*fleet.Fire{}
	for i := range list {
		fires[list[i].ID] = &list[i]
	}
	first, last := list[0].ID, list[len(list)-1].ID
	_, err := collect(ctx, t, func(row scanner) (id fleet.FireID, err error) {
		var c fleet.Choice
		err = row.Scan(&id, &c.Category, &c.Decision, &c.Reason, &c.Refusal, &c.By, &c.Source, &c.Rank, &c.Score, &c.Odds, &c.Agent, &c.Unit, &c.Run)
		if f := fires[id]; f != nil {
			f.Choices = append(f.Choices, c)
		}
		return id, err
	}, `select fire, category, decision, reason, refusal, hindrance, source, rank, score, odds, agent, unit, run from choices
where fire between ? and ? order by fire, place`, min(first, last), max(first, last))
	return err
}
