package inspect

import (
	"context"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// Counters are what machines watch of a fleet. Those over all time come from sums that
// are kept, not from runs that are counted: reading them costs the same at any age of the
// record.
type Counters struct {
	Status Status
	Fires  fleet.FireID                  // that there were, of all time
	Arms   map[fleet.Category]bandit.Arm // of the configuration's categories
	Shares map[fleet.Category]float64    // what these are to get of all sessions, in [0,1]
	Day    []fleet.Tally                 // of the last 24 hours
}

// Counters reads them.
func (e *Explainer) Counters(ctx context.Context) (c Counters, err error) {
	c.Arms, c.Shares = map[fleet.Category]bandit.Arm{}, e.shares()
	if c.Status, err = e.Status(ctx, StatusOptions{Fires: 1, Runs: 1}); err != nil {
		return Counters{}, err
	}
	snapshot := store.Snapshot{NextFire: 1}
	if e.Store != nil {
		if snapshot, err = e.Store.Snapshot(ctx); err != nil {
			return Counters{}, err
		}
		if c.Day, err = e.Store.Tallies(ctx, c.Status.At.Add(-24*time.Hour), 0); err != nil {
			return Counters{}, err
		}
	}
	c.Fires = snapshot.NextFire - 1
	for name := range e.Config.Categories {
		c.Arms[name] = snapshot.Arms[name].Arm
	}
	return c, nil
}

// HeldClaims are the claims that stand in the way of others, by key.
func (e *Explainer) HeldClaims(ctx context.Context) ([]fleet.Claim, error) {
	if e.Store == nil {
		return nil, nil
	}
	list, err := e.Store.List(ctx, store.Listing{})
	if err != nil {
		return nil, err
	}
	return e.Desk().Held(ctx, list, e.Now()), nil
}
