package rank

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// trial is so many sessions with and without a lesson, all of the same grade each.
func trial(with int, grade float64, without int, other float64) (t Trial) {
	for range with {
		Settings{}.Try(&t, true, 0, Graded{Grade: grade})
	}
	for range without {
		Settings{}.Try(&t, false, 0, Graded{Grade: other})
	}
	return t
}

// TestEffect has effects worked out by hand.
func TestEffect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		trials []Trial
		noise  float64
		want   Effect
	}{
		{"no trial", nil, 0.05, Effect{SD: 0.1}},
		{"never withheld", []Trial{trial(9, 0.7, 0, 0)}, 0.05, Effect{SD: 0.1}},
		{"never injected", []Trial{trial(0, 0, 9, 0.7)}, 0.05, Effect{SD: 0.1}},
		// The variance is 0.05/5, as large as that of the prior: half of it remains.
		{"one category", []Trial{trial(10, 0.7, 10, 0.5)}, 0.05, Effect{0.2, 0.1, math.Sqrt(0.005)}},
		// Weights 5 and 15 give (5·0.2 - 15·0.2)/20, and 0.2/20 is the prior's variance.
		{"two disagree", []Trial{trial(10, 0.7, 10, 0.5), trial(30, 0.3, 30, 0.5)}, 0.2, Effect{-0.1, -0.05, math.Sqrt(0.005)}},
		// Over all sessions the lesson seems to bring 0.32: it was in easy work more often.
		{"confounded", []Trial{trial(90, 0.8, 10, 0.8), trial(10, 0.4, 90, 0.4)}, 0.18, Effect{0, 0, math.Sqrt(0.005)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			must.Equal(t, "effect", EffectOf(tt.trials, tt.noise), tt.want, approximately())
		})
	}
	for _, e := range []Effect{{Mean: 0.1, SD: 0.01}, {Mean: -0.1, SD: 0.01}} {
		if !e.Known() || e.Scored() != e.Mean {
			t.Errorf("%+v: known %t, in scores %v; want it known", e, e.Known(), e.Scored())
		}
	}
	if e := (Effect{Mean: -0.1, SD: 0.06}); e.Known() || e.Scored() != 0 {
		t.Errorf("%+v: known %t, in scores %v; want 0", e, e.Known(), e.Scored())
	}
	low, high := Effect{Mean: 0.05, SD: 0.1}.Interval()
	if math.Abs(low+0.146) > near || math.Abs(high-0.246) > near {
		t.Errorf("got %v to %v, want -0.146 to 0.246", low, high)
	}
}

// TestTrialsFadeInAnyOrder delivers the grades of a trial in any order and in batches: the
// sums are the same, and each session weighs by its age.
func TestTrialsFadeInAnyOrder(t *testing.T) {
	t.Parallel()
	s := Defaults()
	type try struct {
		Graded
		injected bool
	}
	rapid.Check(t, func(t *rapid.T) {
		tries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) try {
			fire := fleet.Round(rapid.IntRange(0, 5000).Draw(t, "fire"))
			return try{Graded{Round: fire, Grade: rapid.Float64Range(0, 1).Draw(t, "grade")}, rapid.Bool().Draw(t, "injected")}
		}), 1, 9).Draw(t, "sessions")
		const end = 6000
		want := Trial{At: end}
		for _, x := range tries {
			a := want.Of(x.injected)
			a.Graded++
			a.add(math.Exp2(-float64(end-x.Round)/s.SlowHalfLife), x.Grade)
		}
		got, now := Trial{}, fleet.Round(0)
		for _, x := range rapid.Permutation(tries).Draw(t, "order") {
			now = max(now, x.Round) + fleet.Round(rapid.IntRange(0, 50).Draw(t, "later"))
			s.Try(&got, x.injected, now, x.Graded)
		}
		if diff := cmp.Diff(s.Faded(got, end), want, approximately()); diff != "" {
			t.Fatalf("trial (-got +want):\n%s", diff)
		}
	})
}

