package main

import (
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/engine"
	"stint/internal/store"
)

// crashCase is a stop and how a process comes to it.
type crashCase struct {
	stop    string
	prepare func(*crashFleet)
	command []string      // default: a run by hand
	later   time.Duration // how late that is
	rival   bool          // another takes the task first
	after   func(*crashFleet)
	recover func(*crashFleet) // default: runs by hand
}

// crashCases are the stops on the way from the fire to the end of its runs.
func crashCases() []crashCase {
	var (
		run     = []string{"run", "--category", "code"}
		planned = []string{"run", "--run", crashPlanned}
		fanout  = []string{"fanout", "--exec"}
		reap    = []string{"reap"}
	)
	return []crashCase{
		{stop: "Store.RecordFire", command: fanout, recover: (*crashFleet).fire},
		{stop: "Store.NotStarted", command: fanout, prepare: (*crashFleet).blockWorkers, after: (*crashFleet).admitWorkers, recover: (*crashFleet).fire},
		{stop: "Store.AddRun"},
		{stop: "Lanes.Live"},
		{stop: "Lanes.Take"},
		{stop: "Store.Begin"},
		{stop: "Store.Complete", rival: true},
		{stop: "Store.Renew", prepare: (*crashFleet).holdAgent, after: (*crashFleet).freeOrphan},
		{stop: "Store.OnBranch", prepare: func(f *crashFleet) {
			f.inClones()
			f.git("branch", "stint") // in the way of the name
		}},
		{stop: "Store.SeePlaces", command: fanout, prepare: func(f *crashFleet) {
			f.inClones()
			f.dies("after Store.Begin", run...)
		}, recover: (*crashFleet).giveBack},
		{stop: "Store.AddFates", command: fanout, prepare: (*crashFleet).reverted, after: (*crashFleet).workersEnd, recover: (*crashFleet).graded},
		{stop: "Runner.Run"},
		{stop: "Folders.PutEnd"},
		{stop: "Store.Complete"},
		{stop: "Store.Complete", command: reap, prepare: func(f *crashFleet) { f.dies("before Store.Complete", run...) }},
		{stop: "Store.Complete", command: fanout, prepare: func(f *crashFleet) { f.dies("before Store.Complete", run...) }},
		{stop: "Folders.Trim"},
		{stop: "Lane.Release"},
		{stop: "Store.Respawn", prepare: (*crashFleet).planGood, command: planned},
		{stop: "Later.StartAfter", prepare: (*crashFleet).planGood, command: planned},
		{stop: "Store.Abandon", command: reap, prepare: func(f *crashFleet) { f.dies("after Store.Begin", run...) }},
		{stop: "Store.Abandon", command: fanout, prepare: func(f *crashFleet) { f.dies("after Runner.Run", run...) }},
		{stop: "Store.Abandon", command: run, prepare: func(f *crashFleet) { f.dies("before Folders.PutEnd", run...) }},
		{stop: "Stopper.End", command: reap, later: 2 * time.Hour, prepare: func(f *crashFleet) {
			f.holdAgent()
			f.dies("before Store.Renew", run...)
		}, after: (*crashFleet).freeOrphan},
	}
}

// notStops are the methods at which no process of the table is killed, and why.
func notStops() map[string][]string {
	return map[string][]string{
		"reads": {
			"Store.Snapshot", "Store.RankingAt", "Store.Ledger", "Store.Fire", "Store.LastFires", "Store.Fallbacks", "Store.Run", "Store.LastRuns", "Store.Watched",
			"Store.LaneHolds", "Store.EachLaneHold", "Store.LastDenials", "Store.Tallies", "Store.Entitled", "Store.GradeChanges", "Store.FailedTasks", "Store.BudgetResets", "Store.LessonUses", "Store.DeniedClaims", "Store.Places", "Store.Reviews", "Store.Feedback", "Store.ReviewTimes", "Store.Check", "Store.List", "Store.Close", "Store.Hosts", "Store.Tail", "Store.Overran", "Folders.Tail", "Sources.Get", "Sources.Body", "Sources.Again", "Sources.StateAt", "Sources.Writable", "Repo.Environment", "Repo.Work", "Repo.Own", "Repo.Diff", "Repo.Branch", "Repo.Branches", "Repo.GitDirs", "Repo.On", "Repo.Tracking",
		},
		"by hand, which the storm kills":    {"Store.Take", "Store.Release"},
		"by hand, one step each":            {"Store.Pause", "Store.Resume", "Store.Retry", "Store.ResetBudget", "Store.SetAway", "Store.ClearAway", "Store.HostGone", "Store.ForgetHost", "Store.AskToStop", "Stopper.Stop"},
		"of trackers, see TestCrashTracker": {"Sources.Call", "Store.SeeTasks"},
		"see TestCrashLand":                 {"Sources.SetState", "Store.LeaveTask", "Store.SaveReview", "TargetBranch.Landings", "TargetBranch.Stack", "TargetBranch.Advance", "TargetBranch.Drop", "TargetBranch.Unstack", "TargetBranch.PushTarget"},
		"see review_feedback.txtar":         {"Store.SaveFeedback"},
		"see TestCrashPublish":              {"TargetBranch.Push", "Hook.Ask"},
		"see package workspace":             {"Repo.Enter", "Repo.Rescue", "Repo.Tidy"},
		"the next fire comes in its place":  {"Later.FireAt"},
		"in steps, see package rundir":      {"Folders.Sweep"},
		"for news, which may be lost":       {"Store.NoticeDue", "Store.ForgetNotice"},
	}
}

