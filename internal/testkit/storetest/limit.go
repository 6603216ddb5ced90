package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// asks is a run that has begun and asks for a task of its own, to be worked by an agent.
func (b bundle) asks(t *testing.T, id fleet.RunID, agent string, budgets ...fleet.Budget) storekit.RunTake {
	t.Helper()
	return b.asksOn(t, "", id, agent, budgets...)
}

// asksOn is such a run on a machine.
func (b bundle) asksOn(t *testing.T, host string, id fleet.RunID, agent string, budgets ...fleet.Budget) storekit.RunTake {
	t.Helper()
	r := plannedRun(id)
	r.Host = host
	must.Do(t, b.AddRun(t.Context(), r))
	take := takeFor(id, fleet.TaskID("task of "+id))
	take.Agent, take.Budgets = agent, budgets
	return take
}

// works is a run that was let work.
func (b bundle) works(t *testing.T, id fleet.RunID, agent string, budgets ...fleet.Budget) fleet.Run {
	t.Helper()
	b.mustTakeForRun(t, b.asks(t, id, agent, budgets...), fleet.Granted)
	return b.mustRun(t, id)
}

// ends ends a run that works.
func (b bundle) ends(t *testing.T, r fleet.Run, outcome fleet.Outcome, reason string) {
	t.Helper()
	r.Verdict = fleet.Verdict{Outcome: outcome, Reason: reason}
	must.Do(t, b.Complete(t.Context(), r))
}

// mustRefuse has a request refused for a reason that has so much in it, and nothing
// written.
func (b bundle) mustRefuse(t *testing.T, take storekit.RunTake, reason string) {
	t.Helper()
	before, run := b.mustSnapshot(t), b.mustRun(t, take.Run)
	claim, _, err := b.Check(t.Context(), take.Key)
	must.Do(t, err)
	grant, c, err := storekit.TakeForRun(t.Context(), b, take)
	var refused fleet.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, reason) {
		t.Fatalf("got %s, %+v, %v, want it refused: %s", grant, c, err, reason)
	}
	same(t, "snapshot after a refusal", b.mustSnapshot(t), before)
	same(t, "run after a refusal", b.mustRun(t, take.Run), run)
	after, _, err := b.Check(t.Context(), take.Key)
	must.Do(t, err)
	same(t, "claim after a refusal", after, claim)
}

// refusal returns the reason for refusing a request.
func (b bundle) refusal(t *testing.T, take storekit.RunTake) (refused fleet.RefusedError) {
	t.Helper()
	if _, _, err := storekit.TakeForRun(t.Context(), b, take); !errors.As(err, &refused) {
		t.Fatalf("got %v, want it refused", err)
	}
	return refused
}

// claude returns the state of the agent of that name.
func (b bundle) claude(t *testing.T) fleet.AgentState {
	t.Helper()
	return b.mustSnapshot(t).Agent("claude")
}

// spent returns the use of today, by scope.
func (b bundle) spent(t *testing.T) map[fleet.Scope]fleet.Spent {
	t.Helper()
	m := map[fleet.Scope]fleet.Spent{}
	for _, s := range b.mustSnapshot(t).Spent {
		m[s.Scope] = s
	}
	return m
}

func (contract) BudgetOfRuns(t *testing.T, b bundle) {
	for i, scope := range []fleet.Scope{fleet.FleetScope, fleet.AgentScope("claude"), fleet.CategoryScope("code")} {
		b := b.fresh(t, rank.Defaults())
		budget := fleet.Budget{Scope: scope, Runs: 2}
		first := b.works(t, "0r1", "claude", budget)
		b.works(t, "0r2", "claude", budget)
		third := b.asks(t, "0r3", "claude", budget)
		b.mustRefuse(t, third, fmt.Sprintf("budget of %s: 2 of 2 runs today", scope))
		b.ends(t, first, fleet.Noop, "")
		b.mustRefuse(t, third, "2 of 2 runs") // a run that is over was made

		b.clock.Advance(12*time.Hour - time.Millisecond) // the last of the day
		b.mustRefuse(t, third, "2 of 2 runs")
		b.clock.Advance(time.Millisecond)
		b.mustTakeForRun(t, third, fleet.Granted)
		same(t, "runs of the next day", b.spent(t)[scope].Runs, 1)

		b.works(t, fleet.RunID(fmt.Sprint("0free", i)), "claude") // what has no budget counts, and is not held back
		same(t, "runs with those that have no budget", b.spent(t)[scope].Runs, 2)
	}
}

