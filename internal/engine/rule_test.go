package engine_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// failedSource is a source of tasks that cannot be read.
type failedSource struct{}

func (failedSource) List(context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	return nil, []fleet.TaskProblem{{Source: "tracker", Reason: "no answer"}}, nil
}

// obstacle is one thing that keeps code from starting, and how a fleet meets it.
type obstacle struct {
	kind   fleet.Hindrance
	name   string
	config string // below twoCategories
	meet   func(*bench)
	want   string // how its reason begins
	alone  string // why a session that follows another cannot meet it; empty: it can
	yields bool   // to a person's --force
}

const twoCategories = "[category.docs]\n[category.code]\nmax_chain = 3\nrespawn = 0.1\n"

// change changes what the configuration says of code.
func (b *bench) change(how func(*config.Category)) {
	c := b.Config.Categories["code"]
	how(&c)
	b.Config.Categories["code"] = c
}

// otherTask leaves code one task alone, in place of the one that a session may hold.
func (b *bench) otherTask() {
	must.Do(b, os.Remove(filepath.Join(b.Config.Tasks.Dir, "fix.md")))
	b.addTask("other", "code", fleet.StateActive)
}

// other has a session of docs be about to begin.
func (b *bench) other(id fleet.RunID, c fleet.Category) {
	must.Do(b, b.db.AddRun(b.Context(), fleet.Run{ID: id, Category: c, Source: fleet.FromSelected, Agent: "fake", CreatedAt: b.clock()}))
}

// noop has a session of code at a task bring nothing.
func (b *bench) noop(id fleet.RunID, task fleet.TaskID) {
	must.Do(b, b.db.AddRun(b.Context(), fleet.Run{ID: id, Category: "code", Source: fleet.FromSelected, Agent: "fake", CreatedAt: b.clock()}))
	take := storekit.RunTake{TakeRequest: store.TakeRequest{Key: task.Key(), Holder: id.Holder(), TTL: time.Hour}, Run: id, Task: task}
	_, _, err := storekit.TakeForRun(b.Context(), b.db, take)
	end := fleet.Run{ID: id, Category: "code", Agent: "fake", Task: task, Key: task.Key(), Epoch: 1, Verdict: fleet.Verdict{Outcome: fleet.Noop}}
	must.Do(b, errors.Join(err, b.db.Complete(b.Context(), end)))
}

