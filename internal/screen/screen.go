// Package screen lays out what people read on a terminal: tables that fit the width,
// times, bars, the screens of single commands. It is pure: values and a style in, lines
// out. Other people's words can neither move the cursor nor reorder text.
package screen

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Style has the look of a screen.
type Style struct {
	Width  int  // columns; 0: as many as it takes, as in a pipe, where nothing is to be lost
	Colour bool // else nothing but the text
	Tall   bool // a list's last text goes below its row where the row would be too wide
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

// Paint colours a text, where there is colour.
func (s Style) Paint(p Paint, text string) string {
	if !s.Colour || p == Normal || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[m"
}

// MoodPaint is the colour of runs of a mood.
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

// SignCell is the mark of a run, in its colour.
func SignCell(s fleet.Sign) Cell { return Cell{s.Mark, MoodPaint(s.Mood)} }

// signWord is its word, in the same colour.
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

// Dash stands for what there is none of.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Stamp shows a time that may be none.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return plain.Stamp(t)
}

// Bar draws a part, in [0,1], of so many columns, to an eighth of one.
func Bar(part float64, columns int) string {
	const eighths = "▏▎▍▌▋▊▉"
	n := int(min(max(part, 0), 1)*float64(columns)*8 + 0.5)
	bar := strings.Repeat("█", n/8)
	if rest := n % 8; rest > 0 {
		bar += string([]rune(eighths)[rest-1])
	}
	return bar
}
