package rank

import "math"

// A fire is replayed bit for bit on every machine. Two things of Go's would differ between
// them: a compiler may fuse x*y + z into one rounding where the processor can, so every
// product that is added to is converted by float64, which forbids it; and package math has
// its own assembly of Exp, Exp2 and Log for some processors, so they are computed here, by
// the algorithms of FreeBSD's /usr/src/lib/msun/src/{e_exp,e_log}.c that package math uses
// elsewhere. Their error is below 1 unit in the last place. Square roots and what takes a
// float64 apart are exact everywhere.

const (
	ln2High = 6.93147180369123816490e-01 // the leading bits of ln 2: few enough that k times it is exact
	ln2Low  = 1.90821492927058770002e-10
)

// exp is e**x.
func exp(x float64) float64 {
	switch {
	case math.IsNaN(x), math.IsInf(x, 1):
		return x
	case x > 709.782712893383973096:
		return math.Inf(1)
	case x < -745.133219101941108420: // also -Inf
		return 0
	}
	k := math.Round(float64(math.Log2E * x))
	return expSplit(x-float64(k*ln2High), float64(k*ln2Low), int(k))
}

// exp2 is 2**x.
func exp2(x float64) float64 {
	switch {
	case math.IsNaN(x), math.IsInf(x, 1):
		return x
	case x >= 1024:
		return math.Inf(1)
	case x < -1075: // also -Inf
		return 0
	}
	k := math.Round(x)
	t := x - k
	return expSplit(float64(t*ln2High), float64(-t*ln2Low), int(k))
}

// expSplit is e**(high-low) · 2**k, for |high-low| of at most ln(2)/2.
func expSplit(high, low float64, k int) float64 {
	const (
		p1 = 1.66666666666666657415e-01
		p2 = -2.77777777770155933842e-03
		p3 = 6.61375632143793436117e-05
		p4 = -1.65339022054652515390e-06
		p5 = 4.13813679705723846039e-08
	)
	r := high - low
	t := float64(r * r)
	c := r - float64(t*(p1+float64(t*(p2+float64(t*(p3+float64(t*(p4+float64(t*p5)))))))))
	return math.Ldexp(1-((low-float64(r*c)/(2-c))-high), k)
}

// log is the natural logarithm of x.
func log(x float64) float64 {
	const (
		l1 = 6.666666666666735130e-01
		l2 = 3.999999999940941908e-01
		l3 = 2.857142874366239149e-01
		l4 = 2.222219843214978396e-01
		l5 = 1.818357216161805012e-01
		l6 = 1.531383769920937332e-01
		l7 = 1.479819860511658591e-01
	)
	switch {
	case math.IsNaN(x), math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction, exponent = float64(fraction*2), exponent-1
	}
	f, k := fraction-1, float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	even := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	half := float64(0.5 * f * f)
	return float64(k*ln2High) - ((half - (float64(s*(half+(odd+even))) + float64(k*ln2Low))) - f)
}
