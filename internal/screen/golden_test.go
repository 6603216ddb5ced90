package screen_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/screen"
	"stint/internal/survey"
	"stint/internal/testkit/must"
	"stint/internal/view"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a screen with its file.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got, path := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\ngo test ./internal/screen -update", err)
	}
	must.Equal(t, path, got, string(want))
}

// fits fails for lines that would wrap.
func fits(t *testing.T, lines []string, width int) {
	t.Helper()
	for _, line := range lines {
		if got := ansi.StringWidth(line); got > width {
			t.Errorf("%d columns, want at most %d: %q", got, width, line)
		}
	}
}

// each lays a screen out at 80 and 120 columns, in a pipe, and once in colour.
func each(t *testing.T, name string, lay func(screen.Style) []string) {
	t.Helper()
	for _, width := range []int{80, 120, 0} {
		lines := lay(screen.Style{Width: width})
		file := fmt.Sprintf("%s-%d.txt", name, width)
		if width == 0 {
			file = name + "-pipe.txt"
		} else {
			fits(t, lines, width)
		}
		golden(t, file, lines)
	}
	plain := lay(screen.Style{Width: 80})
	coloured := lay(screen.Style{Width: 80, Colour: true})
	for i := range coloured {
		coloured[i] = ansi.Strip(coloured[i])
	}
	if diff := cmp.Diff(coloured, plain); diff != "" {
		t.Errorf("%s: colour changes the text (-coloured +plain):\n%s", name, diff)
	}
	for width := 1; width < 80; width += 7 { // narrower than is any use, and no panic
		fits(t, lay(screen.Style{Width: width}), max(width, 1))
	}
}

func noon() time.Time { return time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC) }

func before(d time.Duration) time.Time { return noon().Add(-d) }

func id(d time.Duration, n uint32) fleet.RunID { return fleet.NewRunID(before(d), n) }

const (
	minute = time.Minute
	hour   = time.Hour
)

func categories() []fleet.Category {
	return []fleet.Category{
		"code", "content", "cross-repo", "docs", "hygiene", "infra", "monitoring", "news", "research", "social", "strategic", "triage",
	}
}

// busyRun is a run under way.
func busyRun(c fleet.Category, task fleet.TaskID, agent string, elapsed time.Duration) fleet.RunStatus {
	run := id(elapsed+time.Second, uint32(len(c)))
	return fleet.RunStatus{State: fleet.RunRunning, Timeout: hour, Tokens: new(int64(34_210)), Run: fleet.Run{
		ID: run, Fire: 41, Category: c, Rank: 1, Source: fleet.FromSelected, Lane: 1, Task: task, Key: task.Key(), Epoch: 3, Agent: agent, PID: 4711,
		Unit: fleet.UnitName("demo", c, run), CreatedAt: before(elapsed + time.Second), StartedAt: before(elapsed),
	}}
}

// ended is a run that is over.
func ended(c fleet.Category, task fleet.TaskID, o fleet.Outcome, ago time.Duration, grade *float64, reason string) fleet.RunStatus {
	return fleet.RunStatus{State: fleet.RunEnded, Run: fleet.Run{
		ID: id(ago, uint32(len(reason))), Fire: 40, Category: c, Task: task, Agent: "claude", CreatedAt: before(ago), StartedAt: before(ago - time.Second),
		EndedAt: before(ago - 5*minute), Verdict: fleet.Verdict{Outcome: o, Grade: grade, Reason: reason},
	}}
}

