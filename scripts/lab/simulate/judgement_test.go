package simulate

import (
	"cmp"
	"testing"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// TestHealthyWeeksAreFair plays weeks of fleets that do what they should: no week in twenty
// may call any category neglected or over-allocated. By the parts of all sessions beside
// the shares, one of these weeks in three to every one did.
func TestHealthyWeeksAreFair(t *testing.T) {
	t.Parallel()
	const week, weeks, runs = 336, 6, 3
	equal := func(n int, best, step float64) (list []Category) {
		for i := range n {
			list = append(list, Category{Name: fleet.Category(string(rune('a' + i))), Share: 1 / float64(n), Mean: best - step*float64(i)})
		}
		return list
	}
	for name, s := range map[string]*Scenario{
		"one good":      {Workers: 1, Categories: append(equal(1, 0.9, 0), equal(10, 0.2, 0)[1:]...)},
		"twelve":        {Workers: 3, Categories: equal(12, 0.8, 0.06)},
		"at times":      {Workers: 3, Categories: equal(12, 0.8, 0.06), Availability: &Chain{Wake: 0.05, Sleep: 0.02}},
		"sessions last": {Workers: 3, Categories: equal(8, 0.8, 0.08), Sessions: &Sessions{Median: 2, Sigma: 0.5, Slots: 4, Lock: true}},
		"means move":    {Workers: 1, Categories: equal(10, 0.9, 0.08), Change: Change{Kind: Permute, Every: 200}},
	} {
		s.Fires, s.Grades, s.Change.Kind = week*weeks, Grades{Noise: Bernoulli}, cmp.Or(s.Change.Kind, Still)
		judge := rank.Defaults()
		judged, wrongly := 0, 0
		for run := range runs {
			p := newPlay(s, Policies()[0], 11, run)
			sessions, entitled := make([]int, len(s.Categories)), make([]float64, len(s.Categories))
			for fire := 1; fire <= s.Fires; fire++ {
				p.world.move(fire)
				p.view.round = fire
				clear(p.begun)
				p.fire(Pool{Workers: s.Workers})
				if fire%week > 0 {
					continue
				}
				judged++
				wrong := false
				for i := range s.Categories {
					wrong = wrong || judge.Judge(p.ledger.sessions[i]-sessions[i], p.ledger.entitled[i]-entitled[i]) != rank.Fair
					if judge.Judge(0, p.ledger.entitled[i]-entitled[i]) == rank.Fair {
						t.Errorf("%s: a week without a session of %s, of %v, passes for fair", name, s.Categories[i].Name, p.ledger.entitled[i]-entitled[i])
					}
					sessions[i], entitled[i] = p.ledger.sessions[i], p.ledger.entitled[i]
				}
				if wrong {
					wrongly++
				}
			}
		}
		if 20*wrongly > judged {
			t.Errorf("%s: got %d of %d healthy weeks judged, want one in twenty at most", name, wrongly, judged)
		}
	}
}
