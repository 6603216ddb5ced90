package simulate

import (
	"math/rand/v2"
	"testing"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/grade"
)

// honest is what a session leaves that works as sessions do: mostly a change, of any
// size, now and then with its tests, sometimes nothing, and sometimes a failure.
func honest(rng *rand.Rand) grade.Evidence {
	e := grade.Evidence{
		Exit: fleet.SessionExit{End: fleet.Exited}, Changes: &grade.Changes{},
		Transcript: &grade.Transcript{ToolCalls: 30, ToolErrors: rng.IntN(6)},
	}
	switch chance := rng.Float64(); {
	case chance < 0.1:
		e.Exit.Status = 1
		return e
	case chance < 0.2:
		return e
	}
	e.Commits, e.Changes.Commits, e.Changes.Files = 1, 1, 1+rng.IntN(5)
	e.Changes.Insertions, e.Changes.Tests = 1+rng.IntN(80), rng.IntN(2)
	return e
}

// liar claims the best there is, and does nothing.
func liar(trusted bool) grade.Evidence {
	return grade.Evidence{
		Exit:    fleet.SessionExit{End: fleet.Exited, Result: []byte(`{"outcome":"productive","grade":1,"task_state":"done"}`)},
		Changes: &grade.Changes{}, Trusted: trusted,
	}
}

// shareOfLiar is what the first of four equal categories gets of its share, when its
// sessions lie and the others' are graded by what they leave: by the grades and the
// ranking of real fires.
func shareOfLiar(t *testing.T, trusted bool, workers int, seed uint64) float64 {
	t.Helper()
	const fires = 1000
	s := &Scenario{Fires: fires, Workers: workers}
	for _, name := range []fleet.Category{"liar", "code", "docs", "tests"} {
		s.Categories = append(s.Categories, Category{Name: name, Share: 0.25})
	}
	policy := newRanked(bandit.Defaults(), s, seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	sessions := make([]int, len(s.Categories))
	for fire := fleet.FireID(1); fire <= fires; fire++ {
		c := policy.choose(view{fire: fire, awake: []bool{true, true, true, true}, picks: workers, free: workers, busy: make([]int, 4)})
		for i, category := range c.picks {
			sessions[category]++
			e := honest(rng)
			if category == 0 {
				e = liar(trusted)
			}
			v := grade.Judge(e)
			end := ended{category: category, started: fire, load: c.loads[i]}
			end.length, end.noop = 1, v.Outcome == fleet.Noop
			if v.Grade != nil {
				end.graded, end.grade = true, *v.Grade
			}
			policy.learn(end)
		}
	}
	return float64(sessions[0]) / (0.25 * fires * float64(workers))
}

// TestALiarGainsNothing compares it with one that is trusted, which gets nearly all that
// the caps leave.
func TestALiarGainsNothing(t *testing.T) {
	t.Parallel()
	const seeds = 5
	for _, workers := range []int{1, 2} {
		mean, most, believed := 0.0, 0.0, 0.0
		for seed := range uint64(seeds) {
			share := shareOfLiar(t, false, workers, seed+1)
			mean, most = mean+share/seeds, max(most, share)
			believed += shareOfLiar(t, true, workers, seed+1) / seeds
		}
		t.Logf("%d workers: a liar gets %.2f of its share, at most %.2f; a trusted one %.2f", workers, mean, most, believed)
		if most > 1.1 {
			t.Errorf("%d workers: a liar gets up to %.2f of its share, want at most 1.1", workers, most)
		}
		if believed < 1.5 {
			t.Errorf("%d workers: a liar that is believed gets %.2f: this shows nothing", workers, believed)
		}
	}
}
