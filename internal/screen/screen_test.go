package screen_test

import (
	"math"
	"testing"
	"time"

	"stint/internal/screen"
)

// TestFarthest shows what lies as far off as numbers go: clocks that were wrong, and
// stores that are damaged, hold such times.
func TestFarthest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ name, got, want string }{
		{"shortest span", screen.Span(math.MinInt64), "-106751d23h"},
		{"longest span", screen.Span(math.MaxInt64), "106751d23h"},
		{"long to come", screen.Ago(now.AddDate(2000, 0, 0), now), "in 106751d23h"},
		{"soon to come", screen.Ago(now.Add(90*time.Second), now), "in 1m30s"},
		{"long ago", screen.Ago(now.AddDate(-2000, 0, 0), now), "106751d23h ago"},
		{"least count", screen.Count(math.MinInt64), "-9223372036855M"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
