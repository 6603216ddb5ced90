package rank

import (
	"testing"
	"time"

	"stint/internal/fleet"
)

// TestOpening asks when the next category opens by the passing of time alone: in so many hours after noon, or 0 for never.
func TestOpening(t *testing.T) {
	t.Parallel()
	until := func(hours int) time.Time { return midday().Add(time.Duration(hours) * time.Hour) }
	pausedFor := func(hours int) func(*Facts) {
		return func(f *Facts) { f.Paused = Obstacle{Reason: "by bob", Until: until(hours)} }
	}
	limited := func(end time.Time) func(*Facts) {
		return func(f *Facts) { f.Gate = Obstacle{Kind: fleet.HinderedByAgent, Reason: "limit", Until: end} }
	}
	rests := func(hours int) func(*Facts) { return rests(time.Duration(hours) * time.Hour) }
	tests := []struct {
		name  string
		facts []Facts
		of    []fleet.Category
		extra bool
		want  int
	}{
		{"open now", []Facts{facts("code", selfDirected)}, nil, false, 0},
		{"a cooldown", []Facts{facts("code", selfDirected, rests(2))}, nil, false, 2},
		{"a cooldown that is over", []Facts{facts("code", selfDirected, rests(-1))}, nil, false, 0},
		{"a limit", []Facts{facts("code", selfDirected, limited(until(3)))}, nil, false, 3},
		{"a limit without an end", []Facts{facts("code", selfDirected, limited(time.Time{}))}, nil, false, 0},
		{"a pause", []Facts{facts("code", selfDirected, pausedFor(4))}, nil, false, 4},
		{"a pause without an end", []Facts{facts("code", selfDirected, paused("by bob"), rests(2))}, nil, false, 0},
		{"the last of several", []Facts{facts("code", selfDirected, pausedFor(4), rests(2), limited(until(3)))}, nil, false, 4},
		{"a cooldown and no task", []Facts{facts("code", rests(2))}, nil, false, 0},
		{"a cooldown and a back-off, which fires end", []Facts{facts("code", selfDirected, rests(2), noops(1))}, nil, false, 0},
		{"a cooldown and a busy lane", []Facts{facts("code", selfDirected, rests(2), inFlight("0r1"))}, nil, false, 0},
		{"the first of several categories", []Facts{facts("a", selfDirected, rests(5)), facts("b", selfDirected), facts("c", selfDirected, rests(2))}, nil, false, 2},
		{"a cooldown, between two fires", []Facts{facts("code", selfDirected, rests(2))}, nil, true, 0},
		{"a cooldown that ends before a limit, between two fires", []Facts{facts("code", selfDirected, rests(2), limited(until(3)))}, nil, true, 3},
		{"a limit that ends before a cooldown, between two fires", []Facts{facts("code", selfDirected, rests(4), limited(until(3)))}, nil, true, 0},
		{"of those that are asked for", []Facts{facts("a", selfDirected, rests(5)), facts("c", selfDirected, rests(2))}, []fleet.Category{"a"}, false, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := time.Time{}
			if tt.want != 0 {
				want = until(tt.want)
			}
			if got := (Situation{Queue: queue(nil), Facts: tt.facts}).Opening(tt.extra, tt.of...); !got.Equal(want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
