// Package screen lays out text for a terminal: tables that fit its width, times, bars, the screens of single commands.
// It is pure: values and a style go in, lines come out. Words of others can neither move the cursor nor reorder text.
package screen

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Style holds the properties of a terminal or pipe.
type Style struct {
	Width  int  // columns; 0: no limit, as in a pipe, where nothing may be cut
	Colour bool // false: plain text
	Tall   bool // a list's last column goes below its row if the row is too wide
}

// Paint is a colour or weight of text, as the parameters of SGR (ECMA-48, 8.3.117).
type Paint string

const (
	Normal Paint = ""
	Bold   Paint = "1"
	Dim    Paint = "2"
	Red    Paint = "31"
	Green  Paint = "32"
	Yellow Paint = "33"
	Blue   Paint = "34"
	Cyan   Paint = "36"
)

// Paint colours a text, if the style has colour.
func (s Style) Paint(p Paint, text string) string {
	if !s.Colour || p == Normal || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[m"
}

// MoodPaint returns the colour for runs of a mood.
func MoodPaint(m fleet.Mood) Paint {
	switch m {
	case fleet.Good:
		return Green
	case fleet.Vain:
		return Blue
	case fleet.Bad:
		return Red
	case fleet.Ended, fleet.Coming:
		return Yellow
	case fleet.NoWork:
		return Dim
	case fleet.Alive:
	}
	return Cyan
}

// SignCell shows the mark of a run, in its colour.
func SignCell(s fleet.Sign) Cell { return Cell{s.Mark, MoodPaint(s.Mood)} }

// signWord shows the word for a run's state, in its colour.
func signWord(r fleet.RunStatus) Cell {
	s := r.Sign()
	return Cell{s.Word, MoodPaint(s.Mood)}
}

// Fit cuts a line to the width.
func (s Style) Fit(line string) string {
	if s.Width <= 0 {
		return line
	}
	return ansi.Truncate(line, s.Width, "…")
}

// Dash returns the text, or a dash if it is empty.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Stamp shows a time, or a dash if it is zero.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return plain.Stamp(t)
}

// Bar draws a part, in [0,1], as a bar of so many columns, to an eighth of a column.
func Bar(part float64, columns int) string {
	const eighths = "▏▎▍▌▋▊▉"
	n := int(min(max(part, 0), 1)*float64(columns)*8 + 0.5)
	bar := strings.Repeat("█", n/8)
	if rest := n % 8; rest > 0 {
		bar += string([]rune(eighths)[rest-1])
	}
	return bar
}
