package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"stint/internal/agent/grade"
	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/review"
	"stint/internal/store"
	"stint/internal/survey"
)

// RunOptions say which session to run: one that a fire planned, by its id, or one
// that a person asks for.
type RunOptions struct {
	Run      fleet.RunID
	Category fleet.Category
	Task     fleet.TaskID // work on this one; empty: the best
	Agent    string       // empty: the category's first that can work
	Binary   string       // of stint, absolute: what a session that follows runs
}

// CheckRun refuses options that name what does not exist. It needs no store.
func (e *Engine) CheckRun(ctx context.Context, o RunOptions) error {
	if o.Run != "" {
		return nil // only the store knows
	}
	_, err := e.handRun(ctx, o)
	return err
}

// Run runs one session from the lane to its end and returns its row as it was
// recorded. However the session ended, the error is a [fleet.OutcomeError] unless
// all went well; another error means that the end could not be recorded.
func (e *Engine) Run(ctx context.Context, o RunOptions) (fleet.Run, error) {
	run, err := e.runOf(ctx, o)
	if err != nil {
		return run, err
	}
	w := worker{Engine: e, run: run, own: run.Category, only: o.Task, asked: o.Agent}
	if o.Run != "" {
		w.first = run.Task
	}
	w.trials = func() []proof { return nil } // before it has a lane
	if o.Run == "" {
		if err := e.Store.AddRun(ctx, run); err != nil {
			return run, err
		}
	}
	// The lock comes before all else: who reads the store then sees whether a run lives or has crashed. Until its
	// session begins, the run is planned. If we die before that, it is closed as one that never began.
	alive, err := e.Lanes.Live(run.ID)
	if err != nil {
		return run, fmt.Errorf("begin run %s: %w", run.ID, err)
	}
	defer alive.Close()
	w.alive = alive
	run.StartedAt = e.Now()
	e.warnLimits(ctx, run)
	w.run = run
	err = w.work(ctx)
	following, cancel := outlasting(ctx, e.followTime(), closingTime)
	if err == nil { // its end is on record
		if err := w.respawn(following, o); err != nil {
			e.Log.ErrorContext(ctx, "respawn not decided", w.attrs(slog.Any("err", err))...)
		}
	} else if end, is := errors.AsType[fleet.OutcomeError](err); is && run.Unit != "" {
		w.wakeRested(following, end.Outcome)
	}
	cancel()
	ctx, cancel = closing(ctx) // that may have taken its time
	defer cancel()
	stored, readErr := e.Store.Run(ctx, run.ID)
	if errors.Is(readErr, fleet.ErrNotFound) { // by a store that went back
		readErr = fmt.Errorf("run %s is not on record any more: %w", run.ID, fleet.ErrLost)
	}
	if readErr != nil {
		return w.run, errors.Join(err, readErr)
	}
	return stored, err
}

// runOf is the row of a planned run, or a new one for a person's.
func (e *Engine) runOf(ctx context.Context, o RunOptions) (fleet.Run, error) {
	if o.Run != "" {
		run, err := e.Store.Run(ctx, o.Run)
		if err != nil {
			return fleet.Run{}, err
		}
		if !planned(run) {
			return run, fmt.Errorf("run %s has begun or ended already: %w", run.ID, fleet.ErrUsage)
		}
		if _, ok := e.Config.Categories[run.Category]; !ok {
			return fleet.Run{}, e.UnknownCategory(run.Category)
		}
		return run, nil
	}
	return e.handRun(ctx, o)
}

// handRun is the row of a session that a person asks for. It writes nothing.
func (e *Engine) handRun(ctx context.Context, o RunOptions) (fleet.Run, error) {
	c, ok := e.Config.Categories[o.Category]
	if !ok {
		return fleet.Run{}, e.UnknownCategory(o.Category)
	}
	if why := e.Config.NotForHost(o.Category); why != "" {
		return fleet.Run{}, fleet.WithHint(fmt.Errorf("category %s: %s: %w", o.Category, rank.NotHere(why), fleet.ErrUsage),
			fmt.Sprintf("run it there, or change hosts in [category.%s], or [host.%s], of %s", o.Category, e.Config.Host.Name, e.Config.Path))
	}
	run := e.newRun(o.Category, fleet.FromHand, e.Now())
	if o.Agent != "" {
		if _, ok := e.Config.Agents[o.Agent]; !ok {
			return fleet.Run{}, fleet.WithHint(fmt.Errorf("agent %q is not in %s: %w", o.Agent, e.Config.Path, fleet.ErrUsage),
				fmt.Sprintf("category %s has %s", o.Category, fleet.Listed(c.Agents)))
		}
		if !e.Config.HasAgent(o.Agent) {
			return fleet.Run{}, fleet.WithHint(fmt.Errorf("host %s has no agent %q: %w", e.Config.Host.Name, o.Agent, fleet.ErrUsage),
				fmt.Sprintf("run it on another host, or name the agent under agents in [host.%s] of %s", e.Config.Host.Name, e.Config.Path))
		}
		run.Agent = o.Agent
	}
	if o.Task == "" {
		return run, nil
	}
	tasks, problems, err := e.ListTasks(ctx)
	if err != nil {
		return fleet.Run{}, err
	}
	at := slices.IndexFunc(tasks, func(t fleet.Task) bool { return t.ID == o.Task })
	if at < 0 {
		if reason := e.Unlisted(survey.FailedSources(problems), o.Category); reason != "" {
			return fleet.Run{}, fmt.Errorf("task %q is on no list that could be read; %s", o.Task, reason)
		}
		return fleet.Run{}, fleet.WithHint(fmt.Errorf("task %q: %w", o.Task, fleet.ErrNotFound), "stint task list")
	}
	if c := tasks[at].Category; c != o.Category {
		return fleet.Run{}, fmt.Errorf("task %q is of category %s, not %s: %w", o.Task, c, o.Category, fleet.ErrUsage)
	}
	run.Task = o.Task
	return run, nil
}

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
	trials func() []proof // of the boxes of the agents that may do the session

	task   *fleet.Task     // that is claimed; nil: none
	asks   fleet.Feedback  // that it is to answer, on the branch of the run that this is about; of no run: nothing
	began  fleet.TaskState // in the run's own copy of the task's file, when the session began; empty: it has none
	worked bool            // an agent was at work

	leaveFolder func(context.Context) (kept string, err error) // nil: none was entered
	on          string                                         // the branch of the workspace as the session begins there
	landed      string                                         // the target, if it has the work at the session's end; empty: it waits for review
	kept        *claim.Kept                                    // nil: there was no claim
	leased      func() (context.Context, context.CancelFunc)   // see [leased]; nil: there was no claim
}

