package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/survey"
)

// Why a run was closed by another than itself.
const (
	reasonNeverBegan = "its worker never began"
	reasonTimerGone  = "the timer that was to start it is gone"
	reasonFoundDead  = "crashed: its session recorded no result"
	reasonOverdue    = "stopped: its session outlived its supervisor and its time"
	reasonSilent     = "not heard of: it was at work on another host, and its claim has expired"
)

// ReasonDelivered is the reason for closing a run that had written down its end.
const ReasonDelivered = "its end was written down, and is on record now"

// Reaped is a run that was closed because its session was gone.
type Reaped struct {
	Run    fleet.Run
	Reason string
}

// Reap closes the runs whose sessions are gone, gives their claims and lanes back, reports to
// the sources of their tasks what they are owed, and ends sessions that are overdue. It moves no
// posterior. Any number may reap at once, and a reaping that dies half-way leaves the rest to the
// next: one write closes each run, once.
func (e *Engine) Reap(ctx context.Context, dryRun bool) ([]Reaped, error) {
	reaped, err := e.reap(ctx, dryRun)
	if !dryRun {
		err = errors.Join(err, e.syncAll(ctx))
	}
	return reaped, err
}

// reap is Reap on the record alone.
func (e *Engine) reap(ctx context.Context, dryRun bool) (reaped []Reaped, err error) {
	snapshot, err := e.Store.Snapshot(ctx)
	for _, r := range snapshot.Open {
		reason, lost := e.over(ctx, r, snapshot.ClaimsAt, dryRun)
		if reason != "" && !dryRun {
			reason, lost = e.close(ctx, r, reason)
		}
		err = errors.Join(err, lost)
		if lost != nil || reason == "" {
			continue
		}
		if reason != ReasonDelivered {
			e.Log.WarnContext(ctx, "run abandoned", slog.String("run_id", string(r.ID)), slog.String("category", string(r.Category)),
				slog.String("reason", reason))
		}
		reaped = append(reaped, Reaped{r, reason})
	}
	return reaped, err
}

// over says why a run is to be closed, or "". It ends a session that is overdue. If a session ends after
// this look, the next reaping closes its run.
func (e *Engine) over(ctx context.Context, r fleet.Run, s store.ClaimsAt, dryRun bool) (string, error) {
	now := s.At
	c, known := e.Config.Categories[r.Category]
	due := now.Sub(r.StartedAt) > e.workerTime(c)+survey.StartGrace // its supervisor's own time-out and closing included
	switch {
	case e.Here.OnOtherHost(r.Location) && r.Silent(s.Claims, now):
		return reasonSilent, nil
	case e.Here.OnOtherHost(r.Location), planned(r) && e.Live(ctx, r, now):
		return "", nil
	case planned(r) && r.Rests(now):
		return reasonTimerGone, nil
	case planned(r): // a worker that begins now, after all, finds its run closed, and ends
		return reasonNeverBegan, nil
	case e.Swept(r), e.Sessions.Liveness(ctx, r) == fleet.Gone:
		return reasonFoundDead, nil
	// A supervisor that lives keeps its time by a clock that does not jump. Only without
	// one does the wall clock decide, or if it is suspended: then it is asked to end itself.
	case !known, !due:
		return "", nil
	case !e.Sessions.Supervised(r):
	case !dryRun && e.Sessions.Suspended(r):
		return "", e.Stopper.Stop(ctx, r)
	default:
		return "", nil
	}
	if dryRun {
		return reasonOverdue, nil
	}
	if err := e.Stopper.End(ctx, r); err != nil {
		return "", fmt.Errorf("end run %s, which is overdue: %w", r.ID, err)
	}
	// A session that was ended, and cannot be asked any more, is over: else a run whose folder is
	// gone would be open, and its lane taken, for ever.
	if e.Sessions.Liveness(ctx, r) == fleet.Lives {
		return "", nil
	}
	return reasonOverdue, nil
}

