package simulate_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
	"stint/scripts/lab/simulate"
)

func categories(means ...float64) []simulate.Category {
	var list []simulate.Category
	for i, m := range means {
		list = append(list, simulate.Category{Name: fleet.Category(fmt.Sprintf("c%02d", i)), Mean: m, Share: 1})
	}
	return list
}

// busy is a scenario in which everything happens.
func busy() *simulate.Scenario {
	s := &simulate.Scenario{
		Fires: 300, Workers: 3,
		Grades:       simulate.Grades{Noise: simulate.Graded, Concentration: 8, Missing: 0.1},
		Change:       simulate.Change{Kind: simulate.Walk, SD: 0.02, Low: 0.1, High: 0.9},
		Availability: &simulate.Chain{Wake: 0.1, Sleep: 0.1},
		Sessions:     &simulate.Sessions{Median: 2.5, Sigma: 0.6, Slots: 6, Lock: true},
		Depletion:    &simulate.Depletion{Amount: 0.3, HalfLife: 6},
		Categories:   categories(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
	}
	s.Categories[1].Supply = &simulate.Chain{Wake: 0.1, Sleep: 0.1}
	s.Categories[2].Share = 3
	return s
}

func run(t testing.TB, s *simulate.Scenario, o simulate.Options) []simulate.Result {
	t.Helper()
	if o.Policies == nil {
		o.Policies = s.AllPolicies()
	}
	o.Runs, o.Parallel = max(1, o.Runs), max(1, o.Parallel)
	r := must.Get(simulate.Run(t.Context(), s, o))(t)
	return r
}

// policy has the figures of a policy.
func policy(t testing.TB, r []simulate.Result, name string) simulate.Result {
	t.Helper()
	i := slices.IndexFunc(r, func(p simulate.Result) bool { return p.Policy.Name == name })
	if i < 0 {
		t.Fatalf("no policy %q was played", name)
	}
	return r[i]
}

func TestResultsDoNotDependOnParallelism(t *testing.T) {
	t.Parallel()
	one := run(t, busy(), simulate.Options{Runs: 2, Seed: 7, Parallel: 1})
	many := run(t, busy(), simulate.Options{Runs: 2, Seed: 7, Parallel: 8})
	if diff := cmp.Diff(one, many, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("one and eight at once (-one +eight):\n%s", diff)
	}
	other := run(t, busy(), simulate.Options{Runs: 2, Seed: 8})
	if cmp.Equal(one, other, cmpopts.EquateNaNs()) {
		t.Error("two seeds gave the same results")
	}
}

// TestWorldIsTheSameForAll: what a policy comes to does not depend on who else plays,
// nor on the order in which the scenario lists its categories.
func TestWorldIsTheSameForAll(t *testing.T) {
	t.Parallel()
	s := busy()
	all := run(t, s, simulate.Options{Runs: 2, Seed: 7})
	alone := run(t, s, simulate.Options{Runs: 2, Seed: 7, Policies: s.AllPolicies()[:1]})
	if diff := cmp.Diff(all[0], alone[0], cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("stint beside others and alone (-beside +alone):\n%s", diff)
	}
	turned := busy()
	for i, j := 0, len(turned.Categories)-1; i < j; i, j = i+1, j-1 {
		turned.Categories[i], turned.Categories[j] = turned.Categories[j], turned.Categories[i]
	}
	reversed := run(t, turned, simulate.Options{Runs: 2, Seed: 7, Policies: s.AllPolicies()[:1]})
	if diff := cmp.Diff(alone[0].Regret, reversed[0].Regret, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("regret by the order of categories (-file +reversed):\n%s", diff)
	}
}

func TestSessionsAreConserved(t *testing.T) {
	t.Parallel()
	s := &simulate.Scenario{Fires: 250, Workers: 2, Grades: simulate.Grades{Noise: simulate.Bernoulli}, Categories: categories(0.9, 0.5, 0.4, 0.1)}
	for _, p := range run(t, s, simulate.Options{Runs: 3, Seed: 3}) {
		sum, reward := 0.0, 0.0
		for i, f := range p.Fractions {
			sum += f.Mean
			reward += f.Mean * s.Categories[i].Mean
		}
		if math.Abs(sum-2) > 1e-9 {
			t.Errorf("%s: fractions add up to %v, want 2 sessions a fire", p.Policy.Name, sum)
		}
		if math.Abs(reward-p.RewardPerFire.Mean) > 1e-9 {
			t.Errorf("%s: reward %v, by the fractions %v", p.Policy.Name, p.RewardPerFire.Mean, reward)
		}
		if got, want := p.Regret.Mean, 250*(0.9+0.5-reward); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: regret %v, by the reward %v", p.Policy.Name, got, want)
		}
	}
}

