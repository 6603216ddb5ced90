package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/survey"
)

// FanoutOptions say how to fire.
type FanoutOptions struct {
	Pool     string           // start categories of this one; empty: of the default one
	Workers  int              // start at most so many
	Seed     *uint64          // nil: by chance
	Payload  []byte           // another selector's ranking; nil: stint's own
	Forced   []fleet.Category // start these first, whatever yields to a person's word
	DryRun   bool             // decide, and change nothing
	Units    Units            // starts the workers; may be nil with DryRun
	Detached bool             // Units are no systemd units
	Extra    bool             // it comes between the fires of a timer: no round passes by it
	Binary   string           // of stint, absolute
}

// FireReport has a fire's decisions and their results.
type FireReport struct {
	fleet.Fire
	DryRun bool
	Tier   rank.Tier // 0 when another selector's payload was followed

	// Ranking is the ranking that a fire followed; nil: another selector's payload, or the fire is one of
	// the record.
	Ranking *rank.Selection

	// Opens is when the next category can be started that could not be, and for which there was room; zero: it is not known.
	Opens time.Time
}

// Fanout fires once: it closes runs whose sessions are gone, looks, decides, records, starts the workers, and then keeps
// house. The report is complete even when the error says that units did not start ([fleet.ErrPartly], or a plain error
// when none did) or that there was nothing to start ([fleet.ErrNothing]).
//
// A crash splits it at: Store.Abandon and Store.Complete of runs that are gone, Repo.Rescue, Store.SeePlaces,
// Store.RecordFire, Store.NotStarted, and the chores of [Engine.keepHouse].
func (e *Engine) Fanout(ctx context.Context, o FanoutOptions) (FireReport, error) {
	o.Pool = cmp.Or(o.Pool, config.DefaultPool)
	if _, err := e.Config.Pool(o.Pool); err != nil {
		return FireReport{}, err
	}
	for _, c := range o.Forced {
		if _, known := e.Config.Categories[c]; !known {
			return FireReport{}, e.UnknownCategory(c)
		}
	}
	if o.DryRun {
		r, _, err := e.choose(ctx, o)
		return r, cmp.Or(err, r.result())
	}
	if _, err := e.reap(ctx, false); err != nil { // first, as this fire may start the work of crashed runs again
		e.Log.ErrorContext(ctx, "not everything was reaped", slog.Any("err", err))
	}
	// What they left comes home before a session at the same task goes on from there. As a rule there is nothing.
	homing, cancel := context.WithTimeout(ctx, homeTime)
	if err := e.Repo.Rescue(homing, e.isOver(ctx)); err != nil {
		e.Log.WarnContext(ctx, "not all work of sessions that crashed is home", slog.Any("err", err))
	}
	cancel()
	r, seen, err := e.choose(ctx, o)
	if err == nil {
		err = e.start(ctx, &r.Fire, e.bounds(seen.View), o)
	}
	if !o.Detached {
		e.wake(ctx, o.Pool, r.Opens, 0)
	}
	e.keepHouse(ctx, seen)
	return r, cmp.Or(err, r.result())
}

// FireSoon has a pool fire once more, now or when a pause of the whole fleet ends, but not within half a minute of its last fire.
func (e *Engine) FireSoon(ctx context.Context, pool string) error {
	s, err := e.Record().Snapshot(ctx)
	if p := survey.Paused(s.Pauses, "", s.At); err == nil && (p.Reason == "" || !p.Until.IsZero()) {
		e.wake(ctx, pool, plain.Latest(s.At, p.Until), soonest)
	}
	return err
}

// soonest keeps fires that programs and changes of tasks ask for apart from the fires before them.
const soonest = 30 * time.Second

