package simulate

import (
	"testing"
)

// TestLateOutcomesAreLearnt has work whose first grade correlates by 0.3 with whether it is merged,
// which is known one to seven days later. The ranking itself is compared, without
// floors, caps and forgetting, which cost more than the delay does.
func TestLateOutcomesAreLearnt(t *testing.T) {
	t.Parallel()
	s, err := Load("../../testdata/scenarios/fates.toml")
	if err != nil {
		t.Fatal(err)
	}
	var policies []Policy
	for _, p := range s.AllPolicies() {
		if p.Name == "stint-core" || p.Name == "core-at-once" || p.Name == "core-never" {
			policies = append(policies, p)
		}
	}
	r, err := Run(t.Context(), s, Options{Policies: policies, Runs: 12, Seed: 3, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	later, atOnce, never := r.Policies[0].Regret.Mean, r.Policies[1].Regret.Mean, r.Policies[2].Regret.Mean
	t.Logf("regret %.1f later, %.1f at once, %.1f never", later, atOnce, never)
	if later > 1.25*atOnce || later > 0.5*never {
		t.Errorf("got a regret of %.1f, want at most 1.25 × %.1f, learnt at once, and half of %.1f, never learnt", later, atOnce, never)
	}
}
