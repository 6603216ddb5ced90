package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/survey"
)

// A session leaves its task a state in the store, in one write with the end of the run. The state in a task's file is its
// author's: that of the person, or of the agent on its branch. The store's word counts until the state in the file is another
// than it was then.
//
// A tracker is told. The store remembers first what it is owed: if we die before the call, or before the note that it was
// made, the next fire or reaping makes it, perhaps for the second time.

// startTask reports to the task's tracker that a session begins. The write that began it has on record that the
// tracker is owed the end: if we die from here on, the next reaping releases the item.
func (w *worker) startTask(ctx context.Context, task *fleet.Task) {
	if task == nil || len(w.calls(task.Source)[fleet.CallStart]) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellingTime)
	defer cancel()
	if err := w.Sources.Call(ctx, fleet.CallStart, *task, w.run.ID, ""); err != nil {
		w.Log.WarnContext(ctx, "tracker not updated", w.attrs(slog.Any("err", err))...)
	}
}

// calls are the programs that report to a tracker on its items.
func (e *Engine) calls(source string) map[fleet.TaskCall][]string {
	return e.Config.Tasks.Sources[source].Calls()
}

// owedTo is the call that the tracker of an item must get when a session leaves it in that
// state, or none.
func (e *Engine) owedTo(t fleet.Task, s fleet.TaskState) fleet.TaskCall {
	call := fleet.CallRelease
	if s.Settled() {
		call = fleet.CallDone
	}
	if len(e.calls(t.Source)[call]) == 0 {
		return ""
	}
	return call
}

// leaves is what the run leaves of its task. It writes nothing.
func (w *worker) leaves(ctx context.Context) (left fleet.TaskLeft) {
	v, task := w.run.Verdict, w.task
	if task == nil || w.run.Key == "" || v.Outcome == fleet.Lost {
		return left
	}
	here := *task
	if here.State = task.InSource(); task.Source == "" {
		here = w.fileNow(ctx, here)
	}
	now := here.State
	if own := w.ownState(ctx, *task); own != w.began { // what the session wrote into its copy counts
		now = own
	}
	left.Source, left.Item = task.Source, task.Item
	left.State = stateAfter(v, task.State, task.InSource(), now)
	left.Changed = left.State != task.State
	left.Worked = w.worked && worked(v)
	left.Last = (v.Empty() || v.Ours) && w.last(ctx)
	if task.Source != "" {
		left.Owed = w.owedTo(*task, left.State)
		return left
	}
	if left.Seen = here.Seen; left.State.Settled() && here.State == left.State {
		left.Seen = task.Seen // a clone of another host still shows that
	}
	return left
}

// last reports whether no other task of the category is left that a session could work on,
// now that this one has brought nothing. Where that cannot be known, some may be.
func (w *worker) last(ctx context.Context) bool {
	c := w.run.Category
	if w.Config.Categories[c].SelfDirected { // it needs no task
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, closingTime/4) // a slow tracker must not keep the end from its record
	defer cancel()
	v, err := w.Look(ctx)
	if err != nil {
		w.Log.WarnContext(ctx, "other tasks not looked at", w.attrs(slog.Any("err", err))...)
		return false
	}
	ready, _ := w.queue(v).Workable()
	return w.Unlisted(v.Failed, c) == "" && !slices.ContainsFunc(ready, func(t *fleet.Task) bool {
		return t.Category == c && t.ID != w.task.ID
	})
}

// fileNow looks at the task's file once the session is over. One that is not there may be away,
// with another branch checked out, and come back as it was.
func (w *worker) fileNow(ctx context.Context, t fleet.Task) fleet.Task {
	again, err := w.Sources.Again(ctx, t)
	switch {
	case err == nil:
		return again
	case errors.Is(err, fleet.ErrNotFound):
		return t
	}
	w.Log.WarnContext(ctx, "task not read again", w.attrs(slog.Any("err", err))...)
	t.Seen = ""
	return t
}

// ownState is the state in the copy of the task's file that is in the run's own clone;
// empty: it has none, or none that can be read.
func (w *worker) ownState(ctx context.Context, t fleet.Task) fleet.TaskState {
	if t.Source != "" {
		return ""
	}
	own, err := w.Repo.Own(ctx, w.run.Home(), t.Path)
	if err != nil || own == "" {
		return ""
	}
	s, err := w.Sources.StateAt(own)
	if err != nil {
		return ""
	}
	return s
}

// worked reports whether a session that ended so was at work on its task.
func worked(v fleet.Verdict) bool {
	switch v.Outcome {
	case fleet.Productive, fleet.Noop, fleet.Nothing, fleet.Failed, fleet.Timeout, fleet.Cancelled:
		return !v.Ours
	case fleet.Quota, fleet.Unavailable, fleet.Lost, fleet.Abandoned, fleet.Busy, fleet.RunDenied, fleet.Idle:
	}
	return false
}

