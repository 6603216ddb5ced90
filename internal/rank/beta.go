package rank

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"

	"stint/internal/fleet"
)

// Beta is a Beta distribution over a category's mean grade, in [0,1]. Both
// parameters are above 0.
type Beta struct{ A, B float64 }

// Mean is the distribution's mean, in (0,1).
func (b Beta) Mean() float64 { return b.A / (b.A + b.B) }

// SD is the distribution's standard deviation.
func (b Beta) SD() float64 {
	n := b.A + b.B
	return math.Sqrt(b.A * b.B / (n * n * (n + 1)))
}

// Interval is the central interval that holds the given probability, in (0,1).
func (b Beta) Interval(probability float64) (low, high float64) {
	tail := (1 - probability) / 2
	return mathext.InvRegIncBeta(b.A, b.B, tail), mathext.InvRegIncBeta(b.A, b.B, 1-tail)
}

// credible is the probability with which the intervals hold that are shown.
const credible = 0.95

// Credible is the interval that is shown of a mean grade, wherever one is.
func (b Beta) Credible() (low, high float64) { return b.Interval(credible) }

// Draw returns a variate in [0,1]: X/(X+Y) of two gamma variates, in logarithms
// because both may be too small for a float64 where a parameter is.
func (b Beta) Draw(rng *rand.Rand) float64 {
	x, y := logGamma(b.A, rng), logGamma(b.B, rng)
	return 1 / (1 + exp(y-x))
}

// pending takes evidence of weight n that is yet to come as if it brought the mean: the mean
// stays and the variance shrinks, so that sessions at once spread.
func (b Beta) pending(n float64) Beta {
	if n == 0 {
		return b
	}
	mean := b.Mean()
	return Beta{b.A + float64(n*mean), b.B + float64(n*(1-mean))}
}

// logGamma draws the logarithm of a Gamma(shape, 1) variate, shape > 0. From 1 on it
// is the method of Marsaglia and Tsang, "A Simple Method for Generating Gamma
// Variables" (ACM TOMS 26, 2000); below, their boost by U^(1/shape), which for shapes
// near 0 only a logarithm can hold.
func logGamma(shape float64, rng *rand.Rand) float64 {
	if shape < 1 {
		u := 1 - rng.Float64() // in (0,1], so that its logarithm is finite
		return logGamma(shape+1, rng) + log(u)/shape
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := normal(rng)
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		logV := float64(3 * log(v))
		u := 1 - rng.Float64()
		if log(u) < x*x/2+float64(d*(1-float64(v*v*v)+logV)) {
			return log(d) + logV
		}
	}
}

// normal draws a standard normal variate by the polar method of Marsaglia and Bray, "A
// Convenient Method for Generating Normal Variables" (SIAM Review 6, 1964). The generator's
// own method multiplies and adds in float32, which not every processor rounds alike.
func normal(rng *rand.Rand) float64 {
	for {
		u, v := float64(2*rng.Float64())-1, float64(2*rng.Float64())-1
		s := float64(u*u) + float64(v*v)
		if s > 0 && s < 1 {
			return float64(u * math.Sqrt(-2*log(s)/s))
		}
	}
}

// Generator returns the generator for one category's draw in one fire. It depends on
// nothing else, so that the order of iteration and other categories cannot matter.
func Generator(seed uint64, fire fleet.FireID, c fleet.Category) *rand.Rand {
	return rand.New(rand.NewPCG(seed, Key(uint64(fire), string(c))))
}

// Chance is a number in [0,1) that depends on the two names alone.
func Chance(of, name string) float64 {
	return float64(Key(Key(0, of), name)>>11) / (1 << 53)
}

// Key mixes a number and a name into 64 bits: FNV-1a, then the finalizer of
// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), after which neighbours share no
// pattern.
func Key(n uint64, name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for shift := 56; shift >= 0; shift -= 8 {
		h = (h ^ n>>shift&0xff) * prime
	}
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
