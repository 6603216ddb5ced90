package simulate

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Outcome has the figures of one run of one policy.
type Outcome struct {
	Regret     float64 // expected grades missed beside the best that could be started, summed up
	Reward     float64 // expected grades, where a session without work earns 0
	Picks      int     // sessions
	Noops      int     // of them, that found nothing to do
	Alarms     int     // changes noticed
	MinRatio   float64 // sessions over entitlement, of the category with the least
	MaxRatio   float64 // of the one with the most
	WindowMax  float64 // the most over any 200 fires
	LongestGap float64 // entitled sessions without one
	Sessions   []int   // by category
	Review     Reviewed
}

// Reviewed counts the results of review.
type Reviewed struct {
	Blocked float64 // sessions that were not started for want of a place, of all, in [0,1]
	Merged  float64 // of what the reviewer could look through since the return, in [0,1]
	Oldest  float64 // days for which the oldest has waited two days after the return
	First   float64 // minutes that the first four of the list take then
	ByAge   float64 // minutes that the four oldest take
}

// Result has the figures of one policy.
type Result struct {
	Policy        Policy
	Outcomes      []Outcome // by run
	Regret        Estimate
	RewardPerFire Estimate
	MinRatio      Estimate
	MaxRatio      Estimate
	WindowMax     Estimate
	LongestGap    Estimate
	NoopRate      Estimate // in [0,1]
	Alarms        Estimate
	Fractions     []Estimate // sessions per fire, by category
}

// Estimate is the mean over the runs, and half of its 95 % confidence interval by
// Student's t, which one run alone does not give: then it is NaN.
type Estimate struct{ Mean, CI95 float64 }

func newResult(p Policy, runs []Outcome, fires float64) Result {
	r := Result{
		Policy: p, Outcomes: runs,
		Regret:        estimate(runs, func(o Outcome) float64 { return o.Regret }),
		RewardPerFire: estimate(runs, func(o Outcome) float64 { return o.Reward / fires }),
		MinRatio:      estimate(runs, func(o Outcome) float64 { return o.MinRatio }),
		MaxRatio:      estimate(runs, func(o Outcome) float64 { return o.MaxRatio }),
		WindowMax:     estimate(runs, func(o Outcome) float64 { return o.WindowMax }),
		LongestGap:    estimate(runs, func(o Outcome) float64 { return o.LongestGap }),
		NoopRate:      estimate(runs, Outcome.NoopRate),
		Alarms:        estimate(runs, func(o Outcome) float64 { return float64(o.Alarms) }),
	}
	for i := range runs[0].Sessions {
		r.Fractions = append(r.Fractions, estimate(runs, func(o Outcome) float64 { return float64(o.Sessions[i]) / fires }))
	}
	return r
}

// NoopRate is the part of the sessions that found nothing to do.
func (o Outcome) NoopRate() float64 { return float64(o.Noops) / max(1, float64(o.Picks)) }

// studentQuantile is the 97.5 % quantile of Student's t distribution, by its relation to
// the Beta distribution (Abramowitz and Stegun, 26.7.1).
func studentQuantile(freedom float64) float64 {
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 0.05)
	return math.Sqrt(freedom * (1 - x) / x)
}

func estimate(runs []Outcome, of func(Outcome) float64) Estimate {
	values := make([]float64, len(runs))
	for i, o := range runs {
		values[i] = of(o)
	}
	return Mean(values)
}

// Mean estimates by the values of several runs.
func Mean(values []float64) Estimate {
	n, sum, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / n
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if n < 2 {
		return Estimate{mean, math.NaN()}
	}
	return Estimate{mean, studentQuantile(n-1) * math.Sqrt(squares/(n-1)/n)}
}
