package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"stint/internal/fleet"
	"stint/internal/plan"
	"stint/internal/selector"
)

// Later starts workers when their time has come.
type Later interface {
	// StartAfter has the service manager start the worker after a delay, whatever
	// becomes of this process.
	StartAfter(ctx context.Context, spec fleet.UnitSpec, delay time.Duration) error
}

// respawn has one more session of the category follow a good one, once it has rested.
// How deep the chain is stands in the store: no crash makes it endless.
//
// If we die before the record, nothing follows. If we die after it and before the
// timer is started, the next run never begins, and is closed when its time is over.
func (w *worker) respawn(ctx context.Context, o RunOptions) error {
	c := w.Config.Categories[w.run.Category]
	if w.run.Verdict.Outcome != fleet.Productive || c.MaxChain == 0 {
		return nil
	}
	out, surplus, err := w.couldFollow(ctx)
	if err != nil {
		return err
	}
	follows, reason := plan.Respawn(plan.Chain{
		Outcome: w.run.Verdict.Outcome, Grade: w.run.Verdict.Grade, Depth: w.run.ChainDepth, Most: c.MaxChain, From: c.Respawn,
		Out: out, Surplus: surplus, Later: w.Later != nil && w.run.Unit != "",
	})
	if !follows {
		_, err := w.Store.Respawn(ctx, w.run.ID, nil, reason)
		return err
	}
	now := w.Now()
	next := w.newRun(w.run.Category, fleet.FromRespawn, now)
	next.Fire, next.Rank, next.ChainDepth = w.run.Fire, w.run.Rank, w.run.ChainDepth+1
	next.NotBefore = now.Add(c.Cooldown)
	spec := w.workerSpec(next, o.Binary)
	next.Unit = spec.Name
	decided, err := w.Store.Respawn(ctx, w.run.ID, &next, fmt.Sprintf("by run %s: %s", next.ID, reason))
	if err != nil || !decided {
		return err
	}
	w.Log.InfoContext(ctx, "respawn", w.attrs(slog.String("unit", next.Unit), slog.String("reason", reason))...)
	if err := w.Later.StartAfter(ctx, spec, c.Cooldown); err != nil {
		_, recordErr := w.Store.NotStarted(ctx, next.Fire, next.ID, err.Error())
		w.Log.ErrorContext(ctx, "worker not started", w.attrs(slog.Any("err", err))...)
		return recordErr
	}
	return nil
}

// couldFollow says why a session of the run's category could not follow it, but for the
// rest it takes first, and how far the category is over its cap.
func (w *worker) couldFollow(ctx context.Context) (out string, surplus float64, err error) {
	v, err := w.look(ctx)
	if err != nil {
		return "", 0, err
	}
	if w.Machine != nil {
		if closed := w.Config.Fanout.Limits.Refuse(w.Machine()); closed != "" {
			return closed, 0, nil
		}
	}
	v.full, v.pool = w.full(ctx), w.Config.Categories[w.run.Category].Pool
	s := w.situation(v)
	s.Only = w.run.Category // allowed for fires or not: it has run
	for i := range s.Facts {
		s.Facts[i].Rests = time.Time{}
	}
	candidates, _ := s.Assess()
	for _, c := range candidates {
		if c.Category == w.run.Category {
			_, surplus = c.Arm.Settled(w.Config.Selector.Settings)
			return c.Out, surplus, nil
		}
	}
	return selector.ReasonNotAllowed, 0, nil
}

// stopped says why a run that follows another may not begin after all: much can have
// happened while it waited.
func (w *worker) stopped(ctx context.Context) (string, error) {
	if w.run.Source != fleet.FromRespawn {
		return "", nil
	}
	s, err := w.Store.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	return paused(s.Pauses, w.run.Category, w.Now()), nil
}
