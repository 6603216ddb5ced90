package rank

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/fleet"
)

// TestDraw compares the first two moments of many draws with theory, at six standard
// errors: a right generator fails one seed in 10⁹, and the seeds are fixed. The shapes
// go down to those of a category that is believed to be hopeless.
func TestDraw(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for _, b := range []Beta{
		{1, 1},
		{2, 1},
		{1, 5},
		{1.5, 1.25},
		{8, 3},
		{40, 60},
		{3000, 7},
		{0.02, 0.02},
		{0.02, 1.98},
		{0.04, 1.96},
		{0.1, 0.3},
		{0.5, 0.02},
		{0.5, 0.5},
		{1.96, 0.04},
	} {
		t.Run(fmt.Sprintf("%v,%v", b.A, b.B), func(t *testing.T) {
			t.Parallel()
			rng := Generator(7, 1, "code")
			ab := b.A + b.B
			mean, variance := b.A/ab, b.A*b.B/(ab*ab*(ab+1))
			var sum, second, fourth float64
			for range n {
				x := b.Draw(rng)
				if x < 0 || x > 1 || math.IsNaN(x) {
					t.Fatalf("got %v, want a value from 0 to 1", x)
				}
				sum += x
				second += math.Pow(x-mean, 2) / n
				fourth += math.Pow(x-mean, 4) / n
			}
			if limit := 6 * math.Sqrt(variance/n); math.Abs(sum/n-mean) > limit {
				t.Errorf("got mean %v, want %v ± %v", sum/n, mean, limit)
			}
			if limit := 6 * math.Sqrt((fourth-second*second)/n); math.Abs(second-variance) > limit {
				t.Errorf("got variance %v, want %v ± %v", second, variance, limit)
			}
			if got := b.Mean(); math.Abs(got-mean) > 1e-15 {
				t.Errorf("got Mean %v, want %v", got, mean)
			}
			if got := b.SD(); math.Abs(got-math.Sqrt(variance)) > 1e-12 {
				t.Errorf("got SD %v, want %v", got, math.Sqrt(variance))
			}
		})
	}
}

// TestDrawHoldsItsDistribution counts draws below known quantiles: two moments do not
// show the shape near 0, where small parameters put nearly everything.
func TestDrawHoldsItsDistribution(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for _, a := range []float64{0.02, 0.05, 0.1, 0.3, 0.5, 1, 3} {
		for _, p := range []float64{0.025, 0.25, 0.5, 0.9} {
			quantile := math.Pow(p, 1/a) // of Beta(a, 1)
			rng, below := Generator(11, 1, "code"), 0
			for range n {
				if (Beta{a, 1}).Draw(rng) <= quantile {
					below++
				}
			}
			limit := 6 * math.Sqrt(p*(1-p)/n)
			if got := float64(below) / n; math.Abs(got-p) > limit {
				t.Errorf("Beta(%v, 1): got %v of the draws up to %v, want %v ± %v", a, got, quantile, p, limit)
			}
		}
	}
}

// TestInterval compares with distributions whose quantiles have a closed form.
func TestInterval(t *testing.T) {
	t.Parallel()
	power := func(a float64) func(p float64) float64 { // Beta(a, 1)
		return func(p float64) float64 { return math.Pow(p, 1/a) }
	}
	mirrored := func(b float64) func(p float64) float64 { // Beta(1, b)
		return func(p float64) float64 { return -math.Expm1(math.Log1p(-p) / b) }
	}
	tests := []struct {
		b        Beta
		quantile func(p float64) float64
	}{
		{Beta{1, 1}, func(p float64) float64 { return p }},
		{Beta{0.5, 0.5}, func(p float64) float64 { return math.Pow(math.Sin(math.Pi*p/2), 2) }},
		{Beta{2, 1}, power(2)},
		{Beta{40, 1}, power(40)},
		{Beta{0.5, 1}, power(0.5)},
		{Beta{0.1, 1}, power(0.1)},
		{Beta{1, 3}, mirrored(3)},
		{Beta{1, 0.2}, mirrored(0.2)},
		{Beta{1, 60}, mirrored(60)},
		// Beta(2, 2) has the distribution function 3x²-2x³.
		{Beta{2, 2}, func(p float64) float64 { return 0.5 - math.Sin(math.Asin(1-2*p)/3) }},
	}
	for _, tt := range tests {
		for _, probability := range []float64{0.5, 0.8, 0.95} {
			low, high := tt.b.Interval(probability)
			tail := (1 - probability) / 2
			for _, end := range []struct{ got, want float64 }{{low, tt.quantile(tail)}, {high, tt.quantile(1 - tail)}} {
				if math.Abs(end.got-end.want) > 1e-8 {
					t.Errorf("%+v, %v: got %v, want %v", tt.b, probability, end.got, end.want)
				}
			}
		}
	}
}

