package rank

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func approximately() cmp.Option { return cmpopts.EquateApprox(near, near) }

// learned is an arm that had these grades at the fire now, one a session.
func learned(s Settings, now fleet.Round, grades ...float64) *Arm {
	a := &Arm{}
	for _, g := range grades {
		s.Learn(in(now, a), s.Prior(at(now, []*Arm{a})), Graded{Round: now, Grade: g})
	}
	return a
}

// TestBelief has beliefs worked out by hand.
func TestBelief(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		settings Settings
		grades   []float64
		want     Beta
	}{
		{"never run", Defaults(), nil, Beta{1, 1}},
		{"never run, plain", Settings{V: 10}, nil, Beta{1, 1}},
		{"plain, whole grades", Settings{V: 10}, []float64{1, 0, 1}, Beta{3, 2}},
		{"plain, fractions", Settings{V: 10}, []float64{0.75, 0.5}, Beta{2.25, 1.75}},
		// The mean of all is 12/23, so the anchor is (4·12/23 + 1)/5 = 71/115.
		{"one success", Defaults(), []float64{1}, Beta{2*71.0/115 + 1, 2 * 44.0 / 115}},
		// The scatter is 0.02 of 0.5: 2.52/3 of all, and (10·0.84 + 2·0.04)/12 here.
		{"two grades alike", Defaults(), []float64{0.4, 0.6}, Beta{1 + 1/(8.48/12), 1 + 1/(8.48/12)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := learned(tt.settings, 5, tt.grades...)
			got := tt.settings.Belief(in(5, a), tt.settings.Prior(at(5, []*Arm{a})))
			must.Equal(t, "belief", got, tt.want, approximately())
		})
	}
}

// TestFadedEvidenceWeighsInThePrior has half of the evidence faded: it goes over to the
// prior, up to ten sessions of it.
func TestFadedEvidenceWeighsInThePrior(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.SlowHalfLife, s.Alarm = 0, 0
	for pairs, want := range map[int]Beta{4: {5, 5}, 12: {12, 12}, 20: {16, 16}} {
		a := learned(s, 0, slices.Repeat([]float64{0, 1}, pairs)...)
		if diff := cmp.Diff(s.Belief(in(300, a), s.Prior(at(300, []*Arm{a}))), want, approximately()); diff != "" {
			t.Errorf("%d sessions, a half-life later (-got +want):\n%s", 2*pairs, diff)
		}
	}
}

// TestNewCategoryExpectsWhatTheOthersBring has a category that never ran among
// others.
func TestNewCategoryExpectsWhatTheOthersBring(t *testing.T) {
	t.Parallel()
	s := Defaults()
	good := learned(s, 1, slices.Repeat([]float64{1, 0.8}, 100)...)
	arms := []*Arm{good, good, good, good, {}}
	b := s.Belief(in(1, arms[4]), s.Prior(at(1, arms)))
	if weight := b.A + b.B; math.Abs(weight-2) > near || b.Mean() < 0.7 || b.Mean() > 0.9 {
		t.Errorf("got %+v, mean %v, want a weight of 2 and a mean towards 0.9", b, b.Mean())
	}
}

// TestGradesFadeByRounds halves a grade's weight after a half-life, of the fast
// and of the slow sums.
func TestGradesFadeByRounds(t *testing.T) {
	t.Parallel()
	s := Defaults()
	e := s.forward(learned(s, 100, 1, 0.5).Evidence, 400)
	must.Equal(t, "after 300 rounds", e.Fast, Sums{W: 1, S: 0.75, G2: 0.625}, approximately())
	e = s.forward(e, 3100)
	must.Equal(t, "after 3000 rounds", e.Slow, Sums{W: 1, S: 0.75, G2: 0.625}, approximately())
}

// arrival is a grade and when it came.
type arrival struct {
	Graded
	at fleet.Round
}

func drawGrade(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(0, 1)).Draw(t, "grade")
}

// drawArrivals draws sessions and, in order, when their grades come.
func drawArrivals(t *rapid.T, most int) (list []arrival) {
	clock := fleet.Round(0)
	for range rapid.IntRange(1, most).Draw(t, "grades") {
		clock += fleet.Round(rapid.IntRange(0, 90).Draw(t, "later"))
		started := fleet.Round(rapid.Int64Range(0, int64(clock)).Draw(t, "started"))
		load := rapid.Float64Range(0, 1).Draw(t, "load")
		list = append(list, arrival{Graded{Round: started, Load: load, Turn: Turn{float64(started%48) / 48, float64(started%336) / 336}, Grade: drawGrade(t)}, clock})
	}
	return list
}

