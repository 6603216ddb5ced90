// Package plain makes text that is safe to print, and holds the few ways of writing things
// down that the whole program shares. Names, notes, reasons and output come from files,
// agents and other people: none of it may move a cursor, colour a screen, break a line or
// reorder the text around it, whether a terminal, a page, a picture or a log shows it.
package plain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Text makes a text of any number of lines safe to print. A character that cannot be printed becomes
// U+FFFD, tabs and carriage returns become spaces.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t' || r == '\r':
			return ' '
		case hostile(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Line makes a text safe to print in one line.
func Line(s string) string { return strings.ReplaceAll(Text(s), "\n", " ") }

// Last is the end of a text, of so many bytes at most: from the beginning of a line, or of a character where
// the last line is longer.
func Last(s string, most int) string {
	if len(s) <= most {
		return s
	}
	at := len(s) - most
	if line := strings.IndexByte(s[at-1:len(s)-1], '\n'); line >= 0 {
		return s[at+line:]
	}
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// Short is the beginning of a text, with a mark where there was more: so many characters at most.
func Short(s string, most int) string {
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return s
}

// hostile reports whether a character is obeyed rather than shown: controls, separators of
// lines and paragraphs, marks that reorder or hide text, and the two that XML cannot hold.
// The zero-width joiner stays, as many emoji need it.
func hostile(r rune) bool {
	if r <= unicode.MaxASCII { // most are, and the tables of the others take their time
		return unicode.IsControl(r)
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Cf, r) && r != '\u200d' ||
		r == '\ufffe' || r == '\uffff'
}

// Stamp writes a time as RFC 3339 in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Latest is the latest of some times.
func Latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// Span is a length of time in at most seven characters: to the second below a minute,
// to the minute below a day, and then to the hour.
func Span(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < 0:
		return "-" + Span(-max(d, -math.MaxInt64)) // the least of all has no opposite
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// Ago says how long before now a time was, or how long after it will be.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "-"
	case d < 0:
		return "in " + strings.TrimPrefix(Span(d), "-")
	default:
		return Span(d) + " ago"
	}
}

// Count is a number in at most five characters: 999, 1.2k, 34k, 1.2M.
func Count(n int64) string {
	switch {
	case n < 0:
		return "-" + Count(-max(n, -math.MaxInt64)) // the least of all has no opposite
	case n < 1000:
		return fmt.Sprint(n)
	case n < 9_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n < 9_950_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.0fM", float64(n)/1e6)
	}
}

// Plural is a number of things: 1 retry, 2 retries, 3 days.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, found := strings.CutSuffix(noun, "y"); found && !strings.HasSuffix(stem, "a") {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Invalid is the place of the first byte that is not UTF-8, or -1.
func Invalid[T ~string | ~[]byte](data T) int {
	text := string(data)
	for at, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[at:], string(utf8.RuneError)) {
			return at
		}
	}
	return -1
}

// Position is the line and the column, in bytes, of a place in a file. Both count from 1.
func Position[T ~string | ~[]byte](data T, offset int) (line, column int) {
	before := string(data[:offset])
	return 1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')
}

// Bytes is an amount of bytes as people say it.
func Bytes[T int64 | uint64](bytes T) string {
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len("BKMGTPE")-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %ciB", value, "BKMGTPE"[unit])
}
