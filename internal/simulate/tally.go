package simulate

import (
	"cmp"
	"slices"
)

// tally is what policies without a ranking remember: grades, where a session that found
// nothing to do counts as a grade of 0, because they know no other case.
type tally struct {
	n      []float64 // grades
	sum    []float64 // of the grades
	scores []float64 // of the fire
}

func newTally(categories int) tally {
	return tally{
		n: make([]float64, categories), sum: make([]float64, categories),
		scores: make([]float64, categories),
	}
}

func (t *tally) alarms() int { return 0 }

func (t *tally) learn(e ended) {
	if e.noop || e.graded {
		t.n[e.category]++
		t.sum[e.category] += e.grade
	}
}

// fade leaves a part of all evidence.
func (t *tally) fade(part float64) {
	for i := range t.n {
		t.n[i] *= part
		t.sum[i] *= part
	}
}

// best are the categories with the highest scores among those awake. Of equals the
// first is preferred.
func (t *tally) best(v view) choice {
	order := v.candidates()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.scores[b], t.scores[a]) })
	return choice{picks: order[:v.picks]}
}

// candidates are the categories that are awake, in order.
func (v view) candidates() []int {
	order := make([]int, 0, len(v.awake))
	for i, awake := range v.awake {
		if awake {
			order = append(order, i)
		}
	}
	return order
}
