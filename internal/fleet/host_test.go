package fleet_test

import (
	"testing"
	"time"

	"stint/internal/fleet"
)

func TestHostTrouble(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		silent  time.Duration
		working bool
		gone    bool
		want    string
	}{
		{"it works", 5 * time.Minute, true, false, ""},
		{"it is idle", 10 * time.Hour, false, false, ""},
		{"it works, and has no heartbeat", 11 * time.Minute, true, false, "silent, with sessions at work"},
		{"it is idle for long", 25 * time.Hour, false, false, "silent"},
		{"it is off", 25 * time.Hour, true, true, "gone: burnt"},
	} {
		h := fleet.Host{HeardAt: now.Add(-c.silent)}
		if c.gone {
			h.GoneAt, h.Reason = now, "burnt"
		}
		if got := h.Trouble(c.working, now); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
