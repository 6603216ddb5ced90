// Package engine is what stint does: select, fire, run. It puts the pure decisions
// and the adapters together in the order that survives a crash at any point, and
// sees no SQL, D-Bus, process or flag: it declares its needs as small interfaces and is handed
// them.
package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/pressure"
	"stint/internal/store"
)

// Tasks is where tasks come from.
type Tasks interface {
	// List returns every task, and what could not be read as one. The tasks may be
	// without their bodies. A source that does not exist wraps [fleet.ErrNotFound].
	List(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error)
	// Body reads the body of a task that was listed. One that is gone since wraps
	// [fleet.ErrNotFound].
	Body(ctx context.Context, t fleet.Task) (string, error)
	// Again reads a listed task once more, where it is from. One that is gone since wraps
	// [fleet.ErrNotFound].
	Again(ctx context.Context, t fleet.Task) (fleet.Task, error)
	// StateAt is the state in a copy of a task's file.
	StateAt(path string) (fleet.TaskState, error)
	// Edit is the change of a task's file that gives it a state. It is an error where the
	// folder has no word for that state.
	Edit(ctx context.Context, t fleet.Task, s fleet.TaskState) (fleet.FileEdit, error)
	// Call tells the tracker that a task is from what becomes of it.
	Call(ctx context.Context, what fleet.TaskCall, t fleet.Task, run fleet.RunID, reason string) error
}

// Lessons is where lessons come from.
type Lessons interface {
	// List returns every lesson, and what could not be read as one.
	List(ctx context.Context) ([]fleet.Lesson, []fleet.LessonProblem, error)
}

// Ranker is another selector than stint's own.
type Ranker interface {
	// Rank returns its payload. It is given stint's own, to go by if it likes.
	Rank(ctx context.Context, own []byte) ([]byte, error)
}

// Lanes keeps the sessions of a category apart.
type Lanes interface {
	// Take takes one lane, counted from 1, without waiting. When it is taken the
	// error wraps [fleet.ErrBusy].
	Take(c fleet.Category, lane int, run fleet.RunID) (fleet.Lane, error)
	// Turn waits until no other fire decides, and returns what ends the turn.
	Turn(ctx context.Context) (end func() error, err error)
	// Live takes the lock by which the run is known to live. It ends with the last
	// process that has the file open.
	Live(run fleet.RunID) (*os.File, error)
}

// Agents runs agent processes.
type Agents interface {
	// Run runs one to its end. When ctx ends, the agent is stopped.
	Run(ctx context.Context, s fleet.SessionSpec) (fleet.SessionExit, error)
	// Find says whether a program can be started in dir with the environment that it gets.
	Find(program string, environment []string, dir string) error
	// Open opens a file that a session left, and refuses what an agent may have put in its
	// place: a link, a pipe, another file of this process's.
	Open(path string) (*os.File, error)
}

// Repo is the workspace.
type Repo interface {
	// Mark is an environment variable by which a run's commits are told from others'.
	Mark(files fleet.RunFiles) string
	// Enter readies the folder in which a run is to work. Leave is called when the run
	// has ended, and says why the folder is kept, if it is.
	Enter(ctx context.Context, run fleet.RunID, p fleet.Place) (site fleet.Site, leave func(context.Context) (kept string, err error), err error)
	// Branch names the branch that a run in a folder of its own will most likely have.
	Branch(run fleet.RunID) string
	// Work tells what a run did in its folder.
	Work(ctx context.Context, dir string, files fleet.RunFiles) (fleet.Work, error)
	// Own is the copy of a file that is in the folder of a run's own; empty: there is none.
	Own(ctx context.Context, run fleet.RunID, path string) (string, error)
	// Record changes a file as a commit of its own where it can: on the run's branch, whose
	// name it returns, or where the file is.
	Record(ctx context.Context, run fleet.RunID, e fleet.FileEdit) (branch string, err error)
	// Branches are those of the fleet's runs, by run.
	Branches(ctx context.Context) (map[fleet.RunID]string, error)
	// Diff is what commits changed, oldest first, and whether more than the most bytes were.
	Diff(ctx context.Context, revisions []string, most int) (text string, cut bool, err error)
	// GitDirs are where git keeps what it knows of the folder: of this work tree, and of
	// all that belong together. The folder need not be there yet.
	GitDirs(ctx context.Context, dir string) (own, common string, err error)
	// Tidy removes the folders and branches of runs that are over and left nothing in them.
	// A folder that over refuses is left alone.
	Tidy(ctx context.Context, over func(fleet.RunID) bool) error
}

