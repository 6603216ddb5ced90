package simulate

import (
	"math/rand/v2"

	"stint/internal/rank"
)

const (
	// recentSessions is the window in which neglect and monotony are looked for.
	recentSessions = 20
	// neglected is the part of the window up to which a category counts as neglected,
	// and monotonous the part above which one counts as too much.
	neglected, monotonous = 0.05, 0.40
	// neglectBonus is added to what was neglected, once for itself and once when the
	// work is on a plateau, and recencyMalus taken from what the last fire started.
	neglectBonus, recencyMalus = 0.3, 0.05
	// converged is the variance below which a belief counts as settled.
	converged = 0.02
	// sampled is the number of sessions from which a category is judged settled.
	sampled = 3
)

// additive is the formula that fleets of this kind are run by: a Thompson draw from
// Beta(1+S, 1+n-S), where all evidence fades by gamma at every grade, plus bonuses for
// what was neglected.
type additive struct {
	tally
	gamma  float64
	rng    *rand.Rand
	recent []int // the last sessions' categories, oldest first
	last   []int // round that started each category
}

func (a *additive) learn(e flight) {
	if e.verdict.Grade != nil || e.verdict.Empty() {
		a.fade(a.gamma)
	}
	a.tally.learn(e)
}

func (a *additive) choose(v view) choice {
	a.draw(a.rng)
	share := a.shares()
	plateau := a.plateau(share)
	for i := range a.scores {
		if share[i] <= neglected {
			a.scores[i] += neglectBonus
			if plateau {
				a.scores[i] += neglectBonus
			}
		}
		if a.last[i] == v.round-1 && v.round > 1 {
			a.scores[i] -= recencyMalus
		}
	}
	c := a.best(v)
	for _, i := range c.picks {
		a.last[i] = v.round
		a.recent = append(a.recent, i)
	}
	a.recent = a.recent[max(0, len(a.recent)-recentSessions):]
	return c
}

// shares are the categories' parts of the recent sessions.
func (a *additive) shares() []float64 {
	share := make([]float64, len(a.scores))
	for _, i := range a.recent {
		share[i] += 1 / float64(len(a.recent))
	}
	return share
}

// plateau reports whether the work seems to go in circles: every belief is settled, or
// one category has most of the recent sessions while another has next to none.
func (a *additive) plateau(share []float64) bool {
	settled, most, least := true, 0.0, 1.0
	for i, n := range a.n {
		sd := rank.Beta{A: 1 + a.sum[i], B: 1 + max(0, n-a.sum[i])}.SD()
		settled = settled && n >= sampled && sd*sd < converged
		most, least = max(most, share[i]), min(least, share[i])
	}
	return settled || most > monotonous && least <= neglected
}