// warnLimits logs limits that were asked for and are not in force: the manager accepts them
// in silence where the kernel or the machine has no controller for them.
func (e *Engine) warnLimits(ctx context.Context, r fleet.Run) {
	properties := e.Config.Categories[r.Category].Unit
	if r.Unit == "" && len(properties) > 0 {
		names := slices.Sorted(maps.Keys(properties))
		e.Log.WarnContext(ctx, "unit properties do not apply: this session is not in a unit of its own", slog.String("run_id", string(r.ID)),
			slog.String("reason", fmt.Sprintf("nothing enforces [category.%s.unit] %s", r.Category, strings.Join(names, ", "))))
	}
	if e.Unenforced == nil || r.Unit == "" {
		return
	}
	for _, reason := range e.Unenforced(properties) {
		e.Log.WarnContext(ctx, "limit not in force", slog.String("run_id", string(r.ID)), slog.String("unit", r.Unit), slog.String("reason", reason))
	}
}

// work tries the categories that the run may work, the one it was started for
// first, until one gives it a lane and a claim; then it runs the session. Only
// denied claims lead on to the next category.
func (w *worker) work(ctx context.Context) error {
	ended := false
	v, err := w.refused(ctx)
	if err == nil && v.Outcome == "" {
		v, ended, err = w.try(ctx, w.own)
	}
	if err == nil && !ended && v.Outcome == fleet.RunDenied {
		v, ended, err = w.pivot(ctx, v)
	}
	switch {
	case ended:
		return err
	case err != nil:
		return w.giveUp(ctx, err)
	}
	return w.end(ctx, v)
}

// refused returns the verdict on a run that was to follow another and may not begin after all:
// much can have happened while it waited. A person's decision cancels it.
func (w *worker) refused(ctx context.Context) (v fleet.Verdict, err error) {
	if w.run.Source != fleet.FromRespawn {
		return v, nil
	}
	if most := w.Config.Categories[w.run.Category].MaxChain; w.run.ChainDepth > most {
		return fleet.Verdict{Outcome: fleet.Cancelled, Reason: rank.ChainEnds(most)}, nil
	}
	now, err := w.Look(ctx)
	if err != nil {
		return v, err
	}
	now.Without(w.run)
	now.Full = w.Full(ctx)
	if reason, standing := w.admit(now, true); standing {
		v = fleet.Verdict{Outcome: fleet.Cancelled, Reason: reason}
	} else if reason != "" {
		v = fleet.Verdict{Outcome: fleet.Busy, Reason: reason}
	}
	return v, nil
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
			s.Facts[i].Gate = rank.Obstacle{}
		}
	}
	o := w.rule(v, s).Blocker(c, 0)
	return o.Reason, o.Kind == fleet.HinderedByPause || o.Kind.Elsewhere()
}

// rule says which category may have one more session, as it says to fires.
func (w *worker) rule(v survey.View, s rank.Situation) rank.PlanInput {
	in := rank.PlanInput{Input: w.Input(v, s, nil)}
	in.Workers = 1
	return in
}

// pivot goes on to other categories after a denial, until one gives the run a session, as [worker.try] does.
// The walk is to categories with a free lane: a busy one is no pivot.
func (w *worker) pivot(ctx context.Context, denial fleet.Verdict) (fleet.Verdict, bool, error) {
	categories, err := w.others(ctx)
	pivots := 0
	for _, c := range categories {
		if pivots == maxPivots {
			break
		}
		v, ended, err := w.try(ctx, c)
		if ended || err != nil {
			return v, ended, err
		}
		if v.Outcome == fleet.RunDenied {
			denial = v
		}
		if v.Outcome != fleet.Busy {
			pivots++
		}
	}
	return denial, false, err
}

// maxPivots bounds the other categories that a worker tries if others were quicker at the tasks of its own: more would
// burn the session on asking.
const maxPivots = 2

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
	rule, own := w.rule(v, w.Situation(v)), w.Config.Categories[w.own]
	for _, choice := range fire.Choices { // ranked ones stand in order
		c := choice.Category
		other, known := w.Config.Categories[c]
		suits := known && slices.Contains(other.Agents, w.run.Agent) && other.Timeout <= own.Timeout && reflect.DeepEqual(other.Unit, own.Unit)
		if choice.Rank > 0 && c != w.own && suits && rule.Blocker(c, 0).Kind == "" {
			list = append(list, c)
		}
	}
	return list, nil
}