// wake has a pool fire once more when something opens, where that is before the next fire of its schedule, and so long after
// the last fire. It is an ordinary fire, by which no round passes. While a fire of the schedule is under way, the time of the
// next is not known.
//
// If we die before that, or the machine goes down, the next fire of the schedule comes in its place.
func (e *Engine) wake(ctx context.Context, pool string, at time.Time, apart time.Duration) {
	if at.IsZero() || e.Later == nil || e.Timers == nil {
		return
	}
	at = plain.Latest(at, e.Now().Add(wakeTime)) // a time that has passed never comes
	timers, err := e.Timers(ctx, []string{pool})
	if err == nil && apart > 0 {
		at = plain.Latest(at, timers[0].Began.Add(apart))
	}
	if err == nil && timers[0].Active && (timers[0].Next.IsZero() || at.Before(timers[0].Next)) {
		err = e.Later.FireAt(ctx, timers[0].Unit, at)
	}
	if err != nil {
		e.Log.WarnContext(ctx, "no fire when something opens", slog.String("reason", "pool "+pool+", at "+plain.Stamp(at)), slog.Any("err", err))
	}
}

// wakeTime is enough to set a timer.
const wakeTime = 2 * time.Second

// homeTime bounds the fetching of crashed sessions' work, for which new sessions wait.
const homeTime = time.Minute

// sight has a fire's view of the fleet.
type sight struct {
	survey.View
	waits survey.InReview
	full  map[fleet.Category]string // out until a person has looked at results
}

// choose looks and decides. Beside what it sees of tasks and of the places in review, it writes nothing.
func (e *Engine) choose(ctx context.Context, o FanoutOptions) (r FireReport, v sight, err error) {
	if v.waits, err = e.InReview(ctx); err != nil {
		return r, v, err
	}
	// Work that somebody decided about gives its place in review back, as does a run that crashed and left nothing, and work
	// without a place takes one. If we die before the write, the next fire makes it: until then more places count as taken
	// than are, and work without a place is listed all the same.
	if sights := e.Sights(ctx, v.waits); !o.DryRun && len(sights) > 0 {
		if err := e.Store.SeePlaces(ctx, v.waits.At, sights); err != nil {
			e.Log.WarnContext(ctx, "places in review not noted", slog.Any("err", err))
		} else if v.waits.Taken, _, err = e.Store.Places(ctx); err != nil {
			return r, v, err
		}
	}
	v.full = e.FullBy(ctx, v.waits) // before the look, as who counts may be slow
	if v.View, err = e.Look(ctx); err != nil {
		return r, v, err
	}
	if !o.DryRun {
		e.see(ctx, v.View)
	}
	v.Full, v.Pool, v.Extra = v.full, o.Pool, o.Extra
	v.Full = e.letAnswer(ctx, v.View)
	r, err = e.decide(ctx, v.View, o)
	return r, v, err
}

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

// letAnswer opens the gates of review for tasks at which a session is to answer what was said: it
// takes no place there, and brings an item nearer to its end.
func (e *Engine) letAnswer(ctx context.Context, v survey.View) map[fleet.Category]string {
	said, err := e.Record().Feedback(ctx)
	if err != nil {
		e.Log.WarnContext(ctx, "feedback not read", slog.Any("err", err))
	}
	full := maps.Clone(v.Full)
	for _, f := range said {
		at := slices.IndexFunc(v.Tasks, func(t fleet.Task) bool { return t.ID == f.Task })
		if f.Waits() && at >= 0 && v.Tasks[at].State == fleet.StateActive {
			delete(full, v.Tasks[at].Category)
		}
	}
	return full
}

