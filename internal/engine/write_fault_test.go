package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"stint/internal/agent/command"
	"stint/internal/engine"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/task"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// faultyStore is a store of which one write fails: before it took effect or, with apply,
// after. It counts the writes, so that each can be the one.
type faultyStore struct {
	store.Store
	apply bool
	at    int // of the calls, from 0; below: none fails

	mu    sync.Mutex
	calls []string
}

func newFaultyStore(s store.Store, apply bool, at int) *faultyStore {
	f := &faultyStore{apply: apply, at: at}
	f.Store = storekit.Around(s, f.write)
	return f
}

func (f *faultyStore) write(name string, do func() error) error {
	f.mu.Lock()
	n := len(f.calls)
	f.calls = append(f.calls, name)
	f.mu.Unlock()
	switch {
	case n != f.at:
		return do()
	case f.apply:
		return cmp.Or(do(), errDisk)
	default:
		return errDisk
	}
}

// story is something that a fleet goes through, and all errors that it reported.
type story struct {
	config string
	play   func(b *bench) error
}

// workable is a fleet with one task in code.
func workable(play func(*bench) error) story {
	return story{threeCategories, func(b *bench) error {
		b.addTask("fix", "code", fleet.StateTodo)
		return play(b)
	}}
}

// fireAndRun fires, and runs all that was planned.
func fireAndRun(b *bench) error {
	r, err := b.fire(engine.FanoutOptions{})
	for _, c := range r.Choices {
		if c.Run != "" {
			_, runErr := b.Run(b.Context(), engine.RunOptions{Run: c.Run, Binary: "/usr/bin/stint"})
			err = errors.Join(err, runErr)
		}
	}
	return err
}

func byHand(b *bench) error {
	_, err := b.Run(b.Context(), engine.RunOptions{Category: "code"})
	return err
}

const delivers = `{"outcome":"productive","grade":0.8,"task_state":"done"}`

func stories() map[string]story {
	return map[string]story{
		"a session of a fire, and its follower": workable(func(b *bench) error {
			b.Agents, b.Later = says(good), &timers{}
			return fireAndRun(b)
		}),
		"a session by hand settles its task": workable(func(b *bench) error {
			b.Runner = says(delivers)
			return byHand(b)
		}),
		"a long session on a branch": workable(func(b *bench) error {
			b.Repo = branching{}
			b.Runner = agent(func(ctx context.Context, s fleet.SessionSpec) fleet.SessionExit {
				wait, cancel := context.WithTimeout(ctx, 25*time.Minute)
				defer cancel()
				<-wait.Done()
				return says(delivers)(ctx, s)
			})
			return byHand(b)
		}),
		"nothing to do": {threeCategories, byHand},
		"a worker that cannot be started": workable(func(b *bench) error {
			_, err := b.fire(engine.FanoutOptions{Units: starter{"code": errors.New("no room")}})
			return err
		}),
		"a fire that is stopped": workable(func(b *bench) error {
			_, err := b.fire(engine.FanoutOptions{})
			list, stopErr := b.StopAll(b.Context(), "")
			for _, stopped := range list {
				stopErr = errors.Join(stopErr, stopped.Err)
			}
			return errors.Join(err, stopErr)
		}),
		"a claim that is denied": workable(func(b *bench) error {
			f, _ := b.Store.(*faultyStore)
			f.Store = storekit.Around(snatch{b.db, []fleet.TaskID{"fix"}}, f.write)
			return byHand(b)
		}),
		"a claim that is lost": workable(func(b *bench) error {
			b.Runner = agent(func(ctx context.Context, s fleet.SessionSpec) fleet.SessionExit {
				if _, err := b.db.Release(ctx, store.Hold{Key: "fix", Holder: "run:" + fleet.Holder(filepath.Base(s.Files.Dir))}, fleet.EndingReleased, ""); err != nil {
					b.Error(err)
				}
				return says(delivers)(ctx, s)
			})
			return byHand(b)
		}),
		"a supervisor that died": workable(func(b *bench) error {
			_, lock := b.dead("code", "fix")
			b.closeAll(lock)
			_, err := b.Reap(b.Context(), false)
			return err
		}),
		"news that nobody takes": {threeCategories + "[notice]\ncommand = [\"tell\"]\nevents = [\"failed\"]\n", func(b *bench) error {
			b.addTask("fix", "code", fleet.StateTodo)
			b.Notices = deafEars{}
			b.Runner = says(`{"outcome":"failed"}`)
			return byHand(b)
		}},
		"a tracker that hears late": {tracked, func(b *bench) error {
			list := filepath.Join(b.Config.Workspace, "items")
			if err := os.WriteFile(list, []byte(`{"id":"1","state":"open"}`), 0o600); err != nil {
				return err
			}
			run := func(argv ...string) command.Command {
				return command.Command{Argv: argv, Dir: b.Config.Workspace, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: time.Minute}
			}
			source := func(c command.Command, done string) task.Sources {
				return task.Sources{
					Folder: task.Folder{Dir: b.Config.Tasks.Dir},
					Commands: []task.Source{{
						Listing: task.Listing{
							Name: "tracker", Category: "code", States: map[string]fleet.TaskState{"open": fleet.StateTodo},
							Fields: map[fleet.TaskField]string{fleet.FieldState: "state", "id": "id"},
						},
						Command: c,
						Calls:   map[fleet.TaskCall][]string{fleet.CallStart: {"true"}, fleet.CallDone: {done}, fleet.CallRelease: {"true"}},
					}},
				}
			}
			both := source(run("cat", list), "false")
			b.Tasks, b.Sources = both, both
			b.Runner = says(delivers)
			err := byHand(b)
			both = source(run("cat", list), "true")
			b.Tasks, b.Sources = both, both
			b.later(time.Minute)
			_, reapErr := b.Reap(b.Context(), false)
			return errors.Join(err, reapErr)
		}},
	}
}

