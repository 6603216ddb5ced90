package replay

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/testkit/must"
)

// TestNewEstimateByHand follows four sessions through the formulas. The weights are
// 1, 0.5, 4 and 0.5, of which 4 is clipped at √4; Σw = 4, Σwg = 1.65, Σw² = 5.5.
func TestNewEstimateByHand(t *testing.T) {
	t.Parallel()
	got := NewEstimate([]Session{{1, 0.5, 0.5}, {0.5, 0.5, 0.25}, {0, 0.25, 1}, {0.8, 0.8, 0.4}})
	want := Estimate{
		Sessions: 4, Mean: 0.575, MeanSE: math.Sqrt(0.5675 / 3 / 4), Other: 0.4125,
		OtherSE:   math.Sqrt(4.0/3*(0.5875*0.5875+0.04375*0.04375+0.825*0.825+0.19375*0.19375)) / 4,
		Effective: 16 / 5.5, Clip: 2, Clipped: 1,
	}
	must.Equal(t, "estimate", got, want, cmpopts.EquateApprox(0, 1e-12))
	if list := (Window{Estimate: got}).Warnings(); len(list) != 2 || !strings.Contains(list[0], "too few to go by") || !strings.Contains(list[1], "clipped at 2.0") {
		t.Errorf("got warnings %q, want one of few sessions and one of the clipped weight", list)
	}
}

func TestNewEstimateOfLittle(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	tests := []struct {
		name     string
		sessions []Session
		want     Estimate
	}{
		{"nothing", nil, Estimate{Mean: nan, MeanSE: nan, Other: nan, OtherSE: nan}},
		{"one", []Session{{0.5, 0.5, 0.25}}, Estimate{Sessions: 1, Mean: 0.5, MeanSE: nan, Other: 0.5, OtherSE: nan, Effective: 1, Clip: 1}},
		{"none that speaks", []Session{{0.5, 0.5, 0}}, Estimate{Sessions: 1, Mean: 0.5, MeanSE: nan, Other: nan, OtherSE: nan, Clip: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			must.Equal(t, "estimate", NewEstimate(tt.sessions), tt.want, cmpopts.EquateNaNs())
		})
	}
}

// TestEstimateCoversTheTruth logs a policy on categories of known worth and estimates
// another. In nineteen of twenty experiments the truth is within 1.96 standard errors:
// of 1000, in 950 ± 21 at three standard deviations if the interval were exact. It is an
// approximation, hence the wider bounds.
func TestEstimateCoversTheTruth(t *testing.T) {
	t.Parallel()
	const experiments, fires, picks = 1000, 400, 2
	worth := []float64{0.7, 0.6, 0.5, 0.4, 0.2}
	logged := inclusion([]float64{1, 1, 1, 1, 1})
	other := inclusion([]float64{4, 1, 2, 1, 1})
	truth, mass := 0.0, 0.0
	for i, p := range other {
		truth, mass = truth+p*worth[i], mass+p
	}
	truth /= mass
	rng := rand.New(rand.NewPCG(1, 2))
	covered, sum, plain := 0, 0.0, 0.0
	for range experiments {
		var sessions []Session
		for range fires {
			for _, i := range pick(rng, []float64{1, 1, 1, 1, 1}, picks) {
				if rng.Float64() < 0.3 {
					continue // not graded
				}
				grade := 0.0
				if rng.Float64() < worth[i] {
					grade = 1
				}
				sessions = append(sessions, Session{grade, logged[i], other[i]})
			}
		}
		e := NewEstimate(sessions)
		if sum, plain = sum+e.Other, plain+e.Mean; math.Abs(e.Other-truth) <= 1.96*e.OtherSE {
			covered++
		}
	}
	if covered < 925 || covered > 985 {
		t.Errorf("got the truth %.3f in %d of %d intervals, want 925 to 985", truth, covered, experiments)
	}
	if mean := sum / experiments; math.Abs(mean-truth) > 0.003 {
		t.Errorf("got %.4f on average, want %.4f ± 0.003", mean, truth)
	}
	if mean := plain / experiments; math.Abs(mean-truth) < 0.02 {
		t.Errorf("got a logged mean of %.4f, want one that is not already the truth %.4f", mean, truth)
	}
}

// pick draws so many of the choices without replacement, by their weights.
func pick(rng *rand.Rand, weights []float64, n int) (list []int) {
	left := append([]float64(nil), weights...)
	for range n {
		sum := 0.0
		for _, w := range left {
			sum += w
		}
		x := rng.Float64() * sum
		for i, w := range left {
			if x -= w; x < 0 {
				list, left[i] = append(list, i), 0
				break
			}
		}
	}
	return list
}

// inclusion are the probabilities that each of the choices is among two that are drawn.
func inclusion(weights []float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	p := make([]float64, len(weights))
	for i, w := range weights {
		p[i] = w / sum
		for j, first := range weights {
			if j != i {
				p[i] += first / sum * w / (sum - first)
			}
		}
	}
	return p
}
