package rank

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// ulps counts the floating-point numbers between two of one sign.
func ulps(a, b float64) uint64 {
	x, y := math.Float64bits(a), math.Float64bits(b)
	return max(x, y) - min(x, y)
}

// TestElementaryFunctions compares them with package math. Their error is below 1 unit in the
// last place; that of its assembly of Exp for amd64 is not, as at exp(-15.600756198778981),
// where it errs by 1.29 units: there the two are 2 apart.
func TestElementaryFunctions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for name, f := range map[string]struct {
			own, std func(float64) float64
			low, top float64
			apart    uint64
		}{
			"exp":  {exp, math.Exp, -700, 700, 2},
			"exp2": {exp2, math.Exp2, -1000, 1000, 1},
			"log":  {log, math.Log, 1e-300, 1e300, 1},
			"near": {log, math.Log, 0.5, 2, 1},
		} {
			x := rapid.Float64Range(f.low, f.top).Draw(t, name)
			if got, want := f.own(x), f.std(x); ulps(got, want) > f.apart {
				t.Errorf("%s(%v): got %v, want %v, %d apart", name, x, got, want, ulps(got, want))
			}
		}
	})
	inf, nan := math.Inf(1), math.NaN()
	for _, e := range []struct {
		name      string
		got, want float64
	}{
		{"exp(0)", exp(0), 1},
		{"exp(-15.600756198778981)", exp(-15.600756198778981), 1.6775584825538963e-07}, // 0.71 units off
		{"exp(∞)", exp(inf), inf},
		{"exp(-∞)", exp(-inf), 0},
		{"exp(710)", exp(710), inf},
		{"exp(-746)", exp(-746), 0},
		{"exp(-745)", exp(-745), math.SmallestNonzeroFloat64},
		{"exp(nan)", exp(nan), nan},
		{"exp2(-3)", exp2(-3), 0.125},
		{"exp2(1023)", exp2(1023), math.Ldexp(1, 1023)},
		{"exp2(1024)", exp2(1024), inf},
		{"exp2(-1074)", exp2(-1074), math.SmallestNonzeroFloat64},
		{"exp2(-∞)", exp2(-inf), 0},
		{"log(1)", log(1), 0},
		{"log(0)", log(0), -inf},
		{"log(-1)", log(-1), nan},
		{"log(∞)", log(inf), inf},
		{"log(2)", log(2), math.Ln2},
		{"log of the least number", log(math.SmallestNonzeroFloat64), -744.4400719213812},
	} {
		if e.got != e.want && !(math.IsNaN(e.got) && math.IsNaN(e.want)) {
			t.Errorf("%s: got %v, want %v", e.name, e.got, e.want)
		}
	}
}

// TestNormalMoments holds the normal variates against mean, variance and tails of the
// normal distribution.
func TestNormalMoments(t *testing.T) {
	t.Parallel()
	const n = 200_000
	rng := Generator(1, 1, "normal")
	var sum, squares, beyond float64
	for range n {
		x := normal(rng)
		sum, squares = sum+x, squares+x*x
		if math.Abs(x) > 1.96 {
			beyond++
		}
	}
	if mean := sum / n; math.Abs(mean) > 0.01 { // 4 standard errors
		t.Errorf("mean %v, want 0", mean)
	}
	if variance := squares / n; math.Abs(variance-1) > 0.013 {
		t.Errorf("variance %v, want 1", variance)
	}
	if share := beyond / n; math.Abs(share-0.05) > 0.002 {
		t.Errorf("%v lie beyond 1.96, want 0.05", share)
	}
}
