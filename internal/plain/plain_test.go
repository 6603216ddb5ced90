package plain_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"stint/internal/plain"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, line string }{
		{"words", "grüße, 日本語", "grüße, 日本語"},
		{"emoji that are joined", "👩‍👧", "👩‍👧"},
		{"white space", "a\tb\r\nc", "a b  c"},
		{"escape sequence", "\x1b[2Jred", "\ufffd[2Jred"},
		{"C1 control", "a\u009bb\u0085c", "a\ufffdb\ufffdc"},
		{"rubbed out", "a\b\x7f", "a\ufffd\ufffd"},
		{"separators of lines and paragraphs", "a\u2028b\u2029c", "a\ufffdb\ufffdc"},
		{"reordered", "\u202egnol\u2067x\u2069", "\ufffdgnol\ufffdx\ufffd"},
		{"hidden", "a\u200bb\ufeff\u00ad", "a\ufffdb\ufffd\ufffd"},
		{"no characters", "a\ufffe\uffff", "a\ufffd\ufffd"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
	} {
		if got := plain.Line(tt.text); got != tt.line {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.line)
		}
	}
	if got, want := plain.Text("a\nb\x00\n"), "a\nb\ufffd\n"; got != want {
		t.Errorf("lines: got %q, want %q", got, want)
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, noun := range []string{"day", "retry", "category", "day"} {
		want := []string{"0 days", "1 retry", "2 categories", "3 days"}[n]
		if got := plain.Plural(n, noun); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 14, 0, 0, 5, time.FixedZone("", 2*60*60))
	if got, want := plain.Stamp(at), "2026-06-01T12:00:00Z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text         string
		at           int
		line, column int
	}{
		{"\xff", 0, 1, 1},
		{"ü\xff", 2, 1, 3},
		{"a\n\n\xe2\x82", 3, 3, 1},
		{"\ufffd\nab\x80", 6, 2, 3},
	} {
		at := plain.Invalid(tt.text)
		if again := plain.Invalid([]byte(tt.text)); at != tt.at || again != at {
			t.Fatalf("%q is invalid at %d and %d, want %d", tt.text, at, again, tt.at)
		}
		if line, column := plain.Position(tt.text, at); line != tt.line || column != tt.column {
			t.Errorf("%q: got line %d, column %d, want %d and %d", tt.text, line, column, tt.line, tt.column)
		}
	}
	if at := plain.Invalid(strings.Repeat("\ufffd", 3)); at != -1 {
		t.Errorf("valid text is invalid at %d", at)
	}
}

// TestInvalidIsLinear copies a long text once: a file of a megabyte whose last byte is wrong took minutes, and any session
// can leave one among the tasks.
//
//nolint:paralleltest // allocations are counted for the whole process
func TestInvalidIsLinear(t *testing.T) {
	data := append(bytes.Repeat([]byte("x"), 10_000), 0xff)
	if copies := testing.AllocsPerRun(1, func() { plain.Invalid(data) }); copies > 1 {
		t.Errorf("%v allocations for one text", copies)
	}
}

// TestFarthest shows what lies as far off as numbers go: clocks that were wrong, and
// stores that are damaged, hold such times.
func TestFarthest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ name, got, want string }{
		{"shortest span", plain.Span(math.MinInt64), "-106751d23h"},
		{"longest span", plain.Span(math.MaxInt64), "106751d23h"},
		{"long to come", plain.Ago(now.AddDate(2000, 0, 0), now), "in 106751d23h"},
		{"soon to come", plain.Ago(now.Add(90*time.Second), now), "in 1m30s"},
		{"long ago", plain.Ago(now.AddDate(-2000, 0, 0), now), "106751d23h ago"},
		{"least count", plain.Count(math.MinInt64), "-9223372036855M"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "ééé": "ééé", "éééé": "éé…"} {
		if got := plain.Short(text, 3); got != want {
			t.Errorf("got %q of %q, want %q", got, text, want)
		}
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"a\nbc\n", 4, "bc\n"},
		{"a\nbc\n", 3, "bc\n"},
		{"a\nbcdef\n", 4, "def\n"},
		{"aü", 1, ""},
		{"aüb", 2, "b"},
		{"abc", 0, ""},
	} {
		if got := plain.Last(tt.text, tt.most); got != tt.want {
			t.Errorf("last %d of %q: got %q, want %q", tt.most, tt.text, got, tt.want)
		}
	}
}
