package main

import (
	"maps"
	"math"
	"slices"
)

// aim is what a quantity is to be, and what it was when the ranking was designed.
type aim struct {
	policy, quantity string
	low, high        float64
	reference        float64
}

// aims are those of each scenario, by its file's name.
func aims() map[string][]aim {
	none, all := math.Inf(-1), math.Inf(1)
	return map[string][]aim{
		"komiyama5":     {{"stint-core", "regret", 30, 50, 39.3}},
		"komiyama20":    {{"stint-core", "regret", 140, 215, 169}},
		"nine":          {{"stint-core", "regret", 45, 95, 70}},
		"abrupt":        {{"stint-free", "regret", none, 330, 298}},
		"abrupt-graded": {{"stint-free", "regret", none, 105, 90}},
		"drift":         {{"stint-free", "regret", none, 290, 259}},
		"drift-graded":  {{"stint-free", "regret", none, 155, 136}},
		// Round-robin earns 1.650, and so did the ranking before it knew of a season.
		"cycle": {
			{"stint", "reward_per_fire", 1.72, all, 1.89},
			{"stint", "min_ratio", 0.49, all, 0.90},
			{"stint", "max_ratio", none, 1.81, 1.08},
		},
		"twelve": {
			{"stint", "reward_per_fire", 1.795, all, 1.801},
			{"stint", "min_ratio", 0.49, all, 0.505},
			{"stint", "max_ratio", none, 1.81, 1.79},
		},
	}
}

// order shows stint's own policies first, then those of others.
func order(s *simulation) []string {
	first := []string{"stint", "stint-free", "stint-core", "mp-ts"}
	list := slices.DeleteFunc(slices.Clone(first), func(name string) bool { return s.Policies[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(s.Policies)) {
		if !slices.Contains(first, name) {
			list = append(list, name)
		}
	}
	return list
}