// TestOrderOfGradesIsNothing shuffles grades: the sums depend on when sessions were
// started, and on neither when nor in which order their grades came. The change
// detector is left out: it reads grades as they come.
func TestOrderOfGradesIsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		s.Alarm = 0
		grades := drawArrivals(t, 12)
		end := grades[len(grades)-1].at
		var as, batch Arm
		for _, g := range grades {
			s.Learn(in(g.at, &as), Prior{Mean: 0.5, Dispersion: 1}, g.Graded)
		}
		for _, g := range rapid.Permutation(grades).Draw(t, "order") {
			s.Learn(in(end, &batch), Prior{Mean: 0.5, Dispersion: 1}, g.Graded)
		}
		ignore := cmpopts.IgnoreFields(Evidence{}, "Up", "Down", "Lately")
		must.Equal(t, "all at once in another order", batch.Evidence, as.Evidence, approximately(), ignore)
	})
}

// TestLazyIsEager brings one arm forward at every fire and another on demand: both believe
// the same.
func TestLazyIsEager(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		s.Alarm = 0 // a level that is met to the last bit would differ
		grades := drawArrivals(t, 8)
		end := grades[len(grades)-1].at + 50
		var lazy, eager Arm
		arms := func(a *Arm) []*Arm { return []*Arm{a, {}} }
		for fire := range end + 1 {
			eager.Evidence = s.forward(eager.Evidence, fire)
			for _, g := range grades {
				if g.at == fire {
					s.Learn(in(fire, &lazy), s.Prior(at(fire, arms(&lazy))), g.Graded)
					s.Learn(in(fire, &eager), s.Prior(at(fire, arms(&eager))), g.Graded)
				}
			}
		}
		got, want := s.Belief(in(end, &lazy), s.Prior(at(end, arms(&lazy)))), s.Belief(in(end, &eager), s.Prior(at(end, arms(&eager))))
		if diff := cmp.Diff(got, want, cmpopts.EquateApprox(1e-6, 1e-6)); diff != "" {
			t.Errorf("belief (-lazy +eager):\n%s", diff)
		}
		if diff := cmp.Diff(s.forward(lazy.Evidence, end), eager.Evidence, approximately()); diff != "" {
			t.Errorf("evidence (-lazy +eager):\n%s", diff)
		}
	})
}

// TestEvidenceNeverGoesBack asks an arm about a fire that is over: it must not fade
// twice on the way back.
func TestEvidenceNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := Defaults()
	a := learned(s, 0, 1, 1)
	a.Evidence = s.forward(a.Evidence, 300)
	back := s.forward(s.forward(a.Evidence, 0), 300)
	must.Equal(t, "there and back", back, a.Evidence, approximately())
}

// TestBeliefsAreProper draws evidence as it comes: a distribution must result.
func TestBeliefsAreProper(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		var a Arm
		now := fleet.Round(0)
		for _, g := range drawArrivals(t, 30) {
			s.Learn(in(g.at, &a), s.Prior(at(g.at, []*Arm{&a})), g.Graded)
			now = g.at
		}
		now += fleet.Round(rapid.Int64Range(0, 100_000).Draw(t, "idle"))
		p := s.Prior(at(now, []*Arm{&a}))
		b := s.Belief(in(now, &a), p)
		if !(b.A > 0 && b.B > 0 && b.A < 1e9 && b.B < 1e9) {
			t.Errorf("got %+v, want two finite parameters above 0", b)
		}
		if !(0 < p.Mean && p.Mean < 1 && minDispersion <= p.Dispersion && p.Dispersion <= 1) {
			t.Errorf("got %+v, want a mean in (0,1) and a dispersion in [0.05,1]", p)
		}
	})
}

// TestRaisingAGradeNeverLowersTheMean raises one grade of a category. The promise holds
// at a given dispersion: a grade that is raised may scatter more, and then all grades
// count a little less beside the prior.
func TestRaisingAGradeNeverLowersTheMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		s.Alarm, s.Dispersion = 0, false
		grades := drawArrivals(t, 15)
		mean := func() float64 {
			var a Arm
			for _, g := range grades {
				s.Learn(in(g.at, &a), s.Prior(at(g.at, []*Arm{&a})), g.Graded)
			}
			end := grades[len(grades)-1].at
			return s.Belief(in(end, &a), s.Prior(at(end, []*Arm{&a}))).Mean()
		}
		before := mean()
		raised := &grades[rapid.IntRange(0, len(grades)-1).Draw(t, "which")]
		raised.Grade = rapid.Float64Range(raised.Grade, 1).Draw(t, "raised")
		if after := mean(); after < before-near {
			t.Errorf("got mean %v with a grade raised, want at least the %v before", after, before)
		}
	})
}

