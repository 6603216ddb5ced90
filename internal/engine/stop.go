package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"stint/internal/fleet"
	"stint/internal/survey"
)

// Why a run was closed that a person stopped and that could not say so itself.
const (
	reasonStoppedEarly  = "stopped by a person before it began"
	reasonStoppedOrphan = "stopped by a person: its supervisor was gone"
)

const (
	// awaitEnd is how long a supervisor may take to end its agent, to grade what there is
	// and to record the end, on a machine under load.
	awaitEnd = agentGrace + closingTime + survey.StartGrace
	endPoll  = 50 * time.Millisecond
)

// Stopped is a run that was to end because a person asks for it.
type Stopped struct {
	Was fleet.Run // before
	Run fleet.Run // as it is now
	Err error     // why it has not ended; nil: it has, or was asked to
}

// Asked reports whether the run's session is on another machine, and was asked to end.
func (s Stopped) Asked() bool { return s.Err == nil && s.Run.EndedAt.IsZero() && s.Run.Stop != "" }

// Open reads the runs that have not ended, oldest first: those at work, those about to begin,
// and those that rest before they do. The name is a category's or a run's; empty: all.
func (e *Engine) Open(ctx context.Context, name string) ([]fleet.Run, error) {
	if e.Store == nil {
		return nil, nil
	}
	s, err := e.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.Open, func(r fleet.Run) bool {
		return name != "" && string(r.Category) != name && string(r.ID) != name
	}), nil
}

// StopAll ends the runs of a name, as [Engine.Open] reads them. It looks again until nothing
// is open that it has not tried: a session that ends well meanwhile may be followed by
// another.
func (e *Engine) StopAll(ctx context.Context, name string) (list []Stopped, err error) {
	tried := map[fleet.RunID]bool{}
	for {
		open, err := e.Open(ctx, name)
		if err != nil {
			return list, err
		}
		open = slices.DeleteFunc(open, func(r fleet.Run) bool { return tried[r.ID] })
		if len(open) == 0 {
			return list, nil
		}
		ended := make([]Stopped, len(open))
		var all sync.WaitGroup
		for i, r := range open {
			tried[r.ID] = true
			all.Go(func() {
				ended[i].Was = r
				ended[i].Run, ended[i].Err = e.Stop(ctx, r.ID)
				if errors.Is(ended[i].Err, fleet.ErrNothing) {
					ended[i].Err = nil // it ended by itself since
				}
			})
		}
		all.Wait()
		list = append(list, ended...)
	}
}

// Stop ends a run because a person asks for it, waits for that, and returns the run as it
// is then. Its supervisor is asked to end the session, records by itself that it was
// cancelled, and gives claim and lane back. A run that has not begun never will. A session
// without a supervisor is killed, and its run closed. One that has ended wraps
// [fleet.ErrNothing]. A session of another machine is asked to end, and may go on until its next
// heartbeat: the run is open yet.
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
	if e.Here.Elsewhere(r.Seat) {
		if err := e.askToStop(ctx, r); err != nil {
			return r, fmt.Errorf("stop run %s: %w", id, err)
		}
		return e.Store.Run(ctx, id)
	}
	if err := e.stop(ctx, r); err != nil {
		return r, fmt.Errorf("stop run %s: %w", id, err)
	}
	return e.Store.Run(ctx, id)
}

// askToStop keeps a run of another machine from beginning, or has its session hear that a person wants
// it to end.
func (e *Engine) askToStop(ctx context.Context, r fleet.Run) error {
	if r.StartedAt.IsZero() {
		// Its worker finds it closed, and ends.
		if closed, err := e.Store.NotStarted(ctx, r.Fire, r.ID, reasonStoppedEarly); closed || err != nil {
			return err
		}
	}
	from := "from another host"
	if e.Host != nil {
		from = "from " + e.Host().Name
	}
	_, err := e.Store.AskToStop(ctx, r.ID, from)
	return err
}

func (e *Engine) stop(ctx context.Context, r fleet.Run) error {
	if r.StartedAt.IsZero() {
		if err := e.Stopper.Stop(ctx, r); err != nil {
			return err
		}
		kept, err := e.Store.NotStarted(ctx, r.Fire, r.ID, reasonStoppedEarly)
		if kept || err != nil {
			return err
		}
		// It began, or was closed, between the two.
		if r, err = e.Store.Run(ctx, r.ID); err != nil || !r.EndedAt.IsZero() {
			return err
		}
	}
	if e.Sessions.Supervised(r) {
		if err := e.Stopper.Stop(ctx, r); err != nil {
			return err
		}
		if err := e.awaitSupervisor(ctx, r); err != nil {
			return err
		}
		ended, err := e.Store.Run(ctx, r.ID)
		if err != nil || !ended.EndedAt.IsZero() {
			return err
		}
	}
	live := e.Sessions.Liveness(ctx, r)
	if live == fleet.Unknown { // its agent may have put something else in its lock's place: its manager still has its unit
		if err := e.Stopper.Stop(ctx, r); err != nil {
			return err
		}
		ended, err := e.Store.Run(ctx, r.ID)
		if err != nil || !ended.EndedAt.IsZero() {
			return err
		}
	}
	if live != fleet.Gone {
		if err := e.Stopper.End(ctx, r); err != nil {
			return err
		}
		if e.Sessions.Liveness(ctx, r) == fleet.Lives {
			return errors.New("its processes do not end")
		}
	}
	_, err := e.close(ctx, r, reasonStoppedOrphan)
	return err
}

// awaitSupervisor waits until the process that began a run is gone: by then it has recorded
// the end, and given back what the run held.
func (e *Engine) awaitSupervisor(ctx context.Context, r fleet.Run) error {
	slow := fmt.Errorf("its supervisor, process %d, got SIGTERM and has not ended within %s", r.PID, awaitEnd)
	ctx, cancel := context.WithTimeoutCause(ctx, awaitEnd, fleet.WithHint(slow, fmt.Sprintf("kill -KILL %d, and then the same command again", r.PID)))
	defer cancel()
	tick := time.NewTicker(endPoll)
	defer tick.Stop()
	for e.Sessions.Supervised(r) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
