package top_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/review"
	"stint/internal/survey"
	"stint/internal/testkit/must"
	"stint/internal/top"
)

var update = flag.Bool("update", false, "write the golden files")

func clock() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) time.Time { return clock().Add(-d) }

// operator sits before a screen. Commands are carried out at once, and the clock moves when
// the test moves it.
type operator struct {
	*testing.T
	model tea.Model
	did   []string // what was asked of the fleet
	quit  bool
}

// waiting is the work of two sessions, one of them with hostile words.
func waiting() []review.Item {
	item := func(run fleet.RunID, task fleet.TaskID, why string) review.Item {
		return review.Item{
			Branch:  review.Branch{Run: run, Tip: "tip of " + string(task), Name: "stint/demo/" + string(run), Since: clock().Add(-3 * time.Hour), Files: []string{"a.go"}, Lines: 12},
			State:   review.StateWaiting,
			Session: fleet.Run{Category: "code", Task: task},
			Why:     why,
		}
	}
	return []review.Item{item("01jd8wz4v0k3m7qa", "fix-it", "small"), item("01jd8wz4v0k3m7qb", "other", "conflicts with \x1b[31mmain")}
}

// sit begins with a look at the fleet. A function that o leaves out does nothing, or is noted.
func sit(t *testing.T, width, height int, look top.Snapshot, o top.Options) *operator {
	t.Helper()
	u := &operator{T: t}
	o.Fleet = "demo"
	if o.Now == nil {
		o.Now = clock
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.Read == nil {
		o.Read = func() (top.Snapshot, error) { return look, nil }
	}
	if o.Log == nil {
		o.Log = func(fleet.Run) (top.Log, error) { return top.Log{}, nil }
	}
	note := func(what string) func(fleet.Category) error {
		return func(c fleet.Category) error {
			u.did = append(u.did, fmt.Sprintf("%s %q", what, c))
			return nil
		}
	}
	o.Diff = func(fleet.RunID, io.Reader, io.Writer) error { return nil } // the terminal is the program's
	o.Land = func(id fleet.RunID, tip string) (string, error) {
		u.did = append(u.did, fmt.Sprintf("land %q at the %s", id, tip))
		return string(id) + " landed", nil
	}
	o.Reject = func(id fleet.RunID, tip, reason string) error {
		u.did = append(u.did, fmt.Sprintf("reject %q at the %s: %s", id, tip, reason))
		return nil
	}
	if o.Review == nil {
		o.Review = func() (review.Target, []review.Item, error) { return review.Target{Name: "main"}, waiting(), nil }
	}
	o.Pause, o.Resume = note("pause"), note("resume")
	if o.Stop == nil {
		o.Stop = func(id fleet.RunID) (fleet.Run, error) {
			u.did = append(u.did, fmt.Sprintf("stop %q", id))
			return fleet.Run{ID: id, EndedAt: clock(), Verdict: fleet.Verdict{Outcome: fleet.Cancelled}}, nil
		}
	}
	u.model = top.New(o)
	u.send(tea.WindowSizeMsg{Width: width, Height: height})
	u.do(top.LookNow(u.model))
	return u
}

func (u *operator) send(msg tea.Msg) {
	u.Helper()
	var cmd tea.Cmd
	u.model, cmd = u.model.Update(msg)
	u.do(cmd)
}

// at moves the clock on.
func (u *operator) at(now time.Time) {
	u.Helper()
	var due tea.Cmd
	u.model, due = top.Advance(u.model, now)
	u.do(due)
}

// do carries out a command, and what follows from it.
func (u *operator) do(cmd tea.Cmd) {
	u.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		u.quit = true
	case tea.BatchMsg:
		for _, cmd := range msg {
			u.do(cmd)
		}
	default:
		u.send(msg)
	}
}

// press presses keys, as a terminal names them.
func (u *operator) press(keys ...string) {
	u.Helper()
	special := map[string]rune{
		"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	}
	for _, k := range keys {
		if code, ok := special[k]; ok {
			u.send(tea.KeyPressMsg{Code: code})
			continue
		}
		u.send(tea.KeyPressMsg{Code: []rune(k)[0], Text: k})
	}
}

func (u *operator) screen() string { return u.model.View().Content }

// shows fails the test unless the text is on the screen.
func (u *operator) shows(text string) {
	u.Helper()
	if !strings.Contains(u.screen(), text) {
		u.Errorf("want %q on the screen:\n%s", text, u.screen())
	}
}

// golden compares the screen with the one on file, and its size with the terminal's.
func (u *operator) golden(name string, width, height int) {
	u.Helper()
	got := u.screen()
	u.fits(width, height)
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			u.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		u.Fatalf("%v\ngo test ./internal/top -update", err)
	}
	must.Equal(u, name, got+"\n", string(want))
}

