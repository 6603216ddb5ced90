package inspect_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

func now() time.Time { return time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC) }

// threeCategories is a fleet of a, b and c with nothing out of order.
func threeCategories() inspect.Status {
	return inspect.Status{At: now(), Lanes: []inspect.LaneState{{Category: "a", Number: 1}, {Category: "a", Number: 2}, {Category: "b", Number: 1}, {Category: "c", Number: 1}}}
}

// TestNext names the command that frees the most; one that frees nothing comes only where none does, and what ends by
// itself never.
func TestNext(t *testing.T) {
	t.Parallel()
	full := func(c fleet.Category) inspect.Blocker {
		return inspect.Blocker{Category: c, Kind: fleet.HinderedByReview, Reason: "2 of 2 wait"}
	}
	budget := inspect.Blocker{Category: "b", Kind: fleet.HinderedByBudget, Reason: "5 of 5 runs today"}
	for _, tt := range []struct {
		name  string
		with  func(*inspect.Status)
		want  string
		frees int
	}{
		{"nothing", func(*inspect.Status) {}, "", 0},
		{"two full in review against one pause", func(s *inspect.Status) {
			s.Pauses, s.Closed = []fleet.Pause{{Category: "a"}}, []inspect.Blocker{full("b"), full("c")}
		}, "stint review", 2},
		{"a pause of all against that", func(s *inspect.Status) {
			s.Pauses, s.Closed = []fleet.Pause{{}}, []inspect.Blocker{full("b"), full("c")}
		}, "stint resume", 3},
		{"a budget ends by itself", func(s *inspect.Status) { s.Closed = []inspect.Blocker{budget} }, "", 0},
		{"work that keeps nothing", func(s *inspect.Status) {
			s.Closed, s.Review = []inspect.Blocker{budget}, review.Summary{Known: true, Open: 1, Oldest: now()}
		}, "stint review", 0},
		{"no timer", func(s *inspect.Status) {
			s.Timers, s.Closed = []fleet.Timer{{Pool: "autonomous"}}, []inspect.Blocker{full("b")}
		}, "stint init --systemd", 3},
		{"no task anywhere", func(s *inspect.Status) {
			s.First, s.Bars = "a", map[fleet.Category]inspect.Blocker{}
			for _, c := range []fleet.Category{"a", "b", "c"} {
				s.Bars[c] = inspect.Blocker{Category: c, Kind: fleet.HinderedByTasks}
			}
		}, "stint task add TITLE --category a", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := threeCategories()
			tt.with(&s)
			if got := s.Next(); got.Command != tt.want || got.Frees != tt.frees {
				t.Errorf("got %q, which frees %d; want %q, %d", got.Command, got.Frees, tt.want, tt.frees)
			}
		})
	}
}

// TestOneLimitIsOneAlert: a usage limit that several agents met is one alert with them, its end and the categories that start
// nothing because of it, which have no alert of their own.
func TestOneLimitIsOneAlert(t *testing.T) {
	t.Parallel()
	s := threeCategories()
	end := now().Add(3 * time.Hour)
	for _, name := range []string{"claude", "opus"} {
		s.Stopped = append(s.Stopped, inspect.StoppedAgent{
			AgentState: fleet.AgentState{Agent: name, Reason: "usage limit: used up", Until: end},
			Why:        "usage limit: used up (until " + plain.Stamp(end) + ")", Categories: []fleet.Category{"a", "b"},
		})
	}
	s.Closed = []inspect.Blocker{
		{Category: "a", Kind: fleet.HinderedByAgent, Reason: "agent claude: usage limit"},
		{Category: "b", Kind: fleet.HinderedByAgent, Reason: "agent claude: usage limit"},
		{Category: "c", Kind: fleet.HinderedByBudget, Reason: "5 of 5 runs today"},
	}
	got := plain.Each(s.Alerts(), func(a inspect.Alert) string { return a.Text })
	want := []string{"c: 5 of 5 runs today", "agents claude, opus stopped until 2026-06-26T15:00:00Z, so nothing of a, b: usage limit: used up"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.Stopped[1].Categories = []fleet.Category{"b"} // then each stops other work
	got = plain.Each(s.Alerts(), func(a inspect.Alert) string { return a.Text })
	if n := len(got); n != 3 || !strings.Contains(got[n-1]+got[n-2], "opus stopped until 2026-06-26T15:00:00Z, so nothing of b:") {
		t.Errorf("got\n%s\nwant an alert for each agent", strings.Join(got, "\n"))
	}
}
