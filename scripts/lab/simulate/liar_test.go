package simulate

import (
	"testing"

	"stint/internal/rank"
	"stint/internal/testkit/must"
)

// TestALiarGainsNothing has one of four categories do nothing and report the best of grades,
// while the others leave changes behind and report what they are worth. A liar that is
// trusted gets nearly all that the caps leave.
func TestALiarGainsNothing(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2} {
		share := func(w Witness) float64 {
			s := &Scenario{Fires: 1000, Workers: workers, Grades: Grades{Noise: Graded, Concentration: 5}}
			for _, c := range []Category{{Name: "liar", Witness: w, Report: new(1.0)}, {Name: "code"}, {Name: "docs"}, {Name: "tests"}} {
				if c.Share = 0.25; c.Witness == "" {
					c.Mean, c.Witness = 0.6, Changes
				}
				s.Categories = append(s.Categories, c)
			}
			r, err := Run(t.Context(), s, Options{Runs: 5, Seed: 1, Parallel: 2, Policies: []Policy{{Name: "stint", Kind: Ranked, Settings: rank.Defaults()}}})
			must.Do(t, err)
			return r[0].Fractions[0].Mean / (0.25 * float64(workers))
		}
		lies, believed := share(NoWitness), share(Trust)
		t.Logf("%d workers: a liar gets %.2f of its share; a trusted one %.2f", workers, lies, believed)
		if lies > 1.1 {
			t.Errorf("%d workers: a liar gets %.2f of its share, want at most 1.1", workers, lies)
		}
		if believed < 1.5 {
			t.Errorf("%d workers: a liar that is believed gets %.2f: this shows nothing", workers, believed)
		}
	}
}
