// Package bandit turns graded runs into a belief about a category's grade, and
// draws from it: Thompson sampling with one Beta posterior a category. It is pure:
// chance comes in as a generator that is keyed by what the draw is for, so that a
// draw can be repeated, and does not change when other categories come or go.
package bandit

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"stint/internal/fleet"
)

// Beta is a Beta distribution over a category's mean grade, in [0,1].
// Both parameters are at least 1 when they come from [Posterior].
type Beta struct{ A, B float64 }

// Posterior is the belief after the graded runs in p, from the uniform prior
// Beta(1,1). A grade g adds g to A and 1-g to B: the fractional update of Agrawal
// and Goyal, "Analysis of Thompson Sampling for the Multi-armed Bandit Problem"
// (COLT 2012), without its random rounding.
func Posterior(p fleet.Posterior) Beta {
	return Beta{A: 1 + p.GradeSum, B: 1 + float64(p.Graded) - p.GradeSum}
}

// Mean is the distribution's mean, in (0,1).
func (b Beta) Mean() float64 { return b.A / (b.A + b.B) }

// Draw returns a variate in [0,1]: X/(X+Y) of two gamma variates.
func (b Beta) Draw(rng *rand.Rand) float64 {
	x, y := gamma(b.A, rng), gamma(b.B, rng)
	return x / (x + y)
}

// Generator returns the generator for one category's draw in one fire. It
// depends on nothing else, so iteration order and other categories cannot
// matter.
func Generator(seed uint64, fire fleet.FireID, c fleet.Category) *rand.Rand {
	h := fnv.New64a()
	var clock [8]byte
	binary.BigEndian.PutUint64(clock[:], uint64(fire))
	h.Write(clock[:])
	h.Write([]byte(c))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// gamma draws from Gamma(shape, 1) for shape ≥ 1, by Marsaglia and Tsang, "A
// Simple Method for Generating Gamma Variables" (ACM TOMS 26, 2000).
func gamma(shape float64, rng *rand.Rand) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		u := 1 - rng.Float64() // in (0,1], so that its logarithm is finite
		if math.Log(u) < x*x/2+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}