// BudgetOfOthers has budgets that are used up, of what the run is not.
func (contract) BudgetOfOthers(t *testing.T, b bundle) {
	codex := fleet.Budget{Scope: fleet.AgentScope("codex"), Runs: 1}
	b.works(t, "0r1", "claude")
	b.works(t, "0r2", "codex", codex)
	b.mustRefuse(t, b.asks(t, "0r3", "codex", codex), "budget of agent:codex")
	b.works(t, "0r4", "claude", fleet.Budget{Scope: fleet.AgentScope("claude"), Runs: 2})
}

// used is a run's end with what it used.
func (b bundle) used(t *testing.T, r fleet.Run, tokens int64, usd float64) {
	t.Helper()
	r.Usage = fleet.Usage{Tokens: &tokens, USD: &usd, Cost: fleet.CostReported}
	b.ends(t, r, fleet.Noop, "")
}

func (contract) BudgetOfUsage(t *testing.T, b bundle) {
	tokens := fleet.Budget{Scope: fleet.AgentScope("claude"), Tokens: 2500}
	b.used(t, b.works(t, "0r1", "claude", tokens), 1000, 1)
	want := map[fleet.Scope]fleet.Spent{}
	all := func(u fleet.Spent) map[fleet.Scope]fleet.Spent {
		for _, s := range []fleet.Scope{fleet.FleetScope, fleet.AgentScope("claude"), fleet.CategoryScope("code")} {
			u.Scope = s
			want[s] = u
		}
		return want
	}
	same(t, "settled", b.spent(t), all(fleet.Spent{Runs: 1, Tokens: 1000, USD: 1}))

	second := b.works(t, "0r2", "claude", tokens)
	same(t, "with a reserve of the mean", b.spent(t),
		all(fleet.Spent{Runs: 2, Tokens: 2000, USD: 2, Guessed: 1, ReservedTokens: 1000, ReservedUSD: 1}))
	b.mustRefuse(t, b.asks(t, "0r3", "claude", tokens), "2000 of 2500 tokens today, and a session takes about 1000")
	b.mustRefuse(t, b.asks(t, "0r4", "claude", fleet.Budget{Scope: fleet.FleetScope, USD: 2.5}), "2.00 of 2.50 USD today, and a session takes about 1.00")
	b.used(t, second, 500, 0.5)
	same(t, "settled", b.spent(t), all(fleet.Spent{Runs: 2, Tokens: 1500, USD: 1.5}))
	b.expects(t, 750, 0.75)
	stored := b.mustRun(t, "0r2").Usage
	same(t, "stored usage", stored, fleet.Usage{Tokens: value(int64(500)), USD: value(0.5), Cost: fleet.CostReported})

	third := b.works(t, "0r5", "claude", tokens)
	same(t, "reserved", b.spent(t)[fleet.FleetScope].Tokens, int64(2250))
	b.used(t, third, 5000, 9) // more than anybody thought
	b.mustRefuse(t, b.asks(t, "0r6", "claude", tokens), "6500 of 2500 tokens")
}

