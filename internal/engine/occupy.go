package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// lane takes the lock of a lane on this machine, and has the session begin there. It ends with the supervisor that
// has it; its agent, or what that started, may live on, and its run keeps the claim. Without a session it says why,
// and whether another lane may have one; then the run has nothing, on record or else.
//
// If we die before the write, the kernel frees the lock. If we die after it, the run is found dead and closed, by the
// next reaping or the next who takes the lock.
func (w *worker) lane(ctx context.Context, c config.Category, n int, work *work) (v fleet.Verdict, busy, ended bool, err error) {
	name := work.category
	lane, err := w.Lanes.Take(name, n, w.run.ID)
	if errors.Is(err, fleet.ErrBusy) {
		return v, true, false, nil
	} else if err != nil {
		return v, false, false, err
	}
	// The end of a session is on record, or written down, before its lock is free: recorded holds overlap only where real
	// ones do.
	defer func() { err = errors.Join(err, lane.Release()) }()
	var begun store.Begun
	for range 2 {
		if err = w.look(ctx, c, work); err != nil {
			return v, false, false, err
		}
		if work.none.Outcome != "" {
			i := slices.IndexFunc(work.held, func(c fleet.Claim) bool { return c.Key == fleet.LaneKey(name, n) })
			if i < 0 {
				return work.none, false, false, nil
			}
			if busy, err := w.inhabited(ctx, work.held[i]); busy != "" || err != nil {
				return fleet.Verdict{Reason: busy}, busy != "", false, err
			}
			work.again()
			continue
		}
		w.takenAt = w.Elapsed()
		begun, err = w.Store.Begin(ctx, store.Begin{
			Run: w.run.ID, PID: os.Getpid(), Category: name, Lane: n, TTL: c.TTL, Agents: work.agents, Known: work.known,
			Offers: plain.Each(work.offers, func(o offer) store.Offer { return o.Offer }),
		})
		if err != nil || begun.Lane.Key == "" {
			break
		}
		if busy, err := w.inhabited(ctx, begun.Lane); busy != "" || err != nil {
			return fleet.Verdict{Reason: busy}, busy != "", false, err
		}
		work.again() // that run may have left its task in another state
	}
	refused, is := errors.AsType[fleet.RefusedError](err)
	switch {
	case is:
		begun.Refused = refused
	case err != nil: // it may be on record all the same
		return v, false, false, err
	case begun.Lane.Key != "":
		return fleet.Verdict{}, true, false, nil
	}
	for _, d := range begun.Denied {
		v = fleet.Verdict{Outcome: fleet.RunDenied, Reason: d.Reason}
		w.Log.WarnContext(ctx, "claim denied", w.attrs(slog.String("reason", d.Reason))...)
	}
	w.shun = append(w.shun, work.denied(begun)...)
	switch {
	case begun.Refused.Reason != "":
		if begun.Refused.Scope != "" {
			w.notify(ctx, fleet.Notice{Event: fleet.EventBudget, Scope: begun.Refused.Scope, Category: name, Run: w.run.ID, Reason: begun.Refused.Reason, At: w.Now()})
		}
		return fleet.Verdict{Outcome: begun.Refused.Outcome, Reason: begun.Refused.Reason}, false, false, nil
	case begun.Claim.Key == "":
		return v, false, false, nil
	}
	o := work.offers[begun.Offer]
	w.run.Category, w.run.Lane = name, n
	w.run = claimFor(w.run, o.task)
	w.run.Agent, w.run.Epoch, w.run.Branch = begun.Agent, begun.Claim.Epoch, o.Branch
	w.task, w.taken, w.asks = o.task, begun.Claim, o.asks
	w.Log.InfoContext(ctx, "claimed", w.attrs(slog.Int64("claim_epoch", int64(w.run.Epoch)))...)
	return v, false, true, w.sessionIn(ctx, c, o)
}

// inhabited names the run that has a lane whose lock we have, if its session lives on. A run whose session is gone
// is closed: its hold is ended before ours begins.
func (w *worker) inhabited(ctx context.Context, c fleet.Claim) (busy string, err error) {
	id, _ := c.Holder.Run() // nobody else can name the key of a lane
	r, err := w.Store.Run(ctx, id)
	if err != nil {
		return "", err
	}
	if w.Liveness(ctx, r) != fleet.Gone {
		return fmt.Sprintf("run %s has lost its supervisor and still works in lane %s.%d", id, r.Category, r.Lane), nil
	}
	_, err = w.close(ctx, r, reasonFoundDead)
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

// withTail sends the last of a session's log along with each renewal.
type withTail struct {
	claim.Renewer
	tail func() string
	sent *string // of the tail, last
}

// Renew implements [claim.Renewer].
func (r withTail) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (store.Kept, error) {
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
