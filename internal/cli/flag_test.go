package cli

import (
	"testing"
	"time"
)

func TestSpanValue(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "0d": 0, "1d12h": 36 * time.Hour, "65535d23h59m": 65535*day + 23*time.Hour + 59*time.Minute,
	} {
		var v spanValue
		if err := v.Set(text); err != nil || v.span != want || !v.given {
			t.Errorf("got %v (%v) of %q, want %v", v.span, err, text, want)
		}
	}
	for _, text := range []string{"", "d", "7", "7D", "-1d", "-1h", "1.5d", "1d-1h", "1d24h", "65536d", "7dd", "1h7d", "soon", "99999999h"} {
		var v spanValue
		if err := v.Set(text); err == nil || v.given {
			t.Errorf("got %v of %q, want a refusal", v.span, text)
		}
	}
	now := time.Unix(1_800_000_000, 0)
	all, week := spanValue{}, spanValue{span: 7 * day, given: true}
	if got := all.before(now); !got.Equal(time.Unix(0, 0)) {
		t.Errorf("got %v, want all of the record", got)
	}
	if got, want := week.before(now), now.Add(-7*day); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
