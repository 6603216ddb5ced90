package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// site is a fleet on the real service manager, with an agent that works until it
// is asked to stop.
type site struct {
	*testing.T
	fleet  string
	dir    string
	binary string
	boxed  map[int]int // the numbers of processes in a box, and theirs here; nil: the agent has no box
}

// agent says where it is, waits for its category's gate, commits nothing, and
// writes the grade it is given for its category.
const agent = `#!/bin/bash
set -eu
echo "$STINT_TASK_ID" >"$STINT_WORKSPACE/at.$STINT_CATEGORY"
read -r grade <"$STINT_WORKSPACE/gate.$STINT_CATEGORY"
echo "{\"outcome\": \"productive\", \"grade\": $grade, \"reason\": \"told so\", \"task_state\": \"done\"}" >"$STINT_RESULT"
`

// needManager fails a test that has no service manager.
func needManager(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("systemctl", "--user", "is-system-running").CombinedOutput(); err != nil && !strings.Contains(string(out), "degraded") {
		t.Fatalf("no service manager answers (%s): run the tests under scripts/with-systemd", bytes.TrimSpace(out))
	}
}

func newSite(t *testing.T, categories ...string) *site {
	t.Helper()
	needManager(t)
	s := &site{T: t, fleet: fmt.Sprintf("e2e_%d_%d", os.Getpid(), time.Now().UnixNano()%1_000_000), dir: t.TempDir(), binary: program(t)}
	storekit.Keep(t, s.path("state"))
	s.write("agent", agent, 0o755)
	config := fmt.Sprintf("fleet = %q\nstate = %q\n[agent.fake]\ncommand = [%q]\ntrust = true\n", s.fleet, s.path("state"), s.path("agent"))
	for _, c := range categories {
		config += fmt.Sprintf("[category.%s]\ncooldown = \"0s\"\nmax_chain = 0\n", c)
		s.write("tasks/work-"+c+".md", "---\nstate: todo\ncategory: "+c+"\n---\n", 0o644)
		if out, err := exec.Command("mkfifo", s.path("gate."+c)).CombinedOutput(); err != nil {
			t.Fatalf("mkfifo: %v: %s", err, out)
		}
	}
	s.write("stint.toml", config, 0o644)
	t.Cleanup(s.stopAll)
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, text string, mode os.FileMode) {
	s.Helper()
	write(s, s.path(name), text, mode)
}

