package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/store"
	"stint/internal/survey"
)

// worker is one session under way.
type worker struct {
	*Engine
	run    fleet.Run
	only   fleet.TaskID   // asked for by a person; empty: the best
	first  fleet.TaskID   // that another selector chose, tried first; empty: none
	asked  string         // the agent that a person asked for; empty: any that can work
	own    fleet.Category // that it was started for
	alive  *os.File
	shun   []string       // families in which a claim was denied
	boxes  func() []proof // of the agents that may do the session, in its own category; not tried
	trials func() []proof // of these boxes

	task   *fleet.Task     // that is claimed; nil: none
	asks   fleet.Feedback  // that it is to answer, on the branch of the run that this is about; of no run: nothing
	began  fleet.TaskState // in the run's own copy of the task's file, when the session began; empty: it has none
	worked bool            // an agent was at work

	leaveFolder func(context.Context) (kept string, err error) // nil: none was entered
	on          string                                         // the branch of the workspace as the session begins there
	landed      string                                         // the target, if it has the work at the session's end; empty: it waits for review
	laneEpoch   fleet.Epoch                                    // of the lane's claim
	taken       fleet.Claim
	takenAt     time.Duration                                               // when it was asked for, by [Engine.Elapsed]
	kept        *claim.Kept                                                 // nil: there was no claim
	leased      func(context.Context) (context.Context, context.CancelFunc) // see [leased]; nil: there was no claim
	unrecorded  bool                                                        // its end; it may be written down
}

// work tries the categories that the run may work, the one it was started for
// first, until one gives it a lane and a claim; then it runs the session. Only
// denied claims lead on to the next category.
func (w *worker) work(ctx context.Context) error {
	if refused, err := w.refused(ctx); err != nil {
		return w.giveUp(ctx, err)
	} else if refused.Outcome != "" {
		return w.end(ctx, refused)
	}
	denial, ended, err := w.try(ctx, w.own)
	switch {
	case ended:
		return err
	case err != nil:
		return w.giveUp(ctx, err)
	case denial.Outcome != fleet.RunDenied:
		return w.end(ctx, denial)
	}
	return w.pivot(ctx, denial)
}

// maxPivots is how many other categories a worker tries when others were quicker at the tasks of its own: more would
// burn the session on asking.
const maxPivots = 2

// pivot goes on to other categories after a denial, until one gives the run a session.
// The walk is to categories with a free lane: a busy one is no pivot.
func (w *worker) pivot(ctx context.Context, denial fleet.Verdict) error {
	categories, err := w.others(ctx)
	if err != nil {
		return w.giveUp(ctx, err)
	}
	pivots := 0
	for _, c := range categories {
		if pivots == maxPivots {
			break
		}
		v, ended, err := w.try(ctx, c)
		switch {
		case ended:
			return err
		case err != nil:
			return w.giveUp(ctx, err)
		case v.Outcome == fleet.RunDenied:
			denial = v
		}
		if v.Outcome != fleet.Busy {
			pivots++
		}
	}
	return w.end(ctx, denial)
}

// others are the categories that the run may work after a denial: the best of its fire
// that can be started now and whose sessions this unit can run. Its limits, its time and
// its agent are fixed, and its slot is its pool's. One that follows another has none: it
// is of its category, and so is one that a person forced.
func (w *worker) others(ctx context.Context) (list []fleet.Category, err error) {
	if w.run.Fire == 0 || w.run.Source == fleet.FromRespawn || w.forced() {
		return nil, nil
	}
	fire, err := w.Store.Fire(ctx, w.run.Fire)
	if err != nil {
		return nil, err
	}
	full := w.Full(ctx) // before the look, as who counts may be slow
	v, err := w.Look(ctx)
	if err != nil {
		return nil, err
	}
	v.Pool, v.Full = w.Config.Categories[w.own].Pool, full
	v.Without(w.run) // it takes the slot that it was planned for
	rule := w.rule(v, w.Situation(v))
	for _, choice := range fire.Choices { // ranked ones stand in order
		if c := choice.Category; choice.Rank > 0 && c != w.own && w.suits(c) && rule.Blocker(c, 0).Kind == "" {
			list = append(list, c)
		}
	}
	return list, nil
}

// forced reports whether a person had a fire start this session's category.
func (w *worker) forced() bool { return w.run.Fire != 0 && w.run.Source == fleet.FromHand }

// suits reports whether this unit and its agent can run a session of another category.
func (w *worker) suits(c fleet.Category) bool {
	own := w.Config.Categories[w.own]
	other, known := w.Config.Categories[c]
	return known && slices.Contains(other.Agents, w.run.Agent) &&
		other.Timeout <= own.Timeout && reflect.DeepEqual(other.Unit, own.Unit)
}