// BillsOfAnAgent has the newest bills of an agent kept, the newest first, whichever session ends last: those of sessions that
// worked to their end, with a cost that somebody knows.
func (contract) BillsOfAnAgent(t *testing.T, b bundle) {
	old := b.works(t, "0a", "claude")
	var want []fleet.Bill
	for i := range fleet.BillsKept {
		r := b.works(t, fleet.RunID(fmt.Sprint("0b", i)), "claude")
		b.used(t, r, int64(i), float64(i))
		want = append([]fleet.Bill{{Run: r.ID, Usage: fleet.Usage{Tokens: value(int64(i)), USD: value(float64(i))}}}, want...)
	}
	b.used(t, old, 99, 99)
	for id, outcome := range map[fleet.RunID]fleet.Outcome{"0c1": fleet.Cancelled, "0c2": fleet.Unavailable} {
		r := b.works(t, id, "claude")
		r.Usage = fleet.Usage{Tokens: value(int64(7)), USD: value(7.0), Cost: fleet.CostReported}
		b.ends(t, r, outcome, "")
		must.Get(b.Resume(t.Context(), ""))(t)
	}
	same(t, "bills", b.claude(t).Bills, want)
	computed, assumed := b.works(t, "0d1", "claude"), b.works(t, "0d2", "claude")
	computed.Usage = fleet.Usage{USD: value(3.0), Cost: fleet.CostComputed}
	b.ends(t, computed, fleet.Noop, "")
	assumed.Usage = fleet.Usage{USD: value(4.0), Cost: fleet.CostAssumed}
	b.ends(t, assumed, fleet.Noop, "")
	same(t, "the newest bill", b.claude(t).Bills[0], fleet.Bill{Run: "0d1", Usage: fleet.Usage{USD: value(3.0)}})

	resets := b.clock.Now().Add(time.Hour).UTC()
	heard := b.works(t, "0d3", "claude")
	forged := fleet.Window{Long: 24 * time.Hour, Used: 1, Resets: resets.AddDate(0, 1, 0)}
	heard.Usage = fleet.Usage{Windows: []fleet.Window{{Long: 5 * time.Hour, Used: 0.5, Resets: resets}, forged}}
	b.ends(t, heard, fleet.Noop, "")
	must.Get(b.Resume(t.Context(), ""))(t)
	same(t, "windows", b.claude(t).Windows, []fleet.Window{{Long: 5 * time.Hour, Used: 0.5, Resets: resets, Host: heard.Host, Step: 0.05}})

	kept := len(b.claude(t).Bills)
	b.used(t, b.works(t, "0e", "codex"), 1, 1)
	must.Get(b.ResetBudget(t.Context(), fleet.AgentScope("codex"), "a wrong bill"))(t)
	same(t, "bills after a reset of another agent", len(b.claude(t).Bills), kept)
}

// ReserveOfTheSilent keeps the reserve of those who say nothing of their usage.
func (contract) ReserveOfTheSilent(t *testing.T, b bundle) {
	b.used(t, b.works(t, "0r1", "claude"), 1000, 1)
	ends := map[fleet.RunID]func(fleet.Run){
		"0dead": func(r fleet.Run) {
			must.Get(b.Abandon(t.Context(), store.Gone{Run: r.ID, Reason: "found dead"}))(t)
		},
		"0silent": func(r fleet.Run) { b.ends(t, r, fleet.Noop, "") },
		"0lost":   func(r fleet.Run) { r.Verdict.Outcome = fleet.Lost; must.Do(t, b.Complete(t.Context(), r)) },
	}
	for id, end := range ends {
		before := b.spent(t)[fleet.FleetScope]
		end(b.works(t, id, "claude"))
		before.Runs, before.Tokens, before.USD, before.Guessed = before.Runs+1, before.Tokens+1000, before.USD+1, before.Guessed+1
		same(t, string(id), b.spent(t)[fleet.FleetScope], before)
		same(t, "stored usage", b.mustRun(t, id).Usage, fleet.Usage{USD: value(1.0), Cost: fleet.CostAssumed})
	}
	b.expects(t, 1000, 1)
}

// expects returns the expected use of claude's next session, if nothing bounds it.
func (b bundle) expects(t *testing.T, tokens int64, usd float64) {
	t.Helper()
	gotTokens, gotUSD := b.claude(t).Expected(nil)
	same(t, "tokens expected", gotTokens, tokens)
	same(t, "dollars expected", gotUSD, usd)
}

