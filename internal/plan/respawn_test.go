package plan_test

import (
	"testing"

	"stint/internal/fleet"
	"stint/internal/plan"
)

func TestRespawn(t *testing.T) {
	t.Parallel()
	const yes = "its grade 0.65 is at least 0.65"
	tests := []struct {
		name    string
		with    func(*plan.Chain)
		follows bool
		want    string
	}{
		{"just good enough", func(*plan.Chain) {}, true, yes},
		{"last of its chain", func(c *plan.Chain) { c.Depth, c.Most = 2, 3 }, true, yes},
		{"at its cap", func(c *plan.Chain) { c.Surplus = -0.1 }, true, yes},
		{"every grade", func(c *plan.Chain) { *c.Grade, c.From = 0, 0 }, true, "its grade 0.00 is at least 0.00"},
		{"not good enough", func(c *plan.Chain) { *c.Grade = 0.64 }, false, "its grade 0.64 is below 0.65"},
		{"no grade", func(c *plan.Chain) { c.Grade = nil }, false, "it brought no grade"},
		{"failed", func(c *plan.Chain) { c.Outcome = fleet.Failed }, false, "it brought no grade"},
		{"end of the chain", func(c *plan.Chain) { c.Depth, c.Most = 3, 3 }, false, "a chain ends after 3 more"},
		{"deeper than it may be by now", func(c *plan.Chain) { c.Depth, c.Most = 3, 1 }, false, "a chain ends after 1 more"},
		{"over its cap", func(c *plan.Chain) { c.Surplus = 0.5 }, false, "the category is 0.5 sessions over its cap"},
		{"out", func(c *plan.Chain) { c.Out = "no workable task" }, false, "no workable task"},
		{"by hand", func(c *plan.Chain) { c.Later = false }, false, "it ran without a service manager, which would start the next"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			grade := 0.65
			c := plan.Chain{Outcome: fleet.Productive, Grade: &grade, Most: 1, From: 0.65, Later: true}
			tt.with(&c)
			follows, reason := plan.Respawn(c)
			if follows != tt.follows || reason != tt.want {
				t.Errorf("got %v, %q, want %v, %q", follows, reason, tt.follows, tt.want)
			}
		})
	}
}
