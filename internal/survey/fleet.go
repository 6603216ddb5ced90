// Package survey looks at a fleet at a moment: its open runs and their state, the claims that
// are held, its tasks and lessons, the obstacles of each category and agent, and the input of
// a ranking. It asks the parts of a fleet and changes none of them: the
// engine acts on what it finds, and package inspect explains it.
package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/store"
)

// Tasks reads the tasks of all sources.
type Tasks interface {
	// List returns every task, and what could not be read as one. The tasks may be
	// without their bodies. A source that does not exist wraps [fleet.ErrNotFound].
	List(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error)
}

// Sessions knows the processes of sessions on this machine.
type Sessions interface {
	// Liveness says whether any process of a run's session is left; of an open run that has
	// not begun, whether its timer or its unit is there.
	Liveness(ctx context.Context, r fleet.Run) fleet.Liveness
	// Supervised reports whether the process that began a run is still there.
	Supervised(r fleet.Run) bool
	// Suspended reports whether that process is stopped, and does nothing.
	Suspended(r fleet.Run) bool
}

// Agents knows the programs of agents, and what they print.
type Agents interface {
	// Find says whether a program can be started in dir with the environment that it gets.
	Find(program string, environment []string, dir string) error
	// Open opens a file that a session left, and refuses what an agent may have put in its
	// place: a link, a pipe, another file of this process's.
	Open(path string) (*os.File, error)
}

// Gates keep categories out while too many of their results wait for review.
type Gates interface {
	// Full says which categories are out and why, and which could not be asked.
	Full(ctx context.Context) (full map[fleet.Category]string, failed map[fleet.Category]error)
}

// Work asks git for the sessions' work.
type Work interface {
	// Branches are those of the fleet's runs, by run.
	Branches(ctx context.Context) (map[fleet.RunID]string, error)
	// Pending are the branches of the fleet's runs, and how the target has them, or what that follows if that is ahead. made looks up
	// the commits of runs on record.
	Pending(ctx context.Context, made func([]fleet.RunID) (map[fleet.RunID][]string, error)) (review.Target, []review.Branch, error)
	// Clashes reports which pairs of commits conflict with each other.
	Clashes(ctx context.Context, pairs [][2]string) ([]bool, error)
	// Fates finds what became of the work of runs that is not known of it yet.
	Fates(ctx context.Context, runs []review.Watched) ([]fleet.ReviewOutcome, error)
	// Leftovers say what runs left that their branches do not have, by the run in whose folder it was.
	Leftovers(ctx context.Context) (map[fleet.RunID]string, error)
	// Ready says why no session can have a clone of its own, nil if it can.
	Ready(ctx context.Context) error
	// Clones are the runs with clones of their own in which there may be work that is not home.
	Clones() []fleet.RunID
	// Changed are the files that a run has changed in a folder of its own, committed or not, since
	// it left the target.
	Changed(ctx context.Context, run fleet.RunID) ([]string, error)
}

// Reader has the parts of one fleet that it asks. All fields are needed except Store, which
// is nil when nothing has run yet and nothing will be written, and those that say what nil
// means.
type Reader struct {
	Config   *config.Config
	Store    store.Store
	Here     fleet.Location // where this process is
	Tasks    Tasks
	Lessons  func(context.Context) ([]fleet.Lesson, []fleet.LessonProblem, error) // every lesson, and what could not be read as one
	Sessions Sessions
	Agents   Agents
	Ends     claim.Ends
	Work     Work                                                             // nil: nobody looks for branches of runs
	Gates    Gates                                                            // nil: none
	Machine  func() string                                                    // why it should start nothing; nil: nobody looks
	Timers   func(ctx context.Context, pools []string) ([]fleet.Timer, error) // one for each, in their order; nil: no service manager
	Log      *slog.Logger
	Now      func() time.Time
	Random   func() uint64
	Getenv   func(string) string
	Withhold float64 // the probability that a session does without a lesson that matches it

	warned        bool // of the tasks, in this process
	warnedLessons bool
	hosts         map[string]fleet.Host // by id, of the last look; nil: nobody looked
}

