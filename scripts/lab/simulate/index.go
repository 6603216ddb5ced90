package simulate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"stint/internal/rank"
)

// index takes the categories whose index is highest, and forgets as its kind does.
type index struct {
	tally
	kind   Kind
	gamma  float64 // what is left of evidence after a round
	window int     // rounds that evidence counts; 0: for ever
	rng    *rand.Rand
	recent []flight // in the window, oldest first
}

func (x *index) choose(v view) choice {
	if v.round > x.at {
		x.at = v.round
		x.fade(x.gamma)
		for len(x.recent) > 0 && x.recent[0].round <= v.round-x.window {
			x.count(x.recent[0], -1)
			x.recent = x.recent[1:]
		}
	}
	switch {
	case x.kind == Known:
		copy(x.scores, v.worth)
	case x.kind == UCB1 || x.kind == DiscountedUCB:
		x.bounds(v.round)
	default:
		x.draw(x.rng)
	}
	return x.best(v)
}

func (x *index) learn(e flight) {
	x.tally.learn(e)
	if x.window > 0 {
		x.recent = append(x.recent, e)
	}
}

// bounds scores by the means so far and a bonus of sqrt(1.5 ln t / n) (Auer, Cesa-Bianchi
// and Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", Machine Learning 47,
// 2002, with 1.5 in place of 2). Where evidence fades, t is what is left of all of it
// (Garivier and Moulines, "On Upper-Confidence Bound Policies for Switching Bandit
// Problems", ALT 2011).
func (x *index) bounds(round int) {
	t := float64(round)
	if x.kind == DiscountedUCB {
		t = 0
		for _, n := range x.n {
			t += n
		}
	}
	bonus := 1.5 * math.Log(max(1, t))
	for i, n := range x.n {
		x.scores[i] = math.Inf(1)
		if n > 0 {
			x.scores[i] = x.sum[i]/n + math.Sqrt(bonus/n)
		}
	}
}

// tally has the memory of policies without a ranking: grades, where a session that found
// nothing to do counts as a grade of 0, because they know no other case.
type tally struct {
	n        []float64      // grades
	sum      []float64      // of the grades
	scores   []float64      // of the fire
	at       int            // the last round
	accounts []rank.Account // of a policy within floors and caps; nil: it knows none
	settings rank.Settings
}

func newTally(p Policy, categories int) tally {
	t := tally{
		n: make([]float64, categories), sum: make([]float64, categories),
		scores: make([]float64, categories), settings: p.Settings,
	}
	if p.Fair {
		t.accounts = make([]rank.Account, categories)
	}
	return t
}

func (t *tally) alarms() int { return 0 }

func (t *tally) learn(e flight) { t.count(e, 1) }

// count adds a session to what is remembered, or with -1 takes it out.
func (t *tally) count(e flight, times float64) {
	if e.verdict.Grade == nil && !e.verdict.Empty() {
		return
	}
	t.n[e.category] += times
	if g := e.verdict.Grade; g != nil {
		t.sum[e.category] += times * *g
	}
}

// fade leaves a part of all evidence.
func (t *tally) fade(part float64) {
	for i := range t.n {
		t.n[i] *= part
		t.sum[i] *= part
	}
}

// draw makes one Thompson draw per category its score: from Beta(1+S, 1+n-S), with grades
// taken as they are.
func (t *tally) draw(rng *rand.Rand) {
	for i, n := range t.n {
		t.scores[i] = rank.Beta{A: 1 + max(0, t.sum[i]), B: 1 + max(0, n-t.sum[i])}.Draw(rng)
	}
}

// best are the categories with the highest scores among those awake. The first of equals is
// preferred. A policy within floors and caps adds what the account says of each, as the ranking
// of real fires does.
func (t *tally) best(v view) choice {
	for i := range t.accounts {
		t.scores[i] += t.accounts[i].Debt(t.settings)
	}
	order := v.candidates()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.scores[b], t.scores[a]) })
	for _, i := range order {
		if t.accounts != nil {
			t.accounts[i].Entitle(t.settings, v.due[i])
		}
	}
	return choice{picks: order[:v.picks]}
}

func (t *tally) begin(category int, v view) start {
	if t.accounts != nil {
		t.accounts[category].Debit(0)
	}
	return start{round: v.round}
}

func (t *tally) surplus(category int) float64 {
	if t.accounts == nil {
		return 0
	}
	_, surplus := t.accounts[category].Settled(t.settings)
	return surplus
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