// forced reports whether a person had a fire start this session's category.
func (w *worker) forced() bool { return w.run.Fire != 0 && w.run.Source == fleet.FromHand }

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

// lane takes the lock of a lane on this machine, and has the session begin there. It ends with the supervisor that
// has it; its agent, or what that started, may live on, and its run keeps the claim. Without a session it says why,
// and whether another lane may have one; then the run has nothing, on record or else.
//
// If we die before the write, the kernel frees the lock. If we die after it, the run is found dead and closed, by the
// next reaping or the next who takes the lock.
func (w *worker) lane(ctx context.Context, c config.Category, n int, work *work) (v fleet.Verdict, busy, ended bool, err error) {
	name := work.category
	lane, err := w.Lanes.Take(name, n, w.run.ID)
	if errors.Is(err, fleet.ErrBusy) {
		return v, true, false, nil
	} else if err != nil {
		return v, false, false, err
	}
	// The end of a session is on record, or written down, before its lock is free: recorded holds overlap only where real
	// ones do.
	defer func() { err = errors.Join(err, lane.Release()) }()
	var begun store.Begun
	var asked time.Duration
	for range 2 {
		if err = w.look(ctx, c, work); err != nil {
			return v, false, false, err
		}
		var resident fleet.Claim // of the lane
		if work.none.Outcome != "" {
			i := slices.IndexFunc(work.held, func(c fleet.Claim) bool { return c.Key == fleet.LaneKey(name, n) })
			if i < 0 {
				return work.none, false, false, nil
			}
			resident = work.held[i]
		} else {
			asked = w.Elapsed()
			begun, err = w.Store.Begin(ctx, store.Begin{
				Run: w.run.ID, PID: os.Getpid(), Category: name, Lane: n, TTL: c.TTL, Agents: work.agents, Known: work.known,
				Offers: plain.Each(work.offers, func(o offer) store.Offer { return o.Offer }),
			})
			if resident = begun.Lane; err != nil || resident.Key == "" {
				break
			}
		}
		if busy, err := w.inhabited(ctx, resident); busy != "" || err != nil {
			return fleet.Verdict{Reason: busy}, busy != "", false, err
		}
		work.looked, work.none, work.offers, work.known = false, fleet.Verdict{}, nil, nil // that run may have left its task in another state
	}
	refused, is := errors.AsType[fleet.RefusedError](err)
	switch {
	case is:
		begun.Refused = refused
	case err != nil: // it may be on record all the same
		return v, false, false, err
	case begun.Lane.Key != "":
		return fleet.Verdict{}, true, false, nil
	}
	for _, d := range begun.Denied {
		v = fleet.Verdict{Outcome: fleet.RunDenied, Reason: d.Reason}
		w.Log.WarnContext(ctx, "claim denied", w.attrs(slog.String("reason", d.Reason))...)
	}
	for _, o := range work.offers { // their siblings are likely to be under work
		if o.task != nil && o.task.Family != "" && slices.ContainsFunc(begun.Denied, func(d store.Denial) bool { return d.Claim.Key == o.Key }) {
			w.shun = append(w.shun, o.task.Family)
		}
	}
	switch {
	case begun.Refused.Reason != "":
		if begun.Refused.Scope != "" {
			w.notify(ctx, fleet.Notice{Event: fleet.EventBudget, Scope: begun.Refused.Scope, Category: name, Run: w.run.ID, Reason: begun.Refused.Reason, At: w.Now()})
		}
		return fleet.Verdict{Outcome: begun.Refused.Outcome, Reason: begun.Refused.Reason}, false, false, nil
	case begun.Claim.Key == "":
		return v, false, false, nil
	}
	o := work.offers[begun.Offer]
	w.run.Category, w.run.Lane = name, n
	w.run = claimFor(w.run, o.task)
	w.run.Agent, w.run.Epoch, w.run.Branch = begun.Agent, begun.Claim.Epoch, o.Branch
	w.task, w.asks = o.task, o.asks
	w.Log.InfoContext(ctx, "claimed", w.attrs(slog.Int64("claim_epoch", int64(w.run.Epoch)))...)
	run, hold := w.run.ID, store.Hold{Key: w.run.Key, Holder: w.run.ID.Holder(), Epoch: w.run.Epoch, Kept: true}
	lease, kept := claim.Keeper{
		Claims: w.Store, Hold: hold, TTL: c.TTL, Elapsed: w.Elapsed, Asked: asked, Expires: begun.Claim.ExpiresAt,
		Tail: func() string { return w.tail(run) }, Log: w.Log,
	}.Keep(ctx)
	defer kept.Stop()
	w.kept = kept
	w.leased = func() (context.Context, context.CancelFunc) { return leased(lease, c.TTL) }
	return v, false, true, w.end(ctx, w.session(ctx, lease, c, o.task, o.lessons))
}

// work has the task that a worker found for a session of a category.
type work struct {
	category fleet.Category
	looked   bool
	none     fleet.Verdict // why there is none; without an outcome: there is
	held     []fleet.Claim // by others
	offers   []offer
	agents   []fleet.Terms
	known    []store.Known
}

