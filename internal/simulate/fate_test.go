package simulate

import (
	"slices"
	"testing"

	"stint/internal/testkit/must"
)

// TestLateOutcomesAreLearnt has work whose first grade correlates by 0.3 with whether it is merged,
// which is known one to seven days later. With floors and caps, the regret is what is beyond their price: somebody who
// knows all and keeps them has that regret, too.
func TestLateOutcomesAreLearnt(t *testing.T) {
	t.Parallel()
	s := must.Get(Load("../../testdata/scenarios/fates.toml"))(t)
	names := []string{"known", "stint-core", "core-at-once", "core-never", "stint", "at-once", "never", "lasting", "lasting-at-once", "lasting-never"}
	policies := slices.DeleteFunc(s.AllPolicies(), func(p Policy) bool { return !slices.Contains(names, p.Name) })
	r := must.Get(Run(t.Context(), s, Options{Policies: policies, Runs: 12, Seed: 3, Parallel: 2}))(t)
	regret := map[string]float64{}
	for _, p := range r.Policies {
		regret[p.Policy.Name] = p.Regret.Mean
	}
	for _, tt := range []struct {
		later, atOnce, never string
		price                float64 // of floors and caps
	}{
		{"stint-core", "core-at-once", "core-never", 0},
		{"stint", "at-once", "never", regret["known"]},
		{"lasting", "lasting-at-once", "lasting-never", regret["known"]},
	} {
		later, atOnce, never := regret[tt.later]-tt.price, regret[tt.atOnce]-tt.price, regret[tt.never]-tt.price
		t.Logf("%s: beyond %.1f, regret %.1f later, %.1f at once, %.1f never", tt.later, tt.price, later, atOnce, never)
		if later > 1.25*atOnce || later > 0.5*never {
			t.Errorf("%s: got a regret of %.1f, want at most 1.25 × %.1f, learnt at once, and half of %.1f, never learnt", tt.later, later, atOnce, never)
		}
	}
}