func idleFleet() screen.StatusView {
	v := screen.StatusView{Fleet: "demo", Rows: 24, Last: -1}
	v.At = noon()
	v.Timers = []fleet.Timer{{Pool: "autonomous", Unit: "stint@demo.timer", Active: true, Last: before(18 * minute), Next: before(-12 * minute)}}
	for _, c := range categories() {
		v.Lanes = append(v.Lanes, inspect.LaneState{Category: c, Number: 1})
		if c == "code" {
			v.Lanes = append(v.Lanes, inspect.LaneState{Category: c, Number: 2})
		}
	}
	v.Fires = []fleet.Fire{{ID: 41, At: before(18 * minute), Choices: []fleet.Choice{
		{Category: "code", Decision: fleet.Spawn},
		{Category: "docs", Decision: fleet.Spawn},
		{Category: "triage", Decision: fleet.Spawn},
		{Category: "content", Decision: fleet.Skip},
		{Category: "infra", Decision: fleet.Skip},
	}}}
	v.Day = report.Audit{
		All: report.Use{
			Ended: 38, Outcomes: map[fleet.Outcome]int{fleet.Productive: 20, fleet.Noop: 8, fleet.Failed: 4, fleet.Idle: 6},
			Graded: 24, Grades: 24 * 0.613,
		},
		Denials: 6, Pivots: 2,
	}
	for i, c := range categories() {
		v.Day.Categories = append(v.Day.Categories, report.CategoryUse{Category: c, Use: report.Use{Graded: i % 5 * 2, Grades: float64(i%5*2) * float64(i) / 12}})
	}
	v.Spent = []fleet.Spent{
		{Scope: "agent:claude", Runs: 30, Tokens: 1_100_000, USD: 4},
		{Scope: "agent:codex", Runs: 8, Tokens: 90_000, USD: 0.5, Guessed: 0.5},
		{Scope: "category:code", Runs: 12},
		{Scope: fleet.FleetScope, Runs: 38, Tokens: 1_190_000, USD: 4.5, Guessed: 0.5},
	}
	v.Runs = []fleet.RunStatus{
		ended("code", "fix-the-login-page-that-nobody-can-use", fleet.Productive, 50*minute, new(0.71), "2 commits in 3 files, the agent reports success"),
		ended("docs", "write-docs", fleet.Noop, 51*minute, nil, "exit status 0 with no commit and no result file"),
		ended("infra", "", fleet.Failed, 80*minute, new(0.0), "the agent exited with 1"),
		ended("triage", "sort-mail", fleet.Idle, 30*hour, nil, "no workable task"),
		ended("code", "rework", fleet.Quota, 50*hour, nil, "usage limit: until noon"),
	}
	return v
}

func busyFleet() screen.StatusView {
	v := idleFleet()
	waiting := fleet.RunStatus{State: fleet.RunWaiting, Run: fleet.Run{ID: id(minute, 9), Category: "news", Agent: "gptme", CreatedAt: before(minute), NotBefore: before(-2 * minute)}}
	v.Open = []fleet.RunStatus{
		busyRun("code", "fix-the-login-page-that-nobody-can-use", "claude", 12*minute+4*time.Second),
		busyRun("docs", "write-docs", "codex", 55*minute), waiting,
	}
	v.Lanes[0].Run, v.Lanes[4].Run = &v.Open[0], &v.Open[1]
	v.Claims = []fleet.Claim{
		{Key: "extra", Holder: "alice@desk", ExpiresAt: before(-41 * minute), Note: "looking into it"},
		{Key: "fix-the-login-page-that-nobody-can-use", Holder: v.Open[0].ID.Holder(), ExpiresAt: before(-hour)},
	}
	return v
}

func troubledFleet() screen.StatusView {
	v := busyFleet()
	v.Timers = append(v.Timers, fleet.Timer{Pool: "monitoring", Unit: "stint@demo-monitoring.timer", Last: before(3 * hour)},
		fleet.Timer{Pool: "review", Unit: "stint@demo-review.timer", Active: true, Firing: true, Last: before(0)})
	v.Fires[0].Fallback = "external selector: exit status 1"
	v.Fires[0].Choices[1].Decision = fleet.StartFailed
	v.Open[1].State = fleet.RunCrashed
	v.Pauses = []fleet.Pause{{Since: before(hour), Reason: "holidays"}, {Category: "code", Until: before(-26 * hour), Reason: "tracker down"}}
	v.Closed = []inspect.Blocker{{Reason: "less than 500 MiB of memory are free"}, {Category: "content", Reason: "budget of category:content: 5 of 5 runs today"}}
	for _, name := range []string{"claude", "opus"} { // one account's limit
		v.Stopped = append(v.Stopped, inspect.StoppedAgent{
			AgentState: fleet.AgentState{Agent: name, Reason: "usage limit: the limit of this session is reached, which resets at 3 pm", Until: before(-3 * hour)},
			Why:        "usage limit: the limit of this session is reached, which resets at 3 pm (until 2026-06-26T15:00:00Z)",
			Categories: []fleet.Category{"docs", "hygiene"},
		})
	}
	v.Closed = append(v.Closed, inspect.Blocker{Category: "docs", Kind: fleet.HinderedByAgent, Reason: "agent claude: usage limit"})
	v.Waiting = []fleet.Waiting{{Task: "fix", Failures: 3, Since: before(hour), Reason: "the agent exited with 1"}}
	v.Day.Violations = []report.Violation{{Category: "code", Lane: 1, First: "0000000000000001", Second: "0000000000000002"}}
	v.Day.Fruitless = []report.Fruitless{{Category: "social", Runs: 7}}
	return v
}