// look finds work for the session, once, and agents whose boxes hold.
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
	for _, t := range seen.Tasks {
		o := seen.Overlaps[t.ID]
		why := []any{slog.String("task_id", string(t.ID)), slog.String("reason", o.Why)}
		switch {
		case t.Category != k.category || o.Why == "":
		case o.Waits:
			w.Log.InfoContext(ctx, "task waits for other work", why...)
		default:
			w.Log.InfoContext(ctx, "task comes after its equals", why...)
		}
	}
	if err := w.choose(ctx, c, k, seen); err != nil || k.none.Outcome != "" {
		return err
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

// choose finds what a session of the category may work on, the best first, or says why there is nothing. A claim that is
// denied was granted to a session in another lane, as a rule, and each has one: there are so many offers as lanes.
func (w *worker) choose(ctx context.Context, c config.Category, k *work, seen survey.View) error {
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
	return nil
}

// queue orders the tasks that the session tries. A session that a fire started is in the round of that fire, not in
// the one to come.
func (w *worker) queue(v survey.View) rank.Queue {
	q := w.Engine.Queue(v)
	q.First = w.first
	if q.ByHand = w.run.Source == fleet.FromHand; !q.ByHand {
		q.Round = func(c fleet.Category) fleet.Round { return v.Snapshot.Arms[c].Round }
	}
	return q
}

// offer is work for the session, and what it is to be told.
type offer struct {
	store.Offer
	task    *fleet.Task    // nil: none
	asks    fleet.Feedback // that it is to answer, on the branch of the run that this is about; of no run: nothing
	lessons []fleet.Lesson
}

// offer returns the needs of a session at a task, or at none.
func (w *worker) offer(ctx context.Context, c config.Category, task *fleet.Task, seen survey.View) (o offer, err error) {
	o.task = task
	if c.OwnClone {
		o.Branch = w.Repo.Branch(w.run.ID)
	}
	if task != nil {
		o.Task, o.Key = task.ID, task.ID.Key()
		for _, m := range seen.Snapshot.Tasks { // what does not hold is forgotten by now, unless something is owed
			if m.Task == task.ID && (task.Memory != nil || m.Owed != "") {
				o.Memory = m
			}
		}
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
			o.Excluded = seen.Overlaps[task.ID].Apart
		}
	}
	o.Roomy = o.asks.Run != "" || w.forced() // the item that it goes on with has its place; a person's word makes room
	o.Lessons, o.lessons = w.matching(seen.Lessons, w.run, task)
	return o, nil
}

// toAnswer returns the feedback that a session at the task answers, with the branch of the run that it is about; a
// zero value: there is none.
func (e *Engine) toAnswer(ctx context.Context, task fleet.TaskID) (latest fleet.Feedback, branch string, err error) {
	all, err := e.Record().Feedback(ctx)
	for _, run := range slices.Sorted(maps.Keys(all)) {
		if f := all[run]; f.Task == task && f.Waits() && !f.At.Before(latest.At) {
			latest = f
		}
	}
	if err != nil || latest.Run == "" {
		return fleet.Feedback{}, "", err
	}
	reviews, err := e.Store.Reviews(ctx, latest.Run)
	over := []fleet.ReviewDecision{fleet.DecisionRejected, fleet.DecisionSuperseded, fleet.DecisionLanded}
	if err != nil || slices.Contains(over, reviews[latest.Run].Decision) {
		return fleet.Feedback{}, "", err
	}
	branches, err := e.Repo.Branches(ctx)
	if branch = branches[latest.Run]; err != nil || branch == "" { // it was merged, or deleted
		return fleet.Feedback{}, "", err
	}
	return latest, branch, nil
}

// inhabited names the run that has a lane whose lock we have, if its session lives on. A run whose session is gone
// is closed: its hold is ended before ours begins.
func (w *worker) inhabited(ctx context.Context, c fleet.Claim) (busy string, err error) {
	id, _ := c.Holder.Run() // nobody else can name the key of a lane
	r, err := w.Store.Run(ctx, id)
	if err != nil {
		return "", err
	}
	if w.Liveness(ctx, r) != fleet.Gone {
		return fmt.Sprintf("run %s has lost its supervisor and still works in lane %s.%d", id, r.Category, r.Lane), nil
	}
	_, err = w.close(ctx, r, reasonFoundDead)
	return "", err
}

// occupants says which runs have the lanes of a category.
func (w *worker) occupants(ctx context.Context, name fleet.Category, lanes int) (string, error) {
	busy := fmt.Sprintf("every lane of %s is taken", name)
	var who []string
	for n := 1; n <= lanes; n++ {
		c, _, err := w.Store.Check(ctx, fleet.LaneKey(name, n))
		if err != nil {
			return "", err
		}
		if id, session := c.Holder.Run(); session && c.ReleasedAt.IsZero() {
			who = append(who, fmt.Sprintf("%s.%d by run %s", name, n, id))
		}
	}
	if len(who) > 0 {
		busy += ": " + strings.Join(who, ", ")
	}
	return busy, nil
}

// leased is a context for recording the end. It lasts as long as the lease, and no longer than one
// where renewals go through all the time. A worker that was asked to stop has closingTime, for its
// manager will not wait.
func leased(kept context.Context, ttl time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := outlasting(kept, ttl, closingTime)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(kept, func() {
		if lost := context.Cause(kept); errors.Is(lost, fleet.ErrLost) {
			cancel(lost)
		}
	})
	return ctx, func() { stop(); cancel(nil); end() }
}

