package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/rundir"
	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/explain/replay"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/survey"
	"stint/internal/task"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// bench is a fleet with real store, lanes and task files. Its agent is a function,
// for what no healthy agent does at the right moment.
type bench struct {
	testing.TB
	*engine.Engine
	db    *sqlite.DB
	ended []fleet.RunID
	told  []fleet.RunID // to end

	supervised atomic.Bool     // every run still has its supervisor
	untimed    fleet.RunID     // the timer that was to start it is gone
	onStop     func(fleet.Run) // what one does that is asked to end; nil: nothing
	suspended  bool            // and each of these is

	mu  sync.Mutex
	now time.Time
}

const threeCategories = `
[category.code]
[category.docs]
[category.triage]
`

// newBench is a fleet in a folder of its own. Its tasks stay to be worked on.
func newBench(t *testing.T, categories string) *bench {
	t.Helper()
	dir := t.TempDir()
	storekit.Keep(t, dir)
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	start := virtual()
	b := &bench{TB: t, now: noon}
	text := fmt.Sprintf("fleet = \"bob\"\nstate = %q\n[agent.fake]\ncommand = [\"fake\"]\ntrust = true\n%s", filepath.Join(dir, "state"), categories)
	c, err := config.Parse(filepath.Join(dir, "stint.toml"), []byte(text), config.Options{})
	must.Do(t, err)
	for name, a := range c.Agents { // they have no processes that could be in a box
		a.Box = fleet.BoxOpen
		c.Agents[name] = a
	}
	if b.db, err = sqlite.Open(t.Context(), sqlite.Options{
		Dir: c.State, Fleet: c.Fleet, Workspace: c.Workspace, Now: b.clock, Settings: c.Selector.Settings(),
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	})
	must.Do(t, os.Mkdir(c.Tasks.Dir, 0o755))
	var chance atomic.Uint64
	folders := rundir.Folders{State: c.State, Keep: config.KeepFolders, MaxAge: c.Keep.Files, Out: config.KeepOut, Now: b.clock}
	sources := task.Sources{Folder: task.Folder{Dir: c.Tasks.Dir, DefaultCategory: c.Tasks.DefaultCategory}}
	b.Engine = &engine.Engine{
		Reader: &survey.Reader{
			Config: c, Store: b.db, Sessions: b, Agents: agent(nil), Ends: folders, Tasks: sources, Lessons: task.LessonFolder{Dir: c.Lessons.Dir}.List,
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			Now: b.clock, Random: func() uint64 { return chance.Add(1) }, Getenv: func(string) string { return "" },
		},
		Lanes: claim.Locks(c.State), Stopper: b, Runner: agent(nil), Repo: noRepo{}, Folders: folders, Sources: sources,
		Elapsed: func() time.Duration { return virtual().Sub(start) + b.clock().Sub(noon) },
	}
	return b
}

// explain explains the fleet.
func (b *bench) explain() *inspect.Explainer { return &inspect.Explainer{Reader: b.Reader} }

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// later moves the clock.
func (b *bench) later(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) addTask(id string, c fleet.Category, state fleet.TaskState) {
	b.Helper()
	text := fmt.Sprintf("---\nstate: %s\ncategory: %s\n---\n", state, c)
	must.Do(b, os.WriteFile(filepath.Join(b.Config.Tasks.Dir, id+".md"), []byte(text), 0o644))
}

// Liveness knows sessions by their lock alone: the agents here have no processes.
func (b *bench) Liveness(_ context.Context, r fleet.Run) fleet.Liveness {
	if said, certain := b.Here.Says(r.Location); certain {
		return said
	}
	switch lives, err := claim.Locks(b.Config.State).Lives(r.ID); {
	case r.ID == b.untimed:
		return fleet.Gone
	case errors.Is(err, fleet.ErrNotFound):
		return fleet.Unknown
	case err != nil || lives:
		return fleet.Lives
	default:
		return fleet.Gone
	}
}

func (b *bench) Supervised(fleet.Run) bool { return b.supervised.Load() }

func (b *bench) Suspended(fleet.Run) bool { return b.suspended }

