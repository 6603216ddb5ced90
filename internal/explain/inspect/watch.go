package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
)

// Counters has the figures of a fleet that machines watch. Those over all time come from sums that
// are kept, not from runs that are counted: reading them costs the same at any age of the
// record.
type Counters struct {
	Status Status
	Fires  fleet.FireID                // that there were, of all time
	Arms   map[fleet.Category]rank.Arm // of the configuration's categories
	Shares map[fleet.Category]float64  // what these are to get of all sessions, in [0,1]
	Day    []fleet.Tally               // of the last 24 hours
}

// Counters reads them.
func (e *Explainer) Counters(ctx context.Context) (c Counters, err error) {
	c.Arms, c.Shares = map[fleet.Category]rank.Arm{}, e.shares()
	if c.Status, err = e.Status(ctx, StatusOptions{Fires: 1, Runs: 1}); err != nil {
		return Counters{}, err
	}
	snapshot := store.Snapshot{NextFire: 1}
	if e.Store != nil {
		if snapshot, err = e.Store.Snapshot(ctx); err != nil {
			return Counters{}, err
		}
		if c.Day, err = e.Store.Tallies(ctx, store.Span{From: c.Status.At.Add(-24 * time.Hour)}, 0); err != nil {
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
	s, err := e.Record().List(ctx, store.Listing{})
	if err != nil {
		return nil, err
	}
	return e.Desk().Held(ctx, s), nil
}

// stir is the interval after which a running session counts as changed: its tokens and its duration
// are in no store.
const refreshEvery = 20 * time.Second

// Version names the state of all that a page can show, and changes with it. It is cheap at any
// age of the record: it reads all that is open or learnt, and the last of the rest.
func (e *Explainer) Version(ctx context.Context) string {
	if e.Store == nil {
		return "nothing"
	}
	var state struct {
		store.Snapshot
		Fires, Runs any
		Lapsed      int
		Stir        int64
	}
	var err [3]error
	state.Snapshot, err[0] = e.Store.Snapshot(ctx)
	state.Fires, err[1] = e.Store.LastFires(ctx, store.FireQuery{Brief: true, Limit: 1})
	state.Runs, err[2] = e.Store.LastRuns(ctx, store.RunQuery{Limit: 1})
	state.Lapsed = lapsed(state.Snapshot)
	if len(state.Open) > 0 {
		state.Stir = state.At.Unix() / int64(refreshEvery.Seconds())
	}
	state.At = time.Time{} // each look has one of its own
	text, jsonErr := json.Marshal(state)
	if errors.Join(append(err[:], jsonErr)...) != nil {
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// lapsed counts what ended by the clock alone: nothing of it changes in the store.
func lapsed(s store.Snapshot) (n int) {
	over := func(at time.Time) {
		if !at.IsZero() && !at.After(s.At) {
			n++
		}
	}
	for _, c := range s.Claims {
		over(c.ExpiresAt)
	}
	for _, p := range s.Pauses {
		over(p.Until)
	}
	for _, a := range s.Agents {
		over(a.Until)
	}
	over(s.Away.Until)
	return n
}
