package rank

import (
	"math"
	"slices"
	"testing"

	"stint/internal/fleet"
)

// TestAlarmAfterAChange has a category change for good: the alarm comes within a few
// dozen sessions, the grades from before go, and so few of those since are kept that the
// belief stays open.
func TestAlarmAfterAChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		before, after []float64
		mean, within  float64 // of the grades that are kept; of six coins one may differ
	}{
		{"better", []float64{0.2, 0.4}, []float64{0.7, 0.9}, 0.8, 0.1},
		{"worse", []float64{0.7, 0.9}, []float64{0.2, 0.4}, 0.3, 0.1},
		{"coins, better", []float64{0, 1, 0, 0, 0}, []float64{1, 1, 1, 0, 1}, 0.8, 0.2},
		{"coins, worse", []float64{1, 1, 1, 0, 1}, []float64{0, 1, 0, 0, 0}, 0.2, 0.2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Defaults()
			a := learned(s, 1, slices.Repeat(tt.before, 40)...)
			if a.Alarms != 0 {
				t.Fatalf("got %d alarms before the change, want none", a.Alarms)
			}
			for n := range 60 {
				if !s.Learn(in(1, a), s.Prior(at(1, []*Arm{a})), Graded{Round: 1, Grade: tt.after[n%len(tt.after)]}) {
					continue
				}
				if a.Alarms != 1 || a.Fast.W > 6+near || a.Fast != a.Slow {
					t.Errorf("got %d alarms, evidence %+v and %+v after %d sessions, want one alarm and at most 6 sessions",
						a.Alarms, a.Fast, a.Slow, n+1)
				}
				if mean := a.Fast.S / a.Fast.W; math.Abs(mean-tt.mean) > tt.within {
					t.Errorf("got the mean %v after the alarm, want %v ± %v", mean, tt.mean, tt.within)
				}
				if a.Up != (Drift{}) || a.Down != (Drift{}) {
					t.Errorf("got %+v, %+v after the alarm, want it to start over", a.Up, a.Down)
				}
				return
			}
			t.Errorf("got no alarm in 60 sessions, want one")
		})
	}
}

// TestNoAlarmWithoutAChange counts false alarms: one in about ten thousand sessions of
// coins, next to none of grades that scatter less.
func TestNoAlarmWithoutAChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		grade func(draw func() float64) float64
		most  int // of 30,000 sessions
	}{
		{"coins", func(draw func() float64) float64 { return math.Floor(draw() + 0.4) }, 8},
		{"graded", func(draw func() float64) float64 { return 0.3 + 0.5*draw() }, 1},
		{"all the same", func(func() float64) float64 { return 0.6 }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Defaults()
			a, rng := &Arm{}, Generator(23, 1, "noise")
			for fire := range fleet.Round(30_000) {
				s.Learn(in(fire, a), s.Prior(at(fire, []*Arm{a})), Graded{Round: fire, Grade: tt.grade(rng.Float64)})
			}
			if a.Alarms > tt.most {
				t.Errorf("got %d alarms in 30,000 sessions without a change, want at most %d", a.Alarms, tt.most)
			}
		})
	}
}

// TestCommonShiftIsNoChange has the grades of some categories fall: those raise an alarm, unless all others fall with them.
func TestCommonShiftIsNoChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		all, changed int
		want         []int
	}{{6, 0, nil}, {6, 1, []int{0}}, {6, 2, []int{0, 1}}, {6, 6, nil}, {2, 1, []int{0}}, {2, 2, nil}, {1, 1, []int{0}}} {
		s, arms := Defaults(), make([]*Arm, tt.all)
		for i := range arms {
			arms[i] = &Arm{}
		}
		for round := range fleet.Round(100) {
			for i, a := range at(round, arms) {
				grade := 0.7 + 0.1*float64((int(round)+i)%2*2-1)
				if round >= 40 && i < tt.changed {
					grade -= 0.4
				}
				s.Learn(a, s.Prior(arms), Graded{Round: round, Grade: grade})
			}
		}
		var got []int
		for i, a := range arms {
			if a.Alarms > 0 {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d of %d change: got alarms in %v, want %v", tt.changed, tt.all, got, tt.want)
		}
	}
}

// TestAlarmOff has settings without the detector never forget at once.
func TestAlarmOff(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.Alarm = 0
	a := learned(s, 1, slices.Concat(slices.Repeat([]float64{0.1}, 200), slices.Repeat([]float64{0.9}, 200))...)
	if a.Alarms != 0 || math.Abs(a.Fast.W-400) > near {
		t.Errorf("got %d alarms and a weight of %v, want none and 400", a.Alarms, a.Fast.W)
	}
}

// TestRestartKeepsTheStrongerSide has grades since either statistic was 0, more than six
// sessions of them or fewer.
func TestRestartKeepsTheStrongerSide(t *testing.T) {
	t.Parallel()
	many, few := Sums{W: 24, S: 18, G2: 16}, Sums{W: 3, S: 1, G2: 0.5}
	tests := []struct {
		name     string
		up, down Drift
		want     Sums
	}{
		{"up", Drift{Level: 16, Since: many}, Drift{Level: 2, Since: few}, Sums{W: 6, S: 4.5, G2: 4}},
		{"down", Drift{Level: 2, Since: many}, Drift{Level: 16, Since: few}, few},
	}
	for _, tt := range tests {
		tt.up.From, tt.down.From = 17, 38
		e := Evidence{Graded: 40, Fast: Sums{W: 99, S: 9, G2: 9}, Slow: Sums{W: 99, S: 9, G2: 9}, Up: tt.up, Down: tt.down}
		e.restart()
		if all := e.Behind(); all != map[string]int{"up": 24, "down": 3}[tt.name] {
			t.Errorf("%s: got that the belief goes by %d sessions", tt.name, all)
		}
		if e.Fast != tt.want || e.Slow != tt.want || e.Alarms != 1 {
			t.Errorf("%s: got %+v, want %+v of one alarm", tt.name, e, tt.want)
		}
	}
}

// TestDriftIsPage has the statistic worked out by hand: surprises less a quarter, never
// below 0, and the grades since it last was.
func TestDriftIsPage(t *testing.T) {
	t.Parallel()
	steps := []struct {
		surprise, grade, level, weight, sum float64
	}{
		{1, 0.75, 0.75, 1, 0.75},
		{0.25, 0.5, 0.75, 2, 1.25},
		{-0.25, 0.25, 0.25, 3, 1.5},
		{-0.5, 0.25, 0, 0, 0},
		{0.25, 0.5, 0, 0, 0},
		{2.25, 1, 2, 1, 1},
	}
	var d Drift
	for i, step := range steps {
		d.step(step.surprise, step.grade, i+1)
		if d.Level != step.level || d.Since.W != step.weight || d.Since.S != step.sum {
			t.Errorf("step %d: got %+v, want level %v, weight %v, sum %v", i, d, step.level, step.weight, step.sum)
		}
	}
}