// Stop notes whose session was asked to end.
func (b *bench) Stop(_ context.Context, r fleet.Run) error {
	b.mu.Lock()
	b.told = append(b.told, r.ID)
	b.mu.Unlock()
	if b.onStop != nil {
		b.onStop(r)
	}
	return nil
}

// End notes whose session was ended.
func (b *bench) End(_ context.Context, r fleet.Run) error {
	b.ended = append(b.ended, r.ID)
	return nil
}

// agent is a session as a function; nil is one that does nothing. After work of which it says nothing else, it wants
// to go on with its task.
type agent func(ctx context.Context, s fleet.SessionSpec) fleet.SessionExit

func (a agent) Run(ctx context.Context, s fleet.SessionSpec) (fleet.SessionExit, error) {
	if a == nil {
		return fleet.SessionExit{End: fleet.Exited}, nil
	}
	exit := a(ctx, s)
	if text := string(exit.Result); strings.HasPrefix(text, "{\"") && !strings.Contains(text, "task_state") &&
		(!strings.Contains(text, "outcome") || strings.Contains(text, "productive")) {
		exit.Result = []byte(`{"task_state": "active", ` + text[1:])
	}
	return exit, nil
}

// Find finds every program.
func (agent) Find(string, []string, string) error { return nil }

func (agent) Open(path string) (*os.File, error) { return os.Open(path) }

// says is an agent that leaves a result file.
func says(result string) agent {
	return func(context.Context, fleet.SessionSpec) fleet.SessionExit {
		return fleet.SessionExit{End: fleet.Exited, Result: []byte(result)}
	}
}

type noRepo struct{}

func (noRepo) Environment(context.Context, string, fleet.RunFiles, bool) []string {
	return []string{"MARK=x"}
}

func (noRepo) Enter(context.Context, fleet.RunID, fleet.Place) (fleet.Site, func(context.Context) (string, error), error) {
	return fleet.Site{}, func(context.Context) (string, error) { return "", nil }, nil
}

func (noRepo) On(context.Context) string { return "" }

func (noRepo) Branch(run fleet.RunID) string { return "stint/" + string(run) }

func (noRepo) Work(context.Context, string, fleet.RunFiles) (fleet.Work, error) {
	return fleet.Work{}, nil
}

func (noRepo) Diff(context.Context, []string, int) (string, bool, error) { return "", false, nil }

func (noRepo) Tracking(context.Context) (fleet.Tracking, error) { return fleet.Tracking{}, nil }

func (noRepo) GitDirs(_ context.Context, dir string) (own, common string, borrowed []string, err error) {
	return dir + "/own.git", dir + "/common.git", nil, nil
}

func (noRepo) Branches(context.Context) (map[fleet.RunID]string, error) { return nil, nil }

func (noRepo) Own(context.Context, fleet.RunID, string) (string, error) { return "", nil }

func (noRepo) Rescue(context.Context, func(fleet.RunID) bool) error { return nil }

func (noRepo) Tidy(context.Context, func(fleet.RunID) bool) error { return nil }

// starter starts units that fail with its errors, by category.
type starter map[string]error

func (s starter) Start(_ context.Context, specs []fleet.UnitSpec) []error {
	errs := make([]error, len(specs))
	for i, spec := range specs {
		for category, err := range s {
			if strings.Contains(spec.Name, "-"+category+"-") {
				errs[i] = err
			}
		}
	}
	return errs
}

func (b *bench) fire(o engine.FanoutOptions) (engine.FireReport, error) {
	b.Helper()
	if o.Workers == 0 {
		o.Workers = 3
	}
	if o.Units == nil {
		o.Units = starter{}
	}
	o.Binary = "/usr/bin/stint"
	return b.Fanout(b.Context(), o)
}

// inputs returns the input of a fire's ranking.
func inputs(t *testing.T, f fleet.Fire) (in rank.Input) {
	t.Helper()
	if err := json.Unmarshal(f.Inputs, &in); err != nil {
		t.Errorf("inputs of fire %d: %v", f.ID, err)
	}
	return in
}

func (b *bench) runOf(r engine.FireReport, c fleet.Category) fleet.RunID {
	b.Helper()
	for _, choice := range r.Choices {
		if choice.Category == c && choice.Run != "" {
			return choice.Run
		}
	}
	b.Fatalf("fire started nothing in %s: %+v", c, r.Choices)
	return ""
}

