package fleet

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseNames(t *testing.T) {
	t.Parallel()
	parsers := map[string]func(string) error{
		"name":     func(s string) error { _, err := ParseName(s); return err },
		"category": func(s string) error { _, err := ParseCategory(s); return err },
		"run id":   func(s string) error { _, err := ParseRunID(s); return err },
	}
	tests := []struct {
		text string
		want string // the parsers that take it
	}{
		{"a", "name category run id"},
		{"0", "name category run id"},
		{strings.Repeat("a", 32), "name category run id"},
		{strings.Repeat("a", 33), ""},
		{"", ""},
		{"a_b", "name category"},
		{"_a", "name"},
		{"a-b", "category"},
		{"-a", ""},
		{"A", ""},
		{"é", ""},
		{"a b", ""},
		{"a\n", ""},
		{"\na", ""},
		{"a/b", ""},
		{"a.b", ""},
		{"a%b", ""},
		{"a$b", ""},
	}
	for _, tt := range tests {
		for what, parse := range parsers {
			err := parse(tt.text)
			if got, want := err == nil, strings.Contains(tt.want, what); got != want {
				t.Errorf("%s %q: got %v, want taken: %v", what, tt.text, err, want)
			}
		}
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text           string
		key, id, named bool // is a claim key, a task id, a holder
	}{
		{"ci-fix", true, true, true},
		{" a 'b' \"c\" $HOME %n ", true, true, true},
		{"任务 🎉", true, true, true},
		{".", true, true, true},
		{"issues/7", true, false, true},
		{strings.Repeat("k", 512), true, true, true},
		{strings.Repeat("k", 513), false, false, false},
		{strings.Repeat("é", 256), true, true, true},
		{strings.Repeat("é", 257), false, false, false},
		{"", false, false, false},
		{"a\x00b", false, false, false},
		{"a\nb", false, false, false},
		{"a\tb", false, false, false},
		{"a\x7f", false, false, false},
		{"a\u0085b", false, false, false},
		{"a\x1b[31m", false, false, false},
		{"a\xffb", false, false, false},
		{"category:code:1", false, false, true},
		{"category:", false, false, true},
		{"category", true, true, true},
		{"Category:code:1", true, true, true},
		{" category:code:1", true, true, true},
	}
	for _, tt := range tests {
		_, err := ParseKey(tt.text)
		if got := err == nil; got != tt.key {
			t.Errorf("key %q: got %v, want taken: %v", tt.text, err, tt.key)
		}
		_, err = ParseTaskID(tt.text)
		if got := err == nil; got != tt.id {
			t.Errorf("task id %q: got %v, want taken: %v", tt.text, err, tt.id)
		}
		_, err = ParseHolder(tt.text)
		if got := err == nil; got != tt.named {
			t.Errorf("holder %q: got %v, want taken: %v", tt.text, err, tt.named)
		}
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                        true,
		"a note: ünïcode":         true,
		strings.Repeat("n", 4096): true,
		strings.Repeat("n", 4097): false,
		"two\nlines":              false,
		"\xc3":                    false,
	} {
		_, err := ParseText("note", text)
		if got := err == nil; got != want {
			t.Errorf("%.20q: got %v, want taken: %v", text, err, want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "note") {
			t.Errorf("%.20q: got %q, want it to name the note", text, err)
		}
	}
}

// TestLaneKeysCannotBeTyped guards the keys of sessions without a task.
func TestLaneKeysCannotBeTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCategory(t)
		key := LaneKey(c, rapid.IntRange(1, 99).Draw(t, "lane"))
		if _, err := ParseKey(string(key)); err == nil {
			t.Errorf("got key %q taken, want it refused", key)
		}
	})
}

func TestRunIDsSortByTime(t *testing.T) {
	t.Parallel()
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(0, 1<<50-1).Draw(t, "ms"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := moment.Draw(t, "a"), moment.Draw(t, "b")
		idA := NewRunID(a, rapid.Uint32().Draw(t, "random a"))
		idB := NewRunID(b, rapid.Uint32().Draw(t, "random b"))
		if want := a.Compare(b); want != 0 && cmp.Compare(idA, idB) != want {
			t.Errorf("got %s for %s and %s for %s, want them in order of time", idA, a, idB, b)
		}
		for _, id := range []RunID{idA, idB} {
			if _, err := ParseRunID(string(id)); err != nil || len(id) != 16 || strings.ContainsAny(string(id), "ilou") {
				t.Errorf("got %q (%v), want 16 digits of Crockford's base 32", id, err)
			}
		}
	})
}

func TestRunIDKeepsItsParts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ms     int64
		random uint32
		want   RunID
	}{
		{0, 0, "0000000000000000"},
		{1, 1, "0000000001000001"},
		{33, 1<<30 - 1, "0000000011zzzzzz"},
		{1<<50 - 1, 1 << 30, "zzzzzzzzzz000000"}, // the two upper bits of chance have no digit
	}
	for _, tt := range tests {
		if got := NewRunID(time.UnixMilli(tt.ms), tt.random); got != tt.want {
			t.Errorf("%d, %d: got %s, want %s", tt.ms, tt.random, got, tt.want)
		}
	}
	if got, want := RunID("0abc").Holder(), Holder("run:0abc"); got != want {
		t.Errorf("got holder %q, want %q", got, want)
	}
}

func TestDenial(t *testing.T) {
	t.Parallel()
	c := Claim{Key: "fix", Holder: "bob@host", ExpiresAt: time.Date(2026, 6, 26, 2, 25, 19, 5e8, time.FixedZone("", 7200))}
	c.ReadAt = c.ExpiresAt.Add(-1)
	if got, want := c.Denial(), "DENIED — fix held by bob@host (expires 2026-06-26T00:25:19Z)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.ReadAt = c.ExpiresAt
	if got, want := c.Denial(), "DENIED — fix held by bob@host (expired 2026-06-26T00:25:19Z, but its session lives)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
