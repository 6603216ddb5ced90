package fleet_test

import (
	"testing"
	"time"

	"stint/internal/fleet"
)

func TestBudgetGone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		budget fleet.Budget
		spent  fleet.Spent
		tokens int64
		usd    float64
		want   string
	}{
		{"none", fleet.Budget{}, fleet.Spent{Runs: 9, Tokens: 9, USD: 9}, 9, 9, ""},
		{"the last run", fleet.Budget{Runs: 2}, fleet.Spent{Runs: 1}, 0, 0, ""},
		{"no run left", fleet.Budget{Runs: 2}, fleet.Spent{Runs: 2}, 0, 0, "budget of fleet: 2 of 2 runs today"},
		{"bound lowered", fleet.Budget{Runs: 1}, fleet.Spent{Runs: 2}, 0, 0, "budget of fleet: 2 of 1 runs today"},
		{"just enough tokens", fleet.Budget{Tokens: 10}, fleet.Spent{Tokens: 6}, 4, 0, ""},
		{"too few tokens", fleet.Budget{Tokens: 10}, fleet.Spent{Tokens: 6}, 5, 0, "budget of fleet: 6 of 10 tokens today, and a session takes about 5"},
		{"no token, of none known to be used", fleet.Budget{Tokens: 10}, fleet.Spent{Tokens: 10}, 0, 0, "budget of fleet: 10 of 10 tokens today, and a session takes about 0"},
		{"just enough money", fleet.Budget{USD: 1}, fleet.Spent{USD: 0.5}, 0, 0.5, ""},
		{"too little money", fleet.Budget{USD: 1}, fleet.Spent{USD: 0.5}, 0, 0.75, "budget of fleet: 0.50 of 1.00 USD today, and a session takes about 0.75"},
		{"no money", fleet.Budget{USD: 1}, fleet.Spent{USD: 1}, 0, 0, "budget of fleet: 1.00 of 1.00 USD today, and a session takes about 0.00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.budget.Scope = fleet.FleetScope
			if got := tt.budget.Gone(tt.spent, tt.tokens, tt.usd); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAgentBlocked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name    string
		agent   fleet.AgentState
		probing bool
		want    string
	}{
		{"nothing known", fleet.AgentState{}, false, ""},
		{"resting", fleet.AgentState{Until: now.Add(1), Reason: "usage limit: x"}, false, "usage limit: x (until 2026-06-26T12:00:00Z)"},
		{"rested", fleet.AgentState{Until: now, Reason: "usage limit: x"}, false, ""},
		{"may be tried", fleet.AgentState{Until: now, Failures: 5}, false, ""},
		{"is tried", fleet.AgentState{Until: now, Failures: 5, Probe: "0r1"}, true, "it failed 5 times in a row, and run 0r1 tries it"},
		{"a run that was its probe once", fleet.AgentState{Failures: 4, Probe: "0r1"}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.agent.Blocked(now, tt.probing); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAgentFor has the failures of one category stop no other, and a fault of the service stop all, with its one probe.
func TestAgentFor(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	a := fleet.AgentState{Agent: "claude", Until: until, Since: until, Reason: "x", Failures: 5, Category: "code", Fault: fleet.FaultAgent, Probe: "0r1"}
	if got := a.For("code", ""); got.Probe != "0r1" || got.Until != until || !got.Tried() {
		t.Errorf("its own category: got %+v", got)
	}
	if got := a.For("docs", ""); got.Tried() || got.Rests(until.Add(-1)) || got.Reason != "" {
		t.Errorf("another category: got %+v, want nothing in its way", got)
	}
	a.Fault, a.Faults = fleet.FaultServer, 1
	if got := a.For("docs", ""); got.Probe != "0r1" || got.Until != until || got.Blocked(until, true) == "" {
		t.Errorf("a fault of the service: got %+v, want one probe for all", got)
	}
}

// TestFirstOfTheDay has a session start that is expected to use more than the whole
// budget: refused, its like would never be tried again.
func TestFirstOfTheDay(t *testing.T) {
	t.Parallel()
	b := fleet.Budget{Scope: fleet.FleetScope, Tokens: 100, USD: 1}
	if reason := b.Gone(fleet.Spent{}, 500, 5); reason != "" {
		t.Errorf("got the first refused: %s", reason)
	}
	if b.Gone(fleet.Spent{Tokens: 1}, 500, 0) == "" || b.Gone(fleet.Spent{USD: 0.01}, 0, 5) == "" {
		t.Error("got the second let through")
	}
}

// TestExpected gives what sessions were billed for, and what is reserved for the next.
func TestExpected(t *testing.T) {
	t.Parallel()
	usd := func(usd ...float64) (list []fleet.Bill) {
		for _, u := range usd {
			list = append(list, fleet.Bill{Usage: fleet.Usage{USD: &u}})
		}
		return list
	}
	hundred := fleet.Budget{USD: 100}
	for name, tt := range map[string]struct {
		bills  []fleet.Bill
		budget fleet.Budget
		want   float64
	}{
		"nothing known, nothing bound":         {nil, fleet.Budget{}, 0},
		"nothing known":                        {nil, hundred, fleet.FirstUSD},
		"nothing known, a small budget":        {nil, fleet.Budget{USD: 3}, 3},
		"the first bill":                       {usd(0.2), hundred, 0.2},
		"two bills":                            {usd(2, 4), hundred, 3},
		"a first bill that is absurd":          {usd(1e6), hundred, 25},
		"a second one that is absurd":          {usd(1e6, 1), hundred, 13},
		"absurd, and two that are not":         {usd(1, 1e6, 1), hundred, 7.0 / 3},
		"four of nine absurd":                  {usd(1e6, 1, 1e6, 1, 1e6, 1, 1e6, 1, 1), hundred, 25.0 / 9},
		"more often than not: it costs that":   {usd(40, 40, 40, 1, 1), hundred, 24.4},
		"what differs by less than five times": {usd(1, 2, 3, 4, 8), hundred, 3.6},
		"work for nothing":                     {usd(0, 0, 0, 2), hundred, 0.5},
	} {
		if _, got := (fleet.AgentState{Bills: tt.bills}).Expected([]fleet.Budget{{}, tt.budget}); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
	tokens := int64(700)
	state := fleet.AgentState{Bills: []fleet.Bill{{Usage: fleet.Usage{Tokens: &tokens}}}}
	if got, _ := state.Expected(nil); got != tokens {
		t.Errorf("got %d tokens, want %d", got, tokens)
	}
}