func newFleet() screen.StatusView {
	v := screen.StatusView{Fleet: "demo", Rows: 24, Last: -1}
	v.At = noon()
	v.Timers = []fleet.Timer{{Pool: "autonomous", Unit: "stint@demo.timer"}}
	v.Lanes = []inspect.LaneState{{Category: "code", Number: 1}, {Category: "docs", Number: 1}}
	v.First = "code"
	v.Pauses = []fleet.Pause{{Category: "docs", Since: before(hour)}}
	v.Away = &fleet.Away{Since: before(hour), Until: before(-26 * hour), Reason: "hiking"}
	return v
}

// severalHosts is a fleet on two machines, of which the other was not heard of for long.
func severalHosts() screen.StatusView {
	v := busyFleet()
	v.Hosts = []survey.HostState{
		{Host: fleet.Host{Name: "desk", HeardAt: before(4 * time.Second), FiredAt: before(18 * minute), Version: "v1.2.0", Slots: 3}, Here: true, Sessions: 2},
		{
			Host:     fleet.Host{Name: "gpu-1", HeardAt: before(14 * minute), FiredAt: before(20 * minute), Version: "v1.1.0", Slots: 8},
			Sessions: 1, Trouble: "silent, with sessions at work",
		},
	}
	v.Open[0].Machine, v.Open[2].Machine = "desk", "desk"
	v.HostTable = func(s screen.Style) []string { return view.Host().Table(v.Hosts, noon(), s) }
	v.Open[1].RunHost = fleet.RunHost{Machine: "gpu-1", Heard: before(14 * minute), Unheard: true}
	return v
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]screen.StatusView{
		"idle": idleFleet(), "busy": busyFleet(), "troubled": troubledFleet(), "new": newFleet(), "hosts": severalHosts(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, "status-"+name, func(s screen.Style) []string {
				v := of
				if s.Width == 0 {
					v.Rows, v.Last = 0, 5
				}
				lines := screen.Status(v, s)
				if got := len(lines); name != "troubled" && name != "hosts" && s.Width >= 80 && got > 24 {
					t.Errorf("%d lines at %d columns, want one screen of 24", got, s.Width)
				}
				return lines
			})
		})
	}
	golden(t, "status-coloured.txt", screen.Status(troubledFleet(), screen.Style{Width: 80, Colour: true}))
}

// TestStatusLast shows as many runs as were asked for, however high the screen.
func TestStatusLast(t *testing.T) {
	t.Parallel()
	for last, want := range map[int]int{0: 0, 1: 1, 4: 4, 9: 5} {
		v := troubledFleet()
		v.Last = last
		shown := strings.Join(screen.Status(v, screen.Style{}), "\n")
		got := 0
		for _, r := range v.Runs {
			got += strings.Count(shown, string(r.ID))
		}
		if got != want {
			t.Errorf("--last %d shows %d runs, want %d", last, got, want)
		}
	}
}

// TestStatusAfterTheClockWasSetBack shows a fire and runs from the future as such.
func TestStatusAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	v := idleFleet()
	v.At = v.At.Add(-72 * hour)
	shown := strings.Join(screen.Status(v, screen.Style{}), "\n")
	if strings.Contains(shown, "0s ago") || strings.Count(shown, " in 2d") < 2 {
		t.Errorf("want when they are to be:\n%s", shown)
	}
}

