package inspect

import (
	"context"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/replay"
	"stint/internal/survey"
)

// Replay ranks a recorded fire again and compares it with the record. It changes
// nothing, and the configuration of today has no say in it. A fire that does not exist
// wraps [fleet.ErrNotFound].
func (e *Explainer) Replay(ctx context.Context, id fleet.FireID) (replay.Result, error) {
	if e.Store == nil {
		return replay.Result{}, fmt.Errorf("fire %d: %w", id, fleet.ErrNotFound)
	}
	f, err := e.Store.Fire(ctx, id)
	if err != nil {
		return replay.Result{}, err
	}
	return replay.Fire(f, survey.Redraws)
}

// ReplaySince ranks the fires since a time again under other settings. It changes
// nothing.
func (e *Explainer) ReplaySince(ctx context.Context, since time.Time, c replay.Changes) (replay.Window, error) {
	for _, name := range c.Categories {
		if _, ok := e.Config.Categories[name]; !ok {
			return replay.Window{}, e.UnknownCategory(name)
		}
	}
	var (
		r   replay.Record
		err error
	)
	if e.Store != nil {
		if r.Fires, err = e.Store.FiresSince(ctx, since); err != nil {
			return replay.Window{}, err
		}
		if r.Runs, err = e.Store.RunsSince(ctx, since); err != nil {
			return replay.Window{}, err
		}
	}
	return replay.NewWindow(r, c, survey.Redraws), nil
}
