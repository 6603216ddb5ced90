package engine

import (
	"context"
	"errors"
	"fmt"

	"stint/internal/fleet"
)

// Why a run was closed that a person stopped and that could not say so itself.
const (
	reasonStoppedEarly  = "stopped by a person before it began"
	reasonStoppedOrphan = "stopped by a person: its supervisor was gone"
)

// Stop ends a run because a person asks for it, and returns it as it is then. Its session
// is told to end, and records by itself that it was cancelled; without a unit that may
// come later. A run that has not begun never will. What no supervisor looks after any more
// is killed, and its run closed. One that has ended wraps [fleet.ErrNothing].
//
// If we die half-way, the run ends by itself, or the next reaping closes it.
func (e *Engine) Stop(ctx context.Context, id fleet.RunID) (fleet.Run, error) {
	if e.Store == nil {
		return fleet.Run{}, fmt.Errorf("stop run %s: %w", id, fleet.ErrNotFound)
	}
	r, err := e.Store.Run(ctx, id)
	if err != nil {
		return r, fmt.Errorf("stop run: %w", err)
	}
	if !r.EndedAt.IsZero() {
		return r, fmt.Errorf("stop run %s: %w: it has ended as %s", id, fleet.ErrNothing, r.Verdict.Outcome)
	}
	if err := e.stop(ctx, r); err != nil {
		return r, fmt.Errorf("stop run %s: %w", id, err)
	}
	return e.Store.Run(ctx, id)
}

func (e *Engine) stop(ctx context.Context, r fleet.Run) error {
	if r.StartedAt.IsZero() {
		if err := e.Sessions.Stop(ctx, r); err != nil {
			return err
		}
		_, err := e.Store.NotStarted(ctx, r.Fire, r.ID, reasonStoppedEarly)
		return err
	}
	if e.Sessions.Supervised(r) {
		return e.Sessions.Stop(ctx, r)
	}
	switch e.Sessions.Liveness(ctx, r) {
	case fleet.Unknown:
		return errors.New("whether it lives cannot be told")
	case fleet.Lives:
		if err := e.Sessions.End(ctx, r); err != nil {
			return err
		}
		if e.Sessions.Liveness(ctx, r) == fleet.Lives {
			return errors.New("its processes do not end")
		}
	case fleet.Gone:
	}
	_, err := e.abandon(ctx, r, reasonStoppedOrphan)
	return err
}