func (b *bench) stored(id fleet.RunID) fleet.Run {
	b.Helper()
	r := must.Get(b.db.Run(b.Context(), id))(b)
	return r
}

func (b *bench) arm(c fleet.Category) store.Arm {
	b.Helper()
	s := must.Get(b.db.Snapshot(b.Context()))(b)
	return s.Arms[c]
}

// wantsGrades checks that these grades, and no other, have been counted for a category,
// and that so many sessions were debited. All are of one fire, so that none has faded.
func (b *bench) wantsGrades(c fleet.Category, sessions int, grades ...float64) {
	b.Helper()
	arm := b.arm(c)
	want := rank.Sums{W: float64(len(grades))}
	for _, g := range grades {
		want.S += g
		want.G2 += g * g
	}
	if arm.Graded != len(grades) || arm.Fast != want || arm.Slow != want {
		b.Errorf("%s: %d grades, %+v and %+v; want %d, %+v", c, arm.Graded, arm.Fast, arm.Slow, len(grades), want)
	}
	if arm.Sessions != sessions {
		b.Errorf("%s: %d sessions debited, want %d", c, arm.Sessions, sessions)
	}
}

// present looks at the fleet.
func (b *bench) present() survey.View {
	b.Helper()
	v := must.Get(b.Present(b.Context()))(b)
	return v
}

func (b *bench) held() []fleet.Key {
	b.Helper()
	list := must.Get(b.db.List(b.Context(), store.Listing{}))(b)
	var keys []fleet.Key
	for _, c := range list.Claims {
		if c.Current(list.At) {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// outcome returns the outcome that a run's error names.
func outcome(err error) fleet.Outcome {
	var o fleet.OutcomeError
	errors.As(err, &o)
	return o.Outcome
}

func TestRunGradesOnceAndGivesEverythingBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	b.Runner = says(`{"outcome":"productive","grade":0.8,"task_state":"done"}`)
	r := must.Get(b.fire(engine.FanoutOptions{}))(t)
	id := b.runOf(r, "code")
	run := must.Get(b.Run(t.Context(), engine.RunOptions{Run: id}))(t)
	if run.Task != "fix" || run.Epoch != 1 || run.Lane != 1 || run.Verdict.Outcome != fleet.Productive {
		t.Errorf("run: %+v", run)
	}
	b.wantsGrades("code", 1, 0.8)
	if keys := b.held(); keys != nil {
		t.Errorf("claims left: %v", keys)
	}
	v, err := b.Look(t.Context())
	if err != nil || v.Tasks[0].State != fleet.StateDone || v.Tasks[0].Listed != fleet.StateTodo {
		t.Errorf("task is %+v, want it done, and todo in its file (%v)", v.Tasks[0], err)
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Run: id}); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("running it again: %v, want wrong usage", err)
	}
	b.wantsGrades("code", 1, 0.8)
}

func TestRunThatOutlivesItsClaimIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	b.Runner = agent(func(context.Context, fleet.SessionSpec) fleet.SessionExit {
		ctx := t.Context()     // that of the session ends with its lease
		b.later(2 * time.Hour) // past the time-to-live of one
		_, before, err := b.db.Take(ctx, store.TakeRequest{Key: "fix", Holder: "other", TTL: time.Hour})
		if err != nil {
			t.Error(err)
		}
		// As one would who cannot ask the session: the clock alone decides.
		known := store.Known{Holder: before.Holder, Epoch: before.Epoch, Session: fleet.Unknown}
		grant, c, err := b.db.Take(ctx, store.TakeRequest{Key: "fix", Holder: "other", TTL: time.Hour, Known: known})
		if err != nil || grant != fleet.Granted || c.Epoch != 2 {
			t.Errorf("take of the expired claim: %s at epoch %d, %v", grant, c.Epoch, err)
		}
		return fleet.SessionExit{End: fleet.Exited, Result: []byte(`{"outcome":"productive","grade":1,"task_state":"done"}`)}
	})
	run, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
	if got := outcome(err); got != fleet.Lost {
		t.Fatalf("outcome %q (%v), want lost", got, err)
	}
	if got := b.stored(run.ID).Verdict; got.Outcome != fleet.Lost || got.Grade != nil {
		t.Errorf("stored: %+v", got)
	}
	b.wantsGrades("code", 1) // the session was had, and nothing was learnt of it
	tasks, _, err := b.Tasks.List(t.Context())
	if err != nil || tasks[0].State != fleet.StateTodo {
		t.Errorf("a lost run wrote the task: %s, %v", tasks[0].State, err)
	}
	must.Equal(t, "the other's claim", b.held(), []fleet.Key{"fix"})
}

