package engine

import (
	"cmp"
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
	taken       fleet.Claim
	takenAt     time.Duration                                               // when it was asked for, by [Engine.Elapsed]
	kept        *claim.Kept                                                 // nil: there was no claim
	leased      func(context.Context) (context.Context, context.CancelFunc) // see [leased]; nil: there was no claim
	over        bool                                                        // its end is on record, or written down
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

// try works one category, in the first lane that it gets. It reports ended when the run's end is recorded, with that
// end as the error. Otherwise the verdict says why there was no session, and nothing is held any more.
func (w *worker) try(ctx context.Context, name fleet.Category) (v fleet.Verdict, ended bool, err error) {
	c := w.Config.Categories[name]
	defer func() {
		w.trials() // they use the run's folder, and are not to outlive its end
		if !ended {
			w.run.Category = w.own
		}
	}()
	w.run.Category = name
	work, reason := &work{category: name}, ""
	for n := 1; n <= c.Lanes; n++ {
		v, busy, ended, err := w.lane(ctx, c, n, work)
		if !busy || err != nil {
			return v, ended, err
		}
		reason = cmp.Or(v.Reason, reason)
	}
	if reason == "" {
		reason, err = w.occupants(ctx, name, c.Lanes)
	}
	return fleet.Verdict{Outcome: fleet.Busy, Reason: reason}, false, err
}

// work is what a worker found for a session of a category.
type work struct {
	category fleet.Category
	looked   bool
	none     fleet.Verdict // why there is none; without an outcome: there is
	held     []fleet.Claim // by others
	offers   []offer
	agents   []fleet.Terms
	known    []store.Known
}

// offer is work for the session, and what it is to be told.
type offer struct {
	store.Offer
	task    *fleet.Task    // nil: none
	asks    fleet.Feedback // that it is to answer, on the branch of the run that this is about; of no run: nothing
	lessons []fleet.Lesson
}

// again has the next look find out what there is.
func (k *work) again() { k.looked, k.none, k.offers, k.known = false, fleet.Verdict{}, nil, nil }

// denied are the families of the tasks whose claims were another's: their siblings are likely to be under work.
func (k *work) denied(begun store.Begun) (families []string) {
	for _, o := range k.offers {
		if o.task != nil && o.task.Family != "" && slices.ContainsFunc(begun.Denied, func(d store.Denial) bool { return d.Claim.Key == o.Key }) {
			families = append(families, o.task.Family)
		}
	}
	return families
}

// look finds work for the session, once. A claim that is denied was granted to a session in
// another lane, as a rule, and each has one: so many tasks are tried as there are lanes.
func (w *worker) look(ctx context.Context, c config.Category, k *work) (err error) {
	if k.looked {
		return nil
	}
	if k.looked = true; k.agents == nil { // beside the look; a run that gets no lock pays for none
		w.trials = w.startTrials(ctx, k.category)
	}
	seen, err := w.Look(ctx)
	if err != nil {
		return err
	}
	w.see(ctx, seen)
	w.noteOverlaps(ctx, seen, k.category)
	q := w.queue(seen)
	k.held = seen.Held
	tried := func(is func(fleet.Task) bool) { // as if they were another's
		for _, t := range q.Tasks {
			if is(t) {
				q.Held = append(q.Held, fleet.Claim{Key: t.ID.Key()})
			}
		}
	}
	tried(func(t fleet.Task) bool { return t.Family != "" && slices.Contains(w.shun, t.Family) })
	for range c.Lanes {
		task, idle := q.Pick(k.category, w.only) // without any certainty that the claim will agree
		alone := task == nil && c.SelfDirected && w.only == ""
		if task == nil && !alone && len(k.offers) == 0 {
			// Where nobody knows whether there is work, the category is not to back off.
			if unlisted := w.Unlisted(seen.Failed, k.category); unlisted != "" && w.only == "" {
				k.none = failed(errors.New(unlisted))
				return nil
			}
			k.none = fleet.Verdict{Outcome: fleet.Idle, Reason: idle}
			return nil
		}
		if task != nil || alone {
			o, err := w.offer(ctx, c, task, seen)
			if err != nil {
				return err
			}
			k.offers = append(k.offers, o)
		}
		if task == nil || w.only != "" {
			break
		}
		tried(func(t fleet.Task) bool { return t.ID == task.ID || t.Family != "" && t.Family == task.Family })
	}
	if o := w.Unfit(seen, k.category, true); o.Kind != "" {
		k.none = failed(errors.New(o.Reason))
		return nil
	}
	for _, held := range seen.Snapshot.Claims {
		if slices.ContainsFunc(k.offers, func(o offer) bool { return o.Key == held.Key }) {
			k.known = append(k.known, w.Desk().Known(ctx, held)...)
		}
	}
	k.agents, err = w.proven(ctx)
	return err
}

// offer is what the session needs that works on a task, or on none.
func (w *worker) offer(ctx context.Context, c config.Category, task *fleet.Task, seen survey.View) (o offer, err error) {
	o.task = task
	if c.OwnClone {
		o.Branch = w.Repo.Branch(w.run.ID)
	}
	if task != nil {
		o.Task, o.Key, o.Memory = task.ID, task.ID.Key(), memoryOf(task, seen)
		if c.OwnClone { // the session goes on with the work that it is to answer for, if there is any
			var branch string
			if o.asks, branch, err = w.toAnswer(ctx, task.ID); err != nil {
				return o, err
			}
			o.Branch = cmp.Or(branch, o.Branch)
		}
		if len(w.calls(task.Source)[fleet.CallStart]) > 0 {
			o.Owed = fleet.TaskLeft{State: task.State, Source: task.Source, Item: task.Item, Owed: w.owedTo(*task, task.State)}
		}
		if w.only == "" { // a person who asks for a task gets it
			o.Apart = seen.Overlaps[task.ID].Apart
		}
	}
	o.Roomy = o.asks.Run != "" || w.forced() // the item that it goes on with has its place; a person's word makes room
	o.Lessons, o.lessons = w.matching(seen.Lessons, w.run, task)
	return o, nil
}

// sessionIn runs the session of a run that has its claim, and records its end.
func (w *worker) sessionIn(ctx context.Context, c config.Category, o offer) error {
	lease, kept := w.keeper(c).Keep(ctx)
	defer kept.Stop()
	w.kept = kept
	w.leased = func(ctx context.Context) (context.Context, context.CancelFunc) { return leased(ctx, lease, c.TTL) }
	return w.end(ctx, w.session(ctx, lease, c, o.task, o.lessons))
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

// keeper keeps the run's claim, and with it that of its lane.
func (w *worker) keeper(c config.Category) claim.Keeper {
	run, hold := w.run.ID, w.hold()
	hold.Kept = true
	return claim.Keeper{
		Claims: withTail{w.Store, func() string { return w.tail(run) }, new(string)}, Hold: hold, TTL: c.TTL,
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
	place := fleet.Place{Own: c.OwnClone, Sync: c.Sync, Continues: w.asks.Run}
	if task != nil && c.OwnClone {
		place.Earlier = w.earlier(ctx, task.ID)
	}
	site, leave, err := w.Repo.Enter(entering, w.run.ID, place)
	cancel()
	switch lost := context.Cause(kept); {
	case err == nil:
		w.leaveFolder, w.on = leave, site.On
		w.noteBranch(ctx, site.Branch)
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

// noteBranch records the branch of the run's own, where that has not the name that it was to have.
//
// If we die before it, there is a branch without work, which a fire tidies up. If we die after
// it, the run is found dead later, and where it worked is on record.
func (w *worker) noteBranch(ctx context.Context, branch string) {
	if branch == w.run.Branch {
		return
	}
	w.run.Branch = branch
	if err := w.Store.OnBranch(ctx, w.run.ID, branch); err != nil {
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