// FirstReserves has ten sessions of an agent of which nothing is known begin at once: no
// more of them start than what one is expected to use lets.
func (contract) FirstReserves(t *testing.T, b bundle) {
	for _, first := range []struct {
		budget fleet.Budget
		starts int
		tokens int64
		usd    float64
	}{
		{fleet.Budget{USD: 2 * fleet.FirstUSD}, 2, 0, 2 * fleet.FirstUSD},
		{fleet.Budget{USD: 1}, 1, 0, 1},
		{fleet.Budget{Tokens: 3 * fleet.FirstTokens}, 3, 3 * fleet.FirstTokens, 0},
		{fleet.Budget{}, 10, 0, 0},
	} {
		b := b.fresh(t, rank.Defaults())
		first.budget.Scope = fleet.FleetScope
		same(t, fmt.Sprintf("started under %+v", first.budget),
			b.race(t, 10, func(r *storekit.RunTake) { r.Budgets = []fleet.Budget{first.budget} }), first.starts)
		s := b.spent(t)[fleet.FleetScope]
		same(t, "reserved tokens", s.Tokens, first.tokens)
		same(t, "reserved dollars", s.USD, first.usd)
	}
}

// ReserveOfOthers has the first session of an agent reserve what those of the fleet's others cost.
func (contract) ReserveOfOthers(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, USD: 1, Tokens: 1e6}
	b.used(t, b.works(t, "0r1", "codex"), 1000, 0.02)
	b.used(t, b.works(t, "0r2", "codex"), 3000, 0.04)
	r := b.mustRun(t, b.works(t, "0r3", "claude", budget).ID)
	got := b.spent(t)[fleet.FleetScope]
	same(t, "reserved tokens", got.ReservedTokens, int64(2015)) // the last session weighs a little more
	same(t, "reserved cents", int(got.ReservedUSD*100+.5), 3)
	_, usd := b.claude(t).Expected([]fleet.Budget{budget})
	same(t, "expected", usd, got.ReservedUSD)
	b.used(t, r, 9000, 0.5)
	b.expects(t, 9000, 0.5) // its own bill counts from then on
}

// ReserveOfSecond has the agent that a run was planned for refused: the first session of the next one reserves what those of
// others cost, the first agent's among them.
func (contract) ReserveOfSecond(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, USD: 1, Tokens: 1e6}
	b.used(t, b.works(t, "0r1", "claude", budget), 5000, 0.02)
	take := b.asks(t, "0r2", "claude")
	first := fleet.Terms{Agent: "claude", Budgets: []fleet.Budget{{Scope: fleet.AgentScope("claude"), Runs: 1}}}
	begun := must.Get(b.Begin(t.Context(), store.Begin{
		Run: "0r2", TTL: time.Hour, Agents: []fleet.Terms{first, {Agent: "codex", Budgets: []fleet.Budget{budget}}},
		Offers: []store.Offer{{Task: take.Task, Key: take.Key}},
	}))(t)
	same(t, "agent", begun.Agent, "codex")
	same(t, "reserved tokens", b.spent(t)[fleet.AgentScope("codex")].ReservedTokens, int64(5000))
}

// AbsurdBill has one session billed for ten thousand times what the others are, as the
// first of its agent, too: the day after, the budget has room as before.
func (contract) AbsurdBill(t *testing.T, b bundle) {
	for _, before := range []int{0, 1, 5} {
		b := b.fresh(t, rank.Defaults())
		budget := fleet.Budget{Scope: fleet.FleetScope, USD: 100}
		for i := range before {
			b.used(t, b.works(t, fleet.RunID(fmt.Sprint("0a", i)), "claude", budget), 1000, 1)
		}
		b.used(t, b.works(t, "0b", "claude", budget), 1000, 1e6)
		b.mustRefuse(t, b.asks(t, "0c", "claude", budget), ".00 of 100.00 USD today") // it is recorded as it was reported
		same(t, "recorded", *b.mustRun(t, "0b").Usage.USD, 1e6)
		b.clock.Advance(24 * time.Hour)
		for i := range 4 {
			b.works(t, fleet.RunID(fmt.Sprint("0d", i)), "claude", budget)
		}
	}
}

