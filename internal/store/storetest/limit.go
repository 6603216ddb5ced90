package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// asks is a run that has begun and asks for a task of its own, to be worked by an agent.
func (b bundle) asks(t *testing.T, id fleet.RunID, agent string, budgets ...fleet.Budget) store.RunTake {
	t.Helper()
	must(t, b.AddRun(t.Context(), plannedRun(id)))
	must(t, b.BeginRun(t.Context(), id, 7))
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
	must(t, b.Complete(t.Context(), r))
}

// mustRefuse has a request refused for a reason that has so much in it, and nothing
// written.
func (b bundle) mustRefuse(t *testing.T, take store.RunTake, reason string) {
	t.Helper()
	before, run := b.mustSnapshot(t), b.mustRun(t, take.Run)
	claim, err := b.Check(t.Context(), take.Key)
	must(t, err)
	grant, c, err := b.TakeForRun(t.Context(), take)
	var refused fleet.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, reason) {
		t.Fatalf("got %s, %+v, %v, want it refused: %s", grant, c, err, reason)
	}
	same(t, "snapshot after a refusal", b.mustSnapshot(t), before)
	same(t, "run after a refusal", b.mustRun(t, take.Run), run)
	after, err := b.Check(t.Context(), take.Key)
	must(t, err)
	same(t, "claim after a refusal", after, claim)
}

// refusal is why a request is refused.
func (b bundle) refusal(t *testing.T, take store.RunTake) (refused fleet.RefusedError) {
	t.Helper()
	if _, _, err := b.TakeForRun(t.Context(), take); !errors.As(err, &refused) {
		t.Fatalf("got %v, want it refused", err)
	}
	return refused
}

// claude is what is known of the agent of that name.
func (b bundle) claude(t *testing.T) fleet.AgentState {
	t.Helper()
	for _, a := range b.mustSnapshot(t).Agents {
		if a.Agent == "claude" {
			return a
		}
	}
	return fleet.AgentState{Agent: "claude"}
}

// spent is what was used today, by scope.
func (b bundle) spent(t *testing.T) map[fleet.Scope]fleet.Spent {
	t.Helper()
	m := map[fleet.Scope]fleet.Spent{}
	for _, s := range b.mustSnapshot(t).Spent {
		m[s.Scope] = s
	}
	return m
}