const tracked = threeCategories + `
[tasks.source.tracker]
command = ["cat", "items"]
category = "code"
start = ["true"]
done = ["true"]
release = ["true"]
`

// branching gives each run a branch of its own.
type branching struct{ noRepo }

func (r branching) Enter(_ context.Context, run fleet.RunID, _ fleet.Place) (fleet.Site, func(context.Context) (string, error), error) {
	return fleet.Site{Branch: r.Branch(run)}, func(context.Context) (string, error) { return "", nil }, nil
}

// deafEars accepts no report.
type deafEars struct{}

func (deafEars) Send(context.Context, fleet.Notice) error { return errors.New("nobody there") }

// outcomeOf lists the results of a story: each run with its grade, each task, what its tracker is
// owed, each denial, and each lane that is held.
func (b *bench) outcomeOf() (lines []string) {
	b.Helper()
	runs := must.Get(b.db.LastRuns(b.Context(), store.RunQuery{Limit: 100}))(b)
	for _, r := range runs {
		lines = append(lines, fmt.Sprintf("run %s %s %s %v", r.Category, r.Task, r.Verdict.Outcome, r.Verdict.Grade != nil))
	}
	tasks, _, err := b.Tasks.List(b.Context())
	must.Do(b, err)
	for _, t := range tasks {
		lines = append(lines, fmt.Sprintf("task %s %s", t.ID, t.State))
	}
	denials := must.Get(b.db.DeniedClaims(b.Context(), time.Time{}))(b)
	for _, d := range denials {
		lines = append(lines, fmt.Sprintf("denied %s by %s", d.Key, d.Holder))
	}
	holds := must.Get(b.db.LaneHolds(b.Context(), time.Time{}))(b)
	for _, h := range holds {
		if h.ReleasedAt.IsZero() {
			lines = append(lines, fmt.Sprintf("lane %s.%d is held", h.Category, h.Lane))
		}
	}
	s := must.Get(b.db.Snapshot(b.Context()))(b)
	for _, m := range s.Tasks {
		lines = append(lines, fmt.Sprintf("remembered %s %s owed %q", m.Task, m.State, m.Owed))
	}
	slices.Sort(lines)
	return lines
}