// planned reports whether a run is open and has not begun.
func planned(r fleet.Run) bool { return r.StartedAt.IsZero() && r.EndedAt.IsZero() }

// close closes a run with what its session is known to have used, and says why, or "" if there was nothing to close. A run
// that had not begun when it was looked at may have begun since: it is left alone. A run that wrote its end down ends so.
//
// If we die before the write, the run is open and its reserve stands: the next reaping reads its files again.
func (e *Engine) close(ctx context.Context, r fleet.Run, reason string) (why string, err error) {
	var left bool
	if planned(r) {
		left, err = e.Store.NotStarted(ctx, r.Fire, r.ID, reason)
	} else {
		e.trim(ctx, r.ID)
		gone := store.Gone{Run: r.ID, Reason: reason, Silent: reason == reasonSilent, By: e.Here}
		if reason == reasonFoundDead && r.Key != "" {
			c, at, err := e.Store.Check(ctx, r.Key)
			if err != nil {
				return "", err
			}
			gone.Died = e.Died(r, store.ClaimsAt{At: at, Claims: []fleet.Claim{c}})
		}
		if delivered, err := e.deliver(ctx, r); err != nil || delivered {
			return ReasonDelivered, err
		}
		if r.EndedAt.IsZero() && r.Key != "" { // it had an agent, and the end of it is not recorded
			gone.Used, gone.Spoke = e.used(ctx, r, gone.Used)
		}
		gone.Tail = e.tail(r.ID)
		left, err = e.Store.Abandon(ctx, gone)
	}
	if err != nil || !left {
		return "", err
	}
	return reason, nil
}

// trim removes what need not stay of what a run's agent wrote.
func (e *Engine) trim(ctx context.Context, run fleet.RunID) {
	trimmed, err := e.Folders.Trim(run)
	switch {
	case err != nil:
		e.Log.WarnContext(ctx, "run's folder not trimmed", slog.String("run_id", string(run)), slog.Any("err", err))
	case trimmed:
		e.Log.InfoContext(ctx, "run's folder trimmed", slog.String("run_id", string(run)),
			slog.String("reason", fmt.Sprintf("what its agent wrote was more than %d MiB", config.KeepOut>>20)))
	}
}

// deliver records the end that a run wrote down and could not record, and reports whether
// it did. When the claim is another's by now, or had expired before the run ended, it is recorded as
// lost; an end under another claim is not the run's, which is closed as any other.
//
// If we die before the record, the next reaping delivers it. If we die after it, nothing is left to do.
func (e *Engine) deliver(ctx context.Context, r fleet.Run) (bool, error) {
	if !r.EndedAt.IsZero() || r.Key == "" {
		return false, nil
	}
	end, err := e.Ends.End(r.ID)
	if err == nil && (end.Key != r.Key || end.Epoch != r.Epoch) {
		err = fmt.Errorf("it is of epoch %d of %q: %w", end.Epoch, end.Key, fleet.ErrLost)
	}
	if err == nil {
		// The store knows the run; the file knows how it ended.
		r.Verdict, r.Usage, r.Commits, r.QuotaUntil, r.Conversation = end.Verdict, end.Usage, end.Commits, end.QuotaUntil, end.Conversation
		r.Left, r.Branch, r.EndedAt, r.Tail = end.Left, end.Branch, end.EndedAt, e.tail(r.ID)
		r, err = e.complete(ctx, r)
	}
	switch {
	case err == nil:
		e.Log.InfoContext(ctx, "end recorded late", slog.String("run_id", string(r.ID)), slog.String("outcome", string(r.Verdict.Outcome)))
		return true, nil
	case errors.Is(err, fleet.ErrNotFound):
		return false, nil
	case errors.Is(err, fleet.ErrLost):
		e.Log.WarnContext(ctx, "end not recorded: it is not the run's", slog.String("run_id", string(r.ID)), slog.Any("err", err))
		return false, nil
	}
	return false, err
}