func obstacles() []obstacle {
	const restless = "cooldown = \"0s\"\n"
	return []obstacle{
		{kind: fleet.HinderedByPool, name: "of another pool", config: "[pool.ops]\n", meet: func(b *bench) {
			b.change(func(c *config.Category) { c.Pool = "ops" })
		}, want: "of pool ops", alone: "its pool is its own"},
		{kind: fleet.HinderedByHost, name: "for other hosts", meet: func(b *bench) {
			b.change(func(c *config.Category) { c.Hosts = []string{"gpu-*"} })
		}, want: "not for this host: its hosts are gpu-*"},
		{kind: fleet.HinderedByList, name: "not for fires", meet: func(b *bench) { b.Config.Fanout.Allow = []fleet.Category{"docs"} }, want: rank.ReasonNotAllowed, yields: true},
		{kind: fleet.HinderedByPause, name: "paused", meet: func(b *bench) {
			must.Do(b, b.db.Pause(b.Context(), fleet.Pause{Category: "code", Reason: "deploy window"}))
		}, want: "paused: deploy window", yields: true},
		{kind: fleet.HinderedByReview, name: "gate closed", meet: func(b *bench) { b.Gates = full{"code": "3 results wait"} }, want: "3 results wait", yields: true},
		{kind: fleet.HinderedByBudget, name: "budget used up", config: restless + "[category.code.budget]\nruns = 2\n", meet: func(b *bench) {
			for _, id := range []fleet.RunID{"0spent1", "0spent2"} {
				b.session(id, "code", "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Nothing}})
			}
		}, want: "budget of category:code: ", alone: "its own session is counted"},
		{kind: fleet.HinderedByAgent, name: "rate limit", meet: func(b *bench) { b.meetWall("fake") }, want: "agent fake: usage limit: enough"},
		{kind: fleet.HinderedBySeats, name: "agent's slots taken", meet: func(b *bench) {
			a := b.Config.Agents["fake"]
			a.Slots = 1
			b.Config.Agents["fake"] = a
			b.other("0other", "docs")
		}, want: "agent fake: "},
		{kind: fleet.HinderedByLane, name: "lane taken", meet: func(b *bench) {
			_, lock := b.dead("code", "elsewhere")
			b.Cleanup(func() { b.closeAll(lock) })
		}, want: "lane busy: run ", alone: "its own session has the lane"},
		{kind: fleet.HinderedByLane, name: "lane reserved", meet: func(b *bench) { b.other("0planned", "code") }, want: "lane busy: run 0planned"},
		{kind: fleet.HinderedByRest, name: "cooldown", meet: func(b *bench) {
			b.session("0before", "code", "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Nothing}})
		}, want: "cooldown until ", alone: "it rests first", yields: true},
		{kind: fleet.HinderedBySource, name: "source that failed", meet: func(b *bench) {
			b.Tasks, b.Config.Tasks.DefaultCategory = failedSource{}, "code"
		}, want: "source tracker failed"},
		{kind: fleet.HinderedByTasks, name: "no workable task", meet: func(b *bench) {
			must.Do(b, os.Remove(filepath.Join(b.Config.Tasks.Dir, "fix.md")))
		}, want: rank.ReasonNoTask},
		{kind: fleet.HinderedByClaim, name: "all claimed", meet: func(b *bench) {
			b.otherTask()
			_, _, err := b.db.Take(b.Context(), store.TakeRequest{Key: "other", Holder: "ann", TTL: time.Hour})
			must.Do(b, err)
		}, want: rank.ReasonAllClaimed},
		{kind: fleet.HinderedByEmpty, name: "every task rests", config: restless, meet: func(b *bench) {
			b.otherTask()
			b.Runner = agent(nil)
			for range 2 {
				must.Get(b.Run(b.Context(), engine.RunOptions{Category: "code"}))(b)
			}
		}, want: rank.ReasonAllRest, alone: "its own session has the lane", yields: true},
		{kind: fleet.HinderedByBackoff, name: "back-off", config: restless, meet: func(b *bench) {
			b.noop("0noop1", "empty")
			b.noop("0noop2", "void")
		}, want: "backs off for 1 more fire", alone: "its own grade ends that", yields: true},
		{kind: fleet.HinderedByMachine, name: "machine short", meet: func(b *bench) {
			b.Machine = func() string { return machine.Pressure{MemoryAvailable: new(int64(1 << 20))}.Refuse() }
		}, want: "memory"},
		{kind: fleet.HinderedBySlots, name: "no slot", meet: func(b *bench) {
			b.Config.Fanout.Slots = 1
			b.other("0other", "docs")
		}, want: "no slot free"},
	}
}

// TestOneRule meets every obstacle by every way to a session of code: none starts, and all that
// say why say the same. A person's --force is the one way past those that yield.
func TestOneRule(t *testing.T) {
	t.Parallel()
	const payload = `{"selected":{"category":"code"},"all_scores":{"docs":-1}}`
	fired := func(r engine.FireReport) (spawned bool, reason string) {
		for _, c := range r.Choices {
			if c.Category == "code" {
				return c.Decision == fleet.Spawn, c.Reason
			}
		}
		return false, "not named"
	}
	fires := []struct {
		name string
		with func(*bench, *engine.FanoutOptions)
	}{
		{"own ranking", func(*bench, *engine.FanoutOptions) {}},
		{"--selector", func(_ *bench, o *engine.FanoutOptions) { o.Payload = []byte(payload) }},
		{"configured selector", func(b *bench, _ *engine.FanoutOptions) { b.Ranker = ranker(payload) }},
	}
	for _, o := range obstacles() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			b, reason := twoTasks(t, o.config), ""
			o.meet(b)
			for _, way := range fires {
				options := engine.FanoutOptions{DryRun: true, Seed: new(uint64)}
				way.with(b, &options)
				r, _ := b.fire(options)
				spawned, why := fired(r)
				if spawned || !strings.Contains(why, o.want) {
					t.Errorf("%s: got started %t, %q, want it skipped: %s", way.name, spawned, why, o.want)
				}
				// What the ranking says of a category that is in stands before the reason.
				if why = why[max(0, strings.Index(why, o.want)):]; reason == "" {
					reason = why
				} else if why != reason {
					t.Errorf("%s: got %q, want the same words as the own ranking's, %q", way.name, why, reason)
				}
				options.Forced = []fleet.Category{"code"}
				r, _ = b.fire(options)
				if spawned, why = fired(r); spawned != o.yields {
					t.Errorf("%s, forced: got started %t, %q, want %t", way.name, spawned, why, o.yields)
				}
			}
			o.follow(t, twoTasks(t, o.config), reason)
			o.pivot(t, twoTasks(t, o.config))
		})
	}
}