func TestBusyLaneIsRecordedBeforeAnythingIsPicked(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	r := must.Get(b.fire(engine.FanoutOptions{}))(t)
	neighbour := must.Get(b.Lanes.Take("code", 1, "x"))(t)
	t.Cleanup(func() {
		if err := neighbour.Release(); err != nil {
			t.Error(err)
		}
	})
	id := b.runOf(r, "code")
	_, err := b.Run(t.Context(), engine.RunOptions{Run: id})
	if got := outcome(err); got != fleet.Busy {
		t.Fatalf("outcome %q (%v), want busy", got, err)
	}
	if got := b.stored(id); got.Verdict.Outcome != fleet.Busy || got.Fire != r.ID || got.Task != "" {
		t.Errorf("stored: %+v", got)
	}
}

// snatch is a store in which somebody is quicker: between a worker's pick and its
// claim, another takes the task.
type snatch struct {
	store.Store
	tasks []fleet.TaskID
}

func (s snatch) Begin(ctx context.Context, b store.Begin) (store.Begun, error) {
	for _, o := range b.Offers {
		if slices.Contains(s.tasks, o.Task) {
			if _, _, err := s.Take(ctx, store.TakeRequest{Key: o.Key, Holder: "quicker", Renews: true, TTL: time.Hour}); err != nil {
				return store.Begun{}, err
			}
		}
	}
	return s.Store.Begin(ctx, b)
}

func TestDeniedWorkerGoesOnToAnotherCategory(t *testing.T) {
	t.Parallel()
	const limited = "[category.docs.unit]\nMemoryMax = \"1G\"\n"
	tests := []struct {
		name       string
		categories string
		snatched   []fleet.TaskID
		want       fleet.Outcome // "" is a session
		category   fleet.Category
	}{
		{"to the next of the fire", "[category.code]\n[category.docs]\n", []fleet.TaskID{"fix"}, "", "docs"},
		{"not to other limits", "[category.code]\n[category.docs]\n" + limited, []fleet.TaskID{"fix"}, fleet.RunDenied, "code"},
		{"denied everywhere", "[category.code]\n[category.docs]\n", []fleet.TaskID{"fix", "write"}, fleet.RunDenied, "code"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.categories)
			b.addTask("fix", "code", fleet.StateActive) // leads the ranking
			b.addTask("write", "docs", fleet.StateTodo)
			r := must.Get(b.fire(engine.FanoutOptions{Workers: 1}))(t)
			b.Store = snatch{b.db, tt.snatched}
			run, err := b.Run(t.Context(), engine.RunOptions{Run: b.runOf(r, "code")})
			if got := outcome(err); got != tt.want {
				t.Errorf("outcome %q (%v), want %q", got, err, tt.want)
			}
			if run.Category != tt.category {
				t.Errorf("worked in %s, want %s", run.Category, tt.category)
			}
			if tt.want == fleet.RunDenied && !strings.Contains(run.Verdict.Reason, "held by quicker") {
				t.Errorf("reason %q does not name the holder", run.Verdict.Reason)
			}
			holds := must.Get(b.db.LaneHolds(t.Context(), time.Unix(0, 0)))(t)
			for _, h := range holds {
				if h.ReleasedAt.IsZero() {
					t.Errorf("lane %s.%d was not given back", h.Category, h.Lane)
				}
			}
		})
	}
}

func TestIdleWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	_, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
	if got := outcome(err); got != fleet.Idle {
		t.Errorf("outcome %q (%v), want idle", got, err)
	}
}