// stint runs a command of the fleet and returns its standard output.
func (s *site) stint(args ...string) string {
	s.Helper()
	cmd := exec.Command(s.binary, append([]string{"--config", s.path("stint.toml")}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+s.path("config")) // where init notes the store
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("stint %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func (s *site) systemctl(args ...string) string {
	s.Helper()
	out, err := exec.Command("systemctl", append([]string{"--user"}, args...)...).CombinedOutput()
	if err != nil {
		s.Fatalf("systemctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// stopAll leaves nothing of the fleet in the manager.
func (s *site) stopAll() {
	for _, args := range [][]string{
		{"stop", "stint@" + s.fleet + ".timer", "stint@" + s.fleet + ".service"},
		{"stop", "stint-" + s.fleet + "-*.timer"}, // of what would follow
		{"stop", "stint-" + s.fleet + ".slice"},
	} {
		// A unit that was never started cannot be stopped.
		_ = exec.Command("systemctl", append([]string{"--user"}, args...)...).Run()
	}
	units := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd", "user")
	for _, pattern := range []string{"stint@" + s.fleet + ".*", "stint-" + s.fleet + ".*", "timers.target.wants/stint@" + s.fleet + ".*"} {
		found, _ := filepath.Glob(filepath.Join(units, pattern))
		for _, f := range found {
			_ = os.RemoveAll(f)
		}
	}
	s.systemctl("daemon-reload")
}

// status has the fields that the tests read of stint status --json.
type status struct {
	Running []struct {
		Run, Category, Task, Unit string
		Lane                      int
		State                     string
	}
	Claims []claimed
	Fires  []struct {
		Fire, Spawned, Skipped int
		Categories             []struct{ Category, Decision, Reason string }
	}
	Runs []struct {
		Run, Category, Outcome string
		Grade                  *float64
	}
	Posteriors []struct {
		Category    string
		Graded      int
		Alpha, Beta float64
	}
}

// claimed has the fields that the tests read of a claim.
type claimed struct {
	Task, Holder string
	Epoch        int
}

func (s *site) status() (st status) {
	s.Helper()
	must.Do(s, json.Unmarshal([]byte(s.stint("status", "--json", "--last", "50")), &st))
	return st
}

// eventually waits until the fleet's state is as it should be.
func (s *site) eventually(what string, ok func(status) bool) status {
	s.Helper()
	var st status
	eventually(s, func() bool {
		st = s.status()
		return ok(st)
	}, func() string { return what + "\n" + s.stint("status") })
	return st
}

// atWork waits until the agents of all these categories are under way at once.
func (s *site) atWork(categories ...string) status {
	s.Helper()
	s.eventually("agents of "+strings.Join(categories, ", ")+" at work", func(status) bool {
		return !slices.ContainsFunc(categories, func(c string) bool {
			_, err := os.Stat(s.path("at." + c))
			return err != nil
		})
	})
	return s.status() // the one that was looked at may be older than the agents' word
}

// open lets a category's agent finish with a grade.
func (s *site) open(category string, grade float64) {
	s.Helper()
	s.say(category, fmt.Sprint(grade))
}

// say gives a line to a category's agent.
func (s *site) say(category, line string) {
	s.Helper()
	gate := must.Get(os.OpenFile(s.path("gate."+category), os.O_WRONLY, 0))(s)
	defer gate.Close()
	fmt.Fprintln(gate, line)
}

func (s *site) failedUnits() string {
	s.Helper()
	return strings.TrimSpace(s.systemctl("list-units", "--failed", "--plain", "--no-legend", "stint*"+s.fleet+"*"))
}

// TestTimerToRanking goes the whole way on a real service manager: a timer fires,
// three units work at once in three lanes under three claims, their grades are
// counted, and the next ranking is the one that follows from them.
func TestTimerToRanking(t *testing.T) {
	t.Parallel()
	grades := map[string]float64{"code": 0.9, "docs": 0.5, "triage": 0.1}
	s := newSite(t, "code", "docs", "triage")
	write(t, filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd", "user", "stint@"+s.fleet+".timer.d", "cadence.conf"),
		"[Timer]\nOnCalendar=\nOnCalendar=*:*:*\nRandomizedDelaySec=0\nAccuracySec=1ms\nPersistent=false\n", 0o644)
	before := s.ranking(7)
	s.stint("init", s.dir, "--systemd", "--runtime")

	// Fires come a second apart; those after the first find every lane in use.
	s.atWork("code", "docs", "triage")
	st := s.eventually("three fires", func(st status) bool { return len(st.Fires) >= 3 })
	if got := len(st.Running); got != 3 {
		t.Fatalf("%d runs at once, want 3:\n%s", got, s.stint("status"))
	}
	for _, r := range st.Running {
		if r.State != "running" || r.Lane != 1 || r.Task != "work-"+r.Category || !strings.HasPrefix(r.Unit, "stint-"+s.fleet+"-"+r.Category) {
			t.Errorf("run under way: %+v", r)
		}
		if !slices.Contains(st.Claims, claimed{r.Task, "run:" + r.Run, 1}) {
			t.Errorf("run %s has no claim on %s at epoch 1: %+v", r.Run, r.Task, st.Claims)
		}
	}
	first, later := st.Fires[len(st.Fires)-1], st.Fires[0]
	if first.Spawned != 3 || later.Spawned != 0 || later.Skipped != 3 {
		t.Errorf("first fire spawned %d, last spawned %d and skipped %d; want 3, 0, 3", first.Spawned, later.Spawned, later.Skipped)
	}
	for _, c := range later.Categories {
		if !strings.HasPrefix(c.Reason, "lane busy: run ") {
			t.Errorf("%s was skipped because %q, want its lane busy", c.Category, c.Reason)
		}
	}
	s.systemctl("stop", "stint@"+s.fleet+".timer")
	if failed := s.failedUnits(); failed != "" {
		t.Errorf("failed units after quiet fires: %s", failed)
	}

	for c, g := range grades {
		s.open(c, g)
	}
	// Claims are given back after the end is recorded.
	st = s.eventually("three runs ended, their claims given back", func(st status) bool { return len(st.Running)+len(st.Claims) == 0 })
	var order []string
	for _, p := range st.Posteriors { // best first
		if order = append(order, p.Category); p.Graded != 1 {
			t.Errorf("%s: %d graded, want 1", p.Category, p.Graded)
		}
	}
	if want := []string{"code", "docs", "triage"}; !slices.Equal(order, want) {
		t.Errorf("from the best: %v, want %v", order, want)
	}
	s.checkNextRanking(grades, before, fleet.FireID(len(st.Fires)+1))
	if failed := s.failedUnits(); failed != "" {
		t.Errorf("failed units: %s", failed)
	}
	if out := s.stint("audit"); !strings.Contains(out, "peak_concurrency=3\n") || !strings.Contains(out, "same_lock_violations=0\n") {
		t.Errorf("audit:\n%s", out)
	}
}

// ranking returns the ranking of the categories for a seed.
func (s *site) ranking(seed uint64) map[string]explained {
	s.Helper()
	cmd := exec.Command(s.binary, "--config", s.path("stint.toml"), "select", "--json", "--seed", fmt.Sprint(seed))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) { // every task may be done
		s.Fatalf("select: %v", err)
	}
	var payload struct{ Explain map[string]explained }
	must.Do(s, json.Unmarshal(out, &payload))
	return payload.Explain
}

// explained has the fields that the tests read of a category in a ranking.
type explained struct {
	Mean, TS, Entitled, Deficit, Surplus float64
	Sessions                             int
}

// checkNextRanking compares the next ranking with one computed here from the grades that
// were given: one session a category, in the round that its run has on record. It knows
// what the ranking need not: that a good grade raises the mean, a bad one lowers it, and
// that each session was debited against the one that the first fire entitled it to.
func (s *site) checkNextRanking(grades map[string]float64, before map[string]explained, next fleet.FireID) {
	s.Helper()
	settings, after := rank.Defaults(), s.ranking(7)
	const round = 2 // the fires after the first found every lane in use
	arms := map[string]*rank.Arm{}
	var all []*rank.Arm
	for _, r := range s.runs() {
		if r.Load != 0 {
			s.Errorf("%s began under a load of %v, want none: it was the first", r.Category, r.Load)
		}
		// The present weight of the session.
		w, g := math.Exp2(-float64(round-r.Round)/300), grades[string(r.Category)]
		slow := math.Exp2(-float64(round-r.Round) / 3000)
		arm := &rank.Arm{Round: round, Evidence: rank.Evidence{
			At: round, Fast: rank.Sums{W: w, S: w * g, G2: w * g * g}, Slow: rank.Sums{W: slow, S: slow * g, G2: slow * g * g},
		}}
		arms[string(r.Category)], all = arm, append(all, arm)
	}
	pool := settings.Prior(all)
	for c, g := range grades {
		b := settings.Belief(arms[c], pool)
		want := b.Draw(rank.Generator(7, next, fleet.Category(c)))
		if !near(after[c].TS, want) || !near(after[c].Mean, b.Mean()) {
			s.Errorf("%s in fire %d: drew %v, mean %v; want %v, %v", c, next, after[c].TS, after[c].Mean, want, b.Mean())
		}
		if near(after[c].TS, before[c].TS) {
			s.Errorf("draw of %s did not change: %v", c, after[c].TS)
		}
		if up := after[c].Mean - before[c].Mean; g != 0.5 && (up > 0) != (g > 0.5) {
			s.Errorf("%s: its grade of %v moved the mean by %v", c, g, up)
		}
		if e := after[c]; e.Sessions != 1 || e.Entitled != 1 || e.Deficit != 0 || e.Surplus != 0 {
			s.Errorf("account of %s: %+v; want one session, entitled to one, and no debt", c, e)
		}
	}
}

// runs are the runs on record, oldest first.
func (s *site) runs() []fleet.Run {
	s.Helper()
	db := must.Get(sqlite.Open(s.Context(), sqlite.Options{
		Dir: s.path("state"), Fleet: fleet.Name(s.fleet), Workspace: s.dir, Now: time.Now, Settings: rank.Defaults(),
	}))(s)
	defer func() { _ = db.Close() }()
	list := must.Get(storekit.RunsSince(s.Context(), db, time.Time{}))(s)
	return list
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestWorkersOutliveTheFire kills the service that fired, with all that is in its
// cgroup, and finds the workers at work.
func TestWorkersOutliveTheFire(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code", "docs")
	firing := "stint-" + s.fleet + "-firing.service"
	s.systemdRun(firing, s.binary+" --config "+s.path("stint.toml")+" fanout && exec sleep 1000")
	before := s.atWork("code", "docs")
	s.systemctl("kill", "--signal=KILL", firing)
	s.eventually("the firing service dead", func(status) bool {
		out, _ := exec.Command("systemctl", "--user", "is-active", firing).Output()
		return strings.TrimSpace(string(out)) != "active"
	})
	st := s.status()
	if len(st.Running) != 2 || st.Running[0].State != "running" || st.Running[1].State != "running" {
		t.Fatalf("workers after the fire was killed: %+v, before: %+v", st.Running, before.Running)
	}
	s.open("code", 1)
	s.open("docs", 1)
	st = s.eventually("both ended", func(st status) bool { return len(st.Running) == 0 })
	for _, r := range st.Runs {
		if r.Outcome != "productive" {
			t.Errorf("run of %s ended as %s", r.Category, r.Outcome)
		}
	}
}

func (s *site) systemdRun(unit, script string) {
	s.Helper()
	out, err := exec.Command("systemd-run", "--user", "--collect", "--unit", unit, "sh", "-c", script).CombinedOutput()
	if err != nil {
		s.Fatalf("systemd-run: %v\n%s", err, out)
	}
}

// TestStoppedUnit stops a worker as an operator would: the run is cancelled, its
// claim is free, and no unit is left failed.
func TestStoppedUnit(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code")
	s.stint("fanout")
	st := s.atWork("code")
	s.systemctl("stop", st.Running[0].Unit)
	st = s.status()
	if len(st.Running) != 0 || len(st.Claims) != 0 || st.Runs[0].Outcome != "cancelled" || st.Runs[0].Grade != nil {
		t.Errorf("after the stop: running %+v, claims %+v, runs %+v", st.Running, st.Claims, st.Runs)
	}
	if failed := s.failedUnits(); failed != "" {
		t.Errorf("failed units: %s", failed)
	}
	if got := s.stint("claim", "check", "work-code"); got != "free work-code\n" {
		t.Errorf("claim check: %q", got)
	}
}