// follow meets the obstacle while a good session of code works, which nothing follows then.
func (o obstacle) follow(t *testing.T, b *bench, want string) {
	t.Helper()
	b.Later = &timers{}
	r := must.Get(b.fire(engine.FanoutOptions{Payload: []byte(`{"selected":{"category":"code"}}`)}))(t)
	b.Runner = agent(func(context.Context, fleet.SessionSpec) fleet.SessionExit {
		if o.alone == "" {
			o.meet(b)
		}
		return fleet.SessionExit{End: fleet.Exited, Result: []byte(good)}
	})
	run := b.mustRun(b.runOf(r, "code"))
	if o.alone != "" {
		b.follower(run)
		return
	}
	if run.FollowedBy != "" || !sameButRun(run.Followed, want) {
		t.Errorf("respawn: got it followed by %q, %q, want %q", run.FollowedBy, run.Followed, want)
	}
}

// sameButRun compares reasons, of which each names a run of its own fleet.
func sameButRun(got, want string) bool {
	const busy = "lane busy: run "
	return got == want || strings.HasPrefix(got, busy) && strings.HasPrefix(want, busy)
}

// pivot meets the obstacle before a session of docs is denied, which would go on to code.
func (o obstacle) pivot(t *testing.T, b *bench) {
	t.Helper()
	r := must.Get(b.fire(engine.FanoutOptions{Workers: 1, Payload: []byte(`{"selected":{"category":"docs"},"alternatives":[{"category":"code"}]}`)}))(t)
	o.meet(b)
	b.Runner = says(good)
	b.Store = &rival{Store: b.db, holder: "quick", quick: 1}
	run, err := b.Run(t.Context(), engine.RunOptions{Run: b.runOf(r, "docs")})
	if run.Category != "docs" || outcome(err) == fleet.Productive {
		t.Errorf("pivot: got it at work in %s (%v), want it to end in docs", run.Category, err)
	}
}

// twoTasks is a fleet with a task in each of two categories.
func twoTasks(t *testing.T, config string) *bench {
	t.Helper()
	b := newBench(t, twoCategories+config)
	b.addTask("fix", "code", fleet.StateTodo)
	b.addTask("write", "docs", fleet.StateTodo)
	return b
}

// TestPivotGoesOn has nothing in the way of the pivot that TestOneRule expects to end.
func TestPivotGoesOn(t *testing.T) {
	t.Parallel()
	b := twoTasks(t, "")
	r := must.Get(b.fire(engine.FanoutOptions{Workers: 1, Payload: []byte(`{"selected":{"category":"docs"},"alternatives":[{"category":"code"}]}`)}))(t)
	b.Runner = says(good)
	b.Store = &rival{Store: b.db, holder: "quick", quick: 1}
	if run := b.mustRun(b.runOf(r, "docs")); run.Category != "code" {
		t.Errorf("got it at work in %s, want code", run.Category)
	}
}

