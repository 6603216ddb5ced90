package selector

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/fleet"
)

// TestMatchRates has rates worked out by hand: of two open tasks of one category both
// match, of six of another none, so that two of eight do over all.
func TestMatchRates(t *testing.T) {
	t.Parallel()
	tagged := func(t *fleet.Task) { t.Tags = []string{"ci"} }
	tasks := []fleet.Task{
		testTask("a", tagged), testTask("b", tagged), testTask("c", inState(fleet.StateDone)),
	}
	for _, id := range []fleet.TaskID{"d", "e", "f", "g", "h", "i"} {
		tasks = append(tasks, testTask(id, inCategory("docs")))
	}
	all := []fleet.Category{"code", "docs", "novelty"}
	tests := []struct {
		name   string
		lesson fleet.Lesson
		tasks  []fleet.Task
		want   map[fleet.Category]float64
	}{
		{"by tag", fleet.Lesson{Tags: []string{"ci"}}, tasks, map[fleet.Category]float64{"code": 0.4, "docs": 1.0 / 7, "novelty": 0.25}},
		{"by tag and category", fleet.Lesson{Tags: []string{"ci"}, Categories: []fleet.Category{"code"}}, tasks, map[fleet.Category]float64{"code": 1}},
		{"by category", fleet.Lesson{Categories: []fleet.Category{"docs", "novelty"}}, tasks, map[fleet.Category]float64{"docs": 1, "novelty": 1}},
		{"whatever comes, and nothing does", fleet.Lesson{}, nil, map[fleet.Category]float64{"code": 1, "docs": 1, "novelty": 1}},
		{"by tag, and no task", fleet.Lesson{Tags: []string{"ci"}}, nil, map[fleet.Category]float64{"code": 0, "docs": 0, "novelty": 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(MatchRates(tt.lesson, all, tt.tasks), tt.want, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("rates (-got +want):\n%s", diff)
			}
		})
	}
}
