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
	"stint/internal/plan"
	"stint/internal/selector"
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
	Binary   string           // of stint, absolute
}

// FireReport is what a fire decided and what came of it.
type FireReport struct {
	fleet.Fire
	DryRun bool
	Tier   selector.Tier // 0 when another selector's payload was followed

	// Ranking is what a fire followed; nil: another selector's payload, or the fire is one of
	// the record.
	Ranking *selector.Selection
}

// Fanout fires once: it ranks, decides, records, and starts the workers. The
// report is complete even when the error says that units did not start
// ([fleet.ErrPartly], or a plain error when none did) or that there was nothing to
// start ([fleet.ErrNothing]).
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
	if !o.DryRun {
		// Crashed runs are swept up first: this fire may start their work again.
		if _, err := e.Reap(ctx, false); err != nil {
			e.Log.ErrorContext(ctx, "not everything was reaped", slog.Any("err", err))
		}
		if err := e.Repo.Rescue(ctx, e.isOver(ctx)); err != nil {
			e.Log.WarnContext(ctx, "not all work of sessions that crashed is home", slog.Any("err", err))
		}
		e.seeFates(ctx)
	}
	waits, err := e.lookAtReview(ctx, o.DryRun)
	if err != nil {
		return FireReport{}, err
	}
	if !o.DryRun {
		e.tidy(ctx)                         // after the look, which finds what was merged
		if err := e.hear(ctx); err != nil { // the next fire asks again
			e.Log.ErrorContext(ctx, "feedback not asked for", slog.Any("err", err))
		}
	}
	full := e.FullBy(ctx, waits) // before the look, as who counts may be slow
	r, failed, specs, err := e.plan(ctx, o, full)
	if !o.DryRun {
		for _, f := range failed {
			e.notify(ctx, fleet.Notice{Event: fleet.EventSourceFailed, Source: f.Source, Reason: f.String(), At: e.Now()})
		}
		for _, reason := range e.Config.Untrusted() {
			e.Log.WarnContext(ctx, "held", slog.String("reason", reason))
			e.notify(ctx, fleet.Notice{Event: fleet.EventHeld, Reason: reason, At: e.Now()})
		}
	}
	if err != nil {
		return r, err
	}
	if len(specs) > 0 {
		if err := e.start(ctx, &r.Fire, specs, o.Units); err != nil {
			return r, err
		}
	}
	if !o.DryRun {
		e.notifyLanes(ctx)
		e.notifySilence(ctx, waits)
		e.notifyTarget(ctx)
		for _, c := range slices.Sorted(maps.Keys(full)) {
			e.notify(ctx, fleet.Notice{Event: fleet.EventWIPFull, Category: c, Reason: full[c], At: r.At})
		}
		if err := e.forget(ctx); err != nil {
			e.Log.WarnContext(ctx, "what is older than [keep] record was not deleted", slog.Any("err", err))
		}
	}
	return r, r.result()
}

// plan decides and records. If two fires overlap, the second to record finds in its lanes and
// in its slots what the first is about to start.
func (e *Engine) plan(ctx context.Context, o FanoutOptions, full map[fleet.Category]string) (r FireReport, failed []fleet.SourceFault, specs []fleet.UnitSpec, err error) {
	v, err := e.Look(ctx)
	if err != nil {
		return FireReport{}, nil, nil, err
	}
	if !o.DryRun {
		e.see(ctx, v)
		// If the store has lost what it had acknowledged, the first machine that fires says so, once.
		if l := v.Snapshot.Lineage; l.Reason() != "" && v.Now.Sub(l.Since) < day {
			e.notify(ctx, fleet.Notice{Event: fleet.EventWentBack, Reason: fmt.Sprintf("%s, at %s", l.Reason(), utc(l.Since)), At: v.Now})
		}
	}
	v.Full, v.Pool = full, o.Pool
	v.Full = e.letAnswer(ctx, v)
	r, err = e.decide(ctx, v, o)
	if err != nil || o.DryRun {
		return r, v.Failed, nil, err
	}
	specs, err = e.record(ctx, &r.Fire, e.bounds(v), o)
	return r, v.Failed, specs, err
}

