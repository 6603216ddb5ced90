package survey

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/review"
)

// TestWaitsSince has commits of every date, by the session and by others.
func TestWaitsSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	run := fleet.Run{StartedAt: ago(10), EndedAt: ago(8), Commits: []string{"a", "b"}}
	for _, test := range []struct {
		name  string
		tip   string
		dated time.Time
		run   fleet.Run
		want  time.Time
	}{
		{"its own", "b", ago(9), run, ago(9)},
		{"its own, dated 1970", "b", time.Unix(0, 0), run, ago(10)},
		{"its own, dated after its end", "b", ago(1), run, ago(8)},
		{"its own, dated in the future", "b", ago(-99), run, ago(8)},
		{"another's since", "c", ago(1), run, ago(1)},
		{"another's, dated in the future", "c", ago(-99), run, ago(8)},
		{"of a run that nobody knows", "b", ago(9), fleet.Run{}, ago(9)},
		{"of a run that nobody knows, dated in the future", "b", ago(-99), fleet.Run{}, now},
	} {
		if got := waitsSince(review.Branch{Tip: test.tip, Since: test.dated}, test.run, now); !got.Equal(test.want) {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
