package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stint/internal/fleet"
)

// end records how the run ended and what it leaves of its task, which gives back whatever the run
// holds, and reports to the task's source.
//
// If we die before the end is written down, the run is open and nothing is graded: the next
// reaping closes it. If we die after that, before the record, the next reaping records what is
// written down. If we die after it, all is done but the report to the source, which the next
// reaping makes. Nothing is graded twice.
func (w *worker) end(ctx context.Context, v fleet.Verdict) error {
	ctx, cancel := closing(ctx)
	defer cancel()
	w.over = true
	w.trials() // they use the run's folder, that is trimmed
	v.Reason = w.masked(v.Reason)
	w.run.Verdict, w.run.Tail = v, w.tail(w.run.ID)
	w.run.Left = w.leaves(ctx)
	if err := w.record(ctx); err != nil {
		return err
	}
	if w.run.Key != "" {
		w.kept.Stop()
		w.answered(ctx)
		w.settleTask(ctx)
		ctx, cancel = closing(ctx) // that may have taken its time
		defer cancel()
	}
	if !w.Config.Categories[w.run.Category].OwnClone && len(w.run.Commits) > 0 {
		w.pushTarget(ctx)
	}
	ctx, cancel = closing(ctx) // that may have taken its time
	defer cancel()
	w.notifyEnd(ctx)
	v = w.run.Verdict
	w.Log.InfoContext(ctx, "run ended", w.attrs(slog.String("outcome", string(v.Outcome)), slog.String("reason", v.Reason))...)
	if v.Outcome.Succeeded() {
		return nil
	}
	return fleet.OutcomeError{Run: w.run.ID, Outcome: v.Outcome, Reason: v.Reason}
}

// leavePlace gives up the folder the run worked in, and finds out whether it left anything there to review.
//
// If we die in here, the next fire tidies up, and gives back the place in review.
func (w *worker) leavePlace(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime/2)
	defer cancel()
	kept, err := "", error(nil)
	if w.leaveFolder != nil {
		kept, err = w.leaveFolder(ctx)
	}
	switch {
	case err != nil:
		w.Log.WarnContext(ctx, "clone not closed", w.attrs(slog.Any("err", err))...)
	case kept != "":
		w.Log.InfoContext(ctx, "work kept", w.attrs(slog.String("reason", kept))...)
	default:
		w.run.NoWork = w.run.Key != "" && w.Config.Room(w.run.Category).Takes
	}
	w.trim(ctx, w.run.ID)
}

// record stores the end, once the run's folder is left. A run whose claim was lost meanwhile ends as lost,
// and its agent's work is not graded: the task is another's by now.
//
// While the store is away, the lane is kept as long as the lease lasts. If the store is away for
// longer, or if we die, a later fire records what is written down: the run ended within its lease.
func (w *worker) record(ctx context.Context) error {
	if w.run.Key != "" {
		w.run.EndedAt = w.kept.Now()
	}
	if w.landed != "" { // it is work that was made in the target: that it is there says nothing of it
		w.run.Branch = ""
	}
	if w.run.Key == "" || w.run.Verdict.Outcome == fleet.Lost {
		w.leavePlace(ctx)
		return w.Store.Complete(ctx, w.run)
	}
	lease, cancel := w.leased(ctx)
	defer cancel()
	down := w.writeDown(ctx)
	w.leavePlace(ctx)
	err := w.insist(lease, func() error {
		down = down || w.writeDown(ctx) // a full disk has room for it sooner than for the store
		return w.Store.Complete(lease, w.run)
	})
	if !errors.Is(err, fleet.ErrLost) {
		return err
	}
	ctx, cancel = closing(ctx) // that may have taken its time
	defer cancel()
	if err := w.Store.Complete(ctx, w.run); !errors.Is(err, fleet.ErrLost) { // the lease was over, and the claim is nobody else's
		return err
	}
	w.run = lost(w.run)
	return w.Store.Complete(ctx, w.run)
}

// writeDown writes down how the run ended, and reports whether that worked.
func (w *worker) writeDown(ctx context.Context) bool {
	err := w.Folders.PutEnd(w.run)
	if err != nil {
		w.Log.WarnContext(ctx, "end not written down", w.attrs(slog.Any("err", err))...)
	}
	return err == nil
}

// lost is a session whose claim was not its own any more when it ended: it leaves nothing of its task.
func lost(r fleet.Run) fleet.Run {
	r.Left, r.Verdict = fleet.TaskLeft{}, fleet.Verdict{
		Outcome: fleet.Lost, ExitStatus: r.Verdict.ExitStatus,
		Reason: fmt.Sprintf("the claim on %q at epoch %d expired or was taken while working", r.Key, r.Epoch),
	}
	return r
}

// leased is a context for recording the end. It lasts as long as the lease, and no longer than one
// where renewals go through all the time. A worker that was asked to stop has closingTime, for its
// manager will not wait.
func leased(ctx, kept context.Context, ttl time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), ttl)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(kept, func() {
		cause := context.Cause(kept)
		if !errors.Is(cause, fleet.ErrLost) {
			select {
			case <-ctx.Done():
			case <-time.After(closingTime):
			}
		}
		cancel(cause)
	})
	return ctx, func() { stop(); cancel(nil); end() }
}

// mostPause is the longest between two tries to record an end.
const mostPause = 30 * time.Second

// insist tries a write until it goes through, is refused for good, or ctx ends: a disk
// that is full for minutes, or a store that somebody locked, must not cost a session its
// result. All of what it is used for changes nothing the second time.
func (w *worker) insist(ctx context.Context, write func() error) error {
	var last error
	for pause := time.Second; ; pause = min(2*pause, mostPause) {
		err := write()
		if err == nil || errors.Is(err, fleet.ErrLost) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err // not the echo of the time being up
		}
		w.Log.WarnContext(ctx, "end not recorded", w.attrs(slog.Any("err", err))...)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if lost := context.Cause(ctx); errors.Is(lost, fleet.ErrLost) {
				return lost // which the write, cut short, could not say
			}
			return last
		}
	}
}
