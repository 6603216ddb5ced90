package fleet_test

import (
	"math"
	"testing"
	"time"

	"stint/internal/fleet"
)

// TestAhead waits for an even pace by the open windows of the host's login alone, and longer with sessions under way.
func TestAhead(t *testing.T) {
	t.Parallel()
	const long = 5 * time.Hour
	now := time.Date(2026, 6, 22, 12, 0, 0, 0, time.UTC)
	begin := now.Add(-long / 2)
	at := func(host string, used float64, resets time.Time) fleet.Window {
		return fleet.Window{Long: long, Used: used, Resets: resets, Host: host, Step: 0.1}
	}
	for name, tt := range map[string]struct {
		window fleet.Window
		busy   int
		part   float64 // of the window, until which it waits; 0: it does not
	}{
		"ahead":               {at("h", 0.54, begin.Add(long)), 0, 0.6},
		"with sessions":       {at("h", 0.54, begin.Add(long)), 2, 0.74 / 0.9},
		"behind":              {at("h", 0.36, begin.Add(long)), 0, 0},
		"behind but for them": {at("h", 0.36, begin.Add(long)), 2, 0.56 / 0.9},
		"of another login":    {at("o", 1, begin.Add(long)), 0, 0},
		"over":                {at("h", 1, now), 0, 0},
		"a clock set back":    {at("h", 1, now.Add(2*long)), 0, 0},
	} {
		state := fleet.AgentState{Windows: []fleet.Window{tt.window}}
		want := time.Time{}
		if tt.part > 0 {
			want = begin.Add(time.Duration(tt.part * float64(long)))
		}
		if _, got := state.Ahead("h", tt.busy, now); got.Sub(want).Abs() > time.Second {
			t.Errorf("%s: waits until %v, want %v", name, got, want)
		}
	}
	state := fleet.AgentState{Windows: []fleet.Window{at("h", 1, now), at("o", 1, begin.Add(long))}}
	if got := state.Open("h", now); len(got) > 0 {
		t.Errorf("got %v open, want none: one is over, and one of another login", got)
	}
	week := fleet.Window{Long: 7 * 24 * time.Hour, Used: 1, Resets: now.AddDate(0, 0, 6), Host: "h"}
	state = fleet.AgentState{Windows: []fleet.Window{week, at("h", 1, begin.Add(long))}}
	if w, got := state.Ahead("h", 0, now); w != week || !got.Equal(week.Resets) {
		t.Errorf("%v: waits until %v, want %v, when the longer one is over", w, got, week.Resets)
	}
}

// TestStep takes what a session used from two words on one window: what the next window begins with is no session's. A window
// that is over says nothing.
func TestStep(t *testing.T) {
	t.Parallel()
	const long = 5 * time.Hour
	now := time.Date(2026, 6, 22, 12, 0, 0, 0, time.UTC)
	var state fleet.AgentState
	for i, tt := range []struct{ used, hours, step float64 }{
		{0.3, 5, 0.05}, // nothing is known before
		{0.5, 5, 0.0875},
		{0.9, 10, 0.0875}, // of the next window
		{0.9, 10, 0.0875},
	} {
		resets := now.Add(time.Duration(tt.hours) * time.Hour)
		state.Heard([]fleet.Window{{Long: long, Used: tt.used, Resets: resets}}, "h", resets.Add(-time.Hour))
		if got := state.Windows[0].Step; math.Abs(got-tt.step) > 1e-9 || len(state.Windows) != 1 {
			t.Errorf("word %d: a step of %v in %d windows, want %v in one", i, got, len(state.Windows), tt.step)
		}
	}
	state.Heard([]fleet.Window{{Long: long, Used: 0.6, Resets: now.Add(long)}}, "h", now.Add(long+time.Minute)) // by a long session
	if got := state.Windows[0].Used; got != 0.9 {
		t.Errorf("%v of the window are used, want 0.9: the late word is of the one before", got)
	}
}
