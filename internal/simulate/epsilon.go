package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
)

// epsilonGreedy fills each place with the best mean so far, or, with probability
// epsilon, with any category. What was never graded comes first.
type epsilonGreedy struct {
	tally
	epsilon float64
	rng     *rand.Rand
}

func (e *epsilonGreedy) choose(v view) choice {
	for i, n := range e.n {
		e.scores[i] = math.Inf(1)
		if n > 0 {
			e.scores[i] = e.sum[i] / n
		}
	}
	places := v.picks
	v.picks = len(v.candidates())
	left := e.best(v).picks
	picks := make([]int, 0, places)
	for range places {
		at := 0
		if e.rng.Float64() < e.epsilon {
			at = e.rng.IntN(len(left))
		}
		picks = append(picks, left[at])
		left = slices.Delete(left, at, at+1)
	}
	return choice{picks: picks}
}