// try works one category: a lane, and in it one task after the other until a claim is
// granted. A denied claim was granted to a session in another lane, as a rule, and each has
// one: so many tasks are tried as there are lanes. It reports ended when the run's end is
// recorded, with that end as the error. Otherwise the verdict says why there was no session,
// and nothing is held any more.
func (w *worker) try(ctx context.Context, c fleet.Category) (v fleet.Verdict, ended bool, err error) {
	category := w.Config.Categories[c]
	defer func() { w.trials() }() // they use the run's folder, and are not to outlive its end
	lane, busy, err := w.lane(ctx, c, category)
	if err != nil || busy != "" {
		return fleet.Verdict{Outcome: fleet.Busy, Reason: busy}, false, err
	}
	defer func() { err = errors.Join(err, w.leave(ctx, lane)) }()
	w.run.Category, w.run.Lane = c, lane.Number
	for range category.Lanes {
		next, ended, err := w.tryTask(ctx, c, category)
		switch {
		case !ended && err == nil && next.Outcome == fleet.Idle && v.Outcome == fleet.RunDenied:
			return v, false, nil // it was the last task that was free
		case ended || err != nil || next.Outcome != fleet.RunDenied:
			return next, ended, err
		}
		w.Log.WarnContext(ctx, "claim denied", w.attrs(slog.String("reason", next.Reason))...)
		if v = next; w.only != "" {
			break
		}
	}
	return v, false, nil
}

// tryTask works the category's best task in the lane that the run has: look, pick, claim, session.
// It returns what [worker.try] does.
func (w *worker) tryTask(ctx context.Context, c fleet.Category, category config.Category) (v fleet.Verdict, ended bool, err error) {
	seen, err := w.Look(ctx)
	if err != nil {
		return v, false, err
	}
	w.see(ctx, seen)
	w.noteOverlaps(ctx, seen, c)
	q := w.queue(seen)
	q.Tasks = slices.DeleteFunc(q.Tasks, func(t fleet.Task) bool { return t.Family != "" && slices.Contains(w.shun, t.Family) })
	task, idle := q.Pick(c, w.only) // without any certainty that the claim will agree
	if task == nil && (!category.SelfDirected || w.only != "") {
		// Where nobody knows whether there is work, the category is not to back off.
		if unlisted := w.Unlisted(seen.Failed, c); unlisted != "" && w.only == "" {
			return failed(errors.New(unlisted)), false, nil
		}
		return fleet.Verdict{Outcome: fleet.Idle, Reason: idle}, false, nil
	}
	if o := w.Unfit(c, true); o.Kind != "" {
		return failed(errors.New(o.Reason)), false, nil
	}
	w.asks, w.run.Branch = fleet.Feedback{}, ""
	if task != nil && category.OwnClone { // the session goes on with the work that it is to answer for, if there is any
		if w.asks, w.run.Branch, err = w.toAnswer(ctx, task.ID); err != nil {
			return v, false, err
		}
	}
	uses, given := w.matching(seen.Lessons, w.run, task)
	agents, err := w.proven(ctx)
	if err != nil {
		return v, false, err
	}
	denial, err := w.claim(ctx, category, task, seen, uses, agents)
	if refused, ok := errors.AsType[fleet.RefusedError](err); ok {
		if refused.Scope != "" {
			w.notify(ctx, fleet.Notice{Event: fleet.EventBudget, Scope: refused.Scope, Category: c, Run: w.run.ID, Reason: refused.Reason, At: w.Now()})
		}
		return fleet.Verdict{Outcome: refused.Outcome, Reason: refused.Reason}, false, nil
	}
	if err != nil || denial != "" {
		return fleet.Verdict{Outcome: fleet.RunDenied, Reason: denial}, false, err
	}
	lease, kept := w.keeper(category).Keep(ctx)
	defer kept.Stop()
	w.kept = kept
	w.leased = func(ctx context.Context) (context.Context, context.CancelFunc) {
		return leased(ctx, lease, category.TTL)
	}
	return v, true, w.end(ctx, w.session(ctx, lease, category, task, given))
}

// noteOverlaps logs which tasks of the category come late, or wait, for other work.
func (w *worker) noteOverlaps(ctx context.Context, v survey.View, c fleet.Category) {
	for _, t := range v.Tasks {
		o := v.Overlaps[t.ID]
		if t.Category != c || o.Why == "" {
			continue
		}
		attributes := []any{slog.String("task_id", string(t.ID)), slog.String("reason", o.Why)}
		if o.Waits {
			w.Log.InfoContext(ctx, "task waits for other work", attributes...)
		} else {
			w.Log.InfoContext(ctx, "task comes after its equals", attributes...)
		}
	}
}

