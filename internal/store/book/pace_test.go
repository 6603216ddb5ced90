package book_test

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/book"
)

// TestPace fires every ten minutes for half a week at an agent whose sessions take half an hour and much of each window of five
// hours. With pace no window is used up before its reset, and little is left of it. Without, each is, and most of it passes idle.
func TestPace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pace  bool
		slots int
		use   []float64 // of a session, in turn
		gone  int       // windows that were used up before their last session's time
		least float64   // that was used of a window
	}{
		"without":              {false, 2, []float64{0.1}, 16, 1},
		"with":                 {true, 2, []float64{0.1}, 0, 0.75},
		"sessions that differ": {true, 2, []float64{0.02, 0.08, 0.05}, 0, 0.8},
		"large sessions":       {true, 1, []float64{0.2}, 0, 0.6},
		"many at once":         {true, 6, []float64{0.04}, 0, 0.75},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const long, every, took = 5 * time.Hour, 10 * time.Minute, 30 * time.Minute
			var (
				a     fleet.AgentState
				ends  []time.Time // of sessions under way
				nth   int
				gone  int
				least = 1.0
			)
			begin := time.Date(2026, 6, 22, 0, 0, 0, 0, time.UTC)
			for range 16 {
				used, resets := 0.0, begin.Add(long)
				early := false
				for now := begin; now.Before(resets); now = now.Add(every) {
					for len(ends) > 0 && !ends[0].After(now) {
						ends, used = ends[1:], used+tt.use[nth%len(tt.use)]
						nth++
						a.Heard([]fleet.Window{{Long: long, Used: min(1, used), Resets: resets}}, "h", now)
					}
					if used >= 1 {
						early = early || now.Before(resets.Add(-took))
						continue
					}
					for len(ends) < tt.slots {
						list := book.Admission{Terms: fleet.Terms{Pace: tt.pace}, State: a, Busy: len(ends), Host: "h", Now: now}.Refusals()
						if len(list) > 0 && (list[0].Until.After(resets) || !list[0].Until.After(now)) {
							t.Fatalf("at %v of a window until %v: %+v", now, resets, list[0])
						}
						if len(list) > 0 {
							break
						}
						ends = append(ends, now.Add(took))
					}
				}
				if early {
					gone++
				}
				least, begin = min(least, used), resets
			}
			if gone != tt.gone || least < tt.least {
				t.Errorf("%d windows were used up early, and %.2f at least of each; want %d and %.2f", gone, least, tt.gone, tt.least)
			}
		})
	}
}