// decide makes the fire: ranking, inputs and choices. It changes nothing.
func (e *Engine) decide(ctx context.Context, v survey.View, o FanoutOptions) (FireReport, error) {
	situation := e.Situation(v)
	situation.Forced = o.Forced
	in := e.Input(v, situation, o.Seed)
	in.Workers, in.Forced = o.Workers, o.Forced
	s := selector.Rank(in)
	r := FireReport{DryRun: o.DryRun, Fire: fleet.Fire{
		Host: e.Here.Host, Pool: v.Pool, At: v.Now, Seed: in.Seed, Workers: o.Workers, Due: map[fleet.Category]float64{},
	}}
	decision := plan.Input{Input: in, Allowed: e.Config.Fanout.Allow}
	err := e.follow(ctx, &r, &decision, s, o.Payload)
	if err != nil {
		return FireReport{}, err
	}
	if task := decision.Request.Task; task != "" {
		c := fleet.Category(decision.Request.Categories[0].Category)
		decision.Offer = &selector.Offer{Task: task, Category: c, Refused: situation.Refuse(c, task)}
	}
	if r.Inputs, err = json.Marshal(decision.Input); err != nil {
		return FireReport{}, err
	}
	p := plan.Decide(decision)
	r.Choices, r.Allowed = p.Choices, decision.Allowed
	if s.Moves() || r.Count(fleet.Spawn) > 0 { // another selector may start what is out
		for _, c := range s.Candidates {
			if c.Pool == "" {
				r.Moves = append(r.Moves, c.Category)
			}
		}
	}
	if s.Picks > 0 {
		for _, c := range s.Ranked() {
			r.Due[c.Category] = c.Due
		}
	}
	e.warn(ctx, p)
	return r, nil
}

// follow decides whose ranking the fire follows: a payload that was handed in, another
// selector's, or stint's own.
func (e *Engine) follow(ctx context.Context, r *FireReport, decision *plan.Input, s selector.Selection, payload []byte) (err error) {
	own := s.Payload()
	if payload != nil {
		r.Selection = payload
		if decision.Request, err = selector.ParsePayload(payload); err != nil {
			return err
		}
		return decision.Request.Known(s.Input)
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	if e.Ranker != nil {
		r.Selection, decision.Request, err = e.ask(ctx, text)
		if err == nil {
			return decision.Request.Known(s.Input)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Fallback = err.Error()
		e.Log.ErrorContext(ctx, "external selector not followed, the built-in one is", slog.Any("err", err))
	}
	decision.Request, decision.Scores, decision.Odds = own.Request(), s.Scores, s.Odds(survey.Redraws)
	r.Selection, r.Own, r.Tier, r.Ranking = text, true, s.Tier, &s
	return nil
}

// ask gets the ranking of the external selector, if it prints one.
func (e *Engine) ask(ctx context.Context, own []byte) ([]byte, selector.Request, error) {
	var request selector.Request
	payload, err := e.Ranker.Ask(ctx, own)
	if err == nil {
		request, err = selector.ParsePayload(payload)
	}
	if err != nil {
		return nil, selector.Request{}, fmt.Errorf("external selector: %w", err)
	}
	return payload, request, nil
}

// warn logs where a payload could not be followed.
func (e *Engine) warn(ctx context.Context, p plan.Plan) {
	if p.Net {
		e.Log.WarnContext(ctx, "the payload is no ranking: none of selected, diversity_alternatives, alternatives and all_scores is in it", slog.String("reason", plan.ReasonSafetyNet))
	}
	for _, c := range p.Choices {
		if c.By == fleet.HinderedByUnknown || c.Source != "" && c.By.Elsewhere() {
			e.Log.WarnContext(ctx, "category dropped", slog.String("category", string(c.Category)), slog.String("reason", c.Reason))
		}
	}
}

// record stores the fire with the runs it is about to start.
//
// If we die before the record, nothing has happened. If we die after it, the runs
// are planned and their workers are not started: they count as in flight for
// survey.StartGrace, and the next fire after that closes them. A worker that did start is a
// unit of its own and goes on without us.
func (e *Engine) record(ctx context.Context, f *fleet.Fire, b store.Bounds, o FanoutOptions) (list []fleet.UnitSpec, err error) {
	var (
		specs = map[fleet.RunID]fleet.UnitSpec{}
		runs  []fleet.Run
	)
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
		runs = append(runs, run)
	}
	firing := store.Firing{Fire: *f, Runs: runs, Bounds: b, Attempt: string(fleet.NewRunID(f.At, uint32(e.Random())))}
	if e.Host != nil {
		firing.Host = e.Host()
	}
	if *f, err = e.Store.RecordFire(ctx, firing); err != nil {
		return nil, err
	}
	for _, c := range f.Choices {
		if c.Decision == fleet.Spawn {
			list = append(list, specs[c.Run])
		} else if c.By == fleet.HinderedByRival {
			e.Log.InfoContext(ctx, "another was quicker", slog.String("category", string(c.Category)), slog.String("reason", cmp.Or(c.Refusal, c.Reason)))
		}
	}
	return list, nil
}

// bounds are how many sessions may be under way at once, by what was found.
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

// start starts the workers and waits for each.
func (e *Engine) start(ctx context.Context, f *fleet.Fire, specs []fleet.UnitSpec, units Units) error {
	// The fire waits for a start that it asked for, even when it was asked to stop: the
	// worker runs on, and the record must say so.
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), survey.StartGrace)
	defer cancel()
	return e.settle(ctx, f, units.Start(starting, specs))
}