// memoryOf is what is remembered of a task, as it was when it was picked.
func memoryOf(task *fleet.Task, v survey.View) fleet.TaskMemory {
	for _, m := range v.Snapshot.Tasks { // what does not hold is forgotten by now, unless something is owed
		if task != nil && m.Task == task.ID && (task.Memory != nil || m.Owed != "") {
			return m
		}
	}
	return fleet.TaskMemory{}
}

// queue is what decides which task the session tries first. One that a fire started is in
// the round of that fire, not in the one to come.
func (w *worker) queue(v survey.View) selector.Queue {
	q := w.Engine.Queue(v)
	q.First = w.first
	if q.ByHand = w.run.Source == fleet.FromHand; !q.ByHand {
		q.Round = func(c fleet.Category) fleet.Round { return v.Snapshot.Arms[c].Round }
	}
	return q
}

// claim takes the task, or for a session without one its lane, and returns the
// denial if it is another's.
func (w *worker) claim(ctx context.Context, c config.Category, task *fleet.Task, seen survey.View, lessons []fleet.LessonUse, agents []fleet.Terms) (denial string, err error) {
	run := claimFor(w.run, task)
	var apart []fleet.TaskID
	if w.only == "" { // a person who asks for a task gets it
		apart = seen.Overlaps[run.Task].Apart
	}
	if w.asks.Run != "" || w.forced() { // the item that it goes on with has its place; a person's word makes room
		for i := range agents {
			agents[i].Room = fleet.Room{}
		}
	}
	w.takenAt = w.Elapsed()
	grant, taken, agent, err := w.Desk().TakeForRun(ctx, store.RunTake{
		TakeRequest: store.TakeRequest{Key: run.Key, Holder: run.ID.Holder(), Renews: true, TTL: c.TTL},
		Run:         run.ID, Task: run.Task, Memory: memoryOf(task, seen), Lessons: lessons, Apart: apart,
	}, agents)
	if err != nil {
		return "", err
	}
	if grant == fleet.Denied {
		if task != nil && task.Family != "" { // its siblings are likely to be under work, too
			w.shun = append(w.shun, task.Family)
		}
		return taken.Denial(), w.Store.Denied(ctx, fleet.DeniedClaim{Run: w.run.ID, Category: w.run.Category, Key: taken.Key, Holder: taken.Holder})
	}
	run.Agent, run.Epoch = agent, taken.Epoch
	w.run, w.task, w.taken = run, task, taken
	w.Log.InfoContext(ctx, "claimed", w.attrs(slog.Int64("claim_epoch", int64(run.Epoch)))...)
	return "", nil
}

// keeper keeps the run's claim, and that of its lane.
func (w *worker) keeper(c config.Category) claim.Keeper {
	run, hold := w.run.ID, w.hold()
	hold.Kept = true
	lane := store.Hold{Key: fleet.LaneKey(w.run.Category, w.run.Lane), Holder: hold.Holder, Epoch: w.laneEpoch, Kept: true}
	return claim.Keeper{
		Claims: withLane{w.Store, lane, func() string { return w.tail(run) }, new(string)}, Hold: hold, TTL: c.TTL,
		Elapsed: w.Elapsed, Asked: w.takenAt, Expires: w.taken.ExpiresAt, Log: w.Log,
	}
}

// hold is the run's claim.
func (w *worker) hold() store.Hold {
	return store.Hold{Key: w.run.Key, Holder: w.run.ID.Holder(), Epoch: w.run.Epoch}
}

