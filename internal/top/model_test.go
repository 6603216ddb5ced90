package top_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/top"
)

// TestNothingUnasked changes the fleet after a yes alone.
func TestNothingUnasked(t *testing.T) {
	t.Parallel()
	u := sit(t, 80, 24, busy(t), top.Options{})
	u.press("p", "n", "p", "esc", "p", "x", "q", "P", "n", "x", "n")
	if len(u.did) > 0 || u.quit {
		t.Fatalf("did %q, quit: %t; want nothing done", u.did, u.quit)
	}
	u.press("p", "y")
	u.shows("paused code")
	u.press("P", "y")
	u.shows("paused the whole fleet")
	u.press("x")
	u.shows(" of code? y/n")
	u.press("y")
	u.shows("of code ended: cancelled")
	u.press("down", "down", "down", "p")
	u.shows("resume triage? y/n")
	u.press("y")
	u.shows("resumed triage")
	want := []string{`pause "code"`, `pause ""`, fmt.Sprintf("stop %q", busy(t).Open[0].ID), `resume "triage"`}
	if !slices.Equal(u.did, want) {
		t.Errorf("did %q, want %q", u.did, want)
	}
	u.press("x")
	u.shows("no run to stop here")
}

// TestReview lists the work that waits, and shows one item's details.
func TestReview(t *testing.T) {
	t.Parallel()
	u := sit(t, 100, 24, busy(t), top.Options{})
	u.press("w")
	u.shows("2 for main")
	u.shows("fix-it")
	u.shows("small")
	u.press("down", "enter")
	u.shows("run 01jd8wz4v0k3m7qb")
	u.shows("stint/demo/01jd8wz4v0k3m7qb, for main")
	u.press("esc")
	u.shows("2 for main")
	u.press("esc", "x")
	u.shows(" of code? y/n")
	if len(u.did) > 0 {
		t.Errorf("did %q, want nothing", u.did)
	}
	u = sit(t, 100, 24, busy(t), top.Options{})
	u.press("w", "L")
	u.shows("land the work of 01jd8wz4v0k3m7qa on main? y/n")
	u.press("n", "L", "y")
	u.shows("01jd8wz4v0k3m7qa landed")
	u.press("down", "x", "enter", "N", "o", "space", "backspace", "space", "q", "esc", "x", "enter", "N", "o", "space", "q")
	u.shows("reject the work of 01jd8wz4v0k3m7qb, and why? No q█")
	u.press("enter")
	u.shows("rejected the work of 01jd8wz4v0k3m7qb")
	want := []string{`land "01jd8wz4v0k3m7qa" at the tip of fix-it`, `reject "01jd8wz4v0k3m7qb" at the tip of other: No q`}
	if !slices.Equal(u.did, want) {
		t.Errorf("did %q, want %q", u.did, want)
	}
	failing := sit(t, 100, 24, busy(t), top.Options{Review: func() (review.Target, []review.Item, error) {
		return review.Target{}, nil, errors.New("no branch \"gone\"")
	}})
	failing.press("w", "enter", "down")
	failing.shows("no branch \"gone\"")
}

// TestFailedAction says why, and leaves the rest as it is.
func TestFailedAction(t *testing.T) {
	t.Parallel()
	u := sit(t, 80, 24, busy(t), top.Options{
		Stop: func(fleet.RunID) (fleet.Run, error) { return fleet.Run{}, errors.New("stop unit: the bus is gone") },
	})
	u.press("x", "y")
	u.shows("stop unit: the bus is gone")
}

// TestStopElsewhere says that a session on another machine has not ended yet.
func TestStopElsewhere(t *testing.T) {
	t.Parallel()
	u := sit(t, 120, 24, several(t), top.Options{
		Stop: func(id fleet.RunID) (fleet.Run, error) { return fleet.Run{ID: id, Stop: "from desk"}, nil },
	})
	u.press("x", "y")
	u.shows("was asked to end, on host gpu-1")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	look := busy(t)
	look.ReadOnly = "/state: read-only file system"
	for _, keys := range [][]string{{"p"}, {"P"}, {"x"}, {"w", "L"}, {"w", "x"}} {
		u := sit(t, 100, 24, look, top.Options{})
		u.press(append(keys, "y")...)
		u.shows(" read only: /state: read-only file system")
		if len(u.did) > 0 {
			t.Errorf("%s did %q, want nothing", keys, u.did)
		}
	}
}

// TestOneLookAtATime does not ask a store that is slow again and again.
func TestOneLookAtATime(t *testing.T) {
	t.Parallel()
	looks := 0
	u := sit(t, 80, 24, top.Snapshot{}, top.Options{Read: func() (top.Snapshot, error) { looks++; return idle(), nil }})
	var due tea.Cmd
	u.model, due = top.Advance(u.model, clock().Add(time.Second)) // the look stays under way
	for n := range 9 {
		u.at(clock().Add(time.Duration(n+2) * time.Second))
	}
	u.shows("shown is 10s old")
	u.press("r")
	if looks != 1 {
		t.Errorf("%d looks while one was under way, want none but the first", looks-1)
	}
	u.do(due)
	u.at(clock().Add(20 * time.Second))
	if looks != 3 {
		t.Errorf("%d looks in all, want 3", looks)
	}
}

// TestQuitWaitsForAnAction does not leave what was asked for half done, unless asked twice.
func TestQuitWaitsForAnAction(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		u := sit(t, 80, 24, busy(t), top.Options{})
		u.press("x")
		var stops tea.Cmd
		u.model, stops = u.model.Update(tea.KeyPressMsg{Code: 'y', Text: "y"})
		u.press("q")
		u.shows("then leaving; q: at once")
		if u.quit {
			t.Error("it quit while a run was being stopped")
		}
		if twice {
			u.press("q")
		} else {
			u.do(stops)
		}
		if !u.quit {
			t.Errorf("asked twice: %t: it did not quit", twice)
		}
	}
}