// TestForcedStays has a person's --force start docs: when its claim is denied, nobody forced code.
func TestForcedStays(t *testing.T) {
	t.Parallel()
	b := twoTasks(t, "")
	r := must.Get(b.fire(engine.FanoutOptions{Workers: 1, Forced: []fleet.Category{"docs"}, Payload: []byte(`{"selected":{"category":"docs"},"alternatives":[{"category":"code"}]}`)}))(t)
	b.Runner = says(good)
	b.Store = &rival{Store: b.db, holder: "quick", quick: 1}
	if run, err := b.Run(t.Context(), engine.RunOptions{Run: b.runOf(r, "docs")}); run.Category != "docs" || outcome(err) != fleet.RunDenied {
		t.Errorf("got it at work in %s (%v), want it denied in docs", run.Category, err)
	}
}

// TestOneRuleIsWhole has a row of TestOneRule for every kind of obstacle that there is.
func TestOneRuleIsWhole(t *testing.T) {
	t.Parallel()
	elsewhere := map[fleet.Hindrance]string{
		fleet.HinderedByFilter:   "select alone narrows a ranking",
		fleet.HinderedByUnknown:  "a payload alone can name what there is not: TestDecide",
		fleet.HinderedByWorkers:  "a fire alone has a limit of its own: TestDecide",
		fleet.HinderedByRival:    "found by the record, after the decision: TestFiresAtOnce of the store",
		fleet.HinderedByTrust:    "the same fact as an agent's, from survey.Unfit: script config_trust",
		fleet.HinderedByClone:    "the same fact as an agent's, from survey.Unfit: script clone_unready",
		fleet.HinderedByOverlap:  "of a task, as the next ones; a category without another has no workable task: TestAllTaskObstacles",
		fleet.HinderedByWaiting:  "of a task",
		fleet.HinderedByDate:     "of a task",
		fleet.HinderedByNeed:     "of a task",
		fleet.HinderedByState:    "of a task",
		fleet.HinderedByProblem:  "of a task",
		fleet.HinderedByFailures: "of a task",
	}
	rows := map[fleet.Hindrance]bool{}
	for _, o := range obstacles() {
		rows[o.kind] = true
	}
	file := must.Get(parser.ParseFile(token.NewFileSet(), "../fleet/hindrance.go", nil, 0))(t)
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			kind := fleet.Hindrance(must.Get(strconv.Unquote(v.Values[0].(*ast.BasicLit).Value))(t))
			if kinds++; !rows[kind] && elsewhere[kind] == "" {
				t.Errorf("got no row for %s, want each kind tried by every way to a session", v.Names[0])
			}
		}
		return true
	})
	if kinds != len(rows)+len(elsewhere) {
		t.Errorf("got %d kinds, want the %d of the table and the %d elsewhere", kinds, len(rows), len(elsewhere))
	}
}

// TestSelectedTaskComesFirst has another selector choose the task that would come second.
func TestSelectedTaskComesFirst(t *testing.T) {
	t.Parallel()
	b := twoTasks(t, "")
	b.addTask("again", "code", fleet.StateActive)
	r := must.Get(b.fire(engine.FanoutOptions{Payload: []byte(`{"selected":{"category":"code","id":"fix"}}`)}))(t)
	if got := r.Choices[0].Reason; got != `chosen by the selector, rank 1; with task "fix", which it chose` {
		t.Errorf("got %q, want the task named", got)
	}
	b.Runner = says(good)
	if run := b.mustRun(b.runOf(r, "code")); run.Task != "fix" {
		t.Errorf("got task %q, want fix", run.Task)
	}
	wantIdentical(t, b, r.ID)
}