// stateAfter is the state that a session leaves its task in: the one that the agent names,
// the one that was written to the task meanwhile, or ready_for_review after work of which nothing
// was said: what was done once is not done again.
func stateAfter(v fleet.Verdict, before, listed, now fleet.TaskState) fleet.TaskState {
	switch {
	case v.TaskState != "":
		return v.TaskState
	case now != "" && now != listed:
		return now
	case v.Outcome == fleet.Productive:
		return fleet.StateReview
	}
	return before
}

// settleTask reports to the tracker of the run's task what the run left of it. A later fire
// makes the report where it fails now: the session's result is on record.
func (w *worker) settleTask(ctx context.Context) {
	left := w.run.Left
	if left.State == "" || left.Source == "" || w.run.Verdict.Outcome == fleet.Lost {
		return
	}
	// A tracker has its own time for each command, and a worker that is stopped meanwhile
	// leaves the rest to the next fire.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellingTime)
	defer cancel()
	m := fleet.TaskMemory{Task: w.run.Task, Run: w.run.ID, TaskLeft: left}
	if err := w.pay(ctx, *w.task, m, w.run.Verdict.Reason); err != nil {
		w.Log.WarnContext(ctx, "tracker not updated", w.attrs(slog.Any("err", err))...)
	}
}

// tellingTime is for the commands and the locks that a report to one source takes.
const tellingTime = 3 * time.Minute

// pay reports to the tracker of a task what it is owed, and remembers that, or why it failed.
func (e *Engine) pay(ctx context.Context, t fleet.Task, m fleet.TaskMemory, reason string) error {
	err := e.reportState(ctx, t, m, reason)
	if err == nil || m.Owed == "" || err.Error() == m.Trouble {
		return err
	}
	sight := store.TaskSight{TaskMemory: m, Was: m.Seen, Owing: true}
	sight.Trouble = err.Error()
	ctx, cancel := closing(ctx) // the time that it took may be up
	defer cancel()
	return errors.Join(err, e.Store.SeeTasks(ctx, []store.TaskSight{sight}))
}

// reportState reports to the tracker of a task what it is owed, and remembers what it shows then.
func (e *Engine) reportState(ctx context.Context, t fleet.Task, m fleet.TaskMemory, reason string) error {
	sight := store.TaskSight{TaskMemory: m, Was: m.Seen}
	sight.Trouble = ""
	switch m.Owed {
	case fleet.CallDone, fleet.CallRelease:
		if err := e.Sources.Call(ctx, m.Owed, t, m.Run, reason); err != nil {
			// One that is closed twice may be an error of its tracker's.
			if again, lost := e.Sources.Again(ctx, t); !errors.Is(lost, fleet.ErrNotFound) && (lost != nil || !again.State.Settled()) {
				return err
			}
			e.Log.WarnContext(ctx, "tracker has closed it already", slog.String("task_id", string(t.ID)), slog.Any("err", err))
		}
	case "", fleet.CallStart:
	}
	sight.Seen = e.shown(ctx, t)
	return e.Store.SeeTasks(ctx, []store.TaskSight{sight})
}

// shown is what a tracker shows of an item; empty: it cannot be asked, and its next answer
// counts.
func (e *Engine) shown(ctx context.Context, t fleet.Task) string {
	again, err := e.Sources.Again(ctx, t)
	switch {
	case err == nil:
		return again.Seen
	case errors.Is(err, fleet.ErrNotFound):
		return fleet.SeenNowhere
	}
	e.Log.WarnContext(ctx, "task not read again", slog.String("task_id", string(t.ID)), slog.Any("err", err))
	return ""
}

// debtTime is what a fire takes to report to trackers what they are owed.
const debtTime = time.Minute

// payAll makes the reports to trackers that crashed or failed workers owe, within debtTime. It
// takes them in random order: a task or a source that takes all of that time is not always first.
func (e *Engine) payAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, debtTime)
	defer cancel()
	s, err := e.Store.Snapshot(ctx)
	for _, i := range rand.Perm(len(s.Tasks)) { //nolint:gosec // nothing is decided by it
		m := s.Tasks[i]
		if m.Owed == "" || slices.ContainsFunc(s.Open, func(r fleet.Run) bool { return r.ID == m.Run }) {
			continue
		}
		if ctx.Err() != nil {
			e.Log.WarnContext(ctx, "the next fire updates the remaining trackers", slog.String("reason", "it took longer than "+debtTime.String()))
			break
		}
		if err := e.payLate(ctx, m); err != nil {
			e.Log.WarnContext(ctx, "tracker not updated", slog.String("task_id", string(m.Task)), slog.Any("err", err))
		}
	}
	return err
}

