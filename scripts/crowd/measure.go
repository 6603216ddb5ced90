package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

const (
	// crowded is how many claims a store holds when its looks are measured: the cost of each is
	// then well above the error of timing.
	crowded = 1000
	// samples is how often an operation is timed; the middle one counts.
	samples = 50
	// perFire is how many runs a fire of the measurement starts.
	perFire = 100
)

// gauge times what a store does.
type gauge struct {
	store store.Store
	now   func() time.Time
}

// Measure finds out what a store costs, by doing what hosts do. The store must be empty,
// and is not empty afterwards.
func Measure(ctx context.Context, s store.Store, now func() time.Time) (Costs, error) {
	g := gauge{s, now}
	var c Costs
	var err error
	if c.Snapshot, c.Sweep, err = g.looks(ctx); err != nil {
		return Costs{}, err
	}
	if c.Fire, err = g.middle(func() error { return g.fire(ctx, nil) }); err != nil {
		return Costs{}, err
	}
	var (
		runs          []fleet.Run
		fires, writes []time.Duration
	)
	for len(runs) < crowded {
		some := planned(len(runs), now())
		took, err := g.time(func() error { return g.fire(ctx, some) })
		if err != nil {
			return Costs{}, err
		}
		fires, runs = append(fires, took), append(runs, some...)
	}
	c.FireRun = max(0, middle(fires)-c.Fire) / perFire
	for i, r := range runs {
		took, err := g.time(func() error { return g.begin(ctx, r, i) })
		if err != nil {
			return Costs{}, err
		}
		writes = append(writes, took/beginnings)
	}
	if c.Read, err = g.middle(func() error { _, err := s.Run(ctx, runs[0].ID); return err }); err != nil {
		return Costs{}, err
	}
	snapshot, sweep, err := g.looks(ctx)
	if err != nil {
		return Costs{}, err
	}
	c.SnapshotClaim, c.SweepClaim = max(0, snapshot-c.Snapshot)/crowded, max(0, sweep-c.Sweep)/crowded
	for _, r := range runs[:samples] {
		took, err := g.time(func() error { return g.end(ctx, r) })
		if err != nil {
			return Costs{}, err
		}
		writes = append(writes, took/endings)
	}
	c.Write = middle(writes)
	return c, nil
}

// planned are the runs of a fire.
func planned(from int, now time.Time) []fleet.Run {
	runs := make([]fleet.Run, perFire)
	for i := range runs {
		runs[i] = fleet.Run{
			ID: fleet.NewRunID(now, uint32(from+i)), Category: categoryName(i), Rank: i + 1, Source: fleet.FromScores,
			Agent: "agent", CreatedAt: now,
		}
	}
	return runs
}

func (g gauge) fire(ctx context.Context, runs []fleet.Run) error {
	f := fleet.Fire{At: g.now(), Workers: perFire, Inputs: []byte("{}"), Selection: []byte("{}")}
	for i, r := range runs {
		f.Choices = append(f.Choices, fleet.Choice{
			Category: r.Category, Decision: fleet.Spawn, Source: r.Source, Rank: i + 1, Run: r.ID,
		})
	}
	_, err := g.store.RecordFire(ctx, store.Firing{Fire: f, Runs: runs})
	return err
}

// beginnings and endings are how many transactions begin and end make.
const (
	beginnings = 3
	endings    = 4
)

func (g gauge) begin(ctx context.Context, r fleet.Run, i int) error {
	if err := g.store.BeginRun(ctx, r.ID, 1); err != nil {
		return err
	}
	if _, _, err := g.store.LaneTaken(ctx, store.LaneTake{Run: r.ID, Category: r.Category, Lane: 1 + i/perFire, TTL: time.Hour}); err != nil {
		return err
	}
	task := fleet.TaskID(r.ID)
	grant, _, err := g.store.TakeForRun(ctx, store.RunTake{
		TakeRequest: store.TakeRequest{Key: task.Key(), Holder: r.ID.Holder(), Renews: true, TTL: time.Hour}, Run: r.ID, Task: task,
	})
	if err == nil && grant != fleet.Granted {
		return fmt.Errorf("claim %q: %s, though nobody else is there", task, grant)
	}
	return err
}

func (g gauge) end(ctx context.Context, r fleet.Run) error {
	key := fleet.TaskID(r.ID).Key()
	c, err := g.store.Renew(ctx, store.Hold{Key: key, Holder: r.ID.Holder()}, time.Hour)
	if err != nil {
		return err
	}
	grade := 0.5
	r.Key, r.Epoch, r.Verdict = key, c.Epoch, fleet.Verdict{Outcome: fleet.Productive, Grade: &grade}
	if err := g.store.Complete(ctx, r); err != nil {
		return err
	}
	if err := g.store.ReleaseHolder(ctx, r.ID.Holder(), fleet.EndingDone); err != nil {
		return err
	}
	return g.store.LaneReleased(ctx, r.ID)
}

// looks times a snapshot and what a sweep reads beside one.
func (g gauge) looks(ctx context.Context) (snapshot, sweep time.Duration, err error) {
	snapshot, err = g.middle(func() error { _, err := g.store.Snapshot(ctx); return err })
	if err != nil {
		return 0, 0, err
	}
	sweep, err = g.middle(func() error { _, err := g.store.LaneHolds(ctx, g.now()); return err })
	return snapshot, sweep, err
}

func (g gauge) time(do func() error) (time.Duration, error) {
	began := g.now()
	err := do()
	return g.now().Sub(began), err
}

func (g gauge) middle(do func() error) (time.Duration, error) {
	var times []time.Duration
	for range samples {
		took, err := g.time(do)
		if err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	return middle(times), nil
}

func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
