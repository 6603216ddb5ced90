package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// Snapshot reads what a ranking needs, at one instant.
func (d *DB) Snapshot(ctx context.Context) (s store.Snapshot, err error) {
	err = d.view(ctx, func(t tx) error {
		if err := t.QueryRowContext(ctx, "select fires + 1 from fleet").Scan(&s.NextFire); err != nil {
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
