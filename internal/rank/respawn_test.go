package rank_test

import (
	"fmt"
	"math"
	"testing"

	"stint/internal/fleet"
	"stint/internal/rank"
)

func TestRespawn(t *testing.T) {
	t.Parallel()
	const yes = "its grade 0.65 is at least 0.65"
	tests := []struct {
		name    string
		with    func(*rank.Chain)
		follows bool
		want    string
	}{
		{"just good enough", func(*rank.Chain) {}, true, yes},
		{"last of its chain", func(c *rank.Chain) { c.Depth, c.Most = 2, 3 }, true, yes},
		{"a session over its cap", func(c *rank.Chain) { c.Surplus = 1 }, true, yes},
		{"every grade", func(c *rank.Chain) { *c.Grade, c.From = 0, 0 }, true, "its grade 0.00 is at least 0.00"},
		{"not good enough", func(c *rank.Chain) { *c.Grade = 0.64 }, false, "its grade 0.64 is below 0.65"},
		{"no grade", func(c *rank.Chain) { c.Grade = nil }, false, "it brought no grade"},
		{"failed", func(c *rank.Chain) { c.Outcome = fleet.Failed }, false, "it brought no grade"},
		{"end of the chain", func(c *rank.Chain) { c.Depth, c.Most = 3, 3 }, false, "a chain ends after 3 more"},
		{"deeper than it may be by now", func(c *rank.Chain) { c.Depth, c.Most = 3, 1 }, false, "a chain ends after 1 more"},
		{"nearly good enough", func(c *rank.Chain) { *c.Grade = 0.6496 }, false, "its grade 0.6496 is below 0.6500"},
		{"by a hair", func(c *rank.Chain) { *c.Grade = math.Nextafter(0.65, 0) }, false, "its grade 0.6499999999999999 is below 0.6500000000000000"},
		{"over its cap", func(c *rank.Chain) { c.Surplus = 1.5 }, false, "the category is 1.5 sessions over its cap"},
		{"out", func(c *rank.Chain) { c.Out = "no workable task" }, false, "no workable task"},
		{"by hand", func(c *rank.Chain) { c.Later = false }, false, "it ran without a service manager, which would start the next"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			grade := 0.65
			c := rank.Chain{Outcome: fleet.Productive, Grade: &grade, Most: 1, From: 0.65, Later: true}
			tt.with(&c)
			follows, reason := rank.Respawn(c)
			if follows != tt.follows || reason != tt.want {
				t.Errorf("got %v, %q, want %v, %q", follows, reason, tt.follows, tt.want)
			}
		})
	}
}

// TestRespawnLives plays equal categories whose every session is good enough to be
// followed. Many are, and no category gets more than its cap for it.
func TestRespawnLives(t *testing.T) {
	t.Parallel()
	const fires, workers = 1000, 3
	for _, n := range []int{6, 12} {
		t.Run(fmt.Sprintf("%d categories", n), func(t *testing.T) {
			t.Parallel()
			settings, grade := rank.Defaults(), 0.7
			in := rank.Input{Settings: settings, Workers: workers, Free: workers}
			for i := range n {
				in.Candidates = append(in.Candidates, rank.Candidate{Category: fleet.Category(fmt.Sprintf("c%02d", i)), Share: 1})
			}
			arms := map[fleet.Category]*rank.Arm{}
			for i := range in.Candidates {
				arms[in.Candidates[i].Category] = &in.Candidates[i].Arm
			}
			work := func(a *rank.Arm, p rank.Prior) {
				load := a.Debit(a.Round)
				settings.Learn(a, p, rank.Graded{Round: a.Round, Load: load, Grade: grade})
			}
			followed := 0
			for in.Fire = 1; in.Fire <= fires; in.Fire++ {
				in.Seed = uint64(in.Fire)
				for _, a := range arms {
					a.Round++
				}
				s := rank.Rank(in)
				for _, score := range s.Ranked() {
					arms[score.Category].Entitle(settings, score.Due)
				}
				for _, score := range s.Ranked()[:s.Picks] {
					a := arms[score.Category]
					work(a, s.Prior)
					_, surplus := a.Settled(settings)
					if follows, _ := rank.Respawn(rank.Chain{
						Outcome: fleet.Productive, Grade: &grade, Most: 1, From: 0.65, Surplus: surplus, Later: true,
					}); follows {
						work(a, s.Prior)
						followed++
					}
				}
			}
			if rate := float64(followed) / fires; rate < 0.6 {
				t.Errorf("%.2f sessions were followed at a fire, want at least 0.6", rate)
			}
			for c, a := range arms {
				if part := float64(a.Sessions) / a.Entitled; part > 1.81 {
					t.Errorf("%s got %.3f times what it was entitled to, want at most 1.81", c, part)
				}
			}
		})
	}
}
