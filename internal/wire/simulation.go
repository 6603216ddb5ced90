package wire

import (
	"stint/internal/fleet"
	"stint/internal/simulate"
)

// Simulation is stint/simulation@1.
type Simulation struct {
	Schema   string            `json:"schema"`
	Fires    int               `json:"fires"`
	Runs     int               `json:"runs"`
	Seed     uint64            `json:"seed,string"`
	Policies map[string]Policy `json:"policies"`
}

// Policy is what one policy came to.
type Policy struct {
	Regret        Estimate                    `json:"regret"`          // expected grades missed beside the best that could be started, summed up
	RewardPerFire Estimate                    `json:"reward_per_fire"` // expected grades, where a session without work earns 0
	RewardPerPick Estimate                    `json:"reward_per_pick"`
	MinRatio      Estimate                    `json:"min_ratio"`   // sessions over entitlement, of the category with the least
	MaxRatio      Estimate                    `json:"max_ratio"`   // of the one with the most
	WindowMax     Estimate                    `json:"window_max"`  // the most over any 200 fires
	LongestGap    Estimate                    `json:"longest_gap"` // entitled sessions without one
	NoopRate      Estimate                    `json:"noop_rate"`   // sessions that found nothing to do, in [0,1]
	Alarms        Estimate                    `json:"alarms"`      // changes noticed
	Fractions     map[fleet.Category]Estimate `json:"fractions"`
	CPUSeconds    float64                     `json:"cpu_seconds"`
	Review        *SimulatedReview            `json:"review"` // null: nothing waits for review
}

// SimulatedReview is what became of what waited for review.
type SimulatedReview struct {
	Blocked Estimate `json:"blocked"`            // sessions that were not started for want of a place, of all, in [0,1]
	Merged  Estimate `json:"merged"`             // of what the reviewer could look through since the return, in [0,1]
	Oldest  Estimate `json:"oldest_days"`        // for which the oldest has waited two days after the return
	First   Estimate `json:"first_four_minutes"` // that the first four of the list take then
	ByAge   Estimate `json:"oldest_four_minutes"`
}

// Estimate is the mean over the runs, and half of its 95 % confidence interval.
type Estimate struct {
	Mean float64  `json:"mean"`
	CI95 *float64 `json:"ci95"` // null: one run alone does not give it
}

// NewSimulation is what a simulation found, as JSON.
func NewSimulation(r *simulate.Results) Simulation {
	o := Simulation{"stint/simulation@1", r.Fires, r.Runs, r.Seed, map[string]Policy{}}
	for _, p := range r.Policies {
		policy := Policy{
			newEstimate(p.Regret), newEstimate(p.RewardPerFire), newEstimate(p.RewardPerPick), newEstimate(p.MinRatio), newEstimate(p.MaxRatio),
			newEstimate(p.WindowMax), newEstimate(p.LongestGap), newEstimate(p.NoopRate), newEstimate(p.Alarms),
			map[fleet.Category]Estimate{},
			p.CPU.Seconds(), newReviewed(p.Review),
		}
		for i, c := range r.Categories {
			policy.Fractions[c] = newEstimate(p.Fractions[i])
		}
		o.Policies[p.Policy.Name] = policy
	}
	return o
}

func newReviewed(r *simulate.Reviewed) *SimulatedReview {
	if r == nil {
		return nil
	}
	return &SimulatedReview{newEstimate(r.Blocked), newEstimate(r.Merged), newEstimate(r.Oldest), newEstimate(r.First), newEstimate(r.ByAge)}
}

func newEstimate(e simulate.Estimate) Estimate { return Estimate{e.Mean, known(e.CI95)} }
