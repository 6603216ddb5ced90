package simulate

import (
	"fmt"
	"testing"

	"stint/internal/fleet"
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
