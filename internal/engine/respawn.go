package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"stint/internal/fleet"
	"stint/internal/plan"
	"stint/internal/selector"
	"stint/internal/survey"
)

// Later starts workers when their time has come.
type Later interface {
	// StartAfter has the service manager start the worker after a delay, whatever
	// becomes of this process.
	StartAfter(ctx context.Context, spec fleet.UnitSpec, delay time.Duration) error
}

// respawn has one more session of the category follow a good one, once it has rested. It
// takes its slot from here on, unless a fire took it meanwhile. How deep the chain is stands in
// the store: no crash makes it endless.
//
// The timer comes before the record, so that of a run on record whose timer is gone it is
// known that it will never begin. If we die between the two, nothing follows: the worker
// that the timer starts finds no run of its id, and ends.
func (w *worker) respawn(ctx context.Context, o RunOptions) error {
	c := w.Config.Categories[w.run.Category]
	if w.run.Verdict.Outcome != fleet.Productive || c.MaxChain == 0 {
		return nil
	}
	chain := plan.Chain{
		Outcome: w.run.Verdict.Outcome, Grade: w.run.Verdict.Grade, Depth: w.run.ChainDepth, Most: c.MaxChain, From: c.Respawn,
		Later: w.Later != nil && w.run.Unit != "",
	}
	follows, reason := plan.Respawn(chain)
	var (
		v    survey.View
		next *fleet.Run
		err  error
	)
	if follows { // by what is known without a look
		full := w.Full(ctx) // before the look, as who counts may be slow
		if v, err = w.Look(ctx); err != nil {
			return err
		}
		v.Full, v.Pool = full, c.Pool
		arm := v.Snapshot.Arms[w.run.Category]
		_, chain.Surplus = arm.Settled(w.Config.Selector.Settings())
		chain.Out, _ = w.admit(v, false) // apart from the rest that it takes first
		follows, reason = plan.Respawn(chain)
	}
	if follows {
		if next, err = w.follower(ctx, c.Cooldown, o.Binary); err != nil {
			w.Log.ErrorContext(ctx, "worker not started", w.attrs(slog.Any("err", err))...)
			reason = err.Error()
		}
	}
	by, reason, err := w.Store.Respawn(ctx, w.run.ID, next, reason, w.bounds(v))
	switch {
	case next == nil:
	case by != next.ID:
		err = errors.Join(err, w.Stopper.Stop(ctx, *next))
	default:
		w.Log.InfoContext(ctx, "respawn", w.attrs(slog.String("unit", next.Unit), slog.String("reason", reason))...)
	}
	return err
}

// follower is the run that follows, with a timer that starts it when its category has rested.
func (w *worker) follower(ctx context.Context, rest time.Duration, binary string) (*fleet.Run, error) {
	now := w.Now()
	next := w.newRun(w.run.Category, fleet.FromRespawn, now)
	next.Fire, next.Rank, next.ChainDepth = w.run.Fire, w.run.Rank, w.run.ChainDepth+1
	next.NotBefore = now.Add(rest)
	spec := w.workerSpec(next, binary)
	next.Unit = spec.Name
	if err := w.Later.StartAfter(ctx, spec, rest); err != nil {
		return nil, err
	}
	return &next, nil
}

// refused is how a run ends at once that was to follow another and may not begin after all:
// much can have happened while it waited. A person's decision cancels it.
func (w *worker) refused(ctx context.Context) (v fleet.Verdict, err error) {
	if w.run.Source != fleet.FromRespawn {
		return v, nil
	}
	if most := w.Config.Categories[w.run.Category].MaxChain; w.run.ChainDepth > most {
		return fleet.Verdict{Outcome: fleet.Cancelled, Reason: plan.ChainEnds(most)}, nil
	}
	now, err := w.Look(ctx)
	if err != nil {
		return v, err
	}
	now.Without(w.run)
	now.Full = w.Full(ctx)
	reason, standing := w.admit(now, true)
	switch {
	case reason == "":
	case standing:
		v = fleet.Verdict{Outcome: fleet.Cancelled, Reason: reason}
	default:
		v = fleet.Verdict{Outcome: fleet.Busy, Reason: reason}
	}
	return v, nil
}

// rule says which category may have one more session, as it says to fires.
func (w *worker) rule(v survey.View, s selector.Situation) plan.Input {
	in := plan.Input{Input: w.Input(v, s, nil)}
	in.Workers = 1
	return in
}

// admit says why one more session of the run's category may not begin, or "", and whether a
// person has decided so. Whether an agent can work is asked by the claim of one that begins.
func (w *worker) admit(v survey.View, begins bool) (reason string, standing bool) {
	c := w.run.Category
	v.Pool = w.Config.Categories[c].Pool
	s := w.Situation(v)
	s.Begins = begins
	for i := range s.Facts {
		if s.Facts[i].Rests = (time.Time{}); begins {
			s.Facts[i].Gate = selector.Obstacle{}
		}
	}
	o := w.rule(v, s).Blocker(c, 0)
	return o.Reason, o.Kind == fleet.HinderedByPause || o.Kind.Elsewhere()
}