// payLate pays what a run that is over owes, unless somebody has changed the task since,
// or works on it.
func (e *Engine) payLate(ctx context.Context, m fleet.TaskMemory) error {
	if _, known := e.Config.Tasks.Sources[m.Source]; !known {
		return e.Store.SeeTasks(ctx, []store.TaskSight{{TaskMemory: m, Was: m.Seen, Forget: true, Over: true}})
	}
	err := e.holding(ctx, store.TakeRequest{
		Key: m.Task.Key(), Holder: settler, TTL: tellingTime, Note: "reports to its tracker how the last session ended",
	}, func(store.Hold) error {
		return e.pay(ctx, fleet.Task{ID: m.Task, Source: m.Source, Item: m.Item, Title: string(m.Task)}, m, m.Reason)
	})
	if errors.Is(err, fleet.ErrHeld) {
		return nil
	}
	return err
}

// holding has the claim of a task while do changes the task. An error that wraps [fleet.ErrHeld] says who has it.
//
// If we die before it is given back, the same holder renews it, if the request says so, or it expires.
func (e *Engine) holding(ctx context.Context, r store.TakeRequest, do func(store.Hold) error) error {
	grant, c, err := e.Desk().Take(ctx, r)
	if err != nil {
		return err
	}
	if grant == fleet.Denied {
		return fmt.Errorf("task %s stays as it is: %s: %w", r.Key, c.Denial(), fleet.ErrHeld)
	}
	h := store.Hold{Key: c.Key, Holder: r.Holder, Epoch: c.Epoch}
	err = do(h)
	_, lost := e.Store.Release(context.WithoutCancel(ctx), h, fleet.EndingReleased, "")
	return errors.Join(err, lost)
}

// settler holds a task's claim while its tracker gets a report.
const settler fleet.Holder = "stint-reap"

// see takes what the sources show into what is remembered of their tasks: a change counts from
// now on. If part of a source could not be read, its missing tasks are not known to be gone.
func (e *Engine) see(ctx context.Context, v survey.View) {
	listed := make(map[fleet.TaskID]*fleet.Task, len(v.Tasks))
	for i := range v.Tasks {
		listed[v.Tasks[i].ID] = &v.Tasks[i]
	}
	var sights []store.TaskSight
	for _, m := range v.Snapshot.Tasks {
		t, sight := listed[m.Task], store.TaskSight{TaskMemory: m, Was: m.Seen}
		switch {
		case m.Owed != "", t == nil && !gone(m, v):
			continue
		case t != nil && t.Memory == nil && t.State == m.State && e.Config.Store.Shared():
			continue // a clone of another host may show what this one did
		case t == nil || !m.Holds(*t) || m.State == "" && t.State.Settled():
			sight.Forget, sight.Over = true, t == nil || t.State.Settled() || m.State.Settled()
		case m.Seen == "", m.Edited(*t):
			sight.Seen, sight.Edited = t.Seen, m.Seen != ""
		default:
			continue
		}
		sights = append(sights, sight)
	}
	if len(sights) == 0 {
		return
	}
	if err := e.Store.SeeTasks(ctx, sights); err != nil {
		e.Log.WarnContext(ctx, "changes of tasks not remembered", slog.Any("err", err))
	}
}

// gone reports whether a task that is not listed is known to be no more. A file whose state is not the one in which a session
// left the task may only be away, with another branch checked out.
func gone(m fleet.TaskMemory, v survey.View) bool {
	if m.Source != "" {
		return m.Seen != fleet.SeenNowhere && !slices.ContainsFunc(v.Problems, func(p fleet.TaskProblem) bool { return p.Path == m.Source })
	}
	return (m.State == "" || fleet.SeenState(m.Seen) == string(m.State)) && len(v.Tasks) > 0 && len(v.Failed) == 0 &&
		!slices.ContainsFunc(v.Problems, func(p fleet.TaskProblem) bool { return p.Task == m.Task })
}

// GiveState gives a task a state by a person's hand, under its claim: an error that wraps [fleet.ErrLost] says that
// this is no longer the caller's. It reports whether that changed anything. A file is written and not committed: the
// commit is the person's.
//
// If we die before the file is written, it says what it did, and the store's word counts; the next call writes it.
func (e *Engine) GiveState(ctx context.Context, h store.Hold, t fleet.Task, s fleet.TaskState) (bool, error) {
	if t.State == s && (t.InSource() == s || t.Source != "") {
		return false, nil
	}
	// What the source has said until now is what clones of other hosts show.
	m := fleet.TaskMemory{Task: t.ID, TaskLeft: fleet.TaskLeft{State: s, Source: t.Source, Item: t.Item, Seen: t.Seen, Changed: true}}
	if t.Source != "" {
		m.Owed = e.owedTo(t, s)
	} else if err := e.Sources.Writable(s); err != nil {
		return false, err
	}
	err := e.Store.LeaveTask(ctx, h, m)
	if err != nil {
		return false, err
	}
	if t.Source != "" {
		err = e.pay(ctx, t, m, "by hand")
	} else {
		_, err = e.Sources.SetState(ctx, t.ID, s)
	}
	if err != nil {
		err = fmt.Errorf("task %q is %s, but its source does not show it yet: %w", t.ID, s, err)
	}
	return true, err
}
