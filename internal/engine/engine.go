// Package engine tells stint's stories: fire, worker, reap, land, housework. It acts on what package
// survey finds, puts the pure decisions and the adapters together in the order that survives a
// crash at any point, and sees no SQL, D-Bus, process or flag: it declares its needs as small
// interfaces and is handed them.
package engine

import (
	"context"
	"io"
	"os"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/survey"
)

// Engine has the parts of one fleet: those that are asked, and those by which it acts. All
// fields are needed except Ranker, which is nil when stint's own ranking is followed, and
// those that say what nil means.
type Engine struct {
	*survey.Reader
	Sources      Sources
	Ranker       Hook // another selector, which is given the ranking of stint's own
	Lanes        Lanes
	Stopper      Stopper
	Runner       Runner
	Environ      []string // of this process; sessions get what OpenTelemetry reads of it
	Boxes        Boxes
	Door         func(r fleet.Run) (shut func(), err error) // opens the socket of a run whose agent is about to begin; nil: agents cannot ask
	Echo         io.Writer                                  // what agents print goes there as well; nil: only into their logs
	Later        Later                                      // nil: no service manager
	Notices      Notices                                    // nil: nobody is notified
	Forge        Hook                                       // nil: nobody is asked what became of work
	Publisher    Hook                                       // opens requests for branches at a forge; nil: they are only pushed
	Reviewers    Hook                                       // what is said of published work; nil: nobody is asked
	Graders      Graders
	Repo         Repo
	TargetBranch TargetBranch
	Folders      Folders
	Operator     string // the name of the user who decides

	// Host describes this machine when it fires; nil: it is not recorded.
	Host func() fleet.Host

	// Elapsed is a clock that does not jump, and goes on while the machine sleeps.
	Elapsed func() time.Duration

	// Unenforced says which of a unit's properties do not hold for this process, for
	// want of a controller; nil: nobody looks.
	Unenforced func(properties map[string]any) []string
}

// Sources reads and changes the tasks of all sources, for sessions.
type Sources interface {
	// Body reads the body of a task that was listed. One that is gone since wraps
	// [fleet.ErrNotFound].
	Body(ctx context.Context, t fleet.Task) (string, error)
	// Get reads one task: [fleet.ErrNotFound] when there is none of that id.
	Get(ctx context.Context, id fleet.TaskID) (fleet.Task, error)
	// Again reads a listed task once more, where it is from. One that is gone since wraps
	// [fleet.ErrNotFound].
	Again(ctx context.Context, t fleet.Task) (fleet.Task, error)
	// StateAt is the state in a copy of a task's file.
	StateAt(path string) (fleet.TaskState, error)
	// Writable is an error where the folder of tasks has no word for a state.
	Writable(s fleet.TaskState) error
	// SetState writes a state into a task's file, and reports whether that changed it.
	SetState(ctx context.Context, id fleet.TaskID, s fleet.TaskState) (changed bool, err error)
	// Call reports to a task's tracker what becomes of the task.
	Call(ctx context.Context, what fleet.TaskCall, t fleet.Task, run fleet.RunID, reason string) error
}

// Hook is a command of the operator's that answers a question. Argv stands in the place of its own words, where it is given.
type Hook interface {
	Ask(ctx context.Context, question []byte, argv ...string) (answer []byte, err error)
}

// Lanes keeps the sessions of a category apart.
type Lanes interface {
	// Take takes one lane, counted from 1, without waiting. When it is taken the
	// error wraps [fleet.ErrBusy].
	Take(c fleet.Category, lane int, run fleet.RunID) (fleet.Lane, error)
	// Live takes the lock by which the run is known to live. It ends with the last
	// process that has the file open.
	Live(run fleet.RunID) (*os.File, error)
}

// Runner runs agent processes.
type Runner interface {
	// Run runs one to its end. When ctx ends, the agent is stopped.
	Run(ctx context.Context, s fleet.SessionSpec) (fleet.SessionExit, error)
}

// Stopper ends the processes of sessions on this machine.
type Stopper interface {
	// Stop asks a run's supervisor to end the session, or keeps one from beginning. A
	// unit is down when it returns; a session without a unit may still be about to end.
	Stop(ctx context.Context, r fleet.Run) error
	// End ends whatever is left of a run's session.
	End(ctx context.Context, r fleet.Run) error
}

