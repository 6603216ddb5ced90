package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/selector"
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
	boxes := w.startBoxes(ctx, w.own)
	defer boxes() // nothing of it outlives the run
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
	w.alive, w.boxes = alive, boxes
	run.StartedAt = e.Now()
	e.warnLimits(ctx, run)
	w.run = run
	err = w.work(ctx)
	ctx, cancel := closing(ctx)
	defer cancel()
	if err == nil { // its end is on record
		if err := w.respawn(ctx, o); err != nil {
			e.Log.ErrorContext(ctx, "respawn not decided", w.attrs(slog.Any("err", err))...)
		}
	}
	stored, readErr := e.Store.Run(ctx, run.ID)
	if errors.Is(readErr, fleet.ErrNotFound) { // by a store that went back
		readErr = fmt.Errorf("run %s is not on record any more: %w", run.ID, fleet.ErrLost)
	}
	if readErr != nil {
		return w.run, errors.Join(err, readErr)
	}
	return stored, err
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

// CheckRun refuses options that name what does not exist. It needs no store.
func (e *Engine) CheckRun(ctx context.Context, o RunOptions) error {
	if o.Run != "" {
		return nil // only the store knows
	}
	_, err := e.handRun(ctx, o)
	return err
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
	if why := e.Config.Misplaced(o.Category); why != "" {
		return fleet.Run{}, fleet.WithHint(fmt.Errorf("category %s: %s: %w", o.Category, selector.NotHere(why), fleet.ErrUsage),
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
	for _, t := range tasks {
		if t.ID != o.Task {
			continue
		}
		if t.Category != o.Category {
			return fleet.Run{}, fmt.Errorf("task %q is of category %s, not %s: %w", t.ID, t.Category, o.Category, fleet.ErrUsage)
		}
		run.Task = o.Task
		return run, nil
	}
	if reason := e.Unlisted(survey.FailedSources(problems), o.Category); reason != "" {
		return fleet.Run{}, fmt.Errorf("task %q: on no list that can be read; %s", o.Task, reason)
	}
	return fleet.Run{}, fleet.WithHint(fmt.Errorf("task %q: %w", o.Task, fleet.ErrNotFound), "stint task list")
}