// complete records the end of a run, as lost if its claim is another's.
func (e *Engine) complete(ctx context.Context, r fleet.Run) (fleet.Run, error) {
	err := e.Store.Complete(ctx, r)
	if errors.Is(err, fleet.ErrLost) {
		r = lost(r)
		err = e.Store.Complete(ctx, r)
	}
	return r, err
}

// tail returns the end of an agent's output, for other machines to read. A fleet of one machine has the
// log itself.
func (e *Engine) tail(run fleet.RunID) string {
	if !e.Config.Store.Shared() {
		return ""
	}
	return plain.Last(e.masked(plain.Text(e.Folders.Tail(run, fleet.MostTail+1))), fleet.MostTail)
}

// isOver says of runs whether they are over, and nothing that is at work goes on in their folders. Of what the record does not
// know it says no.
func (e *Engine) isOver(ctx context.Context) func(fleet.RunID) bool {
	return func(id fleet.RunID) bool {
		r, err := e.Store.Run(ctx, id)
		if err != nil || r.EndedAt.IsZero() || !e.Here.OnOtherHost(r.Location) && e.Liveness(ctx, r) != fleet.Gone {
			return false
		}
		said, err := e.Store.Feedback(ctx)
		_, asked := said[id]
		_, away := os.Lstat(filepath.Join(e.Config.State, "clones", string(id)))
		if err == nil && !asked && away != nil {
			return true
		}
		// Another run may go on there, or be about to: with what was said of the work, or with the conversation. At the task of one
		// that is not on record yet.
		s, err := e.Store.Snapshot(ctx)
		return err == nil && !slices.ContainsFunc(s.Open, func(o fleet.Run) bool {
			return o.Home() == id || o.Task != "" && o.Task == r.Task || planned(o) && !o.Rests(s.At.Add(time.Minute))
		})
	}
}

// Why a run was closed that a person stopped and that could not say so itself.
const (
	reasonStoppedEarly  = "stopped by a person before it began"
	reasonStoppedOrphan = "stopped by a person: its supervisor was gone"
)

const (
	// awaitEnd bounds a supervisor's end: it ends its agent, grades the work and records
	// the end, on a machine under load.
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
	s, err := e.Record().Snapshot(ctx)
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
// without a supervisor is killed, and its run closed. A run that has ended wraps
// [fleet.ErrNothing]. A session of another machine is asked to end, and may go on until its next
// heartbeat: the run is open yet.
//
// If we die half-way, the run ends by itself, or the next reaping closes it.
func (e *Engine) Stop(ctx context.Context, id fleet.RunID) (fleet.Run, error) {
	r, err := e.Record().Run(ctx, id)
	if err != nil {
		return r, fmt.Errorf("stop run: %w", err)
	}
	if !r.EndedAt.IsZero() {
		return r, fmt.Errorf("stop run %s: %w: it has ended as %s", id, fleet.ErrNothing, r.Verdict.Outcome)
	}
	if e.Here.OnOtherHost(r.Location) {
		err = e.askToStop(ctx, r)
	} else {
		err = e.stop(ctx, r)
	}
	if err != nil {
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
	var live fleet.Liveness
	for _, reaches := range []func() bool{
		func() bool { return e.Sessions.Supervised(r) },
		// Its agent may have put something else in its lock's place: its manager still has its unit.
		func() bool { live = e.Sessions.Liveness(ctx, r); return live == fleet.Unknown },
	} {
		if !reaches() {
			continue
		}
		if err := e.Stopper.Stop(ctx, r); err != nil {
			return err
		}
		if err := e.awaitSupervisor(ctx, r); err != nil {
			return err
		}
		if ended, err := e.Store.Run(ctx, r.ID); err != nil || !ended.EndedAt.IsZero() {
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
