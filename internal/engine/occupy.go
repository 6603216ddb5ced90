package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// lane takes a lane of the category, or says why there is none: its lock on this machine, and
// then its claim. The lock ends with the supervisor that had it; its agent, or what that started,
// may live on, and its run keeps the claim.
//
// If we die between the two, the kernel frees the lock. If we die after the claim, the next who
// takes the lock closes our run.
func (w *worker) lane(ctx context.Context, name fleet.Category, c config.Category) (lane fleet.Lane, busy string, err error) {
	tried := false
	for n := 1; n <= c.Lanes; n++ {
		lane, err := w.Lanes.Take(name, n, w.run.ID)
		if errors.Is(err, fleet.ErrBusy) {
			continue
		}
		if err != nil {
			return fleet.Lane{}, "", err
		}
		if !tried { // beside the claim, which waits for the disk; a run that gets no lock pays for none
			w.trials, tried = w.startTrials(ctx, name), true
		}
		before, err := w.claimLane(ctx, store.LaneTake{Run: w.run.ID, Category: name, Lane: n, TTL: c.TTL})
		if err == nil && before == "" {
			return lane, "", nil
		}
		if refused, ok := errors.AsType[fleet.RefusedError](err); ok { // the next lane may be that of a run that crashed
			if err := lane.Release(); err != nil {
				return fleet.Lane{}, "", err
			}
			busy = refused.Reason
			continue
		}
		if err != nil { // it may be on record all the same
			return fleet.Lane{}, "", errors.Join(err, w.leave(ctx, lane))
		}
		if err := lane.Release(); err != nil {
			return fleet.Lane{}, "", err
		}
		busy = fmt.Sprintf("run %s has lost its supervisor and still works in lane %s.%d", before, name, n)
	}
	if busy == "" {
		busy, err = w.occupants(ctx, name, c.Lanes)
	}
	return fleet.Lane{}, busy, err
}

// claimLane takes the claim of a lane whose lock we have, or returns the run that has it and whose
// session lives on. A run whose session is gone is closed on the way: its hold is ended before
// ours begins.
func (w *worker) claimLane(ctx context.Context, take store.LaneTake) (inhabitant fleet.RunID, err error) {
	grant, c, err := w.Store.LaneTaken(ctx, take)
	if err != nil {
		return "", err
	}
	if grant != fleet.Denied {
		w.laneEpoch = c.Epoch
		return "", nil
	}
	id, _ := c.Holder.Run() // nobody else can name the key of a lane
	r, err := w.Store.Run(ctx, id)
	if err != nil {
		return "", err
	}
	if w.Liveness(ctx, r) != fleet.Gone {
		return id, nil
	}
	if _, err := w.close(ctx, r, reasonFoundDead); err != nil {
		return "", err
	}
	if grant, c, err = w.Store.LaneTaken(ctx, take); grant == fleet.Denied {
		return id, nil
	}
	w.laneEpoch = c.Epoch
	return "", err
}

// occupants says which runs have the lanes of a category.
func (w *worker) occupants(ctx context.Context, name fleet.Category, lanes int) (string, error) {
	busy := fmt.Sprintf("every lane of %s is taken", name)
	var who []string
	for n := 1; n <= lanes; n++ {
		c, _, err := w.Store.Check(ctx, fleet.LaneKey(name, n))
		if err != nil {
			return "", err
		}
		if id, session := c.Holder.Run(); session && c.ReleasedAt.IsZero() {
			who = append(who, fmt.Sprintf("%s.%d by run %s", name, n, id))
		}
	}
	if len(who) > 0 {
		busy += ": " + strings.Join(who, ", ")
	}
	return busy, nil
}

// leave gives the lane back: first on record, then for real.
//
// If we die in between, the kernel frees the lock, and the record ends the hold
// no later than it really ended. So it is with a run whose end is not on record: the next taker
// of the lane records that first.
func (w *worker) leave(ctx context.Context, lane fleet.Lane) error {
	if w.unrecorded {
		return lane.Release()
	}
	ctx, cancel := closing(ctx)
	defer cancel()
	return errors.Join(w.Store.LaneReleased(ctx, w.run.ID), lane.Release())
}

// withLane renews the claim of a session's lane with the session's own, and sends the last of its log along.
//
// If we die between the two, the lane's claim lasts longer than the task's; the next fire, which closes
// the run, ends both.
type withLane struct {
	claim.Renewer
	lane store.Hold
	tail func() string
	sent *string // of the tail, last
}

// Renew implements [claim.Renewer].
func (r withLane) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (store.Kept, error) {
	if r.lane.Key != h.Key {
		if _, err := r.Renewer.Renew(ctx, r.lane, ttl); err != nil {
			return store.Kept{}, err
		}
	}
	tail := r.tail()
	if tail != *r.sent {
		h.Tail = tail
	}
	kept, err := r.Renewer.Renew(ctx, h, ttl)
	if err == nil {
		*r.sent = tail
	}
	return kept, err
}

// tail is what other machines may read of what the agent of a run printed. A fleet of one machine has the
// log itself.
func (e *Engine) tail(run fleet.RunID) string {
	if !e.Config.Store.Shared() {
		return ""
	}
	return plain.Last(e.masked(plain.Text(e.Folders.Tail(run, fleet.MostTail+1))), fleet.MostTail)
}

// masked is what an agent said, for the record. Whoever reads it there may not know what is secret:
// another host, a notice, a forge, the next session at the task.
func (e *Engine) masked(text string) string {
	return config.Masker(e.Config.Secrets(e.Getenv)).Replace(text)
}