// session runs the agent while its claim is kept, and judges what came of it.
func (w *worker) session(ctx, kept context.Context, c config.Category, task *fleet.Task, lessons []fleet.Lesson) fleet.Verdict {
	entering, cancel := context.WithTimeout(kept, enterTime)
	place := fleet.Place{Own: c.OwnClone, Sync: c.Sync, Continues: w.asks.Run}
	own, cut := w.run.Branch, fleet.Run{}
	if task != nil {
		list, err := w.earlier(ctx, task)
		if err != nil { // what they left stays where it is
			w.Log.WarnContext(ctx, "earlier sessions not read", w.attrs(slog.Any("err", err))...)
		}
		place.Earlier = plain.Each(list, fleet.Run.Home)
		cut = w.resume(ctx, c, list)
	}
	site, leave, err := w.Repo.Enter(entering, w.run.ID, w.placeOf(place, cut))
	if err != nil && cut.ID != "" && kept.Err() == nil { // as where a person is in that folder
		cut, w.run.Branch = fleet.Run{}, own
		w.newConversation(ctx, fmt.Sprintf("its folder cannot be made again: %v", err))
		site, leave, err = w.Repo.Enter(entering, w.run.ID, place)
	}
	cancel()
	switch lost := context.Cause(kept); {
	case err == nil:
		// If we die before it is on record, there is a branch without work, which a fire tidies up.
		if w.leaveFolder, w.on = leave, site.On; site.Branch != w.run.Branch {
			w.run.Branch = site.Branch
			if err := w.onRecord(ctx); err != nil {
				w.Log.WarnContext(ctx, "branch not recorded before the end", w.attrs(slog.Any("err", err))...)
			}
		}
	case errors.Is(lost, fleet.ErrLost):
		return fleet.Verdict{Outcome: fleet.Lost, Reason: lost.Error()}
	case kept.Err() != nil:
		return early(kept)
	default:
		v := failed(fmt.Errorf("prepare the workspace: %w", err))
		if hint := fleet.Hint(err); hint != "" { // what to do about it
			v.Reason += "; " + hint
		}
		return v
	}
	a := assignment{w.run, c, task, lessons, w.asks.Said, site.Dir, site.Left, w.layers(), site.News, cut}
	spec, err := w.sessionSpec(kept, a)
	if err != nil {
		return failed(err)
	}
	spec.Alive, spec.Trial = w.alive, w.trial(w.run.ID, site.Dir)
	if task != nil {
		w.began = w.ownState(ctx, *task)
	}
	if task != nil && len(w.calls(task.Source)[fleet.CallStart]) > 0 {
		// The tracker is owed the end of what began, on record: if we die from here on, the next reaping releases the item.
		telling, cancel := context.WithTimeout(kept, tellingTime)
		if err := w.Sources.Call(telling, fleet.CallStart, *task, w.run.ID, ""); err != nil {
			w.Log.WarnContext(telling, "tracker not updated", w.attrs(slog.Any("err", err))...)
		}
		cancel()
	}
	shut := func() {}
	if w.Door != nil {
		if open, err := w.Door(w.run); err == nil {
			shut = open
		} else { // a session can do its work without, and its questions fail
			w.Log.ErrorContext(ctx, "no door for the agent", w.attrs(slog.Any("err", err))...)
		}
	}
	began := w.Elapsed()
	exit, err := w.Runner.Run(kept, spec)
	if err == nil && cut.ID != "" && w.unknown(exit) {
		// The same session has a new conversation, in the same folder. If we die before that is on record, the next one goes on with
		// the old conversation once more, and gets the same answer.
		w.newConversation(ctx, "its program cannot go on with it")
		a.run, a.cut = w.run, fleet.Run{}
		if spec, err = w.sessionSpec(kept, a); err == nil {
			spec.Alive, spec.Trial, spec.Timeout = w.alive, w.trial(w.run.ID, site.Dir), spec.Timeout-(w.Elapsed()-began)
			exit, err = w.Runner.Run(kept, spec)
		}
	}
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
		_, _ = w.lookAtWork(ctx, spec) // it is logged; the session's commits are not lost with its claim
		w.use(ctx, fleet.Usage{})      // it was paid for all the same
		return fleet.Verdict{Outcome: fleet.Lost, Reason: lost.Error()}
	}
	// The claim is kept while the session is judged, for check and grader take their time.
	v := w.judge(kept, c, task, spec, exit)
	if v.Outcome == fleet.Cancelled && errors.Is(lost, claim.ErrStopRequested) {
		v.Reason = lost.Error()
	}
	return v
}