// settle records which of the fire's workers did not start.
func (e *Engine) settle(ctx context.Context, f *fleet.Fire, errs []error) error {
	// The outcome of a start is recorded even when the fire is being stopped.
	ctx, cancel := closing(ctx)
	defer cancel()
	var failed []error
	next := 0
	for i := range f.Choices {
		c := &f.Choices[i]
		if c.Decision != fleet.Spawn {
			continue
		}
		err := errs[next]
		next++
		if err == nil {
			continue
		}
		// A worker may have begun although its start was not seen to succeed: then the
		// run's own row is the truth.
		closed, recordErr := e.Store.NotStarted(ctx, f.ID, c.Run, err.Error())
		failed = append(failed, recordErr)
		if !closed {
			continue
		}
		c.Decision, c.Reason = fleet.StartFailed, err.Error()
		e.Log.ErrorContext(ctx, "worker not started", slog.String("category", string(c.Category)),
			slog.String("run_id", string(c.Run)), slog.Any("err", err))
	}
	return errors.Join(failed...)
}

// newRun is the row of a session that is to be started.
func (e *Engine) newRun(c fleet.Category, source fleet.Source, now time.Time) fleet.Run {
	return fleet.Run{
		ID:       fleet.NewRunID(now, uint32(e.Random())),
		Seat:     e.Here,
		Category: c, Source: source, Agent: e.Config.Categories[c].Agents[0], CreatedAt: now,
	}
}

// workerSpec is the unit that runs a worker. Only plain words go through systemd;
// the worker reads the rest from the store.
func (e *Engine) workerSpec(r fleet.Run, binary string) fleet.UnitSpec {
	c := e.Config.Categories[r.Category]
	return fleet.UnitSpec{
		Name:        fleet.UnitName(e.Config.Fleet, r.Category, r.ID),
		Description: fmt.Sprintf("stint %s: %s, run %s", e.Config.Fleet, r.Category, r.ID),
		Slice:       fleet.SliceName(e.Config.Fleet),
		Argv:        []string{binary, "--config", e.Config.Path, "run", "--run", string(r.ID)},
		Environment: []string{"STINT_FLEET=" + string(e.Config.Fleet), "STINT_RUN_ID=" + string(r.ID)},
		// A backstop for a worker that hangs: its own time-out comes first.
		RuntimeMax:  e.workerTime(c) + time.Minute,
		StopTimeout: agentGrace + closingTime + 5*time.Second,
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

// closing is a context for what must be written although ctx has ended.
func closing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closingTime)
}