// Withhold is enough of the sessions to compare the others with.
const Withhold = 0.2

// Recorded reports whether there is a record: something has run, or is about to.
func (f *Reader) Recorded() bool { return f.Store != nil }

// Desk answers questions about claims.
func (f *Reader) Desk() claim.Claims {
	return claim.Claims{Store: f.Store, Sessions: f.Sessions, Ends: f.Ends, Log: f.Log}
}

// Record returns the fleet's store, or an empty one if there is none yet.
func (f *Reader) Record() store.Store {
	if f.Store == nil {
		return nothing{now: f.Now}
	}
	return f.Store
}

// nothing is the record of a fleet in which nothing has run.
type nothing struct {
	store.Store
	now func() time.Time
}

func (n nothing) Snapshot(context.Context) (store.Snapshot, error) {
	return store.Snapshot{NextFire: 1, ClaimsAt: store.ClaimsAt{At: n.now()}}, nil
}

func (nothing) LastRuns(context.Context, store.RunQuery) ([]fleet.Run, error)    { return nil, nil }
func (nothing) Feedback(context.Context) (map[fleet.RunID]fleet.Feedback, error) { return nil, nil }
func (nothing) Run(_ context.Context, id fleet.RunID) (r fleet.Run, err error) {
	return r, fmt.Errorf("run %s: %w", id, fleet.ErrNotFound)
}

func (nothing) Fire(_ context.Context, id fleet.FireID) (f fleet.Fire, err error) {
	return f, fmt.Errorf("fire %d: %w", id, fleet.ErrNotFound)
}
func (nothing) LastFires(context.Context, store.FireQuery) ([]fleet.Fire, error) { return nil, nil }
func (nothing) LastDenials(context.Context, store.DenialQuery) ([]fleet.DeniedClaim, error) {
	return nil, nil
}

func (nothing) Check(context.Context, fleet.Key) (c fleet.Claim, at time.Time, err error) {
	return c, at, nil
}
func (nothing) List(context.Context, store.Listing) (l store.ClaimsAt, err error) { return l, nil }
func (nothing) Reviews(context.Context, ...fleet.RunID) (map[fleet.RunID]fleet.Review, error) {
	return nil, nil
}

func (nothing) Places(context.Context) (l []fleet.ReviewSlot, a fleet.Away, err error) {
	return l, a, nil
}

func (nothing) Hosts(context.Context) (l []fleet.Host, at time.Time, err error) { return l, at, nil }

// Passed is the part of an agent's environment that is the operator's.
func (f *Reader) Passed(a config.Agent) []string { return a.Passed(f.Getenv) }

// UnknownCategory says that the configuration has no such category.
func (f *Reader) UnknownCategory(c fleet.Category) error {
	return fleet.WithHint(
		fmt.Errorf("category %q is not in %s: %w", c, f.Config.Path, fleet.ErrUsage),
		"the categories are "+fleet.Listed(f.Config.CategoryNames()))
}