// lastWords returns the agent's words on what went wrong, or its last line if it printed no transcript.
func (w *worker) lastWords(t *grade.Transcript) string {
	const most = 4 << 10
	if t != nil {
		return t.Err
	}
	text := strings.TrimSpace(w.Folders.Tail(w.run.ID, most))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// judge gathers the evidence of a session whose agent is gone and gives the verdict; its use
// and commits, and the time at which its agent can work again, go into the run. Evidence that
// cannot be found out is left out, loudly: an agent that was not looked at did not fail.
//
// If we die in here, the run is open with nothing of it recorded but what its folder and
// git hold, and check or grader go on to their own end: the next reaping waits for these,
// as they are in the run's unit, and closes the run as abandoned.
func (w *worker) judge(ctx context.Context, c config.Category, task *fleet.Task, spec fleet.SessionSpec, exit fleet.SessionExit) fleet.Verdict {
	work, err := w.lookAtWork(ctx, spec)
	agent := w.Config.Agents[w.run.Agent]
	e := grade.Evidence{Exit: exit, Commits: work.Commits, Trusted: agent.Trust, Left: work.Left}
	if work.Known {
		e.Changes = &grade.Changes{
			Commits: work.Standing, Branch: work.Branch, Files: work.Files, Tests: work.Tests,
			Insertions: work.Insertions, Deletions: work.Deletions, Cut: work.Cut, Derived: work.Derived,
		}
	}
	if now := w.Repo.On(ctx); w.on != "" && now != w.on { // new clones begin there, and it may be the target of review
		e.Moved = cmp.Or(now, "no branch")
		w.Log.WarnContext(ctx, "workspace on another branch", w.attrs(slog.String("reason", fmt.Sprintf("it was on %s, and is on %s", w.on, e.Moved)))...)
	}
	if w.landed = w.landedIn(ctx, work); w.landed != "" {
		e.Landed = w.landed
		w.Log.WarnContext(ctx, "nobody reviewed the work", w.attrs(slog.String("reason", w.landed+" has it already at the session's end"))...)
	}
	var readErr error
	if e.Transcript, readErr = w.Transcript(w.run.Agent, spec.Files.Log); readErr != nil {
		w.Log.WarnContext(ctx, "no evidence from the log", w.attrs(slog.Any("err", readErr))...)
	}
	e.Words = w.lastWords(e.Transcript)
	if len(c.Check) > 0 && grade.WantsCheck(e) {
		e.Check = &grade.Check{}
		q, err := w.question(spec, c.Check, c.Timeout, false)
		if err == nil {
			e.Check.Failure, err = w.Graders.Check(ctx, q)
		}
		if err != nil {
			e.Check = &grade.Check{Fault: err.Error()}
		}
	}
	if len(c.Grader) > 0 && grade.WantsOpinion(e) {
		e.Opinion = w.opinion(ctx, c, task, spec, e)
	}
	j := grade.Assess(e)
	for _, warning := range j.Warnings {
		w.Log.WarnContext(ctx, "evidence not used", w.attrs(slog.String("reason", warning))...)
	}
	w.use(ctx, j.Usage)
	w.run.QuotaUntil = w.backAt(j)
	if err != nil && j.Verdict.Outcome == fleet.Noop {
		return failed(fmt.Errorf("the session's work cannot be read: %w", err))
	}
	return j.Verdict
}

// lookAtWork finds out what a session did to the repository, and keeps on record which commits
// it made, however it ends.
func (w *worker) lookAtWork(ctx context.Context, spec fleet.SessionSpec) (work fleet.Work, err error) {
	ctx, cancel := outlasting(ctx, lookTime, closingTime) // also for a session that was stopped
	defer cancel()
	work, err = w.Repo.Work(ctx, spec.Dir, spec.Files)
	if err != nil {
		w.Log.WarnContext(ctx, "no evidence from git", w.attrs(slog.Any("err", err))...)
	}
	w.run.Commits = work.Revisions
	return work, err
}

// landedIn is the target of review or what it follows, if that has the work of the session's branch already: the session pushed it
// there, or somebody did meanwhile.
func (w *worker) landedIn(ctx context.Context, work fleet.Work) string {
	if w.run.Branch == "" || len(w.run.Commits) == 0 || w.Work == nil || work.Unmoved {
		return ""
	}
	ctx, cancel := closing(ctx)
	defer cancel()
	found, err := w.Work.Fates(ctx, []review.Watched{{Run: w.run.ID, Branch: w.run.Branch, Commits: w.run.Commits}})
	if err != nil {
		w.Log.WarnContext(ctx, "target not looked at", w.attrs(slog.Any("err", err))...)
	}
	if !slices.ContainsFunc(found, func(f fleet.ReviewOutcome) bool { return f.Kind.Landed() }) {
		return ""
	}
	return cmp.Or(w.Config.Review.Target, w.Repo.On(ctx), "the target")
}

// opinion asks the category's grader.
func (w *worker) opinion(ctx context.Context, c config.Category, task *fleet.Task, spec fleet.SessionSpec, e grade.Evidence) *grade.Opinion {
	task, err := w.withBody(ctx, task)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	diff, cut, err := w.Repo.Diff(ctx, w.run.Commits, grade.MaxDiff)
	if err != nil {
		w.Log.WarnContext(ctx, "no diff for the grader", w.attrs(slog.Any("err", err))...)
	}
	evidence, err := grade.Case{
		Run: w.run.ID, Category: w.run.Category, Task: task, Workspace: spec.Dir, Files: spec.Files,
		Revisions: w.run.Commits, Diff: diff, DiffCut: cut,
	}.Encode(e)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	q, err := w.question(spec, c.Grader, c.Timeout, true)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	q.Evidence, q.Limit = evidence, grade.MaxOpinion
	answer, err := w.Graders.Ask(ctx, q)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	return &grade.Opinion{Output: answer}
}

// longestRest bounds what an agent says of when it can work again: the longest allowance
// is a month's. A later time is a misreading, and would put it out of work for ever.
const (
	longestRest = 35 * 24 * time.Hour
	// toldRest bounds the word of one session for all others. If the limit lasts, the next session says so again.
	toldRest = time.Hour
	// shortestRest bounds a rest from below: the agent waits out a shorter limit by itself, and in
	// vain if the session ended with it.
	shortestRest = 30 * time.Second
	// unsaidRest is the rest of an agent that got its work done and then met a limit
	// of unknown length.
	unsaidRest = 15 * time.Minute
	// resetSlack is added to a time of day, which agents cut to the minute.
	resetSlack = time.Minute
)

// backAt is when an agent that met a limit can work again; zero when it did not say.
func (w *worker) backAt(j grade.Judgement) time.Time {
	limit := j.Limit
	if limit == nil {
		return time.Time{}
	}
	now, longest := w.Now(), longestRest
	if limit.Told {
		longest = toldRest
	}
	switch {
	case !limit.ResetAt.IsZero():
		at := limit.ResetAt.Add(resetSlack)
		return now.Add(min(longest, max(shortestRest, at.Sub(now))))
	case limit.RetryAfter > 0:
		return now.Add(min(longest, max(shortestRest, limit.RetryAfter)))
	case j.Verdict.Outcome != fleet.Quota:
		return now.Add(unsaidRest)
	}
	return time.Time{} // the store doubles the time for each that does not say
}

// end records how the run ended and what it leaves of its task, which gives back whatever the run
// holds, and reports to the task's source.
//
// If we die before the end is written down, the run is open and nothing is graded: the next
// reaping closes it. If we die after that, before the record, the next reaping records what is
// written down. If we die after it, all is done but the report to the source, which the next
// reaping makes. Nothing is graded twice.
func (w *worker) end(alive context.Context, v fleet.Verdict) error {
	ctx, cancel := closing(alive)
	defer cancel()
	w.trials() // they use the run's folder, that is trimmed
	v.Reason = w.masked(v.Reason)
	w.run.Verdict, w.run.Tail = v, w.tail(w.run.ID)
	if w.run.Key != "" && !w.worked && !v.Internal { // no agent began: nothing of what is reserved was used
		w.run.Usage.Tokens, w.run.Usage.USD = new(int64(0)), new(0.0)
	}
	w.run.Left = w.leaves(ctx)
	if err := w.record(alive); err != nil {
		return err
	}
	ctx, cancel = closing(alive) // that may have taken its time
	defer cancel()
	if v = w.run.Verdict; w.run.Key != "" {
		w.kept.Stop()
		if w.asks.Run != "" && (v.Outcome == fleet.Productive || v.Outcome == fleet.Nothing) { // else the next session at the task is asked again
			w.asks.Said = ""
			if err := w.Store.SaveFeedback(ctx, w.asks); err != nil {
				w.Log.WarnContext(ctx, "feedback is asked for again", w.attrs(slog.Any("err", err))...)
			}
		}
	}
	if left := w.run.Left; left.State != "" && left.Source != "" && w.run.Key != "" && v.Outcome != fleet.Lost {
		// A tracker has its own time for each command. A later fire makes the report where it fails now.
		telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellingTime)
		if err := w.pay(telling, *w.task, fleet.TaskMemory{Task: w.run.Task, Run: w.run.ID, TaskLeft: left}, v.Reason); err != nil {
			w.Log.WarnContext(telling, "tracker not updated", w.attrs(slog.Any("err", err))...)
		}
		cancel()
	}
	if !w.Config.Categories[w.run.Category].OwnClone && len(w.run.Commits) > 0 {
		w.pushTarget(ctx)
	}
	ctx, cancel = closing(ctx) // that may have taken its time
	defer cancel()
	w.notifyEnd(ctx)
	w.Log.InfoContext(ctx, "run ended", w.attrs(slog.String("outcome", string(v.Outcome)), slog.String("reason", v.Reason))...)
	if v.Outcome.Succeeded() {
		return nil
	}
	return fleet.OutcomeError{Run: w.run.ID, Outcome: v.Outcome, Reason: v.Reason}
}

