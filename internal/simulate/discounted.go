package simulate

import (
	"math/rand/v2"

	"stint/internal/bandit"
)

// discounted is Thompson sampling from Beta(1+S, 1+n-S) where all evidence fades by
// gamma at every fire (Raj and Kalyani, "Taming Non-stationary Bandits", 2017), with
// grades taken as they are.
type discounted struct {
	tally
	gamma float64
	rng   *rand.Rand
}

func (d *discounted) choose(v view) choice {
	if v.fire > 1 {
		d.fade(d.gamma)
	}
	d.draw(d.rng)
	return d.best(v)
}

// draw makes one Thompson draw per category its score.
func (t *tally) draw(rng *rand.Rand) {
	for i, n := range t.n {
		t.scores[i] = bandit.Beta{A: 1 + t.sum[i], B: max(0, n-t.sum[i]) + 1}.Draw(rng)
	}
}