// ResetBudget has a person strike out what was used. The reserve of a session under way
// stays until that settles it.
func (contract) ResetBudget(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.AgentScope("claude"), USD: 100}
	b.used(t, b.works(t, "0a", "claude", budget), 1000, 2)
	under := b.works(t, "0b", "claude", budget)
	b.used(t, b.works(t, "0c", "claude", budget), 1000, 1e6)
	next := b.asks(t, "0d", "claude", budget)
	b.mustRefuse(t, next, "1000004.00 of 100.00 USD today")

	before := must.Get(b.ResetBudget(t.Context(), budget.Scope, "a wrong bill"))(t)
	want := fleet.Spent{Scope: budget.Scope, Runs: 3, Tokens: 3000, USD: 1e6 + 4, Guessed: 2}
	same(t, "struck out", before, want)
	left := fleet.Spent{Scope: budget.Scope, Runs: 1, Tokens: 1000, USD: 2, Guessed: 2, ReservedTokens: 1000, ReservedUSD: 2}
	same(t, "left", b.spent(t)[budget.Scope], left)
	same(t, "of the fleet", b.spent(t)[fleet.FleetScope].Runs, 3)
	b.expects(t, 0, 0)
	b.used(t, under, 500, 3)
	same(t, "settled", b.spent(t)[budget.Scope], fleet.Spent{Scope: budget.Scope, Runs: 1, Tokens: 500, USD: 3})
	b.mustTakeForRun(t, next, fleet.Granted)

	list := must.Get(b.BudgetResets(t.Context(), b.clock.Now()))(t)
	want.Guessed = 0 // is not kept
	same(t, "on record", list, []fleet.Reset{{At: b.clock.Now(), Spent: want, Reason: "a wrong bill"}})
	b.clock.Advance(time.Hour)
	list = must.Get(b.BudgetResets(t.Context(), b.clock.Now()))(t)
	same(t, "since then", len(list), 0)
}

// CostOfTheDead books what a killed session is known to have used, and once: a closed run
// is left as it is.
func (contract) CostOfTheDead(t *testing.T, b bundle) {
	b.used(t, b.works(t, "0r1", "claude"), 1000, 1)
	dead := b.works(t, "0r2", "claude")
	used := fleet.Usage{Tokens: value(int64(70)), USD: value(0.25), Cost: fleet.CostComputed, Models: []string{"m"}}
	for range 2 {
		must.Get(b.Abandon(t.Context(), store.Gone{Run: dead.ID, Reason: "found dead", Used: used}))(t)
		same(t, "spent", b.spent(t)[fleet.FleetScope], fleet.Spent{Scope: fleet.FleetScope, Runs: 2, Tokens: 1070, USD: 1.25, Guessed: 0.25})
		same(t, "stored usage", b.mustRun(t, dead.ID).Usage, used)
	}
}

// SettledInItsDay has a session from one day into the next.
func (contract) SettledInItsDay(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, Runs: 1, Tokens: 100}
	b.clock.Advance(12*time.Hour - time.Minute)
	late := b.works(t, "0r1", "claude", budget)
	b.clock.Advance(2 * time.Minute)
	b.used(t, late, 7000, 7)
	same(t, "today", b.spent(t), map[fleet.Scope]fleet.Spent{})
	b.clock.Advance(-2 * time.Minute)
	same(t, "yesterday", b.spent(t)[fleet.FleetScope], fleet.Spent{Scope: fleet.FleetScope, Runs: 1, Tokens: 7000, USD: 7})
}