func TestSelfDirectedSessionClaimsItsLane(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.muse]\nself_directed = true\n")
	var held []fleet.Key
	b.Runner = agent(func(context.Context, fleet.SessionSpec) fleet.SessionExit {
		held = b.held()
		return fleet.SessionExit{End: fleet.Exited}
	})
	run, err := b.Run(t.Context(), engine.RunOptions{Category: "muse"})
	if err != nil || run.Verdict.Outcome != fleet.Noop || run.Epoch != 1 || run.Task != "" {
		t.Errorf("run %+v, %v", run, err)
	}
	must.Equal(t, "held during the session", held, []fleet.Key{"category:muse:1"})
}

func TestCancelledRunIsRecordedAndReleased(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	ctx, cancel := context.WithCancel(t.Context())
	b.Runner = agent(func(context.Context, fleet.SessionSpec) fleet.SessionExit {
		cancel()
		return fleet.SessionExit{End: fleet.Stopped, Result: []byte(`{"outcome":"productive","grade":1}`)}
	})
	run, err := b.Run(ctx, engine.RunOptions{Category: "code"})
	if got := outcome(err); got != fleet.Cancelled {
		t.Fatalf("outcome %q (%v), want cancelled", got, err)
	}
	if got := b.stored(run.ID).Verdict; got.Outcome != fleet.Cancelled || got.Grade != nil {
		t.Errorf("stored: %+v", got)
	}
	if keys := b.held(); keys != nil {
		t.Errorf("claims left: %v", keys)
	}
}

// broken is a store whose every Complete fails until a time, or once it has taken effect, the first.
type broken struct {
	store.Store
	applied bool
	until   time.Time // zero: for ever
}

// virtual is a bubble's time, or else a clock that nobody sets.
func virtual() time.Time { return time.Now() } //nolint:forbidigo // see above

var errDisk = errors.New("disk on fire")

func (s broken) Complete(ctx context.Context, r fleet.Run) error {
	if !s.until.IsZero() && virtual().After(s.until) {
		return s.Store.Complete(ctx, r)
	}
	if s.applied {
		if was, err := s.Run(ctx, r.ID); err != nil || !was.EndedAt.IsZero() {
			return errors.Join(err, s.Store.Complete(ctx, r))
		}
		if err := s.Store.Complete(ctx, r); err != nil {
			return err
		}
	}
	return errDisk
}

//nolint:paralleltest // a bubble's test stands alone
func TestEndThatCannotBeRecorded(t *testing.T) {
	for _, applied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { // it is tried for as long as the claim is leased
			b := newBench(t, threeCategories)
			b.addTask("fix", "code", fleet.StateTodo)
			b.Runner = says(`{"outcome":"productive","grade":0.5,"task_state":"done"}`)
			began := virtual()
			b.Store = broken{Store: b.db, applied: applied}
			run, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
			graded := b.arm("code").Graded
			if applied { // the second try finds that the first went through
				if err != nil || graded != 1 || b.stored(run.ID).Verdict.Outcome != fleet.Productive || b.held() != nil {
					t.Errorf("run %+v, %v, graded %d, held %v", run, err, graded, b.held())
				}
				return
			}
			if !errors.Is(err, errDisk) {
				t.Errorf("error %v, want the store's", err)
			}
			if !b.stored(run.ID).EndedAt.IsZero() || graded != 0 {
				t.Errorf("run %+v, graded %d, want it open and ungraded", b.stored(run.ID), graded)
			}
			if took := virtual().Sub(began); took < 59*time.Minute {
				t.Errorf("given up after %v", took)
			}
			// Nobody else has the task, also when its claim has expired on the way: the next
			// session records what is written down, and finds the task done.
			b.later(61 * time.Minute)
			b.Store = b.db
			_, err = b.Run(t.Context(), engine.RunOptions{Category: "code"})
			if last := b.stored(run.ID); outcome(err) != fleet.Idle || b.arm("code").Graded != 1 || last.Verdict.Outcome != fleet.Productive ||
				last.EndedAt.After(b.clock().Add(-time.Hour)) || b.held() != nil {
				t.Errorf("next session: %v; run %+v, graded %d, held %v", err, last, b.arm("code").Graded, b.held())
			}
			if got := b.reap(); len(got) != 0 || b.arm("code").Graded != 1 {
				t.Errorf("reaped %+v, graded %d: the end is recorded once", got, b.arm("code").Graded)
			}
		})
	}
}

