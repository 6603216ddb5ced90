package simulate

import "math"

// ucb1 takes the categories whose means so far and bonus sqrt(1.5 ln t / n) are highest
// (Auer, Cesa-Bianchi and Fischer, "Finite-time Analysis of the Multiarmed Bandit
// Problem", Machine Learning 47, 2002, with 1.5 in place of 2).
type ucb1 struct{ tally }

func (u *ucb1) choose(v view) choice {
	bonus := 1.5 * math.Log(float64(v.fire))
	for i, n := range u.n {
		u.scores[i] = math.Inf(1)
		if n > 0 {
			u.scores[i] = u.sum[i]/n + math.Sqrt(bonus/n)
		}
	}
	return u.best(v)
}
