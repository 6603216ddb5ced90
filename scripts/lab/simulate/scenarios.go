package simulate

import (
	"fmt"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Published are the scenarios that policies are compared on, by name. Each call makes them anew, so
// that a problem may change what it gets.
func Published() map[string]*Scenario {
	var (
		graded  = Grades{Noise: Graded, Concentration: 8}
		wide    = Grades{Noise: Graded, Concentration: 4}
		permute = Change{Kind: Permute, Every: 500}
		walk    = Change{Kind: Walk, SD: 0.01, Low: 0.15, High: 0.85}
		lengths = Sessions{Median: 2.5, Sigma: 0.6, Slots: 9}
		third   = 1.0 / 3
		locked  = Sessions{Median: 2.5, Sigma: 0.6, Slots: 9, Lock: true}
	)
	return map[string]*Scenario{
		// Ten arms close together, three plays. Grades are 0 or 1, or scatter little.
		"ten":        {Fires: 2000, Workers: 3, Categories: ten()},
		"ten-graded": {Fires: 2000, Workers: 3, Grades: graded, Categories: ten()},
		// They change places every 500 fires, or their means walk.
		"abrupt":        {Fires: 2000, Workers: 3, Change: permute, Categories: ten()},
		"abrupt-graded": {Fires: 2000, Workers: 3, Grades: graded, Change: permute, Categories: ten()},
		"drift":         {Fires: 2000, Workers: 3, Change: walk, Categories: ten()},
		"drift-graded":  {Fires: 2000, Workers: 3, Grades: graded, Change: walk, Categories: ten()},
		// Sessions take several fires: most are chosen before the last grades are known, and a category
		// runs more than once, or is locked for so long.
		"delays":    {Fires: 2000, Workers: 3, Sessions: &lengths, Categories: ten()},
		"in-flight": {Fires: 2000, Workers: 3, Sessions: &locked, Categories: ten()},

		// Komiyama, Honda and Nakagawa, ICML 2015: five arms, and twenty with rare rewards.
		"komiyama5":  {Fires: 10000, Workers: 2, Categories: arms(0.70, 0.60, 0.50, 0.40, 0.30)},
		"komiyama20": {Fires: 10000, Workers: 3, Categories: arms(0.15, 0.12, 0.10, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03)},
		// The multi-player problems of SMPyBandits: nine arms far apart, three and six plays.
		"nine":     {Fires: 10000, Workers: 3, Categories: arms(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)},
		"nine-six": {Fires: 10000, Workers: 6, Categories: arms(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)},

		// The mean grades that an author of such a fleet published at different dates (strategic, research
		// and novelty are filled in), with targets, and all to get the same.
		"twelve":         {Fires: 1000, Workers: 3, Grades: wide, Categories: targets()},
		"twelve-uniform": {Fires: 1000, Workers: 3, Grades: wide, Categories: uniform()},
		// Categories come and go.
		"sleeping": {Fires: 2000, Workers: 3, Grades: wide, Availability: &Chain{Wake: 0.03, Sleep: 0.04}, Categories: targets()},
		// Eight run out of work now and then: only a session that finds nothing to do shows it.
		"supply":    {Fires: 2000, Workers: 3, Grades: wide, Categories: supplied()},
		"depletion": depletion(wide),
		// Equal categories rise and fall by 0.2 over a day, at one fire every half hour, each from a point
		// of its own. The standard deviation of grades is 0.2 at a mean of 0.55.
		"cycle": {Fires: 2000, Workers: 3, Grades: Grades{Noise: Graded, Concentration: 5.2}, Change: Change{Kind: Cycle, Every: 48, Swing: 0.2}, Categories: alike("c", 12, 0.55)},
		"fates": fates(),
		"field": field(),
		// A reviewer looks through ten results a day and is away in the second of four weeks; sessions
		// leave seven a day, as many as a reviewer keeps up with who is away now and then.
		"review": {Fires: 1344, Workers: 1, Grades: graded, Review: &Review{
			PerDay: 10, Leaves: 0.146, Limit: 50, AwayLimit: 100, MaxAge: 14, First: 337, Last: 672, Order: ByWorth,
		}, Categories: []Category{{Name: "code", Mean: 0.6, Share: third}, {Name: "docs", Mean: 0.5, Share: third}, {Name: "tests", Mean: 0.4, Share: third}}},
	}
}

// arms are categories that are to get the same, by their means.
func arms(means ...float64) (list []Category) {
	for i, m := range means {
		list = append(list, Category{Name: fleet.Category(fmt.Sprintf("arm-%02d", i+1)), Mean: m, Share: 1 / float64(len(means))})
	}
	return list
}

func ten() []Category { return arms(0.75, 0.70, 0.65, 0.60, 0.55, 0.50, 0.45, 0.40, 0.35, 0.30) }

// alike are so many equal categories.
func alike(name string, n int, mean float64) []Category {
	list := arms(make([]float64, n)...)
	for i := range list {
		list[i].Name, list[i].Mean = fleet.Category(fmt.Sprintf("%s%02d", name, i+1)), mean
	}
	return list
}

func targets() []Category {
	return []Category{
		{Name: "news", Mean: 0.71, Share: 0.083},
		{Name: "monitoring", Mean: 0.695, Share: 0.08},
		{Name: "code", Mean: 0.61, Share: 0.2},
		{Name: "strategic", Mean: 0.6, Share: 0.087},
		{Name: "research", Mean: 0.58, Share: 0.1},
		{Name: "infrastructure", Mean: 0.566, Share: 0.04},
		{Name: "lesson", Mean: 0.55, Share: 0.06},
		{Name: "novelty", Mean: 0.52, Share: 0.05},
		{Name: "cross-repo", Mean: 0.5, Share: 0.12},
		{Name: "cleanup", Mean: 0.46, Share: 0.03},
		{Name: "content", Mean: 0.45, Share: 0.08},
		{Name: "triage", Mean: 0.43, Share: 0.07},
	}
}

func uniform() []Category {
	list := targets()
	for i := range list {
		list[i].Share = 1 / float64(len(list))
	}
	return list
}

func supplied() []Category {
	list := targets()
	for i := range list {
		if name := list[i].Name; name != "news" && name != "strategic" && name != "lesson" && name != "cleanup" {
			list[i].Supply = &Chain{Wake: 0.02, Sleep: 0.05}
		}
	}
	return list
}

// depletion has grades fall with the recent sessions of a category. Two policies more show what it is
// worth to know that.
func depletion(g Grades) *Scenario {
	s := &Scenario{Fires: 2000, Workers: 3, Grades: g, Depletion: &Depletion{Amount: 0.35, HalfLife: 6}, Categories: targets()}
	blind, free := rank.Defaults(), unfair()
	blind.Depletion, free.Depletion = false, false
	s.Policies = []Policy{{Name: "no-plateau", Kind: Ranked, Settings: blind}, {Name: "free-no-plateau", Kind: Ranked, Settings: free}}
	return s
}

// fates has the work of twelve arms merged or rejected one to seven days after the session, and a
// first grade that says little of that. "stint" learns it when it happens, the others at once and never.
// Regret here is beside the best sessions without any rule. "known", which knows each mean from the
// start and keeps floors and caps, has 434 (12 runs): that is their price, which the operator chose
// and each policy with them pays. The rest of a policy's regret is what it learnt too late or forgot.
//
//	                   later   at once   never   later/never   later/at once
//	stint               581      539      679       0.86           1.08
//	stint, beyond 434   147      105      244       0.60           1.40
//	lasting             546      518      674       0.81           1.05
//	lasting, beyond     111       84      240       0.47           1.33
//	stint-core          179      154      411       0.44           1.16
//
// "lasting" is "stint" that forgets nothing. If no grade counted until it is corrected, "stint" would have 122 beyond
// the price: a third of what it remembers is grades that say little. But then failures count and successes wait, and
// while nobody reviews the ranking turns round, which costs far more.
func fates() *Scenario {
	stint, core := rank.Defaults(), core()
	lasting := stint
	lasting.HalfLife, lasting.SlowHalfLife, lasting.Alarm = 1e6, 1e7, 1e9
	return &Scenario{
		Fires: 3000, Workers: 3, Fates: &Fates{First: 0.55, SD: 0.15, Correlation: 0.3, After: 48, Until: 336},
		Categories: arms(0.60, 0.58, 0.56, 0.55, 0.53, 0.51, 0.49, 0.47, 0.45, 0.44, 0.42, 0.40),
		Policies: []Policy{
			{Name: "at-once", Kind: Ranked, Settings: stint, Learns: AtOnce},
			{Name: "never", Kind: Ranked, Settings: stint, Learns: Never},
			{Name: "core-at-once", Kind: Ranked, Settings: core, Learns: AtOnce},
			{Name: "core-never", Kind: Ranked, Settings: core, Learns: Never},
			{Name: "lasting", Kind: Ranked, Settings: lasting},
			{Name: "lasting-at-once", Kind: Ranked, Settings: lasting, Learns: AtOnce},
			{Name: "lasting-never", Kind: Ranked, Settings: lasting, Learns: Never},
		},
	}
}

// field is a month of a fleet in the field: a second pool that fires every five minutes, a night in
// which one agent's service is out, a category that people run by hand, one that finds no work, one
// that reports its own grades, and good sessions that are followed.
func field() *Scenario {
	return &Scenario{
		Fires: 1440, Workers: 3, Grades: Grades{Noise: Graded, Concentration: 4, Missing: 0.05, Nothing: 0.5},
		Respawn: &Respawn{From: 0.65, Most: 2},
		Outages: []Outage{
			{First: 400, Last: 420, Agent: "codex", Outcome: fleet.Unavailable, Rest: true},
			{First: 900, Last: 940, Category: "docs", Outcome: fleet.Failed},
		},
		Pools: []Pool{{Name: "quick", PerFire: 6, Workers: 1}},
		Categories: []Category{
			{Name: "code", Mean: 0.65, Share: 0.3},
			{Name: "tests", Mean: 0.6, Share: 0.2, Agent: "codex"},
			{Name: "docs", Mean: 0.7, Share: 0.1},
			{Name: "review", Mean: 0.55, Share: 0.15, ByHand: 200},
			{Name: "triage", Mean: 0.45, Share: 0.1, Supply: &Chain{Wake: 0.02, Sleep: 0.1}},
			{Name: "ideas", Mean: 0.05, Share: 0.15, Witness: NoWitness, Report: new(1.0), Agent: "codex"},
			{Name: "mail", Mean: 0.5, Pool: "quick"},
		},
	}
}