// leaves returns the state in which the run leaves its task. It writes nothing.
func (w *worker) leaves(ctx context.Context) (left fleet.TaskLeft) {
	v, task := w.run.Verdict, w.task
	if task == nil || w.run.Key == "" || v.Outcome == fleet.Lost {
		return left
	}
	here := *task
	if here.State = task.InSource(); task.Source == "" {
		// A file that is not there may be away, with another branch checked out, and come back as it was.
		if again, err := w.Sources.Again(ctx, here); err == nil {
			here = again
		} else if !errors.Is(err, fleet.ErrNotFound) {
			w.Log.WarnContext(ctx, "task not read again", w.attrs(slog.Any("err", err))...)
			here.Seen = ""
		}
	}
	now := here.State
	if own := w.ownState(ctx, *task); own != w.began { // what the session wrote into its copy counts
		now = own
	}
	left.Source, left.Item = task.Source, task.Item
	left.State = stateAfter(v, task.State, task.InSource(), now)
	left.Changed = left.State != task.State
	left.Worked = w.worked && worked(v)
	left.Last = (v.Empty() || v.Internal) && w.last(ctx)
	if task.Source != "" {
		left.Owed = w.owedTo(*task, left.State)
		return left
	}
	if left.Seen = here.Seen; left.State.Settled() && here.State == left.State {
		left.Seen = task.Seen // a clone of another host still shows that
	}
	return left
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

// worked reports whether a session that ended so was at work on its task.
func worked(v fleet.Verdict) bool {
	switch v.Outcome {
	case fleet.Productive, fleet.Noop, fleet.Nothing, fleet.Failed, fleet.Timeout, fleet.Cancelled:
		return !v.Internal
	case fleet.Quota, fleet.Unavailable, fleet.Lost, fleet.Abandoned, fleet.Busy, fleet.RunDenied, fleet.Idle:
	}
	return false
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
		ctx, cancel := closing(ctx)
		defer cancel()
		return w.Store.Complete(ctx, w.run)
	}
	lease, cancel := w.leased()
	defer cancel()
	down := w.writeDown(ctx)
	w.leavePlace(ctx)
	err := w.insist(lease, func() error { //nolint:contextcheck // the lease goes on where the worker was stopped
		down = down || w.writeDown(ctx) // a full disk has room for it sooner than for the store
		return w.Store.Complete(lease, w.run)
	})
	if !errors.Is(err, fleet.ErrLost) {
		return err
	}
	ctx, cancel = closing(ctx) // that may have taken its time
	defer cancel()
	w.run, err = w.complete(ctx, w.run) // the lease was over, and the claim may be nobody else's
	return err
}