// TestEndRecordedLate has a store that fails for longer than a worker has to close, while its
// claim has long to run; one that is asked to stop meanwhile does not wait that long.
//
//nolint:paralleltest // a bubble's test stands alone
func TestEndRecordedLate(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, threeCategories)
			b.addTask("fix", "code", fleet.StateTodo)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			b.Runner = says(`{"outcome":"productive","grade":0.5,"task_state":"done"}`)
			began := virtual()
			b.Store = broken{Store: b.db, until: began.Add(50 * time.Minute)}
			if stopped {
				time.AfterFunc(time.Minute, stop)
			}
			run, err := b.Run(ctx, engine.RunOptions{Category: "code"})
			took := virtual().Sub(began)
			if stopped {
				if !errors.Is(err, errDisk) || took > 2*time.Minute {
					t.Errorf("%v after %v", err, took)
				}
				b.Store = b.db
				if got := b.reap(); len(got) != 1 || got[0].Reason != engine.ReasonDelivered {
					t.Errorf("reaped %+v", got)
				}
			} else if err != nil || took > 51*time.Minute {
				t.Errorf("%v after %v", err, took)
			}
			if got := b.stored(run.ID); b.arm("code").Graded != 1 || got.Verdict.Outcome != fleet.Productive {
				t.Errorf("graded %d, run %+v", b.arm("code").Graded, got)
			}
		})
	}
}

// TestEndOfAnotherClaim has an end in a run's folder that is of another epoch than the run's
// claim, as one from a backup is, and one whose claim somebody took before it was recorded.
// Nothing is learnt of either.
//
//nolint:paralleltest // a bubble's test stands alone
func TestEndOfAnotherClaim(t *testing.T) {
	for _, taken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, threeCategories)
			b.addTask("fix", "code", fleet.StateTodo)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			time.AfterFunc(time.Minute, stop)
			b.Runner = says(`{"outcome":"productive","grade":0.5,"task_state":"done"}`)
			b.Store = broken{Store: b.db, until: virtual().Add(50 * time.Minute)}
			run, _ := b.Run(ctx, engine.RunOptions{Category: "code"})
			b.Store = b.db
			end, err := b.Ends.End(run.ID)
			want := fleet.Abandoned
			if taken {
				want = fleet.Lost
				b.later(2 * time.Hour)
				_, _, err = b.db.Take(t.Context(), store.TakeRequest{
					Key: "fix", Holder: "quick", TTL: time.Hour, Known: store.Known{Holder: run.ID.Holder(), Epoch: run.Epoch, Session: fleet.Gone},
				})
			} else {
				end.Epoch++
				err = errors.Join(err, b.Folders.PutEnd(end))
			}
			must.Do(t, err)
			if got := b.reap(); len(got) != 1 || (got[0].Reason == engine.ReasonDelivered) != taken {
				t.Errorf("taken %t: reaped %+v", taken, got)
			}
			if got := b.stored(run.ID); b.arm("code").Graded != 0 || got.Verdict.Outcome != want {
				t.Errorf("taken %t: graded %d, run %+v; want it %s", taken, b.arm("code").Graded, got, want)
			}
			if got := b.reap(); len(got) != 0 {
				t.Errorf("taken %t: reaped %+v once more", taken, got)
			}
		})
	}
}

func TestFanoutWhoseUnitsDoNotStart(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	tests := []struct {
		name    string
		units   starter
		want    error
		started int
	}{
		{"some", starter{"docs": refused}, fleet.ErrPartly, 2},
		{"all", starter{"docs": refused, "code": refused, "triage": refused}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, threeCategories)
			for _, c := range b.Config.CategoryNames() {
				b.addTask("task-"+string(c), c, fleet.StateTodo)
			}
			r, err := b.fire(engine.FanoutOptions{Units: tt.units})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if got := r.Count(fleet.Spawn); got != tt.started {
				t.Errorf("%d started, want %d", got, tt.started)
			}
			stored := must.Get(b.db.Fire(t.Context(), r.ID))(t)
			must.Equal(t, "stored choices", stored.Choices, r.Choices)
			run := b.stored(b.runOf(r, "docs"))
			if run.Verdict.Outcome != fleet.Abandoned || run.Verdict.Reason != "refused" {
				t.Errorf("run that did not start: %+v", run.Verdict)
			}
		})
	}
}

func TestFiresCloseTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	first := must.Get(b.fire(engine.FanoutOptions{}))(t)
	second, err := b.fire(engine.FanoutOptions{})
	if !errors.Is(err, fleet.ErrNothing) || second.ID != first.ID+1 {
		t.Errorf("second fire %d: %v, want nothing to do", second.ID, err)
	}
	// The worker of the first never began: a minute later nobody waits for it.
	b.later(time.Minute)
	if _, err := b.fire(engine.FanoutOptions{}); err != nil {
		t.Errorf("third fire: %v", err)
	}
}

func TestSlotsBoundWhatRunsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n[category.docs]\n[category.triage]\n[fanout]\nslots = 2\n")
	for _, c := range b.Config.CategoryNames() {
		b.addTask("task-"+string(c), c, fleet.StateTodo)
	}
	r, err := b.fire(engine.FanoutOptions{})
	if err != nil || r.Count(fleet.Spawn) != 2 {
		t.Errorf("%d started, %v; want 2", r.Count(fleet.Spawn), err)
	}
	last := r.Choices[2]
	if last.Decision != fleet.Skip || !strings.Contains(last.Reason, "; no slot free: 2 left") {
		t.Errorf("third choice: %+v", last)
	}
}

func TestDryRunRecordsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	seed := uint64(1 << 63)
	dry := must.Get(b.fire(engine.FanoutOptions{DryRun: true, Seed: &seed}))(t)
	if fires, err := b.db.LastFires(t.Context(), store.FireQuery{Limit: 9}); err != nil || len(fires) != 0 {
		t.Errorf("fires after a dry run: %v, %v", fires, err)
	}
	fired := must.Get(b.fire(engine.FanoutOptions{Seed: &seed}))(t)
	for i, c := range fired.Choices {
		c.Run, c.Unit = "", ""
		if diff := cmp.Diff(c, dry.Choices[i]); diff != "" {
			t.Errorf("choice %d (-real +dry):\n%s", i, diff)
		}
	}
	stored, err := b.db.Fire(t.Context(), fired.ID)
	if err != nil || stored.Seed != seed || !strings.Contains(string(stored.Inputs), `"candidates"`) {
		t.Errorf("stored: seed %d, inputs %s, %v", stored.Seed, stored.Inputs, err)
	}
}

func TestForeignPayloadIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories+"[category.tidy]\n[fanout]\nallow = [\"code\", \"docs\", \"triage\"]\n")
	for _, c := range []fleet.Category{"triage", "docs"} {
		b.addTask("a-"+string(c), c, fleet.StateTodo)
	}
	payload := `{"selected":{"category":"triage"},"alternatives":[{"category":"nosuch"},{"category":"tidy"}],"all_scores":{"docs":2,"code":-1}}`
	r := must.Get(b.fire(engine.FanoutOptions{Payload: []byte(payload)}))(t)
	type row struct {
		Category fleet.Category
		Decision fleet.Decision
		Source   fleet.Source
	}
	var got []row
	for _, c := range r.Choices {
		got = append(got, row{c.Category, c.Decision, c.Source})
	}
	want := []row{
		{"triage", fleet.Spawn, fleet.FromSelected},
		{"nosuch", fleet.Skip, fleet.FromAlternatives},
		{"tidy", fleet.Skip, fleet.FromAlternatives},
		{"docs", fleet.Spawn, fleet.FromScores},
	}
	must.Equal(t, "choices", got, want)
}

// late is a manager whose answer comes late: its workers have begun by then, and the
// fire has been asked to stop.
type late struct {
	b      *bench
	cancel context.CancelFunc
}

func (l late) Start(ctx context.Context, specs []fleet.UnitSpec) []error {
	l.cancel()
	errs := make([]error, len(specs))
	for i, spec := range specs {
		run := fleet.RunID(spec.Argv[len(spec.Argv)-1])
		if _, err := l.b.db.Begin(ctx, store.Begin{Run: run, Category: "code", Lane: i + 1, TTL: time.Hour}); err != nil {
			l.b.Error(err)
		}
		errs[i] = errors.New("no answer")
	}
	return errs
}