// TestKnownRewards are scenarios whose rewards need no simulation.
func TestKnownRewards(t *testing.T) {
	t.Parallel()
	two := categories(0.8, 0.2)
	dry := categories(0.8)
	dry[0].Supply = &simulate.Chain{Sleep: 1} // work for the first fire alone
	elsewhere, byHand := categories(0.8, 1), categories(0.8, 0.2)
	elsewhere[1].Pool, byHand[0].ByHand = "quick", 50
	for _, test := range []struct {
		name   string
		s      simulate.Scenario
		policy string
		want   float64 // reward per fire
	}{
		{"everybody runs", simulate.Scenario{Fires: 100, Workers: 5, Categories: two}, "stint", 1},
		{"in turn", simulate.Scenario{Fires: 100, Workers: 1, Categories: two}, "round-robin", 0.5},
		{"asleep after the first fire", simulate.Scenario{Fires: 100, Workers: 2, Categories: two, Availability: &simulate.Chain{Sleep: 1}}, "random", 0.01},
		{"no work after the first fire", simulate.Scenario{Fires: 100, Workers: 1, Categories: dry}, "additive", 0.008},
		{"four fires each, locked", simulate.Scenario{
			Fires: 100, Workers: 2, Categories: two, Sessions: &simulate.Sessions{Median: 4, Lock: true},
		}, "stint", 0.25},
		{"one slot, four fires", simulate.Scenario{
			Fires: 100, Workers: 2, Categories: two, Sessions: &simulate.Sessions{Median: 4, Slots: 1},
		}, "round-robin", 0.128}, // 25 sessions in turn: 13 of 0.8 and 12 of 0.2
		{"worn out", simulate.Scenario{
			Fires: 2, Workers: 1, Categories: categories(0.8), Depletion: &simulate.Depletion{Amount: 1, HalfLife: 1},
		}, "stint", (0.8 + 0.8 - 0.25) / 2}, // a session adds 1/2, of which half is left
		{"the means change places", simulate.Scenario{
			Fires: 100, Workers: 2, Categories: two, Change: simulate.Change{Kind: simulate.Permute, Every: 3},
		}, "ucb1", 1},
		{"half of the time everything fails", simulate.Scenario{
			Fires: 100, Workers: 2, Categories: two, Outages: []simulate.Outage{{First: 11, Last: 60, Outcome: fleet.Unavailable, Rest: true}},
		}, "stint", 0.5},
		{"one category fails", simulate.Scenario{
			Fires: 100, Workers: 2, Categories: two, Outages: []simulate.Outage{{First: 1, Last: 100, Category: "c00", Outcome: fleet.Failed}},
		}, "stint", 0.2},
		{"another pool is in no result", simulate.Scenario{
			Fires: 100, Workers: 1, Categories: elsewhere, Pools: []simulate.Pool{{Name: "quick", PerFire: 3, Workers: 1}},
		}, "stint", 0.8},
		{"by hand half of the time", simulate.Scenario{Fires: 100, Workers: 2, Categories: byHand}, "stint", 0.6},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := policy(t, run(t, &test.s, simulate.Options{Runs: 2, Seed: 5}), test.policy)
			if math.Abs(p.RewardPerFire.Mean-test.want) > 1e-9 {
				t.Errorf("%s: got %v a fire, want %v", test.policy, p.RewardPerFire.Mean, test.want)
			}
		})
	}
}