// TestSelectionStays on its lane when others come and go.
func TestSelectionStays(t *testing.T) {
	t.Parallel()
	look := busy(t)
	u := sit(t, 80, 24, top.Snapshot{}, top.Options{Read: func() (top.Snapshot, error) { return look, nil }})
	u.press("down")
	u.shows("> ✗  docs")
	look.Lanes = slices.Insert(slices.Clone(look.Lanes), 0, inspect.LaneState{Category: "aaa", Number: 1})
	u.press("r")
	u.shows("> ✗  docs")
	look.Lanes = slices.DeleteFunc(look.Lanes, func(l inspect.LaneState) bool { return l.Category == "docs" })
	look.Open = look.Open[:1]
	u.press("r")
	u.shows("> ●  code.1")
}

// TestFold has a line for all idle lanes, or one for each, and none for what is selected there.
func TestFold(t *testing.T) {
	t.Parallel()
	u := sit(t, 120, 40, many(t), top.Options{})
	u.press("down", "down", "down", "down")
	u.shows("> ○  14 idle: code.2, research, work-0")
	u.press("p") // of no category
	u.shows("f fold")
	u.press("enter")
	u.shows("> ○  code.2")
	u.press("down", "down", "f")
	u.shows("> ○  research")
	u.shows("  ○  13 idle: code.2, work-0")
}

// TestRuns lists runs, finds some by words of theirs, opens one and goes back to the list.
func TestRuns(t *testing.T) {
	t.Parallel()
	u := sit(t, 80, 24, busy(t), top.Options{Log: printed(3)})
	u.press("R")
	u.shows(" 8 of 8 ")
	u.press("/", "q", "p", "?")
	u.shows("no run has these words")
	u.press("esc", "/", "C", "o", "d", "e", "space", "f", "a", "i", "enter")
	u.shows(" 1 of 8 ")
	u.press("x") // which has ended, whatever works in the selected lane
	u.shows("no run to stop here")
	u.press("enter")
	u.shows("✗ failed")
	u.shows("task fix-code, agent claude, made 1h39m ago, by fire 41, at work 30m00s")
	u.shows("step 3 of the work")
	u.press("x")
	u.shows("no run to stop here")
	u.press("esc")
	u.shows("runs  /Code fai")
	u.press("/", "backspace", "backspace", "backspace", "r", "u", "n", "enter", "x", "y", "esc")
	u.shows("3 review")
	if want := []string{fmt.Sprintf("stop %q", busy(t).Open[0].ID)}; !slices.Equal(u.did, want) || u.quit {
		t.Errorf("did %q, quit: %t; want %q", u.did, u.quit, want)
	}
}

// TestLog follows a log as it grows, stays where the reader is, and goes on following.
func TestLog(t *testing.T) {
	t.Parallel()
	lines := 60
	u := sit(t, 80, 24, busy(t), top.Options{Log: func(r fleet.Run) (top.Log, error) { return printed(lines)(r) }})
	u.press("enter")
	u.shows("step 60 of")
	lines = 70
	u.at(clock().Add(time.Second))
	u.shows("step 70 of")
	u.press("g")
	u.shows("step 1 of")
	lines = 80
	u.at(clock().Add(2 * time.Second))
	u.shows("step 1 of")
	u.shows("below: G")
	u.press("pgdown", "down")
	u.shows("step 21 of")
	u.press("G")
	u.at(clock().Add(3 * time.Second))
	u.shows("step 80 of")
	u.press("esc")
	u.shows("3 review")
}

// TestLateLog shows the log of the run that is chosen, whatever was read of the one before meanwhile.
func TestLateLog(t *testing.T) {
	t.Parallel()
	var read fleet.RunID // last
	u := sit(t, 80, 24, busy(t), top.Options{Log: func(r fleet.Run) (top.Log, error) {
		read = r.ID
		return top.Log{Text: "the words of " + string(r.ID) + "\n", Read: 1, Size: 1}, nil
	}})
	u.press("R", "enter")
	u.shows("the words of " + string(read))
	u.press("esc")
	var late tea.Cmd
	u.model, late = u.model.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	u.press("down", "enter")
	chosen := read
	if u.do(late); read == chosen {
		t.Fatalf("run %s alone was read", read)
	}
	u.shows("the words of " + string(chosen))
}

// TestHostileWords shows what other people wrote, and lets none of it do anything.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[2J\x1b]0;title\a\u202eb\u200f\r\nc\u009b31m日本👩‍👩‍👧"
	look := busy(t)
	look.Open[0].Task, look.Open[0].Agent = hostile, hostile
	look.Pauses[0].Reason = hostile
	look.Warnings = []string{hostile}
	look.Closed = []inspect.Blocker{{Reason: hostile}}
	look.Fires[0].Choices[1].Reason = hostile
	for _, keys := range [][]string{nil, {"enter"}, {"3"}} {
		u := sit(t, 200, 40, look, top.Options{
			Log: func(fleet.Run) (top.Log, error) {
				return top.Log{Text: "10 %\r50 %\r100 %\n\x00" + hostile + "\xff\n"}, nil
			},
			Stop: func(fleet.RunID) (fleet.Run, error) { return fleet.Run{}, errors.New(hostile) },
		})
		u.press(keys...)
		u.press("x", "y")
		for _, l := range strings.Split(u.screen(), "\n") {
			if i := strings.IndexFunc(l, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' || r == '\u200f' }); i >= 0 {
				t.Errorf("%q at %d of %q", l[i:i+1], i, l)
			}
		}
		u.fits(200, 40)
		u.shows("  100 %")
	}
}