// session runs the agent while its claim is kept, and judges what came of it.
func (w *worker) session(ctx, kept context.Context, c config.Category, task *fleet.Task, lessons []fleet.Lesson) fleet.Verdict {
	entering, cancel := context.WithTimeout(kept, enterTime)
	w.noteBranch(ctx) // of one that goes on in another's folder, which no fire must remove meanwhile
	place := fleet.Place{Own: c.OwnClone, Sync: c.Sync, Continues: w.asks.Run}
	if task != nil && c.OwnClone {
		place.Earlier = w.earlier(ctx, task.ID)
	}
	site, leave, err := w.Repo.Enter(entering, w.run.ID, place)
	cancel()
	switch lost := context.Cause(kept); {
	case err == nil:
		w.leaveFolder, w.run.Branch, w.on = leave, site.Branch, site.On
		w.noteBranch(ctx)
	case errors.Is(lost, fleet.ErrLost):
		return fleet.Verdict{Outcome: fleet.Lost, Reason: lost.Error()}
	case kept.Err() != nil:
		return early(kept)
	default:
		return unprepared(err)
	}
	a := assignment{w.run, c, task, lessons, w.asks.Said, site.Dir, site.Left, w.layers()}
	spec, err := w.sessionSpec(kept, a)
	if err != nil {
		return failed(err)
	}
	spec.Alive, spec.Trial = w.alive, w.trial(w.run.ID, site.Dir)
	if task != nil {
		w.began = w.ownState(ctx, *task)
	}
	w.startTask(kept, task)
	shut := w.openDoor(ctx)
	exit, err := w.Runner.Run(kept, spec)
	shut()
	w.worked = err == nil && exit.End != fleet.NoProcess
	if exit.Left != nil {
		w.Log.ErrorContext(ctx, "processes left", w.attrs(slog.Any("err", exit.Left))...)
	}
	if fault := exit.Output.Fault; fault != nil {
		w.Log.ErrorContext(ctx, "log not complete", w.attrs(slog.Any("err", fault))...)
	}
	lost := context.Cause(kept)
	switch {
	case err != nil:
		return failed(fmt.Errorf("prepare the session: %w", err))
	case errors.Is(lost, fleet.ErrLost):
		_, _ = w.lookAtWork(ctx, spec)                  // it is logged; the session's commits are not lost with its claim
		w.run.Usage = w.used(ctx, w.run, fleet.Usage{}) // it was paid for all the same
		return fleet.Verdict{Outcome: fleet.Lost, Reason: lost.Error()}
	}
	// The claim is kept while the session is judged, for check and grader take their time.
	v := w.judge(kept, c, task, spec, exit)
	if v.Outcome == fleet.Cancelled && errors.Is(lost, claim.ErrWished) {
		v.Reason = lost.Error()
	}
	return v
}

// openDoor lets the agent ask the fleet until it is shut. A session without it can do its work,
// and its questions fail.
func (w *worker) openDoor(ctx context.Context) (shut func()) {
	if w.Door == nil {
		return func() {}
	}
	shut, err := w.Door.Open(w.run)
	if err != nil {
		w.Log.ErrorContext(ctx, "no door for the agent", w.attrs(slog.Any("err", err))...)
		return func() {}
	}
	return shut
}

// noteBranch records the branch of the run's own as soon as it is there.
//
// If we die before it, there is a branch without work, which a fire tidies up. If we die after
// it, the run is found dead later, and where it worked is on record.
func (w *worker) noteBranch(ctx context.Context) {
	if w.run.Branch == "" {
		return
	}
	if err := w.Store.OnBranch(ctx, w.run.ID, w.run.Branch); err != nil {
		w.Log.WarnContext(ctx, "branch not recorded before the end", w.attrs(slog.Any("err", err))...)
	}
}

// unprepared is the end of a session whose folder could not be made ready, with what to do about it.
func unprepared(err error) fleet.Verdict {
	v := failed(fmt.Errorf("prepare the workspace: %w", err))
	if hint := fleet.Hint(err); hint != "" {
		v.Reason += "; " + hint
	}
	return v
}

// failed is the end of a session that stint could not run. There is nothing to
// grade.
func failed(err error) fleet.Verdict {
	return fleet.Verdict{Outcome: fleet.Failed, Reason: err.Error(), Ours: true}
}

// early is the end of a session that was stopped before there was one, and what stopped it.
func early(ctx context.Context) fleet.Verdict {
	by := context.Cause(ctx)
	if errors.Is(by, context.Canceled) {
		by = errors.New("stopped")
	}
	return fleet.Verdict{Outcome: fleet.Cancelled, Reason: fmt.Sprintf("%v before the agent began", by)}
}

// giveUp ends a run whose way to the agent was blocked.
func (w *worker) giveUp(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return w.end(ctx, early(ctx))
	}
	w.Log.ErrorContext(ctx, "run given up", w.attrs(slog.Any("err", err))...)
	return fleet.WithHint(w.end(ctx, failed(err)), fleet.Hint(err))
}

// attrs are the attributes of every line about the run.
func (w *worker) attrs(more ...any) []any {
	attrs := []any{slog.String("run_id", string(w.run.ID)), slog.String("category", string(w.run.Category))}
	if w.run.Task != "" {
		attrs = append(attrs, slog.String("task_id", string(w.run.Task)))
	}
	return append(attrs, more...)
}
