package book_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
)

func TestTake(t *testing.T) {
	t.Parallel()
	const run = fleet.RunID("01kt1gw6g0000001")
	held := fleet.Claim{Key: "fix", Holder: "alice", Epoch: 3, AcquiredAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(time.Hour)}
	expired, released, session := held, held, held
	expired.ExpiresAt, released.ReleasedAt, session.Holder = noon, noon, run.Holder()
	alice := store.TakeRequest{Holder: "alice", Renews: true}
	gone := store.TakeRequest{Holder: "bob", Known: store.Known{Holder: run.Holder(), Epoch: 3, Session: fleet.Gone}}
	stale := gone
	stale.Known.Epoch = 2
	for _, tt := range []struct {
		name  string
		claim fleet.Claim
		take  store.TakeRequest
		want  fleet.Grant
	}{
		{"never claimed", fleet.Claim{Key: "fix"}, alice, fleet.Granted},
		{"its own", held, alice, fleet.Renewed},
		{"its own, and expired", expired, alice, fleet.Granted},
		{"its own, and given back", released, alice, fleet.Granted},
		{"its own, and not named", held, store.TakeRequest{Holder: "alice"}, fleet.Denied},
		{"another's", held, store.TakeRequest{Holder: "bob", Renews: true}, fleet.Denied},
		{"another's, and expired", expired, store.TakeRequest{Holder: "bob"}, fleet.Granted},
		{"a session's that nobody asked", session, store.TakeRequest{Holder: "bob"}, fleet.Denied},
		{"a session's that is gone", session, gone, fleet.Granted},
		{"a session's that was gone an epoch ago", session, stale, fleet.Denied},
	} {
		if got := book.Take(tt.claim, tt.take, noon); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestAsPicked(t *testing.T) {
	t.Parallel()
	offer := store.Offer{Task: "fix", Memory: fleet.TaskMemory{Run: "0r1", TaskLeft: fleet.TaskLeft{State: fleet.StateActive}}}
	same, other, owed := offer.Memory, offer.Memory, offer.Memory
	other.Run, other.State, owed.Owed = "0r2", fleet.StateDone, fleet.CallDone
	for _, tt := range []struct {
		name  string
		offer store.Offer
		now   fleet.TaskMemory
		want  string
	}{
		{"as it was picked", offer, same, ""},
		{"left by another", offer, other, `task "fix" was left done while this run looked`},
		{"its tracker is owed a report", offer, owed, `task "fix" waits for a report to its tracker`},
		{"without a task", store.Offer{}, other, ""},
	} {
		must.Equal(t, tt.name, book.TaskChanged(tt.offer, tt.now), tt.want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	budget := fleet.Budget{Scope: fleet.FleetScope, Runs: 2}
	spent := []fleet.Spent{{Scope: fleet.FleetScope, Runs: 2}}
	rests := fleet.AgentState{Until: noon.Add(time.Hour), Since: noon, Reason: "usage limit: x"}
	tests := []struct {
		name string
		ask  book.Admission
		want []fleet.RefusedError
	}{
		{"nothing is known", book.Admission{}, nil},
		{"a slot is free", book.Admission{Terms: fleet.Terms{Slots: 2}, Busy: 1}, nil},
		{"a run of its own", book.Admission{Terms: fleet.Terms{Budgets: []fleet.Budget{budget}}, Spent: spent[:0]}, nil},
		{
			"all at once",
			book.Admission{
				Terms: fleet.Terms{Agent: "claude", Slots: 2, Budgets: []fleet.Budget{budget}}, State: rests, Busy: 2, Spent: spent, Now: noon,
			},
			[]fleet.RefusedError{
				{Reason: "agent claude: usage limit: x (until 2026-06-26T13:00:00Z)", By: fleet.HinderedByAgent, Until: rests.Until, Outcome: fleet.Quota},
				{Reason: "agent claude: all of its 2 slots are in use", By: fleet.HinderedBySeats, Outcome: fleet.Busy},
				{Reason: "budget of fleet: 2 of 2 runs today", By: fleet.HinderedByBudget, Until: noon.Add(12 * time.Hour), Scope: fleet.FleetScope, Outcome: fleet.Quota},
			},
		},
		{
			"another tries it",
			book.Admission{Terms: fleet.Terms{Agent: "claude"}, State: fleet.AgentState{Faults: 1, Reason: "x", Probe: "0p"}, Probing: true, Now: noon},
			[]fleet.RefusedError{{Reason: "agent claude: x (run 0p tries it)", By: fleet.HinderedByAgent, Outcome: fleet.Unavailable}},
		},
	}
	for _, tt := range tests {
		must.Equal(t, tt.name, tt.ask.Refusals(), tt.want)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	tokens, usd := int64(700), 3.0
	reserved := fleet.Spent{Tokens: 1000, USD: 2}
	for _, tt := range []struct {
		name    string
		run     fleet.Run
		want    fleet.Spent
		assumed bool
	}{
		{"billed", fleet.Run{Usage: fleet.Usage{Tokens: &tokens, USD: &usd, Cost: fleet.CostReported}}, fleet.Spent{Tokens: -300, USD: 1, Guessed: -2}, false},
		{"computed", fleet.Run{Usage: fleet.Usage{USD: &usd, Cost: fleet.CostComputed}}, fleet.Spent{USD: 1, Guessed: 1}, false},
		{"silent", fleet.Run{}, fleet.Spent{}, true},
		{"no agent was at work", fleet.Run{Verdict: fleet.Verdict{Internal: true}}, fleet.Spent{Runs: -1, Tokens: -1000, USD: -2, Guessed: -2}, false},
	} {
		got, assumed := book.Settle(reserved, tt.run)
		if diff := cmp.Diff(got, tt.want); diff != "" || assumed != tt.assumed {
			t.Errorf("%s: assumed %t, want %t (-got +want):\n%s", tt.name, assumed, tt.assumed, diff)
		}
	}
}

func TestSpare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		before, want fleet.TaskMemory
		remembered   bool
	}{
		{"its only session", fleet.TaskMemory{Failures: 1, Sessions: 1, Taken: 1, Fruitless: 1}, fleet.TaskMemory{}, false},
		{"one of two", fleet.TaskMemory{Failures: 2, Sessions: 2, Taken: 2, Fruitless: 2}, fleet.TaskMemory{Failures: 1, Sessions: 1, Taken: 1, Fruitless: 1}, true},
		{"counts were begun anew since", fleet.TaskMemory{Rests: 7}, fleet.TaskMemory{Rests: 7}, true},
		{"it has a state", fleet.TaskMemory{TaskLeft: fleet.TaskLeft{State: fleet.StateDone}, Taken: 1}, fleet.TaskMemory{TaskLeft: fleet.TaskLeft{State: fleet.StateDone}}, true},
	} {
		got, remembered := book.Spare(tt.before)
		if diff := cmp.Diff(got, tt.want); diff != "" || remembered != tt.remembered {
			t.Errorf("%s: remembered %t, want %t (-got +want):\n%s", tt.name, remembered, tt.remembered, diff)
		}
	}
}

func TestLeft(t *testing.T) {
	t.Parallel()
	worked := fleet.Run{ID: "0r", Left: fleet.TaskLeft{Worked: true}, Verdict: fleet.Verdict{Outcome: fleet.Noop, Reason: "so"}}
	done := worked
	done.Left = fleet.TaskLeft{State: fleet.StateDone, Changed: true, Worked: true}
	active := fleet.TaskMemory{Run: "0p", TaskLeft: fleet.TaskLeft{State: fleet.StateActive, Seen: "todo"}}
	still := worked
	still.Left.State, still.Left.Seen = fleet.StateActive, "todo"
	for _, tt := range []struct {
		name       string
		before     fleet.TaskMemory
		run        fleet.Run
		want       fleet.TaskMemory // of the state, and who left it
		remembered bool
	}{
		{"a state", fleet.TaskMemory{}, done, fleet.TaskMemory{Run: "0r", TaskLeft: done.Left}, true},
		{
			"the same state, which its file does not say", active, still,
			fleet.TaskMemory{Run: "0p", TaskLeft: fleet.TaskLeft{State: fleet.StateActive, Seen: "todo", Worked: true}},
			true,
		},
		{"nobody worked", fleet.TaskMemory{}, fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Cancelled}}, fleet.TaskMemory{}, false},
		{"work in vain", fleet.TaskMemory{}, worked, fleet.TaskMemory{}, true},
	} {
		got, remembered := book.Left(tt.before, tt.run, 5)
		left := fleet.TaskMemory{Run: got.Run, Trouble: got.Trouble, TaskLeft: got.TaskLeft}
		if diff := cmp.Diff(left, tt.want); diff != "" || remembered != tt.remembered {
			t.Errorf("%s: remembered %t, want %t (-got +want):\n%s", tt.name, remembered, tt.remembered, diff)
		}
	}
}