// SettledAfterPivot settles in the category that was worked.
func (contract) SettledAfterPivot(t *testing.T, b bundle) {
	must.Do(t, b.AddRun(t.Context(), plannedRun("0r1")))
	b.mustLane(t, "0r1", "docs", 1, fleet.Granted)
	b.mustTakeForRun(t, takeFor("0r1", "free"), fleet.Granted)
	r := b.mustRun(t, "0r1")
	r.Category = "code" // as it was planned
	b.used(t, r, 10, 1)
	same(t, "docs", b.spent(t)[fleet.CategoryScope("docs")].Tokens, int64(10))
	same(t, "code", b.spent(t)[fleet.CategoryScope("code")], fleet.Spent{})
}

func (contract) BudgetRace(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, Runs: 5}
	same(t, "granted", b.race(t, 20, func(take *storekit.RunTake) { take.Budgets = []fleet.Budget{budget} }), 5)
	same(t, "runs", b.spent(t)[fleet.FleetScope].Runs, 5)
}

func (contract) SlotsRace(t *testing.T, b bundle) {
	same(t, "granted", b.race(t, 20, func(take *storekit.RunTake) { take.Slots = 3 }), 3)
}

// race has runs ask at once, and counts those that were let work. The others must have
// been refused.
func (b bundle) race(t *testing.T, n int, as func(*storekit.RunTake)) int {
	t.Helper()
	var takes []storekit.RunTake
	for i := range n {
		take := b.asks(t, fleet.RunID(fmt.Sprintf("0race%02d", i)), "claude")
		as(&take)
		takes = append(takes, take)
	}
	var (
		wg      sync.WaitGroup
		granted atomic.Int64
	)
	for _, take := range takes {
		wg.Go(func() {
			grant, _, err := storekit.TakeForRun(t.Context(), b, take)
			var refused fleet.RefusedError
			switch {
			case err == nil && grant == fleet.Granted:
				granted.Add(1)
			case !errors.As(err, &refused):
				t.Errorf("got %s, %v, want it granted or refused", grant, err)
			}
		})
	}
	wg.Wait()
	return int(granted.Load())
}

func (contract) Slots(t *testing.T, b bundle) {
	ask := func(id fleet.RunID, agent string) storekit.RunTake {
		take := b.asks(t, id, agent)
		take.Slots = 2
		return take
	}
	must.Do(t, b.AddRun(t.Context(), plannedRun("0planned"))) // takes no slot yet
	first := ask("0r1", "claude")
	b.mustTakeForRun(t, first, fleet.Granted)
	b.mustTakeForRun(t, ask("0r2", "claude"), fleet.Granted)
	b.mustTakeForRun(t, first, fleet.Granted) // it has its slot
	third := ask("0r3", "claude")
	b.mustRefuse(t, third, "agent claude: all of its 2 slots are in use")
	b.mustTakeForRun(t, ask("0r4", "codex"), fleet.Granted)
	b.ends(t, b.mustRun(t, "0r1"), fleet.Noop, "")
	b.mustTakeForRun(t, third, fleet.Granted)
	b.mustRefuse(t, ask("0r5", "claude"), "slots are in use")
	must.Get(b.Abandon(t.Context(), store.Gone{Run: "0r2", Reason: "found dead"}))(t)
	b.mustTakeForRun(t, ask("0r6", "claude"), fleet.Granted)
	same(t, "agent in the row", b.mustRun(t, "0r4").Agent, "codex")
}

// Unworked has a run that stint could not bring to its agent be given back what was
// reserved for it.
func (contract) Unworked(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, Runs: 2}
	b.used(t, b.works(t, "0r1", "claude", budget), 100, 1)
	r := b.works(t, "0r2", "claude", budget)
	third := b.asks(t, "0r3", "claude", budget)
	b.mustRefuse(t, third, "2 of 2 runs")
	r.Verdict = fleet.Verdict{Outcome: fleet.Failed, Reason: "a conflict", Internal: true}
	must.Do(t, b.Complete(t.Context(), r))
	same(t, "spent", b.spent(t)[fleet.FleetScope], fleet.Spent{Scope: fleet.FleetScope, Runs: 1, Tokens: 100, USD: 1})
	same(t, "failures", b.claude(t).Failures, 0)
	b.mustTakeForRun(t, third, fleet.Granted)
}