// TestNoopsAndAccounts: with one category that never has work, every session is a NOOP;
// stint backs off for 2, 4, … 64 fires.
func TestNoopsAndAccounts(t *testing.T) {
	t.Parallel()
	s := &simulate.Scenario{Fires: 127, Workers: 1, Categories: categories(0.5), Grades: simulate.Grades{Nothing: 0.5}}
	s.Categories[0].Supply = &simulate.Chain{Sleep: 1}
	results := run(t, s, simulate.Options{Seed: 1})
	stint, random := policy(t, results, "stint"), policy(t, results, "random")
	// Fire 1 has work; NOOPs follow at 2, 4, 8, 16, 32, 64.
	if got, want := stint.Fractions[0].Mean*127, 7.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("stint: got %v sessions, want %v", got, want)
	}
	if got, want := stint.NoopRate.Mean, 6.0/7; math.Abs(got-want) > 1e-9 {
		t.Errorf("stint: got a NOOP rate of %v, want %v", got, want)
	}
	if got, want := random.NoopRate.Mean, 126.0/127; math.Abs(got-want) > 1e-9 {
		t.Errorf("random: got a NOOP rate of %v, want %v", got, want)
	}
	if stint.MinRatio.Mean != 1 || stint.MaxRatio.Mean != 1 {
		t.Errorf("stint: sessions over entitlement %v to %v, want 1", stint.MinRatio.Mean, stint.MaxRatio.Mean)
	}
}

// TestWatch follows one category that is good for sure through everything that can happen to
// its sessions.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := &simulate.Scenario{
		Fires: 40, Workers: 1, Categories: categories(1, 0), Respawn: &simulate.Respawn{From: 0.65, Most: 1},
		Outages: []simulate.Outage{
			{First: 21, Last: 24, Agent: "codex", Outcome: fleet.Unavailable, Rest: true}, {First: 25, Last: 30, Outcome: fleet.Failed},
		},
		Pools: []simulate.Pool{{Name: "quick", PerFire: 2, Workers: 1}},
	}
	s.Categories[0].ByHand, s.Categories[0].Agent, s.Categories[1].Pool = 10, "codex", "quick"
	got := map[fleet.Source]map[fleet.Outcome][]int{}
	fires := 0
	run(t, s, simulate.Options{Seed: 1, Policies: simulate.Policies()[:1], Watch: func(p simulate.Policy, run int) func(simulate.Moment) {
		if p.Name != "stint" || run != 0 {
			t.Errorf("got run %d of %s, want run 0 of stint", run, p.Name)
		}
		return func(m simulate.Moment) {
			quick := 0
			for _, x := range m.Sessions {
				if x.Category == 1 {
					quick++
					continue
				}
				if got[x.Source] == nil {
					got[x.Source] = map[fleet.Outcome][]int{}
				}
				got[x.Source][x.Verdict.Outcome] = append(got[x.Source][x.Verdict.Outcome], m.Fire)
			}
			if fires++; m.Fire != fires || quick != 2 || m.Means[0] != 1 {
				t.Errorf("fire %d: got number %d, %d sessions of the other pool and mean %v, want 2 and 1", fires, m.Fire, quick, m.Means[0])
			}
			if b := m.Belief(0); m.Fire <= 24 && b.Mean() <= 0.5 {
				t.Errorf("fire %d: got belief %v of good work, want it above 0.5", m.Fire, b)
			}
		}
	}})
	want := map[fleet.Source]map[fleet.Outcome][]int{
		fleet.FromHand: {fleet.Productive: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		fleet.FromScores: {
			fleet.Productive:  {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40},
			fleet.Unavailable: {21, 23},
			fleet.Failed:      {25, 26, 27, 28, 29, 30},
		},
	}
	want[fleet.FromRespawn] = map[fleet.Outcome][]int{fleet.Productive: {31, 32, 33, 34, 35, 36, 37, 38, 39}} // the surplus by hand is paid
	must.Equal(t, "fires of sessions", got, want)
}