// Folders keeps what runs leave on disk within bounds.
type Folders interface {
	// Sweep removes what the oldest runs left, but for those of which over says no, and
	// returns how many that were. It does a bounded piece of work.
	Sweep(over func(fleet.RunID) bool) (removed int, err error)
	// Trim removes what need not stay of what the agent of a run that is over wrote, and
	// reports whether there was anything.
	Trim(run fleet.RunID) (trimmed bool, err error)
	// PutEnd writes down how a run ended; it is on disk when that returns.
	PutEnd(r fleet.Run) error
	// End reads what was written down. Where there is nothing that can be read, the error
	// wraps [fleet.ErrNotFound].
	End(run fleet.RunID) (fleet.Run, error)
}

// Units starts workers.
type Units interface {
	// Start returns one error a spec, nil where the worker runs.
	Start(ctx context.Context, specs []fleet.UnitSpec) []error
}

// Timers is what fires the fleet.
type Timers interface {
	// Timers reads the timers of pools: one for each, in their order.
	Timers(ctx context.Context, pools []string) ([]fleet.Timer, error)
}

// Engine has the parts of one fleet. All fields are needed, but for Store, which is
// nil when nothing has run yet and nothing will be written, Ranker, which is nil
// when stint's own ranking is followed, and the parts that say what nil means.
type Engine struct {
	Config   *config.Config
	Store    store.Store
	Tasks    Tasks
	Lessons  Lessons
	Ranker   Ranker
	Lanes    Lanes
	Sessions Sessions
	Agents   Agents
	Echo     io.Writer               // what agents print goes there as well; nil: only into their logs
	Later    Later                   // nil: no service manager
	Gates    Gates                   // nil: none
	Notices  Notices                 // nil: nobody is told
	Machine  func() pressure.Reading // nil: nobody looks
	Timers   Timers                  // nil: no service manager

	// Unenforced says which of a unit's properties do not hold for this process, for
	// want of a controller; nil: nobody looks.
	Unenforced func(properties map[string]any) []string
	Graders    Graders
	Repo       Repo
	Folders    Folders
	Log        *slog.Logger
	Now        func() time.Time
	Random     func() uint64
	Getenv     func(string) string

	warned        bool // of the tasks, in this process
	warnedLessons bool
}

// desk is where claims are asked for.
func (e *Engine) desk() claim.Desk {
	return claim.Desk{Store: e.Store, Sessions: e.Sessions, Ends: e.Folders, Log: e.Log}
}

const (
	// startGrace is how long a planned run counts as in flight before its worker
	// has begun: starting a unit takes milliseconds, a loaded machine seconds.
	startGrace = time.Minute
	// agentGrace is what an agent gets between SIGTERM and SIGKILL.
	agentGrace = 10 * time.Second
	// closingTime is what a worker gets to record its end after it was told to
	// stop. It covers one full wait for the store.
	closingTime = 20 * time.Second
	// enterTime is for the folder that a session works in: its turn in the clone, a fetch over a
	// slow line, the checkout of a large tree.
	enterTime = 15 * time.Minute
)

// workerTime is how long a worker of the category takes at most, all of its own time-outs
// one after the other. The time-out of one that hangs comes after it.
func workerTime(c config.Category) time.Duration {
	d := tellingTime + c.Timeout + agentGrace + c.GradingTime() + closingTime + tellingTime + closingTime + closingTime
	if c.Worktree || c.Sync {
		d += enterTime
	}
	return d
}

// view is what is known of the fleet at one moment.
type view struct {
	snapshot store.Snapshot
	held     []fleet.Claim // what a take would be denied
	tasks    []fleet.Task
	failed   []fleet.SourceFault // of the tasks
	problems []fleet.TaskProblem // of the tasks
	lessons  []fleet.Lesson
	inFlight map[fleet.Category][]fleet.RunID
	live     map[fleet.RunID]bool      // open runs that live, or are about to
	dead     map[fleet.Category]death  // open runs that had a claim and live no more: the last of each category
	full     map[fleet.Category]string // out until a person has looked at results
	running  map[fleet.Category]int    // sessions that take up a slot, those that are to follow others included
	busy     map[string]int            // the same, by agent
	pool     string                    // that is to be fired
	now      time.Time
}

// death is when the session of a run died.
type death struct {
	run fleet.RunID
	at  time.Time
}

// look gathers what a decision depends on. Trouble with single tasks and runs is
// logged and left out.
func (e *Engine) look(ctx context.Context) (view, error) {
	v, err := e.present(ctx)
	if err != nil {
		return view{}, err
	}
	if v.tasks, v.problems, err = e.listTasks(ctx); err != nil {
		return view{}, err
	}
	v.failed = failedSources(v.problems)
	fleet.Recall(v.tasks, v.snapshot.Tasks)
	v.lessons, err = e.listLessons(ctx)
	return v, err
}