// TestIntervalHoldsWhatIsDrawn asks for beliefs as they are met.
func TestIntervalHoldsWhatIsDrawn(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for _, b := range []Beta{{0.04, 1.96}, {12, 5}, {300, 200}, {5000, 900}} {
		low, high := b.Interval(0.9)
		if !(0 <= low && low < high && high <= 1) {
			t.Fatalf("%+v: got %v to %v, want an interval within 0 to 1", b, low, high)
		}
		rng, held := Generator(5, 1, "code"), 0
		for range n {
			if x := b.Draw(rng); low <= x && x <= high {
				held++
			}
		}
		if got := float64(held) / n; math.Abs(got-0.9) > 6*math.Sqrt(0.09/n) {
			t.Errorf("%+v: got %v of the draws in %v to %v, want 0.9", b, got, low, high)
		}
	}
}

// TestPendingKeepsTheMean has sessions that have not ended narrow a belief, so that
// sessions at once spread, and move it nowhere.
func TestPendingKeepsTheMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := Beta{rapid.Float64Range(0.02, 500).Draw(t, "a"), rapid.Float64Range(0.02, 500).Draw(t, "b")}
		n := rapid.IntRange(1, 20).Draw(t, "pending")
		got := b.pending(float64(n))
		if math.Abs(got.Mean()-b.Mean()) > 1e-12 || got.SD() >= b.SD() {
			t.Errorf("got mean %v, sd %v, want mean %v and an sd below %v", got.Mean(), got.SD(), b.Mean(), b.SD())
		}
		if weight := got.A + got.B - b.A - b.B; math.Abs(weight-float64(n)) > 1e-9 {
			t.Errorf("got a weight of %v more, want %d", weight, n)
		}
		if b.pending(0) != b {
			t.Errorf("got %+v without any, want %+v", b.pending(0), b)
		}
	})
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

// TestNeighboursShareNoPattern draws once for each of many fires, categories and seeds
// in a row: what is keyed apart must look independent.
func TestNeighboursShareNoPattern(t *testing.T) {
	t.Parallel()
	const n = 20_000
	keys := map[string]func(i int) float64{
		"fires":      func(i int) float64 { return Generator(1, fleet.FireID(i), "code").Float64() },
		"seeds":      func(i int) float64 { return Generator(uint64(i), 1, "code").Float64() },
		"categories": func(i int) float64 { return Generator(1, 1, fleet.Category(fmt.Sprintf("c%d", i))).Float64() },
	}
	for name, draw := range keys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sum, products float64
			last := draw(0) - 0.5
			for i := range n {
				x := draw(i+1) - 0.5
				sum, products, last = sum+x, products+x*last, x
			}
			if got, limit := sum/n, 6*math.Sqrt(1.0/12/n); math.Abs(got) > limit {
				t.Errorf("got a mean of 0.5%+v, want 0.5 ± %v", got, limit)
			}
			if got, limit := products/n, 6.0/12/math.Sqrt(n); math.Abs(got) > limit {
				t.Errorf("got a covariance of neighbours of %v, want 0 ± %v", got, limit)
			}
		})
	}
}

// TestGeneratorIsForever pins draws: recorded fires are replayed by later versions.
func TestGeneratorIsForever(t *testing.T) {
	t.Parallel()
	keys := []struct {
		n    uint64
		name string
		want uint64
	}{
		{0, "", 9313164154874788883},
		{7, "code", 8115139583828096069},
		{1<<64 - 1, "cross-repo", 4922858522853127092},
	}
	for _, k := range keys {
		if got := Key(k.n, k.name); got != k.want {
			t.Errorf("Key(%d, %q): got %d, want %d", k.n, k.name, got, k.want)
		}
	}
	draws := []struct {
		b    Beta
		seed uint64
		fire fleet.FireID
		name fleet.Category
		want float64
	}{
		{Beta{3, 2}, 42, 7, "code", 0.6102475885598173},
		{Beta{1, 1}, 0, 0, "docs", 0.04362035042390282},
		{Beta{0.04, 1.96}, 1<<64 - 1, 1 << 40, "cross-repo", 3.0884206773532836e-14},
	}
	for _, d := range draws {
		got := d.b.Draw(Generator(d.seed, d.fire, d.name))
		if got != d.want {
			t.Errorf("%+v: got %v", d, got)
		}
	}
}