// Repo is the workspace.
type Repo interface {
	// Environment has the variables that git of an agent goes by, in the folder where it works: who commits among them, if it
	// goes by no settings of the person's.
	Environment(ctx context.Context, dir string, files fleet.RunFiles, named bool) []string
	// Enter readies the folder in which a run is to work. Leave is called when the run
	// has ended, and says why the folder is kept, if it is.
	Enter(ctx context.Context, run fleet.RunID, p fleet.Place) (site fleet.Site, leave func(context.Context) (kept string, err error), err error)
	// On is the branch that the workspace has checked out; empty: it has none.
	On(ctx context.Context) string
	// Branch names the branch that a run in a folder of its own will most likely have.
	Branch(run fleet.RunID) string
	// Work returns what a run did in its folder.
	Work(ctx context.Context, dir string, files fleet.RunFiles) (fleet.Work, error)
	// Own is the copy of a file that is in the folder of a run's own; empty: there is none.
	Own(ctx context.Context, run fleet.RunID, path string) (string, error)
	// Tracking says where the target of review has left what it follows.
	Tracking(ctx context.Context) (fleet.Tracking, error)
	// Branches are those of the fleet's runs, by run.
	Branches(ctx context.Context) (map[fleet.RunID]string, error)
	// Diff returns the changes of commits, oldest first, cut at most bytes.
	Diff(ctx context.Context, revisions []string, most int) (text string, cut bool, err error)
	// GitDirs returns git's own folder of a work tree, the common folder of all its work trees, and the folders of
	// objects that a clone of the run's own borrows. The folder need not be there yet.
	GitDirs(ctx context.Context, dir string) (own, common string, borrowed []string, err error)
	// Rescue brings home the commits of runs that are over and had no time for it.
	Rescue(ctx context.Context, over func(fleet.RunID) bool) error
	// Tidy removes the folders and branches of runs that are over and left nothing in them.
	// A folder that over refuses is left alone.
	Tidy(ctx context.Context, over func(fleet.RunID) bool) error
}

// Folders keeps what runs leave on disk within bounds.
type Folders interface {
	// Sweep removes the files of the oldest runs, except those for which over returns false,
	// and returns how many it removed. It does a bounded piece of work.
	Sweep(over func(fleet.RunID) bool) (removed int, err error)
	// Trim removes what need not stay of what the agent of a run that is over wrote, and
	// reports whether there was anything.
	Trim(run fleet.RunID) (trimmed bool, err error)
	// PutEnd writes down how a run ended; it is on disk when that returns.
	PutEnd(r fleet.Run) error
	// Tail reads the last of what the agent of a run printed, so many bytes at most: nothing where that cannot
	// be read.
	Tail(run fleet.RunID, most int) string
}

// Units starts workers.
type Units interface {
	// Start returns one error a spec, nil where the worker runs.
	Start(ctx context.Context, specs []fleet.UnitSpec) []error
}

// Later starts workers and fires when their time has come.
type Later interface {
	// StartAfter has the service manager start the worker after a delay, whatever
	// becomes of this process.
	StartAfter(ctx context.Context, spec fleet.UnitSpec, delay time.Duration) error
	// FireAt has what a timer starts be started once more, at a time. The earliest that was asked for counts.
	FireAt(ctx context.Context, timer string, at time.Time) error
}

// Boxes makes boxes on this machine.
type Boxes interface {
	// Prove makes a box and tries its walls from inside, and returns it with the layers that hold
	// here. The error says which wall is missing, or why there can be no such box.
	Prove(ctx context.Context, b fleet.Box, t fleet.BoxTrial) (fleet.Box, error)
	// Needs are the files and folders that a program must be able to read to start.
	Needs(program string, environment []string, dir string) []string
}

// Question has the command of a grader or a check, with its input and its box.
type Question struct {
	Run         fleet.RunID
	Argv        []string
	Dir         string
	Environment []string
	Box         fleet.Box
	Evidence    []byte // on its input; nil: nothing
	Timeout     time.Duration
	Limit       int // the most bytes of an answer; 0: as much as memory holds well
}

