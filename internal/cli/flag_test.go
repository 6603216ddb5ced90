package cli

import (
	"testing"
	"time"
)

func TestSpanFlag(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "1d12h": 36 * time.Hour, "65535d23h59m": 65535*day + 23*time.Hour + 59*time.Minute,
	} {
		var got time.Duration
		if err := spanFlag(&got).Set(text); err != nil || got != want {
			t.Errorf("got %v (%v) of %q, want %v", got, err, text, want)
		}
	}
	for _, text := range []string{"", "0", "0d", "d", "7", "7D", "-1d", "-1h", "1.5d", "1d-1h", "1d24h", "65536d", "7dd", "1h7d", "soon", "1572864h", "99999999h"} {
		var got time.Duration
		if err := spanFlag(&got).Set(text); err == nil || got != 0 {
			t.Errorf("got %v of %q, want a refusal", got, text)
		}
	}
}

// TestTimeFlags reads times on a Wednesday.
func TestTimeFlags(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 10, 30, 0, 0, time.Local)
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.Local) }
	clock := func() time.Time { return now }
	for text, want := range map[string]time.Time{
		"0": time.Unix(0, 0), "90m": now.Add(-90 * time.Minute), "3d": now.Add(-72 * time.Hour), "0d": time.Unix(0, 0), "0s": time.Unix(0, 0),
		"today": day(25), "yesterday": day(24), "monday": day(23), "Wednesday": day(25), "thursday": day(19),
		"2026-11-21": day(21), "2026-11-20T09:00:00Z": time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	} {
		var got time.Time
		if err := pastFlag(&got, clock).Set(text); err != nil || !got.Equal(want) {
			t.Errorf("past %q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]time.Time{
		"90m": now.Add(90 * time.Minute), "tomorrow": day(26), "monday": day(30), "wednesday": day(25).AddDate(0, 0, 7), "2026-11-28": day(28),
	} {
		var got time.Time
		if err := comingFlag(&got, clock).Set(text); err != nil || !got.Equal(want) {
			t.Errorf("coming %q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "-1h", "1d24h", "tomorrow", "2026-11-26", "2026-13-01", "moonday"} {
		var got time.Time
		if err := pastFlag(&got, clock).Set(text); err == nil || !got.IsZero() {
			t.Errorf("past: got %v of %q, want a refusal", got, text)
		}
	}
	for _, text := range []string{"0", "today", "yesterday", "2026-11-25", "2026-11-20T09:00:00Z"} {
		var got time.Time
		if err := comingFlag(&got, clock).Set(text); err == nil || !got.IsZero() {
			t.Errorf("coming: got %v of %q, want a refusal", got, text)
		}
	}
}
