package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/survey"
)

// tellTime is what a fire may take for notices of lanes: it has a quarter of an hour for all it does.
const tellTime = 30 * time.Second

// day is how often people are reminded of what they are slow in themselves.
const day = 24 * time.Hour

// forever is longer than anybody waits for a confirmation.
const forever = 100 * 365 * 24 * time.Hour

// Notices notifies people of troubles that the fleet cannot solve by itself.
type Notices interface {
	Send(ctx context.Context, n fleet.Notice) error
}

// notify sends a notice, unless the same news went out a short while ago. Nothing fails
// because of it.
//
// If we die between the note in the store and the sending, nobody gets this news until it is
// due again.
func (e *Engine) notify(ctx context.Context, n fleet.Notice) {
	if e.Notices == nil || !slices.Contains(e.Config.Notice.Events, n.Event) {
		return
	}
	every := time.Hour // a person who has not acted on it by then may have missed it
	switch n.Event {   //nolint:exhaustive // the others are news whenever they are
	case fleet.EventHeld, fleet.EventWentBack:
		every = forever // it stays news for no longer than until it was sent
	case fleet.EventReviewSilent, fleet.EventTargetStuck:
		every = max(every, day)
	}
	due, err := e.Store.NoticeDue(ctx, n, every)
	if err != nil || !due {
		if err != nil {
			e.Log.WarnContext(ctx, "notice not sent", slog.String("reason", string(n.Event)), slog.Any("err", err))
		}
		return
	}
	if err := e.Notices.Send(ctx, n); err != nil {
		e.Log.WarnContext(ctx, "notice not sent", slog.String("reason", string(n.Event)), slog.Any("err", err))
		ctx, cancel := closing(ctx) // news that was not sent is still due, also when the time is up
		defer cancel()
		if err := e.Store.ForgetNotice(ctx, n); err != nil {
			e.Log.WarnContext(ctx, "notice not forgotten", slog.Any("err", err))
		}
	}
}

// notifyEnd sends a notice of the run's end where that is news.
func (w *worker) notifyEnd(ctx context.Context) {
	if w.Notices == nil || w.run.Key == "" {
		return
	}
	s, err := w.Store.Snapshot(ctx)
	if err != nil {
		w.Log.WarnContext(ctx, "notices not looked for", slog.Any("err", err))
		return
	}
	run := w.run
	run.EndedAt = w.Now()
	if n, worth := fleet.EndNotice(run, s.Arms[run.Category].Noops); worth {
		w.notify(ctx, n)
	}
	changes, err := w.Store.GradeChanges(ctx, store.ChangeQuery{Run: run.ID, Limit: 1})
	if err != nil {
		w.Log.WarnContext(ctx, "notices not looked for", slog.Any("err", err))
	}
	for _, r := range changes {
		w.notify(ctx, fleet.Notice{Event: fleet.EventGradesChanged, Category: r.Category, Task: run.Task, Run: r.Run, Reason: r.String(), At: r.At})
	}
	for _, q := range fleet.WaitingTasks(s.Tasks) {
		if q.Task == run.Task {
			w.notify(ctx, fleet.Notice{
				Event: fleet.EventWaiting, Category: run.Category, Task: run.Task, Run: run.ID, Reason: q.Why(), At: run.EndedAt,
			})
		}
	}
}

// notifySilence sends a notice if work waits and nobody reviews.
func (e *Engine) notifySilence(ctx context.Context, w survey.InReview) {
	if e.Notices == nil || !w.Known {
		return
	}
	reviews, err := e.Store.ReviewTimes(ctx, w.At.Add(-survey.ReviewTime))
	if err != nil {
		e.Log.WarnContext(ctx, "notices not looked for", slog.Any("err", err))
		return
	}
	if reason := w.Silence(reviews); reason != "" {
		e.notify(ctx, fleet.Notice{Event: fleet.EventReviewSilent, Reason: reason, At: w.At})
	}
}

// notifyTarget sends a notice if a person has to see to it that the target follows its upstream again.
func (e *Engine) notifyTarget(ctx context.Context) {
	if e.Notices == nil || e.Repo == nil {
		return
	}
	at, err := e.Repo.Tracking(ctx)
	if err != nil {
		e.Log.WarnContext(ctx, "target not looked at", slog.Any("err", err))
	}
	if at.Stuck {
		e.notify(ctx, fleet.Notice{Event: fleet.EventTargetStuck, Reason: at.Text + ": " + at.Fix, At: e.Now()})
	}
}

// notifyLanes sends a notice of each lane that is held for far too long.
func (e *Engine) notifyLanes(ctx context.Context) {
	if e.Notices == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	now := e.Now()
	holds, err := e.Store.LaneHolds(ctx, now)
	if err != nil {
		e.Log.WarnContext(ctx, "notices not looked for", slog.Any("err", err))
		return
	}
	for _, h := range holds {
		if n, worth := fleet.LaneNotice(h, e.Config.Categories[h.Category].Timeout, now); worth {
			e.notify(ctx, n)
		}
	}
}