// TestStatusOfMuch stays on one screen, however much there is of everything, except runs under
// way; a pipe gets all of it.
func TestStatusOfMuch(t *testing.T) {
	t.Parallel()
	v := busyFleet()
	for i := range 40 {
		name := fmt.Sprintf("thing-%02d", i)
		v.Claims = append(v.Claims, fleet.Claim{Key: fleet.Key(name), Holder: "bob", ExpiresAt: before(-hour)})
		v.Waiting = append(v.Waiting, fleet.Waiting{Task: fleet.TaskID(name), Failures: 3})
		v.Closed = append(v.Closed, inspect.Blocker{Category: fleet.Category(name), Reason: "full"})
	}
	lines := screen.Status(v, screen.Style{Width: 80})
	shown := strings.Join(lines, "\n")
	if len(lines) > 27 || strings.Count(shown, "… and 35 more") != 2 || !strings.Contains(shown, "by people: ") {
		t.Errorf("%d lines, want the first of each kind and how many more there are:\n%s", len(lines), shown)
	}
	v.Rows = 0
	if got := strings.Count(strings.Join(screen.Status(v, screen.Style{}), "\n"), "thing-39"); got != 3 {
		t.Errorf("a pipe gets %d of 3 mentions of the last", got)
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	list := append([]fleet.RunStatus{busyRun("code", "fix-the-login-page-that-nobody-can-use", "claude", 12*minute)}, idleFleet().Runs...)
	each(t, "runs", func(s screen.Style) []string { return view.Run().Table(list, noon(), s) })
	each(t, "runs-hosts", func(s screen.Style) []string { return view.Run().Table(severalHosts().Open, noon(), s) })
	if got := view.Run().Table(nil, noon(), screen.Style{}); got != nil {
		t.Errorf("no runs: %q, want no titles either", got)
	}
}

func openView() screen.RunView {
	run := busyRun("code", "fix-login", "claude", 12*minute)
	v := screen.RunView{At: noon(), Prompt: "You work on code.\n\n# Fix the login page\n", Log: "reading\nediting\n", There: []string{"/state/runs/x/prompt", "/state/runs/x/log"}}
	v.RunStatus = run
	v.Choice = &fleet.Choice{Category: "code", Decision: fleet.Spawn, Score: 0.812, Odds: new(0.63), Reason: "drew 0.812 from Beta(4.20, 1.80)"}
	v.Lessons = []fleet.LessonUse{{Lesson: "test-first", Injected: true}, {Lesson: "small-commits"}}
	return v
}

func endedView() screen.RunView {
	v := openView()
	v.Verdict = fleet.Verdict{
		Outcome: fleet.Productive, Grade: new(0.671), Reason: "2 commits in 3 files, the agent reports success, 9 of 14 tool calls failed", ExitStatus: new(0),
		Parts: map[string]float64{"grade_work": 0.7, "grade_success": 0.1, "grade_tool_errors": -0.129, "commits": 2, "files": 3, "tool_calls": 14},
	}
	v.State = fleet.RunEnded
	v.EndedAt, v.Usage, v.Tokens, v.ChainDepth = before(minute), fleet.Usage{Tokens: new(int64(1_234_567)), USD: new(0.4), Cost: fleet.CostComputed, Models: []string{"a-model"}}, nil, 2
	v.FollowedBy, v.Followed = "0123456789abcdef", "graded 0.67"
	v.Log = strings.Repeat("a line\n", 20) + "the last line\n"
	return v
}

func deniedView() screen.RunView {
	v := openView()
	v.Lane, v.Key, v.Task, v.Epoch, v.Log, v.Prompt, v.There, v.Lessons, v.Choice, v.Fire = 1, "", "", 0, "", "", nil, nil, nil, 0
	v.State, v.EndedAt, v.Tokens, v.Unit = fleet.RunEnded, before(11*minute), nil, ""
	v.Verdict = fleet.Verdict{Outcome: fleet.RunDenied, Reason: "2 claims denied"}
	v.Denials = []fleet.DeniedClaim{
		{Category: "code", Key: "fix-login", Holder: "alice@desk", At: before(12 * minute)},
		{Category: "docs", Key: "write-docs", Holder: "run:0123456789abcdef", At: before(12 * minute)},
	}
	return v
}

func TestRun(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]screen.RunView{"open": openView(), "ended": endedView(), "denied": deniedView()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, "run-"+name, func(s screen.Style) []string { return screen.Run(of, s) })
		})
	}
	golden(t, "run-coloured.txt", screen.Run(endedView(), screen.Style{Width: 80, Colour: true}))
	golden(t, "runs-coloured.txt", view.Run().Table(idleFleet().Runs, noon(), screen.Style{Width: 80, Colour: true}))
}

// TestHostileRecord has words of others in the fields of a run that only stint writes.
func TestHostileRecord(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[31m\u202eb"
	v := endedView()
	v.Category, v.Source, v.Unit, v.Followed = evil, evil, evil, evil
	shown := strings.Join(screen.Run(v, screen.Style{}), "\n")
	if strings.ContainsAny(shown, "\x1b\u202e") {
		t.Errorf("got %q, want it inert", shown)
	}
}

// TestGradeThatDoesNotAddUp claims no sum of parts that are none.
func TestGradeThatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	v := endedView()
	v.Verdict.Grade = new(0.9)
	for _, line := range screen.Run(v, screen.Style{}) {
		if strings.HasPrefix(line, "grade ") && strings.Contains(line, "=") {
			t.Errorf("%q, want no sum", line)
		}
	}
}