// writeDown writes down how the run ended, and reports whether that worked.
func (w *worker) writeDown(ctx context.Context) bool {
	err := w.Folders.PutEnd(w.run)
	if err != nil {
		w.Log.WarnContext(ctx, "end not written down", w.attrs(slog.Any("err", err))...)
	}
	return err == nil
}

// leavePlace gives up the folder the run worked in, and finds out whether it left anything there to review.
//
// If we die in here, the next fire tidies up, and gives back the place in review.
func (w *worker) leavePlace(ctx context.Context) {
	ctx, cancel := outlasting(ctx, lookTime, closingTime/2)
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

// maxPause is the longest between two tries to record an end.
const maxPause = 30 * time.Second

// insist tries a write until it goes through, is refused for good, or ctx ends: a disk
// that is full for minutes, or a store that somebody locked, must not cost a session its
// result. All of what it is used for changes nothing the second time.
func (w *worker) insist(ctx context.Context, write func() error) error {
	var last error
	for pause := time.Second; ; pause = min(2*pause, maxPause) {
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

// lost is a session whose claim was not its own any more when it ended: it leaves nothing of its task.
func lost(r fleet.Run) fleet.Run {
	r.Left, r.Verdict = fleet.TaskLeft{}, fleet.Verdict{
		Outcome: fleet.Lost, ExitStatus: r.Verdict.ExitStatus,
		Reason: fmt.Sprintf("the claim on %q at epoch %d expired or was taken while working", r.Key, r.Epoch),
	}
	return r
}

// notifyEnd sends a notice of the run's end where that is news.
func (w *worker) notifyEnd(ctx context.Context) {
	if w.Notices == nil || w.run.Key == "" {
		return
	}
	s, err := w.Store.Snapshot(ctx)
	changes, lost := w.Store.GradeChanges(ctx, store.ChangeQuery{Run: w.run.ID, Limit: 1})
	if err = errors.Join(err, lost); err != nil {
		w.Log.WarnContext(ctx, "notices not looked for", slog.Any("err", err))
		return
	}
	run := w.run
	run.EndedAt = w.Now()
	if n, worth := fleet.EndNotice(run, s.Arms[run.Category].Noops); worth {
		w.notify(ctx, n)
	}
	for _, r := range changes {
		w.notify(ctx, fleet.Notice{Event: fleet.EventGradesChanged, Category: r.Category, Task: run.Task, Run: r.Run, Reason: r.String(), At: r.At})
	}
	for _, q := range fleet.WaitingTasks(s.Tasks) {
		if q.Task == run.Task {
			w.notify(ctx, fleet.Notice{Event: fleet.EventWaiting, Category: run.Category, Task: run.Task, Run: run.ID, Reason: q.Why(), At: run.EndedAt})
		}
	}
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
	chain := rank.Chain{
		Outcome: w.run.Verdict.Outcome, Grade: w.run.Verdict.Grade, Depth: w.run.ChainDepth, Most: c.MaxChain, From: c.Respawn,
		Later: w.Later != nil && w.run.Unit != "",
	}
	follows, reason := rank.Respawn(chain)
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
		follows, reason = rank.Respawn(chain)
	}
	if follows {
		now := w.Now()
		r := w.newRun(w.run.Category, fleet.FromRespawn, now)
		if agent, _, free := w.Seats(v).Take(rank.AgentNames(rank.Rank(w.Input(v, w.Situation(v), nil)).ByDraws()[r.Category])); free {
			r.Agent = agent
		}
		r.Fire, r.Rank, r.ChainDepth, r.NotBefore = w.run.Fire, w.run.Rank, w.run.ChainDepth+1, now.Add(c.Cooldown)
		spec := w.workerSpec(r, o.Binary)
		r.Unit = spec.Name
		if err := w.Later.StartAfter(ctx, spec, c.Cooldown); err == nil {
			next = &r
		} else {
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

// wakeRested has its pool fire when the agents of the category have rested, if that is why no session of it can follow.
// A run that met neither a limit nor a failing service does not look for that.
func (w *worker) wakeRested(ctx context.Context, end fleet.Outcome) {
	if end != fleet.Quota && end != fleet.Unavailable {
		return
	}
	c := w.run.Category
	v, err := w.Look(ctx)
	if err != nil {
		w.Log.WarnContext(ctx, "no fire when its agents have rested", w.attrs(slog.Any("err", err))...)
		return
	}
	if v.Pool = w.Config.Categories[c].Pool; !w.WithoutAgent(v, c).Until.IsZero() {
		w.wake(ctx, v.Pool, w.Situation(v).Opening(false, c), 0)
	}
}

// failed is the end of a session that stint could not run. There is nothing to
// grade.
func failed(err error) fleet.Verdict {
	return fleet.Verdict{Outcome: fleet.Failed, Reason: err.Error(), Internal: true}
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
