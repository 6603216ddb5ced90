package grade_test

import (
	"testing"
	"time"

	"stint/internal/agent/grade"
	"stint/internal/fleet"
)

// TestFinal has sessions with a first grade and what became of their work, in hours.
func TestFinal(t *testing.T) {
	t.Parallel()
	type at struct {
		hour int
		kind fleet.FateKind
	}
	const merged, changed, rejected, reverted, touched = fleet.FateMerged, fleet.FateChanged, fleet.FateRejected, fleet.FateReverted, fleet.FateTouched
	for _, tt := range []struct {
		name  string
		first float64
		fates []at
		want  float64
	}{
		{"nothing", 0.58, nil, 0.58},
		{"merged", 0.5, []at{{1, merged}}, 0.75},
		{"merged past review", 0.5, []at{{1, fleet.FateUnreviewed}}, 0.5},
		{"merged past review, and touched", 0.5, []at{{1, fleet.FateUnreviewed}, {2, touched}}, 0.4},
		{"merged past review, and then reviewed", 0.5, []at{{1, fleet.FateUnreviewed}, {2, merged}}, 0.75},
		{"merged with changes", 0.5, []at{{1, changed}}, 0.6},
		{"rejected", 0.5, []at{{1, rejected}}, 0.2},
		{"reverted", 0.5, []at{{1, merged}, {2, reverted}}, 0.1},
		{"reverted, which was reverted", 0.5, []at{{1, merged}, {2, reverted}, {3, merged}}, 0.75},
		{"known in another order", 0.5, []at{{2, reverted}, {1, merged}}, 0.1},
		{"touched", 0.5, []at{{1, merged}, {2, touched}, {3, touched}}, 0.65},
		{"touched and reverted", 0.5, []at{{1, merged}, {2, touched}, {3, reverted}}, 0.1},
		{"rejected, and merged all the same", 0.5, []at{{1, rejected}, {2, merged}}, 0.75},
		{"not below 0", 0.3, []at{{1, reverted}}, 0},
		{"not above 1", 0.9, []at{{1, merged}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var fates []fleet.ReviewOutcome
			for _, f := range tt.fates {
				fates = append(fates, fleet.ReviewOutcome{At: time.Unix(int64(3600*f.hour), 0), Kind: f.kind})
			}
			if got := grade.Final(tt.first, fates); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