// TestFairShares: without grades to follow, floors and caps hold.
func TestFairShares(t *testing.T) {
	t.Parallel()
	s := &simulate.Scenario{Fires: 2000, Workers: 2, Grades: simulate.Grades{Noise: simulate.Bernoulli}, Categories: categories(0.9, 0.8, 0.2, 0.1)}
	policies := simulate.Policies()
	fair := []simulate.Policy{policies[0]}
	for _, p := range policies {
		if p.Fair = p.Kind.IsIndex(); p.Fair {
			fair = append(fair, p)
		}
	}
	for _, p := range run(t, s, simulate.Options{Runs: 3, Seed: 9, Policies: fair}) {
		if p.MinRatio.Mean < 0.49 || p.MaxRatio.Mean > 1.81 {
			t.Errorf("%s: sessions over entitlement %v to %v, want 0.49 to 1.81", p.Policy.Name, p.MinRatio.Mean, p.MaxRatio.Mean)
		}
	}
}

func TestRunStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := busy()
	s.Fires = 1 << 40
	done := make(chan error)
	go func() {
		_, err := simulate.Run(ctx, s, simulate.Options{Policies: s.AllPolicies(), Runs: 2, Parallel: 2})
		done <- err
	}()
	cancel(nil)
	select {
	case err := <-done:
		if err == nil {
			t.Error("a stopped simulation has no error")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the simulation did not stop")
	}
}

// BenchmarkFire is one fire of twelve categories, world and accounts included.
func BenchmarkFire(b *testing.B) {
	s := &simulate.Scenario{
		Fires: b.N, Workers: 3, Grades: simulate.Grades{Noise: simulate.Graded, Concentration: 4},
		Categories: categories(.71, .695, .61, .60, .58, .566, .55, .52, .50, .46, .45, .43),
	}
	run(b, s, simulate.Options{Policies: simulate.Policies()[:1]})
}

// TestAnotherPoolAgesNothing has a second pool fire six times between two fires of the first:
// beliefs and back-offs of the first go by its own rounds, so that it earns what it earns
// alone, with as many sessions in vain.
func TestAnotherPoolAgesNothing(t *testing.T) {
	t.Parallel()
	s := &simulate.Scenario{Fires: 600, Workers: 2, Categories: categories(0.8, 0.7, 0.6, 0.5, 0.4, 0.3)}
	for i := range 4 {
		s.Categories[i].Supply = &simulate.Chain{Wake: 0.02, Sleep: 0.05}
	}
	alone := run(t, s, simulate.Options{Runs: 6, Seed: 4, Parallel: 2, Policies: simulate.Policies()[:1]})[0]
	s.Pools = []simulate.Pool{{Name: "quick", PerFire: 6, Workers: 1}}
	s.Categories = append(s.Categories, simulate.Category{Name: "poll", Pool: "quick", Mean: 0.5, Share: 1})
	beside := run(t, s, simulate.Options{Runs: 6, Seed: 4, Parallel: 2, Policies: simulate.Policies()[:1]})[0]
	if r := beside.RewardPerFire.Mean / alone.RewardPerFire.Mean; r < 0.96 {
		t.Errorf("got %v of the reward that there is without the other pool, want about 1", r)
	}
	if more := beside.NoopRate.Mean - alone.NoopRate.Mean; more > 0.03 {
		t.Errorf("got a NOOP rate higher by %v than without the other pool, want about 0", more)
	}
}
