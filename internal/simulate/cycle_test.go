package simulate

import (
	"fmt"
	"testing"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// cycles are twelve categories whose grades swing over so many fires.
func cycles(every int, swing float64) *Scenario {
	s := &Scenario{
		Fires: 2000, Workers: 3, Grades: Grades{Noise: Graded, Concentration: 5.2},
		Change: Change{Kind: Cycle, Every: every, Swing: swing},
	}
	for i := range 12 {
		s.Categories = append(s.Categories, Category{Name: fleet.Category(fmt.Sprintf("c%02d", i)), Mean: 0.55, Share: 1.0 / 12})
	}
	return s
}

// TestCyclesOfADayAreFollowed has grades that swing by 0.2 in a day of 48 fires, where taking
// turns earns 1.65 a fire: the season earns 1.72 at least, within floors and caps.
func TestCyclesOfADayAreFollowed(t *testing.T) {
	t.Parallel()
	blind := bandit.Defaults()
	blind.Season = false
	r := must.Get(Run(t.Context(), cycles(48, 0.2), Options{Runs: 8, Seed: 11, Parallel: 2, Policies: []Policy{
		{Name: "stint", Kind: Ranked, Settings: bandit.Defaults()}, {Name: "blind", Kind: Ranked, Settings: blind},
	}}))(t)
	stint, without := r.Policies[0], r.Policies[1]
	if stint.RewardPerFire.Mean < 1.72 || without.RewardPerFire.Mean > 1.68 {
		t.Errorf("got %v a fire, and %v without the season, want at least 1.72 and about 1.65", stint.RewardPerFire, without.RewardPerFire)
	}
	if stint.MinRatio.Mean < 0.49 || stint.MaxRatio.Mean > 1.81 {
		t.Errorf("got %v to %v times the entitlement, want 0.49 to 1.81", stint.MinRatio.Mean, stint.MaxRatio.Mean)
	}
}

// TestCyclesSwing follows the true means through a whole period.
func TestCyclesSwing(t *testing.T) {
	t.Parallel()
	w := newWorld(cycles(48, 0.6), 1, 0)
	low, high := 1.0, 0.0
	for fire := 1; fire <= 48; fire++ {
		w.move(fire)
		low, high = min(low, w.mean[3]), max(high, w.mean[3])
	}
	first := w.mean[3]
	for fire := 49; fire <= 96; fire++ {
		w.move(fire)
	}
	if low != 0 || high != 1 || w.mean[3] != first {
		t.Errorf("got means from %v to %v, and %v after a period where %v was, want 0 to 1 and the same", low, high, w.mean[3], first)
	}
}