func (u *operator) fits(width, height int) {
	u.Helper()
	lines := strings.Split(u.screen(), "\n")
	if len(lines) != height {
		u.Errorf("%d lines, want %d", len(lines), height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > width {
			u.Errorf("%d columns, want at most %d: %q", w, width, l)
		}
	}
}

func idle() top.Snapshot {
	l := top.Snapshot{}
	l.At = clock()
	for _, c := range []fleet.Category{"code", "docs", "research", "triage"} {
		l.Lanes = append(l.Lanes, inspect.LaneState{Category: c, Number: 1})
		l.Beliefs = append(l.Beliefs, inspect.Belief{Category: c, Beta: rank.Beta{A: 1, B: 1}})
	}
	l.Timers = []fleet.Timer{{Pool: "autonomous", Active: true, Next: clock().Add(12 * time.Minute)}}
	return l
}

func run(n int, c fleet.Category, began, took time.Duration, o fleet.Outcome) fleet.RunStatus {
	r := fleet.Run{
		ID: fleet.NewRunID(ago(began), uint32(n)), Fire: 41, Category: c, Lane: 1, Task: fleet.TaskID("fix-" + string(c)), Agent: "claude",
		CreatedAt: ago(began), StartedAt: ago(began), Verdict: fleet.Verdict{Outcome: o},
	}
	if o != "" {
		r.EndedAt = r.StartedAt.Add(took)
	}
	if o == fleet.Productive {
		grade := 0.7
		r.Verdict.Grade = &grade
	}
	return fleet.RunStatus{Run: r, State: r.State(true, false, clock())}
}

// busy is a fleet with a session of every kind.
func busy(t *testing.T) top.Snapshot {
	t.Helper()
	l := idle()
	l.Timers = append(l.Timers, fleet.Timer{Pool: "monitoring", Active: true, Next: clock().Add(time.Minute)})
	l.Lanes = append([]inspect.LaneState{{Category: "code", Number: 1}, {Category: "code", Number: 2}}, l.Lanes[1:]...)
	tokens := int64(34_200)
	l.Open = []fleet.RunStatus{
		run(1, "code", 12*time.Minute, 0, ""),
		run(2, "docs", 55*time.Minute, 0, ""),
		run(3, "research", 0, 0, ""),
	}
	l.Open[0].Timeout, l.Open[0].Tokens = time.Hour, &tokens
	l.Open[1].Timeout, l.Open[1].State = 50*time.Minute, fleet.RunCrashed
	l.Open[2].Timeout, l.Open[2].State = 50*time.Minute, fleet.RunWaiting
	l.Open[2].StartedAt, l.Open[2].Lane, l.Open[2].Task = time.Time{}, 0, ""
	l.Open[2].NotBefore = clock().Add(9 * time.Minute)
	l.Lanes[0].Run, l.Lanes[2].Run = &l.Open[0], &l.Open[1]
	l.Runs = []fleet.RunStatus{
		run(10, "code", 119*time.Minute, 20*time.Minute, fleet.Productive), run(11, "code", 99*time.Minute, 30*time.Minute, fleet.Failed),
		run(12, "code", 60*time.Minute, 40*time.Minute, fleet.Productive), run(13, "research", 30*time.Minute, time.Second, fleet.Noop),
		run(14, "triage", 140*time.Minute, 40*time.Minute, fleet.Timeout), l.Open[0], l.Open[1],
	}
	l.Fires = []fleet.Fire{{ID: 41, At: ago(18 * time.Minute), Choices: []fleet.Choice{
		{Category: "code", Decision: fleet.Spawn},
		{Category: "docs", Decision: fleet.Skip, Reason: "lane in use"},
		{Category: "research", Decision: fleet.Spawn},
		{Category: "triage", Decision: fleet.Skip, Reason: "no workable task"},
	}}}
	for i, b := range []rank.Beta{{A: 20, B: 8}, {A: 3, B: 3}, {A: 9, B: 2}, {A: 1, B: 6}} {
		l.Beliefs[i].Beta, l.Beliefs[i].Graded = b, int(b.A+b.B)
	}
	l.Bars = map[fleet.Category]inspect.Blocker{"docs": {Reason: "lane busy: run 2"}, "triage": {Reason: "no workable task", Fire: 41}}
	l.Pauses = []fleet.Pause{{Category: "triage", Reason: "the tracker is down", Until: clock().Add(8 * time.Hour)}}
	return l
}

// several is a fleet on two machines.
func several(t *testing.T) top.Snapshot {
	t.Helper()
	l := busy(t)
	l.Hosts = []survey.HostState{{Host: fleet.Host{Name: "desk", HeardAt: clock()}, Here: true}, {Host: fleet.Host{Name: "gpu-1", HeardAt: ago(time.Minute)}}}
	l.Open[0].RunHost = fleet.RunHost{Machine: "gpu-1", Heard: ago(time.Minute)}
	l.Open[1].Machine = "desk"
	return l
}

// many is a fleet of more categories than there is room for.
func many(t *testing.T) top.Snapshot {
	t.Helper()
	l := busy(t)
	for i := range 12 {
		c := fleet.Category(fmt.Sprintf("work-%d", i))
		l.Lanes = append(l.Lanes, inspect.LaneState{Category: c, Number: 1})
		l.Beliefs = append(l.Beliefs, inspect.Belief{Category: c, Beta: rank.Beta{A: 2, B: 2}})
	}
	return l
}

func printed(lines int) func(fleet.Run) (top.Log, error) {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "\x1b[32mstep %d\x1b[m of the work\n", i+1)
	}
	return func(fleet.Run) (top.Log, error) {
		return top.Log{Text: b.String(), Read: int64(b.Len()), Size: int64(b.Len())}, nil
	}
}