// present is what the store and the processes say, without the tasks and lessons, which may
// take a while to list.
func (e *Engine) present(ctx context.Context) (view, error) {
	v := view{
		snapshot: store.Snapshot{NextFire: 1}, inFlight: map[fleet.Category][]fleet.RunID{}, running: map[fleet.Category]int{}, busy: map[string]int{},
		live: map[fleet.RunID]bool{}, dead: map[fleet.Category]death{},
		pool: config.DefaultPool, now: e.Now(),
	}
	var err error
	if e.Store != nil {
		if v.snapshot, err = e.Store.Snapshot(ctx); err != nil {
			return view{}, err
		}
		v.held = e.desk().Held(ctx, v.snapshot.Claims, v.now)
	}
	for _, r := range v.snapshot.Open {
		if e.live(ctx, r, v.now) {
			v.live[r.ID] = true
			v.inFlight[r.Category] = append(v.inFlight[r.Category], r.ID)
			v.running[r.Category]++
			v.busy[r.Agent]++
		} else if at := e.died(r, v.snapshot.Claims); r.Key != "" && at.After(v.dead[r.Category].at) {
			v.dead[r.Category] = death{r.ID, at}
		}
	}
	return v, nil
}

// without leaves a run out of what takes up slots and lanes: for one that asks whether it
// may go on.
func (v view) without(r fleet.Run) {
	if v.live[r.ID] {
		v.running[r.Category]--
		v.busy[r.Agent]--
		v.inFlight[r.Category] = slices.DeleteFunc(v.inFlight[r.Category], func(id fleet.RunID) bool { return id == r.ID })
	}
}

// live reports whether an open run has a session, or is about to. A session that
// cannot be asked counts as alive: the lane decides. The service manager knows whether a run
// that follows another still waits; for others, and where nobody can be asked, the time
// decides.
func (e *Engine) live(ctx context.Context, r fleet.Run, now time.Time) bool {
	begun := !r.StartedAt.IsZero()
	if !begun && r.Source != fleet.FromRespawn {
		return !missedStart(r, now)
	}
	l := e.Sessions.Liveness(ctx, r)
	return l == fleet.Lives || l == fleet.Unknown && (begun || !missedStart(r, now))
}

// missedStart reports whether a planned run should have begun by now. One that was planned
// later than now was so by a clock that has been set back.
func missedStart(r fleet.Run, now time.Time) bool {
	due := r.CreatedAt
	if r.NotBefore.After(due) {
		due = r.NotBefore
	}
	return now.Sub(due) >= startGrace || r.CreatedAt.Sub(now) >= startGrace
}

func (e *Engine) listTasks(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	tasks, problems, err := e.Tasks.List(ctx)
	if errors.Is(err, fleet.ErrNotFound) {
		if e.wantsTasks() {
			e.Log.WarnContext(ctx, "no tasks", slog.Any("err", err))
		}
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if e.warned {
		return tasks, problems, nil
	}
	e.warned = true
	for _, p := range problems {
		switch {
		case p.Kept:
			e.Log.WarnContext(ctx, "required URL not resolved", slog.String("reason", p.String()))
		case p.Source != "":
			e.Log.WarnContext(ctx, "task source failed", slog.String("reason", p.String()))
		default:
			e.Log.WarnContext(ctx, "task left out", slog.String("reason", p.String()))
		}
	}
	for _, t := range tasks {
		if _, ok := e.Config.Categories[t.Category]; !ok && t.State.Workable() {
			e.Log.WarnContext(ctx, "task of an unknown category",
				slog.String("task_id", string(t.ID)), slog.String("category", string(t.Category)))
		}
	}
	return tasks, problems, nil
}

func failedSources(problems []fleet.TaskProblem) (list []fleet.SourceFault) {
	for _, p := range problems {
		if p.Source != "" {
			list = append(list, fleet.SourceFault{Source: p.Source, Reason: p.Reason})
		}
	}
	return list
}

// unlisted says which failed sources may have work for a category, or "".
func (e *Engine) unlisted(failed []fleet.SourceFault, c fleet.Category) string {
	var list []string
	for _, f := range failed {
		if e.mayFeed(e.Config.Tasks.Sources[f.Source], c) {
			list = append(list, f.String())
		}
	}
	return strings.Join(list, "; ")
}

// mayFeed reports whether an item of the source may be a task of the category.
func (e *Engine) mayFeed(s config.TaskSource, c fleet.Category) bool {
	if s.Fields[fleet.FieldCategory] != "" {
		return true
	}
	if s.Category != "" {
		return s.Category == c
	}
	return c == e.Config.Tasks.DefaultCategory || slices.Contains(slices.Collect(maps.Values(e.Config.Tasks.Tags)), c)
}

// wantsTasks reports whether any category works on tasks only.
func (e *Engine) wantsTasks() bool {
	for _, c := range e.Config.Categories {
		if !c.SelfDirected {
			return true
		}
	}
	return false
}
