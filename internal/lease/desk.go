package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Sessions knows which sessions live on this machine.
type Sessions interface {
	// Liveness says whether any process of a run's session is left.
	Liveness(ctx context.Context, r fleet.Run) fleet.Liveness
}

// Runs finds the run that holds a claim.
type Runs interface {
	// Run wraps [fleet.ErrNotFound] when there is none of that id.
	Run(ctx context.Context, id fleet.RunID) (fleet.Run, error)
}

// Ends knows the ends of runs that are written down on this machine.
type Ends interface {
	// End wraps [fleet.ErrNotFound] when the run left none.
	End(id fleet.RunID) (fleet.Run, error)
}

// Desk is where claims are asked for: it looks whether the session that is in the way
// still lives, which the store cannot know.
type Desk struct {
	Runs     Runs
	Sessions Sessions
	Ends     Ends
	Log      *slog.Logger
}

// Take takes a claim by the given write to the store. Where a session is in the way
// it asks, between two writes, whether that session lives, and tells the store. The
// answer counts for that claim at that epoch alone, so that it cannot be used on a
// claim granted meanwhile.
func (d Desk) Take(
	ctx context.Context, t store.Take, take func(context.Context, store.Take) (fleet.Grant, fleet.Claim, error),
) (fleet.Grant, fleet.Claim, error) {
	for {
		grant, c, err := take(ctx, t)
		_, session := c.Holder.Run()
		if err != nil || grant != fleet.Denied || !session {
			return grant, c, err
		}
		known := store.Known{Holder: c.Holder, Epoch: c.Epoch, Session: d.Holder(ctx, c)}
		if known.Session == fleet.Lives || known == t.Known {
			return grant, c, nil
		}
		t.Known = known
	}
}

// Held are those of the claims that a take would be denied. A session is asked about once,
// however many of them it holds.
func (d Desk) Held(ctx context.Context, claims []fleet.Claim, now time.Time) []fleet.Claim {
	var held []fleet.Claim
	asked := map[fleet.Holder]fleet.Liveness{}
	for _, c := range claims {
		if c.ReleasedAt.IsZero() {
			if _, known := asked[c.Holder]; !known {
				asked[c.Holder] = d.Holder(ctx, c)
			}
		}
		if !c.Free(now, asked[c.Holder]) {
			held = append(held, c)
		}
	}
	return held
}

// Free reports whether a take would be granted.
func (d Desk) Free(ctx context.Context, c fleet.Claim, now time.Time) bool {
	return c.Free(now, d.Holder(ctx, c))
}

// Holder says whether the session that holds a claim lives. A claim that was given
// back, or is nobody's session, is not asked about.
func (d Desk) Holder(ctx context.Context, c fleet.Claim) fleet.Liveness {
	id, session := c.Holder.Run()
	if !session || !c.ReleasedAt.IsZero() {
		return fleet.Unknown
	}
	run, err := d.Runs.Run(ctx, id)
	if err != nil {
		if !errors.Is(err, fleet.ErrNotFound) {
			d.Log.WarnContext(ctx, "cannot tell whether a run lives", slog.String("run_id", string(id)),
				slog.Any("err", fmt.Errorf("read run: %w", err)))
		}
		return fleet.Unknown
	}
	live := d.Sessions.Liveness(ctx, run)
	if live != fleet.Gone || !run.EndedAt.IsZero() {
		return live
	}
	// Its result is not on record yet. A run that took its claim now would do its work again.
	if end, err := d.Ends.End(id); err == nil && end.Key == c.Key && end.Epoch == c.Epoch {
		return fleet.Unknown
	}
	return live
}
