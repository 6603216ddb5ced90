package simulate

import (
	"math"
	"time"

	"gonum.org/v1/gonum/mathext"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Results are what a simulation found.
type Results struct {
	Fires, Runs int
	Seed        uint64
	Categories  []fleet.Category
	At          []int // the fires of a curve's points
	Policies    []Result
}

// Estimate is the mean over the runs, and half of its 95 % confidence interval by
// Student's t, which one run alone does not give: then it is NaN.
type Estimate struct{ Mean, CI95 float64 }

// Result is what one policy came to.
type Result struct {
	Policy        Policy
	Regret        Estimate // expected grades missed beside the best that could be started, summed up
	RewardPerFire Estimate // expected grades, where a session without work earns 0
	RewardPerPick Estimate
	MinRatio      Estimate      // sessions over entitlement, of the category with the least
	MaxRatio      Estimate      // of the one with the most
	WindowMax     Estimate      // the most over any 200 fires
	LongestGap    Estimate      // entitled sessions without one
	NoopRate      Estimate      // sessions that found nothing to do, in [0,1]
	Alarms        Estimate      // changes noticed
	Fractions     []Estimate    // sessions per fire, by category
	Curve         []Estimate    // regret over time
	Review        *Reviewed     // nil: nothing waits for review
	CPU           time.Duration // of all runs
}

// Reviewed is what became of what waited for review.
type Reviewed struct {
	Blocked Estimate // sessions that were not started for want of a place, of all, in [0,1]
	Merged  Estimate // of what the reviewer could look through since the return, in [0,1]
	Oldest  Estimate // days for which the oldest has waited two days after the return
	First   Estimate // minutes that the first four of the list take then
	ByAge   Estimate // minutes that the four oldest take
}

func summarize(s *Scenario, o Options, outcomes []outcome, spent []time.Duration) *Results {
	r := &Results{Fires: s.Fires, Runs: o.Runs, Seed: o.Seed}
	r.Categories = plain.Each(s.Categories, func(c Category) fleet.Category { return c.Name })
	every := spacing(s.Fires)
	for fire := 1; fire <= s.Fires; fire++ {
		if fire%every == 0 || fire == s.Fires {
			r.At = append(r.At, fire)
		}
	}
	for i, p := range o.Policies {
		of, cpu := outcomes[i*o.Runs:(i+1)*o.Runs], time.Duration(0)
		for _, d := range spent[i*o.Runs : (i+1)*o.Runs] {
			cpu += d
		}
		result := summary(of, float64(s.Fires))
		if s.Review != nil {
			result.Review = &Reviewed{
				Blocked: estimate(of, func(o *outcome) float64 { return o.review.blocked }),
				Merged:  estimate(of, func(o *outcome) float64 { return o.review.merged }),
				Oldest:  estimate(of, func(o *outcome) float64 { return o.review.oldest }),
				First:   estimate(of, func(o *outcome) float64 { return o.review.firstByWorth }),
				ByAge:   estimate(of, func(o *outcome) float64 { return o.review.firstByAge }),
			}
		}
		result.Policy, result.CPU = p, cpu
		r.Policies = append(r.Policies, result)
	}
	return r
}

func summary(runs []outcome, fires float64) Result {
	r := Result{
		Regret:        estimate(runs, func(o *outcome) float64 { return o.regret }),
		RewardPerFire: estimate(runs, func(o *outcome) float64 { return o.reward / fires }),
		RewardPerPick: estimate(runs, func(o *outcome) float64 { return o.reward / max(1, float64(o.picks)) }),
		MinRatio:      estimate(runs, func(o *outcome) float64 { return o.minRatio }),
		MaxRatio:      estimate(runs, func(o *outcome) float64 { return o.maxRatio }),
		WindowMax:     estimate(runs, func(o *outcome) float64 { return o.windowMax }),
		LongestGap:    estimate(runs, func(o *outcome) float64 { return o.longest }),
		NoopRate:      estimate(runs, func(o *outcome) float64 { return float64(o.noops) / max(1, float64(o.picks)) }),
		Alarms:        estimate(runs, func(o *outcome) float64 { return float64(o.alarms) }),
	}
	for i := range runs[0].sessions {
		r.Fractions = append(r.Fractions, estimate(runs, func(o *outcome) float64 { return float64(o.sessions[i]) / fires }))
	}
	for i := range runs[0].curve {
		r.Curve = append(r.Curve, estimate(runs, func(o *outcome) float64 { return o.curve[i] }))
	}
	return r
}

// studentQuantile is the 97.5 % quantile of Student's t distribution, by its relation to
// the Beta distribution (Abramowitz and Stegun, 26.7.1). The statistics package that has
// it brings linear algebra along, which would cost every command its initialisation.
func studentQuantile(freedom float64) float64 {
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 0.05)
	return math.Sqrt(freedom * (1 - x) / x)
}

func estimate(runs []outcome, of func(*outcome) float64) Estimate {
	n, sum, squares := float64(len(runs)), 0.0, 0.0
	for i := range runs {
		sum += of(&runs[i])
	}
	mean := sum / n
	for i := range runs {
		d := of(&runs[i]) - mean
		squares += d * d
	}
	if n < 2 {
		return Estimate{mean, math.NaN()}
	}
	t := studentQuantile(n - 1)
	return Estimate{mean, t * math.Sqrt(squares/(n-1)/n)}
}
