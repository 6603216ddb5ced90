package main

import (
	"fmt"
	"math"
	"slices"

	"stint/scripts/lab/simulate"
)

// aim has the aim of a quantity, and its value when the aim was written.
type aim struct{ low, high, reference float64 }

func atLeast(low, reference float64) aim { return aim{low, math.Inf(1), reference} }

func atMost(high, reference float64) aim { return aim{math.Inf(-1), high, reference} }

// scenarioAim is one of a scenario.
type scenarioAim struct {
	policy, quantity string
	aim
}

// scenarioAims are those of each scenario.
func scenarioAims() map[string][]scenarioAim {
	return map[string][]scenarioAim{
		"komiyama5":     {{"stint-core", "regret", aim{30, 50, 39.3}}},
		"komiyama20":    {{"stint-core", "regret", aim{140, 215, 169}}},
		"nine":          {{"stint-core", "regret", aim{45, 95, 70}}},
		"abrupt":        {{"stint-free", "regret", atMost(330, 298)}},
		"abrupt-graded": {{"stint-free", "regret", atMost(105, 90)}},
		"drift":         {{"stint-free", "regret", atMost(290, 259)}},
		"drift-graded":  {{"stint-free", "regret", atMost(155, 136)}},
		// Round-robin earns 1.650, and so did the ranking before it knew of a season.
		"cycle": {
			{"stint", "reward_per_fire", atLeast(1.72, 1.89)},
			{"stint", "min_ratio", atLeast(0.49, 0.90)},
			{"stint", "max_ratio", atMost(1.81, 1.08)},
		},
		"twelve": {
			{"stint", "reward_per_fire", atLeast(1.795, 1.801)},
			{"stint", "min_ratio", atLeast(0.49, 0.505)},
			{"stint", "max_ratio", atMost(1.81, 1.79)},
		},
		// Hardly any session waits for a place, two days after the return nothing has waited for longer
		// than a week, and the reviewer is never out of work until the queue is gone.
		"review": {
			{"stint", "blocked", atMost(0.05, 0.01)},
			{"stint", "oldest", atMost(7, 6)},
			{"stint", "merged", atLeast(0.95, 1)},
		},
	}
}

func quantity(name string, r simulate.Result) simulate.Estimate {
	of := func(value func(simulate.Reviewed) float64) simulate.Estimate {
		values := make([]float64, len(r.Outcomes))
		for i, o := range r.Outcomes {
			values[i] = value(o.Review)
		}
		return simulate.Mean(values)
	}
	switch name {
	case "regret":
		return r.Regret
	case "reward_per_fire":
		return r.RewardPerFire
	case "min_ratio":
		return r.MinRatio
	case "max_ratio":
		return r.MaxRatio
	case "blocked":
		return of(func(x simulate.Reviewed) float64 { return x.Blocked })
	case "oldest":
		return of(func(x simulate.Reviewed) float64 { return x.Oldest })
	case "merged":
		return of(func(x simulate.Reviewed) float64 { return x.Merged })
	}
	panic("no quantity " + name)
}

// compare judges every aim of a scenario, and that the additive formula loses.
func (b *bench) compare(name string, list []simulate.Result) {
	if b.kept != nil {
		return
	}
	of := func(policy string) simulate.Result {
		return list[slices.IndexFunc(list, func(r simulate.Result) bool { return r.Policy.Name == policy })]
	}
	for _, a := range scenarioAims()[name] {
		b.judge(a.quantity+" of "+a.policy, quantity(a.quantity, of(a.policy)), a.aim)
	}
	if name == "fates" {
		b.compareFates(of)
	}
	ours, theirs := of("stint").RewardPerFire, of("additive").RewardPerFire
	b.judge("reward of additive beside stint's", simulate.Estimate{Mean: theirs.Mean / ours.Mean}, atMost(1, 0.9))
}

// compareFates judges what it costs to learn late what became of work. With floors and caps, the
// regret is what is beyond their price, which somebody has, too, who knows all and keeps them.
func (b *bench) compareFates(of func(string) simulate.Result) {
	price := of("known").Regret.Mean
	// A first grade counts at once, and says little of the final one here. A ranking that forgets and keeps shares has it in a third
	// of what it remembers: 1.43 and 0.62 were 1.04 and 0.49 while no grade counted until it was corrected.
	for _, p := range []struct {
		later, atOnce, never string
		price                float64
		whole, half          aim
	}{
		{"stint-core", "core-at-once", "core-never", 0, atMost(1.25, 1.16), atMost(0.55, 0.43)},
		{"stint", "at-once", "never", price, atMost(1.5, 1.43), atMost(0.65, 0.62)},
		{"lasting", "lasting-at-once", "lasting-never", price, atMost(1.4, 1.32), atMost(0.55, 0.45)},
	} {
		later := of(p.later).Regret.Mean - p.price
		b.judge("regret of "+p.later+" to that of "+p.atOnce, simulate.Estimate{Mean: later / (of(p.atOnce).Regret.Mean - p.price)}, p.whole)
		b.judge("regret of "+p.later+" to that of "+p.never, simulate.Estimate{Mean: later / (of(p.never).Regret.Mean - p.price)}, p.half)
	}
}

// judge prints whether an aim is met, and counts.
func (b *bench) judge(what string, e simulate.Estimate, a aim) {
	verdict := "met"
	b.aims++
	if !(e.Mean >= a.low && e.Mean <= a.high) {
		verdict = "MISSED"
		b.missed++
	}
	fmt.Fprintf(b.out, "  %-6s %s: %.4g ±%.2g, aim %s, reference %g\n", verdict, what, e.Mean, e.CI95, a.bounds(), a.reference)
}

// tell prints a figure that has no aim.
func (b *bench) tell(what string, e simulate.Estimate) {
	fmt.Fprintf(b.out, "  %-6s %s: %.4g ±%.2g\n", "", what, e.Mean, e.CI95)
}

func (a aim) bounds() string {
	switch {
	case math.IsInf(a.low, -1):
		return fmt.Sprintf("at most %g", a.high)
	case math.IsInf(a.high, 1):
		return fmt.Sprintf("at least %g", a.low)
	}
	return fmt.Sprintf("%g to %g", a.low, a.high)
}