func TestScreens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		width, height int
		look          top.Snapshot
		options       top.Options
		keys          []string
	}{
		{name: "idle", width: 80, height: 24, look: idle()},
		{name: "idle", width: 120, height: 40, look: idle()},
		{name: "busy", width: 80, height: 24, look: busy(t), options: top.Options{Log: printed(40)}},
		{name: "busy", width: 120, height: 40, look: busy(t), options: top.Options{Log: printed(40)}},
		{name: "busy_colour", width: 80, height: 24, look: busy(t), options: top.Options{Log: printed(40), Colour: true}},
		{name: "many", width: 80, height: 24, look: many(t)},
		{name: "several", width: 120, height: 40, look: several(t)},
		{name: "unfolded", width: 80, height: 24, look: many(t), keys: []string{"f"}},
		{name: "runs", width: 80, height: 24, look: busy(t), keys: []string{"R"}},
		{name: "runs_filter", width: 80, height: 24, look: busy(t), keys: []string{"/", "c", "o", "d", "e"}},
		{name: "log_pane", width: 80, height: 24, look: busy(t), options: top.Options{Log: printed(40)}, keys: []string{"down", "4"}},
		{name: "log", width: 80, height: 24, look: busy(t), options: top.Options{Log: printed(40)}, keys: []string{"enter"}},
		{name: "log", width: 120, height: 40, look: busy(t), options: top.Options{Log: printed(60)}, keys: []string{"enter"}},
		{name: "help", width: 80, height: 24, look: busy(t), keys: []string{"?"}},
		{name: "help", width: 120, height: 40, look: busy(t), keys: []string{"?"}},
		{name: "confirm", width: 80, height: 24, look: busy(t), keys: []string{"p"}},
		{name: "tiny", width: 40, height: 10, look: busy(t), options: top.Options{Log: printed(40)}},
		{name: "tiny_review", width: 40, height: 10, look: busy(t), keys: []string{"3"}},
		{name: "review", width: 80, height: 24, look: busy(t), keys: []string{"w"}},
		{name: "item", width: 80, height: 24, look: busy(t), keys: []string{"w", "enter"}},
		{name: "tiny_help", width: 40, height: 10, look: busy(t), keys: []string{"?"}},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("%s_%dx%d", tt.name, tt.width, tt.height)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := sit(t, tt.width, tt.height, tt.look, tt.options)
			u.press(tt.keys...)
			u.golden(name+".txt", tt.width, tt.height)
		})
	}
}

// TestFailedLook keeps on the screen what was last known, with its age and the error.
func TestFailedLook(t *testing.T) {
	t.Parallel()
	var fault error
	now := clock()
	o := top.Options{Read: func() (top.Snapshot, error) {
		look := busy(t)
		return look, fault
	}, Now: func() time.Time { return now }}
	u := sit(t, 80, 24, top.Snapshot{}, o)
	fault = errors.New("read the store: disk I/O error")
	now = now.Add(42 * time.Second)
	u.at(now)
	u.golden("failed_80x24.txt", 80, 24)
}

// TestFirstLookFailed has nothing to show but why.
func TestFirstLookFailed(t *testing.T) {
	t.Parallel()
	u := sit(t, 80, 24, top.Snapshot{}, top.Options{Read: func() (top.Snapshot, error) { return top.Snapshot{}, errors.New("no configuration") }})
	u.shows("look failed: no configuration")
	u.fits(80, 24)
	u.press("p", "P", "x", "enter", "down", "q")
	if !u.quit || len(u.did) > 0 {
		t.Errorf("quit: %t, did %q; want it to quit, and nothing done", u.quit, u.did)
	}
}

// TestNoColour has words for the outcomes on a terminal without colours.
func TestNoColour(t *testing.T) {
	t.Parallel()
	u := sit(t, 80, 24, busy(t), top.Options{Colour: true})
	u.send(tea.ColorProfileMsg{Profile: colorprofile.ASCII})
	u.shows("crashed")
	if strings.Contains(u.screen(), "\x1b") {
		t.Errorf("want no escape sequence in:\n%q", u.screen())
	}
}

// TestEverySize draws every screen in sizes from nothing to large: none may panic, wrap or
// overlap.
func TestEverySize(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{nil, {"2"}, {"3"}, {"4"}, {"enter"}, {"?"}, {"x"}, {"R"}, {"/"}, {"w"}, {"w", "enter"}} {
		u := sit(t, 80, 24, busy(t), top.Options{Log: printed(40), Colour: true})
		u.press(keys...)
		for _, width := range []int{0, 1, 5, 20, 39, 79, 300} {
			for height := range 45 {
				u.send(tea.WindowSizeMsg{Width: width, Height: height})
				if width > 0 && height > 0 {
					u.fits(width, height)
				}
			}
		}
	}
}
