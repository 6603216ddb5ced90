package replay

import "math"

// Session is a graded session that a fire started.
type Session struct {
	Grade  float64 // in [0,1]
	Logged float64 // the probability with which the fire started it, above 0
	Other  float64 // that with which a fire under the other settings had, in [0,1]
}

// Estimate is what a graded session would have brought on average under other settings,
// beside what it brought. An unknown figure is NaN.
type Estimate struct {
	Sessions  int     // graded ones
	Mean      float64 // of their grades
	MeanSE    float64 // its standard error; NaN below two sessions
	Other     float64 // the same under the other settings; NaN when none of the sessions speaks for them
	OtherSE   float64
	Effective float64 // number of sessions that the estimate rests on, at most Sessions
	Clip      float64 // what a weight is at most
	Clipped   int     // weights that were above
}

// NewEstimate estimates off-policy. A session weighs as much as the other settings
// would rather have started it, w = min(√n, Other/Logged) of n sessions, and the
// estimate is the self-normalised Σwg/Σw (Swaminathan and Joachims, "The
// Self-Normalized Estimator for Counterfactual Learning", NIPS 2015): sessions enter
// with the probability that a fire starts their category, one of several at a time, and
// what a fire starts besides is taken not to change the grade.
//
// Weights are truncated at √n (Ionides, "Truncated Importance Sampling", Journal of
// Computational and Graphical Statistics 17, 2008), which bounds what one unlikely
// session can say and draws the estimate towards the logged mean where it applies.
//
// The standard error is the delta method's for a ratio, √(n/(n-1) Σw²(g-m)²)/Σw (Owen,
// "Monte Carlo theory, methods and examples", 2013, section 9.2), and the effective
// number of sessions (Σw)²/Σw² (Kish, "Survey Sampling", 1965, section 11.7).
func NewEstimate(sessions []Session) Estimate {
	n := len(sessions)
	e := Estimate{Sessions: n, Clip: math.Sqrt(float64(n))}
	weights, ones, grades := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, s := range sessions {
		weights[i], ones[i], grades[i] = s.Other/s.Logged, 1, s.Grade
		if weights[i] > e.Clip {
			weights[i] = e.Clip
			e.Clipped++
		}
	}
	e.Mean, e.MeanSE = weightedMean(ones, grades)
	e.Other, e.OtherSE = weightedMean(weights, grades)
	e.Effective = effective(weights)
	return e
}

// weightedMean is the mean of the values and its standard error.
func weightedMean(weights, values []float64) (mean, se float64) {
	var sum, weighted, squares float64
	for i, w := range weights {
		sum, weighted = sum+w, weighted+w*values[i]
	}
	if sum == 0 {
		return math.NaN(), math.NaN()
	}
	mean = weighted / sum
	n := float64(len(weights))
	if n < 2 {
		return mean, math.NaN()
	}
	for i, w := range weights {
		residual := w * (values[i] - mean)
		squares += residual * residual
	}
	return mean, math.Sqrt(n/(n-1)*squares) / sum
}

// effective is the number of equally weighted sessions that would say as much.
func effective(weights []float64) float64 {
	var sum, squares float64
	for _, w := range weights {
		sum, squares = sum+w, squares+w*w
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}

// few is the effective number of sessions below which an estimate says little.
const few = 20

// Half95 is how many standard errors half of a 95 % confidence interval is.
const Half95 = 1.96