func TestFireToldToStopTellsTheTruth(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := b.Fanout(ctx, engine.FanoutOptions{Workers: 1, Units: late{b, cancel}, Binary: "/b"})
	if err != nil || r.Count(fleet.Spawn) != 1 {
		t.Errorf("%d spawned, %v; want 1: the worker has begun", r.Count(fleet.Spawn), err)
	}
	stored, err := b.db.Fire(t.Context(), r.ID)
	if err != nil || stored.Choices[0].Decision != fleet.Spawn {
		t.Errorf("stored %+v, %v", stored.Choices, err)
	}
	if run := b.stored(b.runOf(r, "code")); !run.EndedAt.IsZero() {
		t.Errorf("the run was closed under its worker: %+v", run)
	}
}

// TestFiresAtOnce has more fires than there are categories, and one slot. Those that looked at the
// same moment drew under one number, and each comes out again as it was recorded.
func TestFiresAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories+"[fanout]\nslots = 1\n")
	for _, c := range b.Config.CategoryNames() {
		b.addTask("task-"+string(c), c, fleet.StateTodo)
	}
	var (
		wg      sync.WaitGroup
		spawned atomic.Int64
	)
	for seed := range uint64(6) {
		own, parts := *b.Engine, *b.Reader // every fire is a process of its own
		own.Reader = &parts
		wg.Go(func() {
			r, err := own.Fanout(t.Context(), engine.FanoutOptions{Workers: 3, Seed: &seed, Units: starter{}, Binary: "/b"})
			if err != nil && !errors.Is(err, fleet.ErrNothing) {
				t.Error(err)
			}
			if in := inputs(t, r.Fire); in.Fire > r.ID {
				t.Errorf("fire %d was drawn as fire %d, which was yet to come", r.ID, in.Fire)
			}
			if again, err := replay.Fire(r.Fire, survey.Redraws); err != nil || len(again.Differences) != 0 {
				t.Errorf("fire %d, ranked again: %v, %v", r.ID, again.Differences, err)
			}
			spawned.Add(int64(r.Count(fleet.Spawn)))
		})
	}
	wg.Wait()
	if got := spawned.Load(); got != 1 {
		t.Errorf("%d workers for one slot", got)
	}
}

// mute is a store that records no fire.
type mute struct{ store.Store }

func (mute) RecordFire(context.Context, store.Firing) (fleet.Fire, error) {
	return fleet.Fire{}, errDisk
}

func TestFireThatCannotBeRecordedIsNoQuietOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	b.Store = mute{b.db}
	if _, err := b.fire(engine.FanoutOptions{}); !errors.Is(err, errDisk) || errors.Is(err, fleet.ErrNothing) {
		t.Errorf("got %v, want the store's error alone", err)
	}
}

// TestLimitsThatDoNotHold has a worker in a unit log them, and one by hand not look.
func TestLimitsThatDoNotHold(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n[category.code.unit]\nMemoryMax = \"4G\"\n")
	b.addTask("fix", "code", fleet.StateTodo)
	b.Runner = says(`{"outcome":"nothing","task_state":"done"}`)
	var log bytes.Buffer
	b.Engine.Log = slog.New(slog.NewTextHandler(&log, nil))
	asked := 0
	b.Unenforced = func(properties map[string]any) []string {
		asked++
		if properties["MemoryMax"] != "4G" {
			t.Errorf("asked of %v", properties)
		}
		return []string{"MemoryMax: no memory controller"}
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); err != nil || asked != 0 {
		t.Fatalf("by hand: asked %d times, %v", asked, err)
	}
	b.later(time.Hour)
	b.addTask("more", "code", fleet.StateTodo)
	r := must.Get(b.fire(engine.FanoutOptions{}))(t)
	must.Get(b.Run(t.Context(), engine.RunOptions{Run: b.runOf(r, "code")}))(t)
	if asked != 1 || !strings.Contains(log.String(), "no memory controller") {
		t.Errorf("asked %d times, log %s", asked, log.String())
	}
}