// TestCrashStopsAreAll keeps the table from falling behind: whatever the engine may call
// to write is in it.
func TestCrashStopsAreAll(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"Lane.Release": true} // it is no method
	for _, c := range crashCases() {
		known[c.stop] = true
	}
	for why, methods := range notStops() {
		for _, m := range methods {
			if known[m] {
				t.Errorf("%s is in the table and among those left out: %s", m, why)
			}
			known[m] = true
		}
	}
	parts := []reflect.Type{
		reflect.TypeFor[store.Store](), reflect.TypeFor[engine.Sources](), reflect.TypeFor[engine.Lanes](),
		reflect.TypeFor[engine.Stopper](), reflect.TypeFor[engine.Runner](), reflect.TypeFor[engine.Later](),
		reflect.TypeFor[engine.Repo](), reflect.TypeFor[engine.Folders](), reflect.TypeFor[engine.TargetBranch](), reflect.TypeFor[engine.Hook](),
	}
	methods := map[string]bool{"Lane.Release": true}
	for _, part := range parts {
		for m := range part.Methods() {
			name := part.Name() + "." + m.Name
			methods[name] = true
			if !known[name] {
				t.Errorf("%s is not in the table: kill there, or say why not", name)
			}
		}
	}
	for name := range known {
		if !methods[name] {
			t.Errorf("%s is in the table and nowhere else", name)
		}
	}
}

// TestCrash kills the real program at every stop, once before and once after the call
// took effect. All leftovers are swept up, and the next sessions do the work.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, c := range crashCases() {
		if c.command == nil {
			c.command = []string{"run", "--category", "code"}
		}
		for _, when := range []string{"before", "after"} {
			name := []string{when, c.stop, "in", c.command[0]}
			if c.rival {
				name = append(name, "beside a rival")
			}
			t.Run(strings.Join(name, " "), func(t *testing.T) {
				t.Parallel()
				c.check(newCrashFleet(t), when)
			})
		}
	}
}

func (c crashCase) check(f *crashFleet, when string) {
	f.Helper()
	if c.prepare != nil {
		c.prepare(f)
	}
	f.later, f.rival = c.later, c.rival
	f.dies(when+" "+c.stop, c.command...)
	f.later, f.rival = 0, false
	f.exits(0, "status")
	f.exits(0, "audit")
	f.wants("after the death", crashAlways)
	if c.after != nil {
		c.after(f)
	}

	// A run that has begun is over at once, a planned one after its grace.
	f.exits(0, "reap")
	f.wants("after reaping", crashAlways, crashReaped)
	f.later = 2 * time.Minute
	f.exits(0, "reap")
	f.wants("after the grace", crashAlways, crashReaped, crashClosed)

	if c.rival {
		f.exits(0, "claim", "release", "fix", "--holder", "rival")
	}
	if c.recover == nil {
		c.recover = (*crashFleet).work
	}
	c.recover(f)
	f.exits(0, "status")
	f.wants("after the work", crashAlways, crashReaped, crashClosed)
	f.wantsDone()
	if out := f.exits(0, "audit"); !strings.Contains(out, "same_lock_violations=0\n") {
		f.Errorf("audit:\n%s", out)
	}
}

// dies runs a command that must be killed at the stop.
func (f *crashFleet) dies(at string, command ...string) {
	f.Helper()
	cmd, stderr := f.command(command...)
	cmd.Env = append(cmd.Env, crashStop+"="+at)
	err := cmd.Run()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
		f.Fatalf("stint %s never came to %q: %v\n%s", strings.Join(command, " "), at, err, stderr)
	}
}

// TestCrashCheckFails plants, behind the program's back, what the checks are there to
// find.
func TestCrashCheckFails(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]string{
		"grade counted twice":     "insert into events select max(seq) + 1, (select event from events where event ->> '$.kind' = 'ended') from events",
		"another grade counted":   "update events set event = json_set(event, '$.grade', 0.25) where event ->> '$.kind' = 'ended'",
		"grade not counted":       "delete from events where event ->> '$.kind' = 'ended'",
		"nothing remembered":      "delete from events",
		"debited twice":           "insert into events select max(seq) + 1, (select event from events where event ->> '$.kind' = 'began') from events",
		"not debited":             "delete from events where event ->> '$.kind' = 'began'",
		"entitled to more":        `insert into events select max(seq) + 1, '{"kind":"fired","moves":["code"],"due":{"code":9}}' from events`,
		"lesson counted twice":    "update lessons set with_graded = with_graded + 1",
		"lesson not counted":      "delete from lessons where lesson = 'measure'",
		"lessons not on record":   "update runs set lessons = json_remove(lessons, '$[0]') where lessons <> '[]'",
		"lessons without a claim": "update runs set key = '', epoch = 0",
		"epoch gap":               "update claims set epoch = epoch + 1 where key = 'fix'",
		"epoch of two runs":       "update runs set epoch = 1, key = 'fix'",
		"dead holder":             "update claims set released_at = null, ending = '' where key = 'fix'",
		"lane not given back":     "update runs set lane_left = null",
		"two follow one":          "update runs set source = 'respawn'",
		"endless chain":           "update runs set chain_depth = 2",
		"run open":                "update runs set ended_at = null, outcome = ''",
		"run open that never was": "update runs set ended_at = null, outcome = '', started_at = null",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCrashFleet(t)
			f.work()
			checks := slices.Concat(crashAlways(0), crashReaped(0), crashClosed(0))
			if found := f.problems(checks); len(found) > 0 {
				t.Fatalf("problems before the plant: %q", found)
			}
			f.exec(plant)
			if found := f.problems(checks); len(found) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}
