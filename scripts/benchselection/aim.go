package main

import (
	"math"

	"stint/internal/simulate"
)

// aim is what a quantity is to be, and what it was when that was written.
type aim struct{ low, high, reference float64 }

func atLeast(low, reference float64) aim { return aim{low, math.Inf(1), reference} }

func atMost(high, reference float64) aim { return aim{math.Inf(-1), high, reference} }

// fileAim is one of a scenario's file.
type fileAim struct {
	policy, quantity string
	aim
}

// quantities are those that aims are about.
func quantities() map[string]func(simulate.Result) simulate.Estimate {
	return map[string]func(simulate.Result) simulate.Estimate{
		"regret":          func(r simulate.Result) simulate.Estimate { return r.Regret },
		"reward_per_fire": func(r simulate.Result) simulate.Estimate { return r.RewardPerFire },
		"min_ratio":       func(r simulate.Result) simulate.Estimate { return r.MinRatio },
		"max_ratio":       func(r simulate.Result) simulate.Estimate { return r.MaxRatio },
	}
}

// fileAims are those of each scenario, by its file's name.
func fileAims() map[string][]fileAim {
	return map[string][]fileAim{
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
	}
}
