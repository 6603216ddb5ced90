package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// textbook is Thompson sampling with multiple plays as it is published: Beta(1+S, 1+n-S)
// and the highest draws. It draws with the generator of real fires.
type textbook struct {
	tally
	s    *Scenario
	seed uint64
}

func (b *textbook) choose(v view) choice {
	for i, c := range b.s.Categories {
		belief := rank.Beta{A: 1 + b.sum[i], B: 1 + b.n[i] - b.sum[i]}
		b.scores[i] = belief.Draw(rank.Generator(b.seed, v.fire, c.Name))
	}
	return b.best(v)
}

// TestPlainIsTheTextbook compares the ranking of real fires, stripped of all that is
// stint's own, with the textbook: pick for pick, over a thousand fires.
func TestPlainIsTheTextbook(t *testing.T) {
	t.Parallel()
	s := &Scenario{Fires: 1000, Workers: 3, Grades: Grades{Noise: Bernoulli, Missing: 0.1}}
	for i := range 10 {
		s.Categories = append(s.Categories, Category{Name: fleet.Category(fmt.Sprintf("c%d", i)), Mean: 0.3 + 0.05*float64(i), Share: 1})
	}
	settings := core()
	settings.Anchor, settings.Dispersion = false, false
	seed := keyOf(1, 0, "policy")
	got := picks(s, newRanked(Policy{Settings: settings}, s, seed))
	want := picks(s, &textbook{tally: newTally(Policy{}, 10), s: s, seed: seed})
	if diff := gocmp.Diff(got, want); diff != "" {
		t.Errorf("the ranking and the textbook (-ranking +textbook):\n%s", diff)
	}
}

// recorder notes what a policy picks.
type recorder struct {
	player
	picked [][]int
}

func (r *recorder) choose(v view) choice {
	c := r.player.choose(v)
	r.picked = append(r.picked, slices.SortedFunc(slices.Values(c.picks), cmp.Compare[int]))
	return c
}

func picks(s *Scenario, p player) [][]int {
	r := &recorder{player: p}
	one := newPlay(s, Policy{Kind: Random}, 1, 0)
	one.player = r
	one.run(func() bool { return false })
	return r.picked
}
