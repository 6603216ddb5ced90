package simulate

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestMachinesAreAsOne has ten machines that start one session each, and one that starts ten, in a world
// whose means change. A round passes once in both, so that both remember for as long, notice
// as many changes, and give all categories what they are owed. The regret is that beyond the
// price of floors and caps: a machine that fires after nine others finds the best lanes held.
func TestMachinesAreAsOne(t *testing.T) {
	t.Parallel()
	play := func(hosts, workers int) (stint, known Result) {
		s := &Scenario{
			Fires: 600, Workers: workers, Hosts: hosts, Grades: Grades{Noise: Graded, Concentration: 5.2},
			Change: Change{Kind: Permute, Every: 200}, Sessions: &Sessions{Median: 1, Lock: true},
		}
		for i := range 60 {
			s.Categories = append(s.Categories, Category{Name: fleet.Category(fmt.Sprintf("c%02d", i)), Mean: 0.15 + 0.7*float64(i)/59, Share: 1.0 / 60})
		}
		policies := slices.DeleteFunc(Policies(), func(p Policy) bool { return p.Name != "stint" && p.Name != "known" })
		r := must.Get(Run(t.Context(), s, Options{Policies: policies, Runs: 4, Seed: 11, Parallel: 2}))(t)
		return r.Policies[0], r.Policies[1]
	}
	one, price := play(1, 10)
	ten, priceOfTen := play(10, 1)
	var apart, all float64
	for i, f := range one.Fractions {
		apart += math.Abs(f.Mean-ten.Fractions[i].Mean) / 2
		all += f.Mean
	}
	beyond, beyondOfTen := one.Regret.Mean-price.Regret.Mean, ten.Regret.Mean-priceOfTen.Regret.Mean
	t.Logf("one: regret %.0f, n/E %.3f to %.3f, %.1f alarms, %.1f missed in a row", beyond, one.MinRatio.Mean, one.MaxRatio.Mean, one.Alarms.Mean, one.LongestGap.Mean)
	t.Logf("ten: regret %.0f, n/E %.3f to %.3f, %.1f alarms, %.1f missed in a row", beyondOfTen, ten.MinRatio.Mean, ten.MaxRatio.Mean, ten.Alarms.Mean, ten.LongestGap.Mean)
	t.Logf("%.1f %% of the sessions are of another category", 100*apart/all)
	if beyondOfTen > 1.15*beyond {
		t.Error("got more regret than one machine's")
	}
	for what, d := range map[string]float64{"least n/E": one.MinRatio.Mean - ten.MinRatio.Mean, "most n/E": one.MaxRatio.Mean - ten.MaxRatio.Mean} {
		if math.Abs(d) > 0.02 {
			t.Errorf("%s: got %.3f from one machine's, want 0.02 at most", what, d)
		}
	}
	if r := ten.Alarms.Mean / one.Alarms.Mean; r < 0.8 || r > 1.25 {
		t.Errorf("got %.2f times the alarms of one machine", r)
	}
	if apart > 0.04*all {
		t.Error("got other shares than one machine's")
	}
}