// TestABetterRecordBelievesMore compares records of the same weight: more good evidence
// raises every quantile.
func TestABetterRecordBelievesMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := Beta{rapid.Float64Range(0.1, 60).Draw(t, "a"), rapid.Float64Range(0.1, 60).Draw(t, "b")}
		more := rapid.Float64Range(0, b.B*0.9).Draw(t, "more")
		better := Beta{b.A + more, b.B - more}
		for _, p := range []float64{0.1, 0.5, 0.8, 0.95} {
			low, high := b.Interval(p)
			betterLow, betterHigh := better.Interval(p)
			if betterLow < low-1e-7 || betterHigh < high-1e-7 {
				t.Errorf("%v: got %v to %v of %+v, want no less than %v to %v of %+v", p, betterLow, betterHigh, better, low, high, b)
			}
		}
	})
}

// TestWholeGradesScatterMost learns from grades 0 and 1: their dispersion is exactly 1,
// however they faded.
func TestWholeGradesScatterMost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		s.Dispersion = true
		var a Arm
		now := fleet.Round(0)
		for _, g := range drawArrivals(t, 30) {
			g.Grade = math.Round(g.Grade)
			now = g.at
			s.Learn(in(now, &a), s.Prior(at(now, []*Arm{&a})), g.Graded)
		}
		p := s.Prior(at(now+7, []*Arm{&a, {}}))
		if got := s.dispersion(s.forward(a.Evidence, now+7), p); got != 1 || p.Dispersion != 1 {
			t.Errorf("got dispersion %v, of all %v, want exactly 1", got, p.Dispersion)
		}
	})
}

// TestDispersionSharpens has grades that hardly scatter: the belief is as narrow as
// their noise says, not as that of coins.
func TestDispersionSharpens(t *testing.T) {
	t.Parallel()
	s := Defaults()
	grades := slices.Repeat([]float64{0.5, 0.7}, 100)
	a := learned(s, 1, grades...)
	got := s.Belief(in(1, a), s.Prior(at(1, []*Arm{a})))
	s.Dispersion = false
	coins := s.Belief(in(1, a), s.Prior(at(1, []*Arm{a})))
	// Coins have the sd √(0.24/200) = 0.035; the least dispersion allows √0.05 of it.
	if math.Abs(got.Mean()-0.6) > 0.005 || math.Abs(coins.SD()-0.0345) > 0.0005 || math.Abs(got.SD()-0.0345*math.Sqrt(0.077)) > 0.003 {
		t.Errorf("got mean %v, sd %v, coins %v, want 0.6, 0.0096, 0.0345", got.Mean(), got.SD(), coins.SD())
	}
}

// TestIdlenessForgetsNoMean rests a category with a record: its belief widens, and its
// mean stays.
func TestIdlenessForgetsNoMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Defaults()
		mean := rapid.Float64Range(0.15, 0.85).Draw(t, "mean")
		a, other := &Arm{}, learned(s, 400, slices.Repeat([]float64{0.3, 0.6}, 20)...)
		for fire := range fleet.Round(400) {
			g := mean + 0.1*float64(fire%3-1)
			s.Learn(in(fire, a), s.Prior(at(fire, []*Arm{a, other})), Graded{Round: fire, Grade: g})
		}
		arms := []*Arm{a, other}
		start := s.Belief(in(400, a), s.Prior(at(400, arms)))
		last := start.SD()
		for idle := fleet.Round(10); idle <= 1000; idle += 10 {
			b := s.Belief(in(400+idle, a), s.Prior(at(400+idle, arms)))
			if math.Abs(b.Mean()-start.Mean()) >= 0.01 {
				t.Fatalf("after %d fires: got mean %v, want %v ± 0.01", idle, b.Mean(), start.Mean())
			}
			if b.SD() <= last {
				t.Fatalf("after %d fires: got sd %v, want more than %v", idle, b.SD(), last)
			}
			last = b.SD()
		}
	})
}

// TestADroughtLeavesTheMean is the failure that additive decay is known for: 50 fires
// asleep took a category from 0.285 to 0.5.
func TestADroughtLeavesTheMean(t *testing.T) {
	t.Parallel()
	s := Defaults()
	a := learned(s, 100, slices.Repeat([]float64{0.285}, 60)...)
	if got := s.Belief(in(150, a), s.Prior(at(150, []*Arm{a}))).Mean(); math.Abs(got-0.285) > 0.01 {
		t.Errorf("got mean %v after 50 fires asleep, want 0.285 ± 0.01", got)
	}
}

// at has all arms be in a round.
func at(now fleet.Round, arms []*Arm) []*Arm {
	for _, a := range arms {
		a.Round = now
	}
	return arms
}

func in(now fleet.Round, a *Arm) *Arm { return at(now, []*Arm{a})[0] }