// ListTasks reads the tasks and logs what is wrong with them, once a process.
func (f *Reader) ListTasks(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	tasks, problems, err := f.Tasks.List(ctx)
	if errors.Is(err, fleet.ErrNotFound) {
		if f.Config.WantsTasks() {
			f.Log.WarnContext(ctx, "no tasks", slog.Any("err", err))
		}
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if f.warned {
		return tasks, problems, nil
	}
	f.warned = true
	for _, p := range problems {
		switch {
		case p.Source != "":
			f.Log.WarnContext(ctx, "task source failed", slog.String("reason", p.String()))
		default:
			f.Log.WarnContext(ctx, "task left out", slog.String("reason", p.String()))
		}
	}
	for _, t := range tasks {
		if f.Config.Unplaced(t) != "" {
			f.Log.WarnContext(ctx, "task of an unknown category",
				slog.String("task_id", string(t.ID)), slog.String("category", string(t.Category)))
		}
	}
	return tasks, problems, nil
}

// FailedSources are the sources among the problems.
func FailedSources(problems []fleet.TaskProblem) (list []fleet.SourceFault) {
	for _, p := range problems {
		if p.Source != "" {
			list = append(list, fleet.SourceFault{Source: p.Source, Reason: p.Reason})
		}
	}
	return list
}

// Unlisted says which failed sources may have work for a category, or "".
func (f *Reader) Unlisted(failed []fleet.SourceFault, c fleet.Category) string {
	var list []string
	for _, fault := range failed {
		if f.mayFeed(f.Config.Tasks.Sources[fault.Source], c) {
			list = append(list, fault.String())
		}
	}
	return strings.Join(list, "; ")
}

// mayFeed reports whether an item of the source may be a task of the category.
func (f *Reader) mayFeed(s config.TaskSource, c fleet.Category) bool {
	if s.Fields[fleet.FieldCategory] != "" {
		return true
	}
	if s.Category != "" {
		return s.Category == c
	}
	return c == f.Config.Tasks.DefaultCategory || slices.Contains(slices.Collect(maps.Values(f.Config.Tasks.Tags)), c)
}

// listLessons reads the lessons and logs those that cannot be read, once a process.
func (f *Reader) listLessons(ctx context.Context) ([]fleet.Lesson, error) {
	lessons, problems, err := f.Lessons(ctx)
	if err != nil {
		return nil, err
	}
	if !f.warnedLessons {
		f.warnedLessons = true
		for _, p := range problems {
			f.Log.WarnContext(ctx, "lesson problem", slog.String("reason", p.String()))
		}
	}
	return lessons, nil
}

// HostState is a machine of the fleet, and how it does.
type HostState struct {
	fleet.Host
	Here     bool
	Sessions int       // on it that live, or are about to
	NextFire time.Time // by this machine's own timers; zero: it is another's, or not known
	Trouble  string    // empty: nothing is known to be wrong with it
}

// Hosts are the machines of the fleet, by name.
func (f *Reader) Hosts(v View) (list []HostState) {
	for _, h := range v.Snapshot.Hosts {
		s, working := HostState{Host: h, Here: h.ID == f.Here.Host}, false
		for _, r := range v.Snapshot.Open {
			if r.Host == h.ID && v.Live[r.ID] {
				s.Sessions++
				working = working || !r.StartedAt.IsZero()
			}
		}
		s.Trouble = h.Trouble(working, v.Now)
		list = append(list, s)
	}
	return list
}

// Several are the machines of a fleet that has more than one.
func (f *Reader) Several(v View) []HostState {
	if list := f.Hosts(v); len(list) > 1 {
		return list
	}
	return nil
}

// askHosts reads the machines of the fleet, unless they are known from a look.
func (f *Reader) askHosts(ctx context.Context) {
	if f.hosts != nil {
		return
	}
	list, _, err := f.Record().Hosts(ctx)
	if err != nil {
		f.Log.WarnContext(ctx, "hosts of the fleet not known", slog.Any("err", err))
	}
	f.setHosts(list)
}

// KeptElsewhere reports whether a machine is another one of the fleet: the branches of its runs are in its clone, and
// that they are not in this one says nothing.
func (f *Reader) KeptElsewhere(ctx context.Context, host string) bool {
	if !f.Here.OnOtherHost(fleet.Location{Host: host}) {
		return false
	}
	f.askHosts(ctx)
	_, known := f.hosts[host]
	return known
}

func (f *Reader) setHosts(list []fleet.Host) {
	f.hosts = map[string]fleet.Host{}
	for _, h := range list {
		f.hosts[h.ID] = h
	}
}

// whereabouts says where a run is at work, or was.
func (f *Reader) whereabouts(r fleet.Run, now time.Time) (w fleet.RunHost) {
	if r.Host == "" || len(f.hosts) < 2 {
		return w
	}
	h, known := f.hosts[r.Host]
	w.Machine = cmp.Or(h.Name, r.Host)
	if known && r.EndedAt.IsZero() && f.Here.OnOtherHost(r.Location) {
		w.Heard, w.Unheard = h.HeardAt, h.Silent(now)
	}
	return w
}
