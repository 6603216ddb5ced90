package book

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// AddRun stores a run that no fire planned.
func (w Writer) AddRun(ctx context.Context, r fleet.Run) error {
	return w.write(ctx, func(p Tx) error { return p.AddRun(r) }, "add run %s", r.ID)
}

// OnBranch records the branch that a run works on, and its conversation.
func (w Writer) OnBranch(ctx context.Context, id fleet.RunID, branch string, c fleet.Conversation) error {
	return w.write(ctx, func(p Tx) error { return p.OnBranch(id, branch, c) }, "record the branch of run %s", id)
}

// Begin has a run begin a session. All of it is one transaction: if we die before the commit, nothing is taken and the
// run is open without a claim. If we die after it, the run has its session, and the next reaping ends it.
func (w Writer) Begin(ctx context.Context, b store.Begin) (store.Begun, error) {
	return unrefused(ctx, w, func(p Tx) (store.Begun, error) { return p.Begin(b) }, "begin the session of run %s", b.Run)
}

// Complete ends a run: outcome, grade and what is learnt of it in one transaction, once.
//
// If we die before the commit, the run is open and ungraded, and its claim
// expires. If we die after it, the grade is counted, and calling again changes
// nothing.
func (w Writer) Complete(ctx context.Context, r fleet.Run) error {
	return w.write(ctx, func(p Tx) error { return p.Complete(r) }, "complete run %s", r.ID)
}

// Abandon releases what a run still holds after its session is gone.
//
// All of it is one transaction: dying here leaves everything to the next reaping.
func (w Writer) Abandon(ctx context.Context, g store.Gone) (left bool, err error) {
	return unrefused(ctx, w, func(p Tx) (bool, error) { return p.Abandon(g) }, "abandon run %s", g.Run)
}

// Respawn records whether a session follows a run, and that session's run. Its timer runs already.
//
// If we die before it, no session follows: the worker that the timer starts finds no run of its id.
func (w Writer) Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string, b store.Bounds) (by fleet.RunID, why string, err error) {
	err = w.write(ctx, func(p Tx) (err error) {
		by, why, err = p.Respawn(run, next, reason, b)
		return err
	}, "respawn after run %s", run)
	if err != nil {
		return "", "", err
	}
	return by, why, nil
}

// RecordFire stores a fire, its choices and the runs it is about to start, all or nothing. It returns the fire as
// recorded.
func (w Writer) RecordFire(ctx context.Context, f store.Firing) (fleet.Fire, error) {
	return unrefused(ctx, w.as(Firing), func(p Tx) (fleet.Fire, error) { return p.RecordFire(f) }, "record fire")
}

// NotStarted records that a fire's unit did not start. If the run has begun, it reports false and writes nothing.
func (w Writer) NotStarted(ctx context.Context, fire fleet.FireID, run fleet.RunID, reason string) (bool, error) {
	return decided(ctx, w, func(p Tx) bool { return p.NotStarted(fire, run, reason) }, "record start of run %s", run)
}

// Pause keeps fires from starting a category, or anything.
func (w Writer) Pause(ctx context.Context, pause fleet.Pause) error {
	return w.note(ctx, func(p Tx) {
		pause.Since, pause.Until = p.Now(), table.Whole(pause.Until)
		p.Pauses.Put(pause)
	}, "pause")
}

// Resume ends a pause, and the back-off of what was paused.
func (w Writer) Resume(ctx context.Context, c fleet.Category) ([]string, error) {
	return decided(ctx, w, func(p Tx) []string { return p.Resume(c) }, "resume")
}

// NoticeDue notes that a notice goes out, unless the same one did a short while ago.
func (w Writer) NoticeDue(ctx context.Context, n fleet.Notice, every time.Duration) (bool, error) {
	row := table.Notice{Event: n.Event, Subject: n.Subject()}
	return decided(ctx, w, func(p Tx) bool { return p.Due(row, every) }, "note notice")
}

// ForgetNotice removes the note of a notice that did not go out.
func (w Writer) ForgetNotice(ctx context.Context, n fleet.Notice) error {
	row := table.Notice{Event: n.Event, Subject: n.Subject()}
	_, err := decided(ctx, w, func(p Tx) bool { return p.Notices.Delete(row) }, "forget notice")
	return err
}

// ResetBudget strikes out a scope's use of today.
func (w Writer) ResetBudget(ctx context.Context, scope fleet.Scope, reason string) (fleet.Spent, error) {
	return decided(ctx, w, func(p Tx) fleet.Spent { return p.ResetBudget(scope, reason) }, "reset budget of %s", scope)
}

// LeaveTask remembers the state that a person gives a task, or a call that a session owes its source.
func (w Writer) LeaveTask(ctx context.Context, h store.Hold, m fleet.TaskMemory) error {
	return w.write(ctx, func(p Tx) error { return p.LeaveTask(h, m) }, "remember task %q", m.Task)
}

// SeeTasks merges the states at the sources into the memory.
func (w Writer) SeeTasks(ctx context.Context, list []store.TaskSight) error {
	return w.note(ctx, func(p Tx) { p.SeeTasks(list) }, "remember what is seen of tasks")
}

// Retry forgets the results of a task's sessions, but not a call owed to its tracker.
func (w Writer) Retry(ctx context.Context, task fleet.TaskID) (bool, error) {
	return decided(ctx, w, func(p Tx) bool { return p.Retry(task) }, "retry task %q", task)
}

// AddFates records review outcomes, and corrects grades and the ranking.
//
// All of it is one transaction: if we die before the commit, the next look finds the same again.
func (w Writer) AddFates(ctx context.Context, list []fleet.ReviewOutcome) ([]fleet.ReviewOutcome, error) {
	return decided(ctx, w, func(p Tx) []fleet.ReviewOutcome { return p.AddFates(list) }, "record what became of runs")
}

// SaveReview stores the decision about a run's work, and the result of its check.
func (w Writer) SaveReview(ctx context.Context, r fleet.Review) error {
	return w.note(ctx, func(p Tx) { p.SaveReview(r) }, "save review of run %s", r.Run)
}

// SaveFeedback stores the feedback on a run's work.
func (w Writer) SaveFeedback(ctx context.Context, f fleet.Feedback) error {
	return w.note(ctx, func(p Tx) { p.SaveFeedback(f) }, "save feedback on run %s", f.Run)
}

// SeePlaces updates places by the state of runs' work.
func (w Writer) SeePlaces(ctx context.Context, at time.Time, list []fleet.PlaceSight) error {
	return w.note(ctx, func(p Tx) { p.SeePlaces(at, list) }, "note places in review")
}

// SetAway notes that the reviewer is away.
func (w Writer) SetAway(ctx context.Context, a fleet.Away) error {
	return w.note(ctx, func(p Tx) {
		a.Since, a.Until = p.Now(), table.Whole(a.Until)
		row := p.fleet()
		row.Away = a
		p.Fleet.Put(row)
	}, "note that the reviewer is away")
}

// ClearAway notes that the reviewer is back.
func (w Writer) ClearAway(ctx context.Context) (bool, error) {
	return decided(ctx, w, func(p Tx) bool {
		row := p.fleet()
		away := row.Away
		row.Away = fleet.Away{}
		p.Fleet.Put(row)
		return !away.Since.IsZero()
	}, "note that the reviewer is back")
}
