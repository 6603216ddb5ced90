package rank

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/fleet"
)

// depleted is an arm whose grades are 0.8 - slope·load, each a little off.
func depleted(s Settings, slope float64) *Arm {
	a := &Arm{}
	for i := range 300 {
		load := float64(i%7) / 10
		grade := 0.8 - slope*load + 0.05*float64(i%2*2-1)
		s.Learn(in(0, a), s.Prior(at(0, []*Arm{a})), Graded{Load: load, Grade: grade})
	}
	return a
}

// TestSameLoadCostsNothing ranks under the load that the belief was learnt under: it
// corrects nothing.
func TestSameLoadCostsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		s.Alarm = 0
		load := rapid.Float64Range(0, 1).Draw(t, "load")
		var a, other Arm
		for range rapid.IntRange(0, 9).Draw(t, "sessions") {
			s.Learn(in(0, &a), s.Prior(at(0, []*Arm{&a, &other})), Graded{Load: load, Grade: drawGrade(t)})
			s.Learn(in(0, &other), s.Prior(at(0, []*Arm{&a, &other})), Graded{Load: drawGrade(t), Grade: drawGrade(t)})
		}
		if got := s.plateau(a.Evidence, load, s.Prior(at(0, []*Arm{&a, &other}))); math.Abs(got) > near {
			t.Errorf("got %v under the usual load, want 0", got)
		}
	})
}

// TestDepletionIsFound has grades that fall with the load, or do not.
func TestDepletionIsFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		slope     float64
		depletion bool
		load      float64
		want      float64
	}{
		{"busier than usual", 0.5, true, 0.6, -0.15}, // usual is 0.3
		{"rested", 0.5, true, 0, 0.15},
		{"no depletion", 0, true, 0.6, 0},
		{"better when busy", -0.5, true, 0.6, 0}, // that is no depletion
		{"switched off", 0.5, false, 0.6, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Defaults()
			s.Alarm = 0
			s.Depletion = tt.depletion
			a := depleted(s, tt.slope)
			// A slope is drawn a little towards that of all.
			got := s.plateau(a.Evidence, tt.load, s.Prior(at(0, []*Arm{a})))
			if math.Abs(got-tt.want) > 0.03 {
				t.Errorf("got %v, want %v ± 0.03", got, tt.want)
			}
		})
	}
}

// TestPlateauByHand has sessions of coins. A pair of them is no evidence: the part is exactly 0. Of thirty pairs 11.11
// sessions' worth of doubt leave 15/26.11 of the slope for all, and (11.11·0.5745 + 15)/26.11 for this category.
func TestPlateauByHand(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.Alarm = 0
	var a Arm
	for pairs := 1; pairs <= 30; pairs++ {
		for _, load := range []float64{0, 1} {
			s.Learn(in(0, &a), s.Prior(at(0, []*Arm{&a})), Graded{Load: load, Grade: 1 - load})
		}
		got := s.plateau(a.Evidence, 1, s.Prior(at(0, []*Arm{&a})))
		if pairs == 1 && got != 0 || pairs == 30 && math.Abs(got+0.5*0.8189238) > 1e-6 {
			t.Errorf("%d pairs: got %v", pairs, got)
		}
	}
}

// TestPlateauCountsInTheScore follows an account's own load into the score.
func TestPlateauCountsInTheScore(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.Alarm = 0
	a := depleted(s, 0.5)
	busy := *a
	for fire := range fleet.Round(12) {
		busy.Debit(fire)
	}
	arms := []*Arm{a, &busy}
	r := NewScorer(s, 1, 12, at(12, arms))
	rested, tired := r.Score("code", a, 0, 0), r.Score("code", &busy, 0, 0)
	if !(rested.Plateau > 0.05 && tired.Plateau < -0.05) {
		t.Errorf("got plateau %v rested and %v busy, want above 0.05 and below -0.05", rested.Plateau, tired.Plateau)
	}
}