func testBudgetOfRuns(t *testing.T, b bundle) {
	for i, scope := range []fleet.Scope{fleet.FleetScope, fleet.AgentScope("claude"), fleet.CategoryScope("code")} {
		b := b.fresh(t, bandit.Defaults())
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

// testBudgetOfOthers has budgets that are used up, of what the run is not.
func testBudgetOfOthers(t *testing.T, b bundle) {
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

func testBudgetOfUsage(t *testing.T, b bundle) {
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

// testReserveOfTheSilent keeps the reserve of those who say nothing of their usage.
func testReserveOfTheSilent(t *testing.T, b bundle) {
	b.used(t, b.works(t, "0r1", "claude"), 1000, 1)
	ends := map[fleet.RunID]func(fleet.Run){
		"0dead": func(r fleet.Run) {
			_, err := b.Abandon(t.Context(), r.ID, "found dead", fleet.Usage{}, time.Time{})
			must(t, err)
		},
		"0silent": func(r fleet.Run) { b.ends(t, r, fleet.Noop, "") },
		"0lost":   func(r fleet.Run) { r.Verdict.Outcome = fleet.Lost; must(t, b.EndRun(t.Context(), r)) },
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

// expects is what the next session of claude is expected to use, where nothing bounds it.
func (b bundle) expects(t *testing.T, tokens int64, usd float64) {
	t.Helper()
	gotTokens, gotUSD := b.claude(t).Expected(nil)
	same(t, "tokens expected", gotTokens, tokens)
	same(t, "dollars expected", gotUSD, usd)
}

// testFirstReserves has ten sessions of an agent of which nothing is known begin at once: no
// more of them start than what one is expected to use lets.
func testFirstReserves(t *testing.T, b bundle) {
	for _, first := range []struct {
		budget fleet.Budget
		starts int
		tokens int64
		usd    float64
	}{
		{fleet.Budget{USD: 2 * fleet.FirstUSD}, 2, 0, 2 * fleet.FirstUSD},
		{fleet.Budget{USD: 1}, 1, 0, 1},
		{fleet.Budget{USD: 100, SessionUSD: 25}, 4, 0, 100},
		{fleet.Budget{Tokens: 3 * fleet.FirstTokens}, 3, 3 * fleet.FirstTokens, 0},
		{fleet.Budget{SessionUSD: 25}, 10, 0, 0},
		{fleet.Budget{}, 10, 0, 0},
	} {
		b := b.fresh(t, bandit.Defaults())
		first.budget.Scope = fleet.FleetScope
		same(t, fmt.Sprintf("started under %+v", first.budget),
			b.race(t, 10, func(r *store.RunTake) { r.Budgets = []fleet.Budget{first.budget} }), first.starts)
		s := b.spent(t)[fleet.FleetScope]
		same(t, "reserved tokens", s.Tokens, first.tokens)
		same(t, "reserved dollars", s.USD, first.usd)
	}
}

// testAbsurdBill has one session billed for ten thousand times what the others are, as the
// first of its agent, too: the day after, the budget has room as before.
func testAbsurdBill(t *testing.T, b bundle) {
	for _, before := range []int{0, 1, 5} {
		b := b.fresh(t, bandit.Defaults())
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

// testResetBudget has a person strike out what was used. The reserve of a session under way
// stays until that settles it.
func testResetBudget(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.AgentScope("claude"), USD: 100}
	b.used(t, b.works(t, "0a", "claude", budget), 1000, 2)
	under := b.works(t, "0b", "claude", budget)
	b.used(t, b.works(t, "0c", "claude", budget), 1000, 1e6)
	next := b.asks(t, "0d", "claude", budget)
	b.mustRefuse(t, next, "1000004.00 of 100.00 USD today")

	before, err := b.ResetBudget(t.Context(), budget.Scope, "a wrong bill")
	must(t, err)
	want := fleet.Spent{Scope: budget.Scope, Runs: 3, Tokens: 3000, USD: 1e6 + 4, Guessed: 2}
	same(t, "struck out", before, want)
	left := fleet.Spent{Scope: budget.Scope, Runs: 1, Tokens: 1000, USD: 2, Guessed: 2, ReservedTokens: 1000, ReservedUSD: 2}
	same(t, "left", b.spent(t)[budget.Scope], left)
	same(t, "of the fleet", b.spent(t)[fleet.FleetScope].Runs, 3)
	b.expects(t, 0, 0)
	b.used(t, under, 500, 3)
	same(t, "settled", b.spent(t)[budget.Scope], fleet.Spent{Scope: budget.Scope, Runs: 1, Tokens: 500, USD: 3})
	b.mustTakeForRun(t, next, fleet.Granted)

	list, err := b.BudgetResets(t.Context(), b.clock.Now())
	must(t, err)
	want.Guessed = 0 // is not kept
	same(t, "on record", list, []fleet.Reset{{At: b.clock.Now(), Spent: want, Reason: "a wrong bill"}})
	b.clock.Advance(time.Hour)
	list, err = b.BudgetResets(t.Context(), b.clock.Now())
	must(t, err)
	same(t, "since then", len(list), 0)
}

// testCostOfTheDead books what a killed session is known to have used, and once: a closed run
// is left as it is.
func testCostOfTheDead(t *testing.T, b bundle) {
	b.used(t, b.works(t, "0r1", "claude"), 1000, 1)
	dead := b.works(t, "0r2", "claude")
	used := fleet.Usage{Tokens: value(int64(70)), USD: value(0.25), Cost: fleet.CostComputed, Models: []string{"m"}}
	for range 2 {
		_, err := b.Abandon(t.Context(), dead.ID, "found dead", used, time.Time{})
		must(t, err)
		same(t, "spent", b.spent(t)[fleet.FleetScope], fleet.Spent{Scope: fleet.FleetScope, Runs: 2, Tokens: 1070, USD: 1.25, Guessed: 0.25})
		same(t, "stored usage", b.mustRun(t, dead.ID).Usage, used)
	}
}

// testSettledInItsDay has a session from one day into the next.
func testSettledInItsDay(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, Runs: 1, Tokens: 100}
	b.clock.Advance(12*time.Hour - time.Minute)
	late := b.works(t, "0r1", "claude", budget)
	b.clock.Advance(2 * time.Minute)
	b.used(t, late, 7000, 7)
	same(t, "today", b.spent(t), map[fleet.Scope]fleet.Spent{})
	b.clock.Advance(-2 * time.Minute)
	same(t, "yesterday", b.spent(t)[fleet.FleetScope], fleet.Spent{Scope: fleet.FleetScope, Runs: 1, Tokens: 7000, USD: 7})
}

// testSettledAfterPivot settles in the category that was worked.
func testSettledAfterPivot(t *testing.T, b bundle) {
	must(t, b.AddRun(t.Context(), plannedRun("0r1")))
	must(t, b.LaneTaken(t.Context(), "0r1", "docs", 1))
	b.mustTakeForRun(t, takeFor("0r1", "free"), fleet.Granted)
	r := b.mustRun(t, "0r1")
	r.Category = "code" // as it was planned
	b.used(t, r, 10, 1)
	same(t, "docs", b.spent(t)[fleet.CategoryScope("docs")].Tokens, int64(10))
	same(t, "code", b.spent(t)[fleet.CategoryScope("code")], fleet.Spent{})
}

func testBudgetRace(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, Runs: 5}
	same(t, "granted", b.race(t, 20, func(take *store.RunTake) { take.Budgets = []fleet.Budget{budget} }), 5)
	same(t, "runs", b.spent(t)[fleet.FleetScope].Runs, 5)
}

func testSlotsRace(t *testing.T, b bundle) {
	same(t, "granted", b.race(t, 20, func(take *store.RunTake) { take.Slots = 3 }), 3)
}

// race has runs ask at once, and counts those that were let work. The others must have
// been refused.
func (b bundle) race(t *testing.T, n int, as func(*store.RunTake)) int {
	t.Helper()
	var takes []store.RunTake
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
			grant, _, err := b.TakeForRun(t.Context(), take)
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

func testSlots(t *testing.T, b bundle) {
	ask := func(id fleet.RunID, agent string) store.RunTake {
		take := b.asks(t, id, agent)
		take.Slots = 2
		return take
	}
	must(t, b.AddRun(t.Context(), plannedRun("0planned"))) // takes no slot yet
	first := ask("0r1", "claude")
	b.mustTakeForRun(t, first, fleet.Granted)
	b.mustTakeForRun(t, ask("0r2", "claude"), fleet.Granted)
	b.mustTakeForRun(t, first, fleet.Renewed) // it has its slot
	third := ask("0r3", "claude")
	b.mustRefuse(t, third, "agent claude: all of its 2 slots are in use")
	b.mustTakeForRun(t, ask("0r4", "codex"), fleet.Granted)
	b.ends(t, b.mustRun(t, "0r1"), fleet.Noop, "")
	b.mustTakeForRun(t, third, fleet.Granted)
	b.mustRefuse(t, ask("0r5", "claude"), "slots are in use")
	_, err := b.Abandon(t.Context(), "0r2", "found dead", fleet.Usage{}, time.Time{})
	must(t, err)
	b.mustTakeForRun(t, ask("0r6", "claude"), fleet.Granted)
	same(t, "agent in the row", b.mustRun(t, "0r4").Agent, "codex")
}

// testWall has an agent that says when it can work again.
func testWall(t *testing.T, b bundle) {
	r := b.works(t, "0r1", "claude")
	until := Start().Add(5 * time.Hour)
	r.QuotaUntil = until
	b.ends(t, r, fleet.Quota, "5-hour limit reached")
	same(t, "stored", b.mustRun(t, "0r1").QuotaUntil, until)
	want := fleet.AgentState{Agent: "claude", Until: until, Since: Start(), Reason: "usage limit: 5-hour limit reached", Limits: 1}
	same(t, "agent", b.claude(t), want)

	next := b.asks(t, "0r2", "claude")
	b.mustRefuse(t, next, "agent claude: usage limit: 5-hour limit reached (until 2026-06-26T17:00:00Z)")
	b.works(t, "0r3", "codex")
	b.clock.Advance(5*time.Hour - time.Millisecond)
	b.mustRefuse(t, next, "usage limit")
	b.clock.Advance(time.Millisecond)
	b.mustTakeForRun(t, next, fleet.Granted)
	b.ends(t, b.mustRun(t, "0r2"), fleet.Noop, "")
	same(t, "agent that works again", b.claude(t), fleet.AgentState{Agent: "claude"})
	same(t, "no failure of the task", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})
}

// testWallAfterWork has a session do its work, and then meet a limit.
func testWallAfterWork(t *testing.T, b bundle) {
	r := graded(b.works(t, "0r1", "claude"), 0.5)
	r.QuotaUntil = Start().Add(time.Hour)
	must(t, b.Complete(t.Context(), r))
	b.mustRefuse(t, b.asks(t, "0r2", "claude"), "(until 2026-06-26T13:00:00Z)")
	same(t, "graded all the same", b.arm(t, "code").Graded, 1)
}

// testWallBackoff has an agent that never says when.
func testWallBackoff(t *testing.T, b bundle) {
	for i, minutes := range []int{15, 30, 60, 120, 240, 360, 360} {
		r := b.works(t, fleet.RunID(fmt.Sprint("0r", i)), "claude")
		r.QuotaUntil = b.clock.Now().Add(-time.Hour) // over already: as good as nothing
		b.ends(t, r, fleet.Quota, "enough")
		rest := b.claude(t).Until.Sub(b.clock.Now())
		if least := time.Duration(minutes) * time.Minute; rest < least || rest > least+least/4 {
			t.Errorf("wall %d: rests for %v, want %d minutes and at most a quarter more", i+1, rest, minutes)
		}
		b.clock.Advance(rest)
	}
	b.ends(t, b.works(t, "0good", "claude"), fleet.Noop, "")
	b.ends(t, b.works(t, "0again", "claude"), fleet.Quota, "enough")
	if rest := b.claude(t).Until.Sub(b.clock.Now()); rest > 19*time.Minute {
		t.Errorf("after a good session: rests for %v, want 15 minutes again", rest)
	}
}

// testWallMetAtOnce has sessions under way when the first of them meets the wall.
func testWallMetAtOnce(t *testing.T, b bundle) {
	first, second, good := b.works(t, "0r1", "claude"), b.works(t, "0r2", "claude"), b.works(t, "0r3", "claude")
	var failing []fleet.Run
	for i := range fleet.FailuresToOpen {
		failing = append(failing, b.works(t, fleet.RunID(fmt.Sprint("0f", i)), "claude"))
	}
	first.QuotaUntil = Start().Add(5 * time.Hour)
	b.ends(t, first, fleet.Quota, "enough")
	want := b.claude(t)
	b.ends(t, second, fleet.Quota, "enough, too")
	same(t, "after a second", b.claude(t), want)
	b.ends(t, good, fleet.Noop, "")
	same(t, "after one that was under way went well", b.claude(t), want)
	for _, r := range failing {
		b.ends(t, r, fleet.Failed, "broken")
	}
	same(t, "until, after failures", b.claude(t).Until, want.Until)
}

// opened is an agent that failed as often as one may.
func (b bundle) opened(t *testing.T) {
	t.Helper()
	for i := range fleet.FailuresToOpen {
		b.ends(t, b.works(t, fleet.RunID(fmt.Sprint("0failed", i)), "claude"), fleet.Failed, "no login")
	}
}

func testBreaker(t *testing.T, b bundle) {
	b.ends(t, b.works(t, "0early", "claude"), fleet.Failed, "broken")
	b.ends(t, b.works(t, "0good", "claude"), fleet.Noop, "") // in a row, or it does not count
	b.opened(t)
	next := b.asks(t, "0next", "claude")
	b.mustRefuse(t, next, "agent claude: it failed 5 times in a row, last: no login (until 2026-06-26T12:30:00Z)")
	b.works(t, "0other", "codex")
	b.clock.Advance(30 * time.Minute)
	same(t, "probes", b.race(t, 10, func(*store.RunTake) {}), 1)
	probe := b.claude(t).Probe
	b.mustRefuse(t, next, fmt.Sprintf("it failed 5 times in a row, and run %s tries it", probe))

	b.ends(t, b.mustRun(t, probe), fleet.Timeout, "hung") // opens it again
	b.mustRefuse(t, next, "it failed 6 times in a row, last: hung (until 2026-06-26T13:00:00Z)")
	b.clock.Advance(30 * time.Minute)
	b.mustTakeForRun(t, next, fleet.Granted)
	b.mustRefuse(t, b.asks(t, "0beside", "claude"), "and run 0next tries it")
	b.ends(t, b.mustRun(t, "0next"), fleet.Noop, "")
	same(t, "closed", b.claude(t), fleet.AgentState{Agent: "claude"})
	b.works(t, "0one", "claude")
	b.works(t, "0two", "claude")
}

// failsAt ends a session that failed at a task, graded 0.
func (b bundle) failsAt(t *testing.T, task fleet.TaskID, r fleet.Run) {
	t.Helper()
	r.Task, r.Verdict = task, fleet.Verdict{Outcome: fleet.Failed, Reason: "exit 1", Grade: new(float64)}
	r.Left.Worked = true
	must(t, b.Complete(t.Context(), r))
}

// testBlameOfFailures has an agent fail in a row: what it failed at counts once it works
// again, and never if it fails so often that it rests.
func testBlameOfFailures(t *testing.T, b bundle) {
	works := func(id fleet.RunID) fleet.Run {
		r := b.asks(t, id, "claude")
		r.Task = fleet.TaskID(r.Key)
		b.mustTakeForRun(t, r, fleet.Granted)
		return b.mustRun(t, id)
	}
	believed := func() (int, float64) {
		arm := b.mustSnapshot(t).Arms["code"]
		return arm.Graded, arm.Fast.S
	}
	b.ends(t, works("0calm"), fleet.Productive, "")
	calm := b.mustSnapshot(t)

	var failed []fleet.Run
	for i := range fleet.FailuresToOpen {
		r := works(fleet.RunID(fmt.Sprint("0f", i)))
		failed = append(failed, r)
		if b.failsAt(t, r.Task, r); i == fleet.FailuresToOpen-1 {
			break
		}
		same(t, "held", b.mustRun(t, r.ID).Held, true)
		same(t, "attempts at its task, at once", b.memoryOf(t, r.Task).Failures, 1)
	}
	after := b.mustSnapshot(t)
	same(t, "tasks", after.Tasks, calm.Tasks)
	for _, r := range failed {
		got := b.mustRun(t, r.ID)
		same(t, "the agent's own", got.Verdict, fleet.Verdict{Outcome: fleet.Failed, Reason: "exit 1", Fault: fleet.FaultAgent})
		same(t, "held", got.Held, false)
	}
	graded, _ := believed()
	same(t, "grades", graded, calm.Arms["code"].Graded)

	// A probe that fails is the agent's, too.
	b.clock.Advance(30 * time.Minute)
	probe := works("0probe1")
	b.failsAt(t, probe.Task, probe)
	same(t, "the probe has no grade", b.mustRun(t, probe.ID).Verdict.Grade == nil, true)
	same(t, "tasks after the probe", b.mustSnapshot(t).Tasks, calm.Tasks)

	// Once it works, failures count as soon as it works again: with another category.
	b.clock.Advance(30 * time.Minute)
	b.ends(t, works("0probe2"), fleet.Noop, "")
	for _, id := range []fleet.RunID{"0g1", "0g2"} {
		r := works(id)
		b.failsAt(t, r.Task, r)
	}
	graded, _ = believed()
	same(t, "grades while they are held", graded, calm.Arms["code"].Graded)
	b.ends(t, works("0g3"), fleet.Noop, "")
	graded, sum := believed()
	same(t, "grades once it works", graded, calm.Arms["code"].Graded+2)
	same(t, "their sum", sum, calm.Arms["code"].Fast.S)
	same(t, "held", b.mustRun(t, "0g1").Held, false)
}

// memoryOf is what is remembered of a task.
func (b bundle) memoryOf(t *testing.T, id fleet.TaskID) fleet.TaskMemory {
	t.Helper()
	for _, m := range b.mustSnapshot(t).Tasks {
		if m.Task == id {
			return m
		}
	}
	return fleet.TaskMemory{}
}

// testProbeWithoutAnswer has probes that tell nothing of their agent: another follows.
func testProbeWithoutAnswer(t *testing.T, b bundle) {
	b.opened(t)
	b.clock.Advance(30 * time.Minute)
	ends := map[fleet.RunID]func(fleet.Run){
		"0killed": func(r fleet.Run) {
			_, err := b.Abandon(t.Context(), r.ID, "found dead", fleet.Usage{}, time.Time{})
			must(t, err)
		},
		"0cancelled": func(r fleet.Run) { b.ends(t, r, fleet.Cancelled, "stopped") },
		"0lost":      func(r fleet.Run) { r.Verdict.Outcome = fleet.Lost; must(t, b.EndRun(t.Context(), r)) },
	}
	for id, end := range ends {
		probe := b.works(t, id, "claude")
		b.mustRefuse(t, b.asks(t, id+"beside", "claude"), "tries it")
		end(probe)
	}
	b.works(t, "0last", "claude")
}

// testProbeAlone has a session that began before the breaker opened end beside a probe.
func testProbeAlone(t *testing.T, b bundle) {
	old := b.works(t, "0old", "claude")
	b.opened(t)
	b.clock.Advance(30 * time.Minute)
	b.works(t, "0probe", "claude")
	b.ends(t, old, fleet.Failed, "no login")
	b.clock.Advance(30 * time.Minute)
	b.mustRefuse(t, b.asks(t, "0beside", "claude"), "run 0probe tries it")
}

// attempt has a session try a task.
func (b bundle) attempt(t *testing.T, id fleet.RunID, task fleet.TaskID, outcome fleet.Outcome) {
	t.Helper()
	r := plannedRun(id)
	r.Agent = "agent of " + string(id) // that none is stopped
	must(t, b.AddRun(t.Context(), r))
	b.mustTakeForRun(t, takeFor(id, task), fleet.Granted)
	r = b.mustRun(t, id)
	r.Verdict = fleet.Verdict{Outcome: outcome, Reason: "because of " + string(id)}
	if outcome == fleet.Failed || outcome == fleet.Timeout {
		r.Verdict.Grade = value(0.0)
	}
	must(t, b.Complete(t.Context(), r))
	must(t, b.ReleaseHolder(t.Context(), id.Holder(), fleet.EndingReleased))
}

func testWaiting(t *testing.T, b bundle) {
	outcomes := []fleet.Outcome{
		fleet.Failed, fleet.Timeout, fleet.Productive, // forgets
		fleet.Failed, fleet.Noop, fleet.Quota, fleet.Cancelled, fleet.Timeout, // two, by their task's fault
	}
	for i, outcome := range outcomes {
		b.attempt(t, fleet.RunID(fmt.Sprint("0r", i)), "fix", outcome)
	}
	b.attempt(t, "0other", "other", fleet.Failed)
	b.ends(t, b.works(t, "0unable", "another"), fleet.Failed, "no program") // no word of the task
	same(t, "after two failures", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})
	b.clock.Advance(time.Minute)
	b.attempt(t, "0last", "fix", fleet.Failed)
	want := []fleet.Waiting{{Task: "fix", Failures: 3, Since: b.clock.Now(), Reason: "because of 0last"}}
	same(t, "after three", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), want)

	for _, step := range []struct {
		task fleet.TaskID
		want bool
	}{{"fix", true}, {"fix", false}, {"none", false}} {
		found, err := b.Retry(t.Context(), step.task)
		must(t, err)
		same(t, "retry "+string(step.task), found, step.want)
	}
	same(t, "after the retry", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})
	b.attempt(t, "0anew", "fix", fleet.Failed)
	same(t, "counted anew", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})

	for i := range fleet.FailuresToWait { // the death of every worker
		id := fleet.RunID(fmt.Sprint("0killed", i))
		must(t, b.AddRun(t.Context(), plannedRun(id)))
		b.mustTakeForRun(t, takeFor(id, "deadly"), fleet.Granted)
		for range 2 { // whoever finds it second finds nothing
			_, err := b.Abandon(t.Context(), id, "found dead", fleet.Usage{}, time.Time{})
			must(t, err)
		}
		same(t, "killed "+fmt.Sprint(i+1), len(fleet.WaitingTasks(b.mustSnapshot(t).Tasks)) > 0, i+1 == fleet.FailuresToWait)
	}
}

func testRespawn(t *testing.T, b bundle) {
	f := b.mustRecord(t, "0r1", "0r2")
	next := plannedRun("0r3")
	next.Fire, next.Source, next.ChainDepth = f.ID, fleet.FromRespawn, 1
	next.CreatedAt, next.NotBefore = Start().Add(time.Second), Start().Add(time.Minute)
	decide := func(run fleet.RunID, next *fleet.Run, reason string, want bool) {
		t.Helper()
		decided, err := b.Respawn(t.Context(), run, next, reason)
		must(t, err)
		same(t, "decided", decided, want)
	}
	decide("0r1", &next, "by run 0r3: good", true)
	decide("0r2", nil, "no workable task", true)
	same(t, "next", b.mustRun(t, "0r3"), next)
	before := b.mustSnapshot(t)

	other := next
	other.ID = "0r4"
	decide("0r1", &other, "once more", false)
	decide("0r2", &other, "after all", false)
	decide("0none", &other, "of nothing", false)
	same(t, "after the second decisions", b.mustSnapshot(t), before)
	same(t, "first", b.mustRun(t, "0r1").Followed, "by run 0r3: good")
	same(t, "second", b.mustRun(t, "0r2").Followed, "no workable task")

	must(t, b.AddRun(t.Context(), plannedRun("0r5")))
	if decided, err := b.Respawn(t.Context(), "0r5", &next, "by a run that is there"); err == nil {
		t.Errorf("got %v, want an error: the next run is there", decided)
	}
	same(t, "undone", b.mustRun(t, "0r5").Followed, "")
	b.mustNotStart(t, f.ID, "0r3", true) // no choice of the fire is about it
	got, err := b.Fire(t.Context(), f.ID)
	must(t, err)
	same(t, "choices", got.Choices, f.Choices)
}

// testResumeAgents has a person free the agents, which resuming one category does not.
func testResumeAgents(t *testing.T, b bundle) {
	b.opened(t)
	take := b.asks(t, "0next", "claude")
	b.mustRefuse(t, take, "failed")
	ended, err := b.Resume(t.Context(), "code")
	must(t, err)
	same(t, "ended with a category", ended, false)
	b.mustRefuse(t, take, "failed")
	ended, err = b.Resume(t.Context(), "")
	must(t, err)
	same(t, "ended with the fleet", ended, true)
	b.mustTakeForRun(t, take, fleet.Granted)
}

// testProbeOfService has a session that began before its service failed end beside the one
// that tries the agent since.
func testProbeOfService(t *testing.T, b bundle) {
	take := b.asks(t, "0old", "claude")
	take.TTL = 24 * time.Hour
	b.mustTakeForRun(t, take, fleet.Granted)
	old := b.mustRun(t, "0old")
	b.meets(t, b.works(t, "0first", "claude"), fleet.FaultLogin, "login expired")
	b.clock.Advance(2 * time.Hour)
	b.works(t, "0probe", "claude")
	b.ends(t, old, fleet.Timeout, "hung")
	b.mustRefuse(t, b.asks(t, "0beside", "claude"), "login expired (run 0probe tries it)")
	b.ends(t, b.mustRun(t, "0probe"), fleet.Failed, "it does not build")
	b.works(t, "0both", "claude")
}

// testRests holds any order of ends against what a rest is: nothing but a person, or an
// agent that shows that it works after failures of its own, ends it before its time; a time that the
// service named is waited for; after a fault one session tries.
func testRests(t *testing.T, b bundle) {
	agents := 0
	rapid.Check(t, func(rt *rapid.T) {
		agents++
		agent := fmt.Sprint("agent", agents)
		var (
			told    time.Time // by the service
			working []fleet.RunID
			trying  []fleet.RunID
			runs    int
		)
		state := func() fleet.AgentState {
			list := b.mustSnapshot(t).Agents
			if i := slices.IndexFunc(list, func(a fleet.AgentState) bool { return a.Agent == agent }); i >= 0 {
				return list[i]
			}
			return fleet.AgentState{Agent: agent}
		}
		start := func(rt *rapid.T) bool {
			runs++
			before, now := state(), b.clock.Now()
			id := fleet.RunID(fmt.Sprintf("0%sr%d", agent, runs))
			take := b.asks(t, id, agent)
			take.TTL = 1000 * time.Hour
			_, _, err := b.TakeForRun(t.Context(), take)
			var refused fleet.RefusedError
			may := !now.Before(before.Until) && (!before.Tried() || len(trying) == 0)
			switch {
			case errors.As(err, &refused) && !may:
				must(t, b.EndRun(t.Context(), fleet.Run{ID: id, Verdict: fleet.Verdict{Outcome: refused.Outcome, Reason: refused.Reason}}))
				return false
			case err != nil || !may:
				rt.Fatalf("started: %v, may %t: %+v at %v", err, may, before, now)
			case now.Before(told):
				rt.Fatalf("started at %v, before the %v that the service named", now, told)
			case len(trying) > 0:
				rt.Fatalf("started beside %v, which tries the agent: %+v", trying, before)
			case before.Tried():
				trying = append(trying, id)
			}
			working = append(working, id)
			return true
		}
		forget := func(id fleet.RunID) {
			is := func(other fleet.RunID) bool { return other == id }
			working, trying = slices.DeleteFunc(working, is), slices.DeleteFunc(trying, is)
		}
		steps := []func(*rapid.T){
			func(rt *rapid.T) { start(rt) },
			func(rt *rapid.T) {
				if len(working) == 0 {
					start(rt)
					return
				}
				r := b.mustRun(t, rapid.SampledFrom(working).Draw(rt, "run"))
				before, now := state(), b.clock.Now()
				r.Verdict.Outcome = rapid.SampledFrom([]fleet.Outcome{
					fleet.Productive, fleet.Noop, fleet.Failed, fleet.Failed, fleet.Timeout, fleet.Quota, fleet.Unavailable, fleet.Cancelled,
				}).Draw(rt, "outcome")
				r.Verdict.Reason = "so"
				switch o := r.Verdict.Outcome; {
				case o == fleet.Unavailable:
					r.Verdict.Fault = rapid.SampledFrom([]fleet.FaultKind{fleet.FaultLogin, fleet.FaultServer}).Draw(rt, "fault")
				case o == fleet.Failed:
					r.Verdict.Fault = rapid.SampledFrom([]fleet.FaultKind{"", fleet.FaultContext}).Draw(rt, "fault")
				case o == fleet.Quota || o == fleet.Productive:
					if hours := rapid.IntRange(0, 3).Draw(rt, "hours"); hours > 0 {
						r.QuotaUntil = now.Add(time.Duration(hours) * time.Hour)
						told = later(told, r.QuotaUntil)
					}
				}
				must(t, b.Complete(t.Context(), r))
				must(t, b.ReleaseHolder(t.Context(), r.ID.Holder(), fleet.EndingReleased))
				forget(r.ID)
				works := before.Faults == 0 && r.Verdict.Outcome.Succeeded()
				if works {
					trying = nil
				}
				if after := state(); now.Before(before.Until) && after.Until.Before(before.Until) && !(works && before.Fault == fleet.FaultAgent) {
					rt.Fatalf("%s shortened a rest: %+v, then %+v", r.Verdict.Outcome, before, after)
				}
			},
			func(rt *rapid.T) {
				b.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
			},
			func(rt *rapid.T) {
				if _, err := b.Resume(t.Context(), ""); err != nil {
					rt.Fatal(err)
				}
				told, trying = time.Time{}, nil
				if !start(rt) {
					rt.Fatalf("refused after a person's word: %+v", state())
				}
			},
		}
		for range 12 {
			rapid.SampledFrom(slices.Concat(steps, steps[:3], steps[:3])).Draw(rt, "step")(rt)
		}
		for _, id := range working {
			_, err := b.Abandon(t.Context(), id, "", fleet.Usage{}, time.Time{})
			must(t, err)
		}
	})
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// testUnworked has a run that stint could not bring to its agent be given back what was
// reserved for it.
func testUnworked(t *testing.T, b bundle) {
	budget := fleet.Budget{Scope: fleet.FleetScope, Runs: 2}
	b.used(t, b.works(t, "0r1", "claude", budget), 100, 1)
	r := b.works(t, "0r2", "claude", budget)
	third := b.asks(t, "0r3", "claude", budget)
	b.mustRefuse(t, third, "2 of 2 runs")
	r.Verdict = fleet.Verdict{Outcome: fleet.Failed, Reason: "a conflict", Ours: true}
	must(t, b.Complete(t.Context(), r))
	same(t, "spent", b.spent(t)[fleet.FleetScope], fleet.Spent{Scope: fleet.FleetScope, Runs: 1, Tokens: 100, USD: 1})
	same(t, "failures", b.claude(t).Failures, 0)
	b.mustTakeForRun(t, third, fleet.Granted)
}