// checkSettled has time pass and the reaper look, and fails the test unless nothing is open,
// nothing is held, each grade was learnt from once, and the fleet works on.
func (b *bench) checkSettled() {
	b.Helper()
	// A process that a parallel test has forked holds the locks of sessions here until it executes its program.
	syscall.ForkLock.RLock()
	//nolint:staticcheck // the wait is all that it is for
	syscall.ForkLock.RUnlock()
	for range 2 { // what is closed at first is tidied up at the second
		b.later(26 * time.Hour)
		if _, err := b.Reap(b.Context(), false); err != nil {
			b.Errorf("reap: %v", err)
		}
	}
	s := must.Get(b.db.Snapshot(b.Context()))(b)
	for _, r := range s.Open {
		b.Errorf("run %s of %s is open still", r.ID, r.Category)
	}
	if keys := b.held(); keys != nil {
		b.Errorf("held still: %v", keys)
	}
	runs := must.Get(b.db.LastRuns(b.Context(), store.RunQuery{Limit: 100}))(b)
	graded := map[fleet.Category]int{}
	for _, r := range runs {
		if r.Verdict.Grade != nil && !r.Deferred && r.Verdict.Fault != fleet.FaultAgent {
			graded[r.Category]++
		}
	}
	for c, arm := range s.Arms {
		if arm.Graded != graded[c] {
			b.Errorf("%s learnt from %d grades, and %d are on record", c, arm.Graded, graded[c])
		}
	}
	holds := must.Get(b.db.LaneHolds(b.Context(), time.Time{}))(b)
	var summed report.Holds
	for _, h := range holds {
		if summed.Add(h); h.ReleasedAt.IsZero() {
			b.Errorf("lane %s.%d of run %s is not given back", h.Category, h.Lane, h.Run)
		}
	}
	if v := report.NewAudit(report.Record{Holds: summed}, rank.Settings{}).Violations; v != nil {
		b.Errorf("lanes held twice: %+v", v)
	}
	b.addTask("next", "docs", fleet.StateTodo)
	b.Runner = says(delivers)
	if _, err := b.Run(b.Context(), engine.RunOptions{Category: "docs"}); err != nil {
		b.Errorf("the next session: %v", err)
	}
}

// told plays a story of which the write at a place fails, and returns what was called, what it
// came to at once, and whether the failure was reported to anybody.
func told(t *testing.T, s story, at int, apply bool) (calls, came []string, stated bool) {
	t.Helper()
	b := newBench(t, s.config)
	var log bytes.Buffer
	b.Engine.Log = slog.New(slog.NewTextHandler(io.MultiWriter(&log, t.Output()), nil))
	f := newFaultyStore(b.db, apply, at)
	b.Store = f
	err := s.play(b)
	came = b.outcomeOf()
	b.Store = b.db
	b.checkSettled()
	return f.calls, came, errors.Is(err, errDisk) || strings.Contains(log.String(), errDisk.Error())
}

// TestEveryWriteMayFail plays each story once for each of its writes and each way to fail: it
// had no effect, or it had one and said otherwise. Either the failure is reported, or the story
// comes to the same; and afterwards nothing is open or held, and nothing was learnt twice.
func TestEveryWriteMayFail(t *testing.T) {
	t.Parallel()
	seen, all := map[string]bool{}, true
	for _, name := range slices.Sorted(maps.Keys(stories())) {
		var calls, came []string
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { calls, came, _ = told(t, stories()[name], -1, false) })
		})
		all = all && calls != nil // go test -run may have left it out
		for at, call := range calls {
			seen[call] = true
			for _, apply := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d %s applied=%v", name, at, call, apply), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						_, got, stated := told(t, stories()[name], at, apply)
						if diff := gocmp.Diff(got, came); diff != "" && !stated {
							t.Errorf("nobody was told, and it came to (-got +want):\n%s", diff)
						}
					})
				})
			}
		}
	}
	// The engine makes these writes; the others are people's: pauses, budgets, second tries.
	want := []string{
		"Abandon", "AddRun", "Begin", "Complete", "ForgetNotice",
		"NotStarted", "NoticeDue", "OnBranch", "RecordFire", "Release", "Renew", "Respawn", "SeeTasks", "Take",
	}
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(seen)), want); diff != "" && all {
		t.Errorf("writes that some story makes (-got +want):\n%s", diff)
	}
}