// decide makes the fire: ranking, inputs and choices. It changes nothing, and logs where a payload could not be followed.
func (e *Engine) decide(ctx context.Context, v survey.View, o FanoutOptions) (FireReport, error) {
	situation := e.Situation(v)
	situation.Forced = o.Forced
	in := e.Input(v, situation, o.Seed)
	in.Workers, in.Forced = o.Workers, o.Forced
	s := rank.Rank(in)
	r := FireReport{DryRun: o.DryRun, Fire: fleet.Fire{
		Host: e.Here.Host, Pool: v.Pool, At: v.Now, Seed: in.Seed, Workers: o.Workers, Due: map[fleet.Category]float64{},
	}}
	decision := rank.PlanInput{Input: in, Order: s.ByDraws(), Allowed: e.Config.Fanout.Allow}
	err := e.follow(ctx, &r, &decision, s, o.Payload)
	if err != nil {
		return FireReport{}, err
	}
	if task := decision.Request.Task; task != "" {
		c := fleet.Category(decision.Request.Categories[0].Category)
		decision.Offer = &rank.Offer{Task: task, Category: c, Refused: situation.Refuse(c, task)}
	}
	if r.Inputs, err = json.Marshal(decision.Input); err != nil {
		return FireReport{}, err
	}
	p := rank.Decide(decision)
	r.Choices, r.Allowed = p.Choices, decision.Allowed
	if s.Moves() || r.Count(fleet.Spawn) > 0 { // another selector may start what is out
		for _, c := range s.Candidates {
			if c.Pool == "" {
				r.Moves = append(r.Moves, c.Category)
			}
		}
	}
	r.Full = s.Full()
	if in.Closed == "" && r.Count(fleet.Spawn) < min(in.Workers, in.Free) {
		r.Opens = situation.Opening(v.Extra)
	}
	if s.Picks > 0 {
		for _, c := range s.Ranked() {
			r.Due[c.Category] = c.Due
		}
	}
	if p.Net {
		e.Log.WarnContext(ctx, "the payload is no ranking: none of selected, diversity_alternatives, alternatives and all_scores is in it", slog.String("reason", rank.ReasonSafetyNet))
	}
	for _, c := range p.Choices {
		if c.By == fleet.HinderedByUnknown || c.Source != "" && c.By.Elsewhere() {
			e.Log.WarnContext(ctx, "category dropped", slog.String("category", string(c.Category)), slog.String("reason", c.Reason))
		}
	}
	return r, nil
}

// follow decides whose ranking the fire follows: a payload that was handed in, another
// selector's, or stint's own.
func (e *Engine) follow(ctx context.Context, r *FireReport, decision *rank.PlanInput, s rank.Selection, payload []byte) (err error) {
	own := s.Payload()
	if payload != nil {
		r.Selection = payload
		if decision.Request, err = rank.ParsePayload(payload); err != nil {
			return err
		}
		return decision.Request.Known(s.Input)
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	if e.Ranker != nil {
		if r.Selection, err = e.Ranker.Ask(ctx, text); err == nil {
			decision.Request, err = rank.ParsePayload(r.Selection)
		}
		switch {
		case err == nil:
			return decision.Request.Known(s.Input)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		r.Fallback = "external selector: " + err.Error()
		e.Log.ErrorContext(ctx, "external selector not followed, the built-in one is", slog.String("err", r.Fallback))
	}
	decision.Request, decision.Scores, decision.Odds = own.Request(), s.Scores, s.Odds(survey.Redraws)
	r.Selection, r.Own, r.Tier, r.Ranking = text, true, s.Tier, &s
	return nil
}

// start stores the fire with the runs that it is about to start, starts their workers, and records which did not start.
// If two fires overlap, the second to record finds in its lanes and in its slots what the first is about to start.
//
// If we die before the record, nothing has happened. If we die after it, the runs
// are planned and their workers are not started: they count as in flight for
// survey.StartGrace, and the next fire after that closes them. A worker that did start is a
// unit of its own and goes on without us.
func (e *Engine) start(ctx context.Context, f *fleet.Fire, b store.Bounds, o FanoutOptions) (err error) {
	firing := store.Firing{Bounds: b, Budget: e.Config.Budget.Amounts(), Extra: o.Extra, Attempt: string(fleet.NewRunID(f.At, uint32(e.Random())))}
	specs := map[fleet.RunID]fleet.UnitSpec{}
	for i := range f.Choices {
		c := &f.Choices[i]
		if c.Decision != fleet.Spawn {
			continue
		}
		run := e.newRun(c.Category, c.Source, f.At)
		run.Rank, run.Agent, run.Task = c.Rank, cmp.Or(c.Agent, run.Agent), c.Task
		spec := e.workerSpec(run, o.Binary)
		if !o.Detached {
			run.Unit = spec.Name
		}
		c.Run, c.Unit = run.ID, run.Unit
		specs[run.ID] = spec
		firing.Runs = append(firing.Runs, run)
	}
	if e.Host != nil {
		firing.Host = e.Host()
	}
	firing.Fire = *f
	if *f, err = e.Store.RecordFire(ctx, firing); err != nil {
		return err
	}
	var planned []*fleet.Choice
	var list []fleet.UnitSpec
	for i := range f.Choices {
		c := &f.Choices[i]
		if c.Decision == fleet.Spawn {
			planned, list = append(planned, c), append(list, specs[c.Run])
		} else if c.By == fleet.HinderedByRival {
			e.Log.InfoContext(ctx, "another was quicker", slog.String("category", string(c.Category)), slog.String("reason", cmp.Or(c.Refusal, c.Reason)))
		}
	}
	if len(list) == 0 {
		return nil
	}
	// The fire waits for a start that it asked for, and records what came of it, even when it was asked to stop: the
	// worker runs on, and the record must say so.
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), survey.StartGrace)
	errs := o.Units.Start(starting, list)
	cancel()
	ctx, cancel = closing(ctx)
	defer cancel()
	var failed []error
	for i, c := range planned {
		if errs[i] == nil {
			continue
		}
		// A worker may have begun although its start was not seen to succeed: then the
		// run's own row is the truth.
		closed, recordErr := e.Store.NotStarted(ctx, f.ID, c.Run, errs[i].Error())
		failed = append(failed, recordErr)
		if !closed {
			continue
		}
		c.Decision, c.Reason = fleet.StartFailed, errs[i].Error()
		e.Log.ErrorContext(ctx, "worker not started", slog.String("category", string(c.Category)),
			slog.String("run_id", string(c.Run)), slog.Any("err", errs[i]))
	}
	return errors.Join(failed...)
}

