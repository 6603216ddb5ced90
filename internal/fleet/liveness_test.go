package fleet_test

import (
	"testing"
	"time"

	"stint/internal/fleet"
)

// TestSilent closes a run of another machine once the last lease of its own is over, whatever others hold.
func TestSilent(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	run := fleet.Run{ID: "01m8000000000000", Category: "code", Lane: 1, Key: "fix", CreatedAt: start, StartedAt: start}
	held := func(holder fleet.Holder, key fleet.Key, until time.Duration) fleet.Claim {
		return fleet.Claim{Key: key, Holder: holder, Epoch: 1, ExpiresAt: start.Add(until)}
	}
	own, lane := run.ID.Holder(), fleet.LaneKey("code", 1)
	for name, tt := range map[string]struct {
		claims []fleet.Claim
		at     time.Duration
		want   bool
	}{
		"its lease":             {[]fleet.Claim{held(own, "fix", time.Hour)}, time.Hour, false},
		"its lease is over":     {[]fleet.Claim{held(own, "fix", time.Hour)}, time.Hour + 30*time.Second, true},
		"its lane's":            {[]fleet.Claim{held(own, "fix", time.Hour), held(own, lane, 2*time.Hour)}, 2 * time.Hour, false},
		"its agent's own":       {[]fleet.Claim{held(own, "fix", time.Hour), held(own, "other", 72*time.Hour)}, 2 * time.Hour, true},
		"another's, on both":    {[]fleet.Claim{held(own, "fix", time.Hour), held("b", "fix", 72*time.Hour), held("b", lane, 72*time.Hour)}, 2 * time.Hour, true},
		"none, for nine":        {nil, 9 * time.Minute, false},
		"none, for ten minutes": {nil, 10 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run.Silent(tt.claims, start.Add(tt.at)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