// Graders are the operator's own judges of sessions. They may run the session's work: no
// process that they start is left when they have answered.
type Graders interface {
	Ask(ctx context.Context, q Question) (answer []byte, err error)
	// Check runs a command that says by its exit status whether all is in order: failure
	// says how it failed, and is empty if it passed. The error says why the command gave no answer.
	Check(ctx context.Context, q Question) (failure string, err error)
}

// Notices notifies people of troubles that the fleet cannot solve by itself.
type Notices interface {
	Send(ctx context.Context, n fleet.Notice) error
}

// TargetBranch is the branch that the work of sessions lands in.
type TargetBranch interface {
	// Landings takes the right to land or publish work, and returns what gives it back. When another
	// process has it the error has the words for what that does, and wraps [fleet.ErrBusy].
	Landings(doing string) (end func() error, err error)
	// Stack puts work on top of the target in a folder of its own. Where a person's changes are in
	// the way, that is an error.
	Stack(ctx context.Context, l fleet.Landing) (fleet.Stacked, error)
	// Unstack removes that folder.
	Unstack(ctx context.Context) error
	// Advance moves the target to that work, and reports false if it is not where it was.
	Advance(ctx context.Context, s fleet.Stacked) (moved bool, err error)
	// Drop removes the folder and the branch of work that landed, or says why it kept them.
	Drop(ctx context.Context, l fleet.Landing) (kept string, err error)
	// Push brings the branch to the target's remote, and names that. It replaces there what was
	// published before, and nothing else.
	Push(ctx context.Context, l fleet.Landing, before string) (remote string, err error)
	// PushTarget brings the target to its remote, and names that; empty: it has nothing new. The branch there only moves
	// forward.
	PushTarget(ctx context.Context) (remote string, err error)
}

const (
	// agentGrace bounds the time between SIGTERM and SIGKILL.
	agentGrace = claim.MostGrace
	// closingTime bounds the record of a worker's end after the worker was asked to
	// stop. It covers one full wait for the store.
	closingTime = 20 * time.Second
	// stopTime is the time from the order to stop until systemd kills the unit.
	stopTime = agentGrace + closingTime + 5*time.Second
	// enterTime is for the folder that a session works in: its turn in the clone, a fetch over a
	// slow line, the checkout of a large tree.
	enterTime = 15 * time.Minute
	// lookTime is for finding out what a session did, and once more for leaving its folder: its turn in the clone, and one slow
	// command of git.
	lookTime = 7 * time.Minute
)

// workerTime bounds a worker of the category: the sum of all its own time-outs. The time-out of one that hangs comes after it.
func (e *Engine) workerTime(c config.Category) time.Duration {
	d := tellingTime + c.Timeout + agentGrace + lookTime + c.GradingTime() + closingTime + lookTime + tellingTime + closingTime +
		e.followTime() + closingTime
	if c.OwnClone || c.Sync {
		d += enterTime
	}
	if !c.OwnClone && e.Config.Review.Push {
		d += pushTime
	}
	return d
}

// unitTime bounds the unit of such a worker: a backstop for a worker that hangs, whose own time-out comes first.
func (e *Engine) unitTime(c config.Category) time.Duration { return e.workerTime(c) + time.Minute }

// followTime is for deciding whether a session follows: counting the results that wait, a list of the tasks, and the record.
func (e *Engine) followTime() time.Duration { return 2*e.Config.Command.Timeout + closingTime }

// outlasting is a context that lasts so long at most, and for the rest when ctx has ended.
func outlasting(ctx context.Context, most, rest time.Duration) (context.Context, context.CancelFunc) {
	out, end := context.WithTimeout(context.WithoutCancel(ctx), most)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-out.Done():
		case <-time.After(rest):
			end()
		}
	})
	return out, func() { stop(); end() }
}

// closing is a context for what must be written although ctx has ended.
func closing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closingTime)
}

// masked takes secrets out of an agent's words, for the record: another host, a notice, a forge and the next
// session at the task read it there.
func (e *Engine) masked(text string) string {
	return config.Masker(e.Config.Secrets(e.Getenv)).Replace(text)
}