func TestNoise(t *testing.T) {
	t.Parallel()
	coins := trial(1, 0, 1, 1)
	coins.With.add(1, 1)
	tests := []struct {
		name   string
		trials []Trial
		want   float64
	}{
		{"none", nil, 0.0625},
		{"two of a kind and a single one", []Trial{coins}, (0.625 + 0.5) / 11},
		{"all the same", []Trial{trial(6, 0.3, 6, 0.8)}, 0.625 / 20},
	}
	for _, tt := range tests {
		if got := Noise(tt.trials); math.Abs(got-tt.want) > near {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestEffectIsFoundByChance withholds a lesson at random in easy and hard categories and
// looks whether the interval holds the truth as often as it says.
func TestEffectIsFoundByChance(t *testing.T) {
	t.Parallel()
	const runs, truth = 400, 0.05
	held := 0
	for run := range runs {
		rng := Generator(uint64(run), 1, "lesson")
		trials := make([]Trial, 3)
		for i := range 240 {
			injected := rng.Float64() >= 0.2
			grade := 0.3 + 0.2*float64(i%3) + 0.2*(rng.Float64()-0.5)
			if injected {
				grade += truth
			}
			Settings{}.Try(&trials[i%3], injected, 0, Graded{Grade: grade})
		}
		low, high := EffectOf(trials, Noise(trials)).Interval()
		if low <= truth && truth <= high {
			held++
		}
	}
	if got := float64(held) / runs; got < 0.91 {
		t.Errorf("got the truth in %v of the intervals, want about 0.95", got)
	}
}

// TestSameLessonsSameScore ranks with no lessons, or with as many as there were: they
// change no score.
func TestSameLessonsSameScore(t *testing.T) {
	t.Parallel()
	if got := LOO(nil); got != 0 {
		t.Errorf("got %v without lessons, want 0", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		var lessons []Exposure
		for range rapid.IntRange(0, 9).Draw(t, "lessons") {
			always := rapid.Float64Range(0, 1).Draw(t, "exposure")
			lessons = append(lessons, Exposure{rapid.Float64Range(-0.5, 0.5).Draw(t, "effect"), always, always})
		}
		if got := LOO(lessons); got != 0 {
			t.Errorf("got %v with the exposure there always was, want 0", got)
		}
	})
}

// TestLOO has changes of lessons worked out by hand.
func TestLOO(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		lessons []Exposure
		want    float64
	}{
		{"a good lesson is new", []Exposure{{0.1, 0.8, 0}}, 0.08},
		{"a good lesson is gone", []Exposure{{0.1, 0, 0.8}}, -0.08},
		{"a bad lesson is gone", []Exposure{{-0.1, 0, 0.8}}, 0.08},
		{"one for another", []Exposure{{0.1, 0.8, 0}, {0.05, 0, 0.8}}, 0.04},
		{"at most", []Exposure{{0.3, 0.8, 0}, {0.3, 0.8, 0}}, 0.2},
		{"at least", []Exposure{{0.3, 0, 0.8}, {0.3, 0, 0.8}}, -0.2},
	}
	for _, tt := range tests {
		if got := LOO(tt.lessons); math.Abs(got-tt.want) > near {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestExposeIsTheMean follows the exposure behind a belief whose sessions all count 1:
// it is the part of them that had the lesson.
func TestExposeIsTheMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		behind, had := rapid.Float64Range(0, 1).Draw(t, "before any"), 0.0
		for i, injected := range rapid.SliceOfN(rapid.Bool(), 1, 40).Draw(t, "injected") {
			if injected {
				had++
			}
			n := float64(i + 1)
			behind = Expose(behind, injected, n)
			if math.Abs(behind-had/n) > near {
				t.Fatalf("got exposure %v, want %v of %v", behind, had, n)
			}
		}
	})
}
