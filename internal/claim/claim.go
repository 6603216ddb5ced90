// Package claim holds what keeps sessions apart: the claims on tasks, and the locks of one machine.
//
// A [Claims] gets claims and gives them back. The store decides who has one; it cannot know whether
// the session that is in the way still lives. So the desk asks, between two writes, and gives the
// store the answer. A [Keeper] renews a claim while work is done under it.
//
// [Locks] keep the sessions of a category apart, each in a lane, and show which runs live.
package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Sessions knows which sessions live on this machine.
type Sessions interface {
	// Liveness says whether any process of a run's session is left.
	Liveness(ctx context.Context, r fleet.Run) fleet.Liveness
}

// Ends knows the ends of runs that are written down on this machine.
type Ends interface {
	// End wraps [fleet.ErrNotFound] when the run left none.
	End(id fleet.RunID) (fleet.Run, error)
}

// Claims takes requests for claims.
type Claims struct {
	Store    store.Store
	Sessions Sessions
	Ends     Ends
	Log      *slog.Logger
}

// Take takes a claim for a holder that is no run.
func (d Claims) Take(ctx context.Context, t store.TakeRequest) (fleet.Grant, fleet.Claim, error) {
	grant, c, err := d.Store.Take(ctx, t)
	if grant == fleet.Denied && d.mayBeFree(ctx, c, &t.Known) {
		return d.Store.Take(ctx, t)
	}
	return grant, c, err
}

// mayBeFree asks whether the session lives that holds the claim in the way, and notes the answer
// for a second try. The answer counts for that claim at that epoch alone, so that it cannot be
// used on a claim granted meanwhile. It reports false when a second try is in vain.
func (d Claims) mayBeFree(ctx context.Context, c fleet.Claim, known *store.Known) bool {
	if _, session := c.Holder.Run(); !session {
		return false
	}
	*known = store.Known{Holder: c.Holder, Epoch: c.Epoch, Session: d.Holder(ctx, c)}
	return known.Session != fleet.Lives
}

// Known asks about the session that holds a claim, for one who is about to ask for it; nothing where none does.
func (d Claims) Known(ctx context.Context, c fleet.Claim) []store.Known {
	if _, session := c.Holder.Run(); !session || !c.ReleasedAt.IsZero() {
		return nil
	}
	return []store.Known{{Key: c.Key, Holder: c.Holder, Epoch: c.Epoch, Session: d.Holder(ctx, c)}}
}

// InUseError says that the claim is held by a session which lives, or may live.
type InUseError struct {
	Claim   fleet.Claim
	Session fleet.Liveness
}

func (e InUseError) Error() string {
	return fmt.Sprintf("release claim %q: %v", e.Claim.Key, fleet.ErrHeld)
}

// Unwrap is [fleet.ErrHeld].
func (e InUseError) Unwrap() error { return fleet.ErrHeld }

// Release gives a claim back by hand. The claim of a session that lives is only that session's
// own to give back, or two would work on one task: the error is an [InUseError]. Where nobody
// knows whether the session lives, the person decides who releases the claim as abandoned.
func (d Claims) Release(ctx context.Context, h store.Hold, by fleet.RunID, ending fleet.Ending, reason string) (fleet.Claim, error) {
	if run, session := h.Holder.Run(); session && run != by {
		c, at, err := d.Store.Check(ctx, h.Key)
		if err != nil {
			return c, err
		}
		if c.Holder == h.Holder && (h.Epoch == 0 || c.Epoch == h.Epoch) && c.ReleasedAt.IsZero() { // else the store refuses it
			h.Epoch = c.Epoch // what is found out here counts for this epoch alone
			lives := d.Holder(ctx, c)
			if lives == fleet.Lives || lives == fleet.Unknown && ending != fleet.EndingAbandoned {
				c.ReadAt = at
				return c, InUseError{c, lives}
			}
		}
	}
	return d.Store.Release(ctx, h, ending, reason)
}

// Held are those of the claims that a take would be denied. A session is asked about once,
// however many of them it holds, and the store at most once of all.
func (d Claims) Held(ctx context.Context, s store.ClaimsAt) []fleet.Claim {
	var held []fleet.Claim
	runs := d.holders(ctx, s)
	asked := map[fleet.RunID]fleet.Liveness{}
	for _, c := range s.Claims {
		id, session := c.Holder.Run()
		if _, known := asked[id]; session && !known && c.ReleasedAt.IsZero() {
			asked[id] = fleet.Unknown
			if run, recorded := runs[id]; recorded {
				asked[id] = d.lives(ctx, c, run)
			}
		}
		if !c.Free(s.At, asked[id]) {
			c.ReadAt = s.At
			held = append(held, c)
		}
	}
	return held
}

// holders are the runs that hold claims: nearly all are open, and the others are read together.
func (d Claims) holders(ctx context.Context, s store.ClaimsAt) map[fleet.RunID]fleet.Run {
	runs := make(map[fleet.RunID]fleet.Run, len(s.Open))
	for _, r := range s.Open {
		runs[r.ID] = r
	}
	ended := store.RunQuery{}
	for _, c := range s.Claims {
		id, session := c.Holder.Run()
		if _, open := runs[id]; session && !open && c.ReleasedAt.IsZero() {
			ended.IDs = append(ended.IDs, id)
		}
	}
	if ended.Limit = len(ended.IDs); ended.Limit == 0 {
		return runs
	}
	list, err := d.Store.LastRuns(ctx, ended)
	if err != nil {
		d.Log.WarnContext(ctx, "cannot determine whether the holders of claims live", slog.Any("err", err))
	}
	for _, r := range list {
		runs[r.ID] = r
	}
	return runs
}

// Holder says whether the session that holds a claim lives. A claim that was given
// back, or is nobody's session, is not asked about.
func (d Claims) Holder(ctx context.Context, c fleet.Claim) fleet.Liveness {
	id, session := c.Holder.Run()
	if !session || !c.ReleasedAt.IsZero() {
		return fleet.Unknown
	}
	run, err := d.Store.Run(ctx, id)
	if err != nil {
		if !errors.Is(err, fleet.ErrNotFound) {
			d.Log.WarnContext(ctx, "cannot determine whether a run lives", slog.String("run_id", string(id)),
				slog.Any("err", fmt.Errorf("read run: %w", err)))
		}
		return fleet.Unknown
	}
	return d.lives(ctx, c, run)
}

// lives says whether the session of a run lives, for the sake of its claim.
func (d Claims) lives(ctx context.Context, c fleet.Claim, run fleet.Run) fleet.Liveness {
	live := d.Sessions.Liveness(ctx, run)
	if live != fleet.Gone || !run.EndedAt.IsZero() {
		return live
	}
	// Its result is not on record yet. A run that took its claim now would do its work again.
	if end, err := d.Ends.End(run.ID); err == nil && end.Key == c.Key && end.Epoch == c.Epoch {
		return fleet.Unknown
	}
	return live
}