// bounds returns the number of sessions that may be under way at once, by what was found.
func (e *Engine) bounds(v survey.View) store.Bounds {
	b := store.Bounds{Lanes: map[fleet.Category]int{}, Agents: map[string]int{}, Seen: map[fleet.RunID]bool{}}
	pool := store.Slots{Most: e.Config.Pools[v.Pool].Slots}
	for name, c := range e.Config.Categories {
		b.Lanes[name] = c.Lanes
		if c.Pool == v.Pool {
			pool.Of = append(pool.Of, name)
		}
	}
	b.Slots = []store.Slots{{Most: e.Config.Fanout.Slots}, pool}
	for agent, seat := range e.Seats(v) {
		b.Agents[agent] = seat.All
	}
	for _, r := range v.Snapshot.Open {
		b.Seen[r.ID] = v.Live[r.ID]
	}
	return b
}

// newRun is the row of a session that is to be started.
func (e *Engine) newRun(c fleet.Category, source fleet.Source, now time.Time) fleet.Run {
	return fleet.Run{
		ID:       fleet.NewRunID(now, uint32(e.Random())),
		Location: e.Here,
		Category: c, Source: source, Agent: e.Config.Categories[c].Agents[0], CreatedAt: now,
		Limit: survey.StartGrace + e.unitTime(e.Config.Categories[c]) + stopTime,
	}
}

// workerSpec is the unit that runs a worker. Only plain words go through systemd;
// the worker reads the rest from the store.
func (e *Engine) workerSpec(r fleet.Run, binary string) fleet.UnitSpec {
	return fleet.UnitSpec{
		Name:        fleet.UnitName(e.Config.Fleet, r.Category, r.ID),
		Description: fmt.Sprintf("stint %s: %s, run %s", e.Config.Fleet, r.Category, r.ID),
		Slice:       fleet.SliceName(e.Config.Fleet),
		Argv:        []string{binary, "--config", e.Config.Path, "run", "--run", string(r.ID)},
		Environment: []string{"STINT_FLEET=" + string(e.Config.Fleet), "STINT_RUN_ID=" + string(r.ID)},
		RuntimeMax:  e.unitTime(e.Config.Categories[r.Category]),
		StopTimeout: stopTime,
		Properties:  e.Config.Properties(r.Category),
	}
}

// result is the fire as an error: what a caller branches on.
func (r FireReport) result() error {
	spawned, failed := r.Count(fleet.Spawn), r.Count(fleet.StartFailed)
	switch {
	case failed > 0 && spawned > 0:
		return fmt.Errorf("%d of %d workers did not start: %w", failed, failed+spawned, fleet.ErrPartly)
	case failed > 0:
		return fmt.Errorf("none of %d workers started", failed)
	case spawned == 0:
		return fmt.Errorf("no category to start: %w", fleet.ErrNothing)
	}
	return nil
}
