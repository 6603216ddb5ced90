package metrics

import (
	"cmp"
	"maps"
	"slices"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
)

// cell has the labels by which runs of the last day are counted.
type cell struct {
	category fleet.Category
	agent    string
	outcome  fleet.Outcome // only where runs are counted
}

func (c cell) labels() []string {
	list := []string{"category", string(c.category), "agent", c.agent}
	if c.outcome != "" {
		list = append(list, "outcome", string(c.outcome))
	}
	return list
}

// day writes the sums over the runs of the last 24 hours.
func (p *page) day(c inspect.Counters) {
	runs, sums := map[cell]float64{}, map[cell]fleet.Tally{}
	for _, t := range c.Day {
		if t.Outcome != "" {
			runs[cell{t.Category, t.Agent, t.Outcome}] += float64(t.Runs)
		}
		key := cell{category: t.Category, agent: t.Agent}
		sum := sums[key]
		sum.Graded, sum.Grades = sum.Graded+t.Graded, sum.Grades+t.Grades
		sum.Tokens, sum.USD, sum.Worked = sum.Tokens+t.Tokens, sum.USD+t.USD, sum.Worked+t.Worked
		sums[key] = sum
	}
	f := p.family("stint_runs_last_day", gauge, "Runs created in the last 24 hours that ended, by outcome.")
	for _, k := range sorted(runs) {
		f.add(runs[k], k.labels()...)
	}
	each := func(name, help string, value func(fleet.Tally) float64) {
		f := p.family(name, gauge, help)
		for _, k := range sorted(sums) {
			f.add(value(sums[k]), k.labels()...)
		}
	}
	each("stint_graded_last_day", "Runs of the last 24 hours that brought a grade.", func(t fleet.Tally) float64 { return float64(t.Graded) })
	each("stint_grades_last_day", "The sum of these grades, each from 0 to 1.", func(t fleet.Tally) float64 { return t.Grades })
	each("stint_tokens_last_day", "Tokens that the runs of the last 24 hours used.", func(t fleet.Tally) float64 { return float64(t.Tokens) })
	each("stint_cost_usd_last_day", "US dollars that the runs of the last 24 hours used.", func(t fleet.Tally) float64 { return t.USD })
	each("stint_worked_seconds_last_day", "Seconds that the runs of the last 24 hours took.", func(t fleet.Tally) float64 { return t.Worked.Seconds() })

	a := c.Status.Day
	p.family("stint_denials_last_day", gauge, "Claims that workers were denied in the last 24 hours.").add(float64(a.Denials))
	p.family("stint_pivots_last_day", gauge, "Denials of the last 24 hours after which the worker took another category's lane.").add(float64(a.Pivots))
	p.family("stint_fallbacks_last_day", gauge, "Fires of the last 24 hours for which the external selector failed.").add(float64(a.Fallbacks))
	p.family("stint_lane_violations_last_day", gauge, "Lanes that two runs held at once in the last 24 hours, which must never be.").add(float64(len(a.Violations)))
	p.family("stint_lanes_peak_last_day", gauge, "Lanes held at one instant in the last 24 hours, at most.").add(float64(a.PeakConcurrency))
}

func sorted[V any](m map[cell]V) []cell {
	return slices.SortedFunc(maps.Keys(m), func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.category, b.category), cmp.Compare(a.agent, b.agent), cmp.Compare(a.outcome, b.outcome))
	})
}
