package bandit

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
)

func TestPosterior(t *testing.T) {
	t.Parallel()
	tests := []struct {
		p    fleet.Posterior
		want Beta
		mean float64
	}{
		{fleet.Posterior{}, Beta{1, 1}, 0.5},
		{fleet.Posterior{Graded: 1, GradeSum: 1}, Beta{2, 1}, 2.0 / 3},
		{fleet.Posterior{Graded: 1}, Beta{1, 2}, 1.0 / 3},
		{fleet.Posterior{Graded: 4, GradeSum: 2.5}, Beta{3.5, 2.5}, 3.5 / 6},
	}
	for _, tt := range tests {
		got := Posterior(tt.p)
		if diff := cmp.Diff(got, tt.want); diff != "" {
			t.Errorf("%+v (-got +want):\n%s", tt.p, diff)
		}
		if math.Abs(got.Mean()-tt.mean) > 1e-15 {
			t.Errorf("%+v: got mean %v, want %v", tt.p, got.Mean(), tt.mean)
		}
	}
}

// TestDraw compares the first two moments of many draws with theory, at six
// standard errors: a right generator fails one seed in 10⁹, and the seeds are
// fixed.
func TestDraw(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for _, b := range []Beta{{1, 1}, {2, 1}, {1, 5}, {1.5, 1.25}, {8, 3}, {40, 60}, {3000, 7}} {
		t.Run(fmt.Sprintf("%v,%v", b.A, b.B), func(t *testing.T) {
			t.Parallel()
			rng := Generator(7, 1, "code")
			var draws [n]float64
			sum := 0.0
			for i := range draws {
				draws[i] = b.Draw(rng)
				if draws[i] < 0 || draws[i] > 1 || math.IsNaN(draws[i]) {
					t.Fatalf("got %v, want a value from 0 to 1", draws[i])
				}
				sum += draws[i]
			}
			mean, second, fourth := sum/n, 0.0, 0.0
			for _, x := range draws {
				second += math.Pow(x-b.Mean(), 2) / n
				fourth += math.Pow(x-b.Mean(), 4) / n
			}
			ab := b.A + b.B
			variance := b.A * b.B / (ab * ab * (ab + 1))
			if limit := 6 * math.Sqrt(variance/n); math.Abs(mean-b.Mean()) > limit {
				t.Errorf("got mean %v, want %v ± %v", mean, b.Mean(), limit)
			}
			if limit := 6 * math.Sqrt((fourth-second*second)/n); math.Abs(second-variance) > limit {
				t.Errorf("got variance %v, want %v ± %v", second, variance, limit)
			}
		})
	}
}

// TestGenerator shows that a draw depends on seed, fire and category, and on
// nothing that was drawn before or beside it.
func TestGenerator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		fire := fleet.FireID(rapid.Int64Min(1).Draw(t, "fire"))
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,31}`), 2, 6, rapid.ID[string]).Draw(t, "categories")
		alone := Generator(seed, fire, fleet.Category(names[0])).Uint64()
		drawn := map[uint64]string{}
		for _, name := range rapid.Permutation(names).Draw(t, "order") {
			v := Generator(seed, fire, fleet.Category(name)).Uint64()
			if name == names[0] && v != alone {
				t.Errorf("got %d among others, want %d as alone", v, alone)
			}
			if other, taken := drawn[v]; taken {
				t.Errorf("got one draw for %s and %s, want two", name, other)
			}
			drawn[v] = name
		}
		if v := Generator(seed, fire+1, fleet.Category(names[0])).Uint64(); v == alone {
			t.Errorf("got %d for the next fire too, want another draw", v)
		}
		if v := Generator(seed+1, fire, fleet.Category(names[0])).Uint64(); v == alone {
			t.Errorf("got %d for another seed too, want another draw", v)
		}
	})
}

// TestGeneratorIsForever pins a draw: recorded fires are replayed by later
// versions.
func TestGeneratorIsForever(t *testing.T) {
	t.Parallel()
	got := Beta{3, 2}.Draw(Generator(42, 7, "code"))
	if want := 0.7300188836484169; math.Abs(got-want) > 1e-12 { // the last bits are the processor's
		t.Errorf("got %v, want %v", got, want)
	}
}
