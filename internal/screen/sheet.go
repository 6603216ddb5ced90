package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// sheet is a screen of blocks. Each has a label in a column of its own.
type sheet struct {
	Style
	lines []string
}

const (
	labelWidth = 10 // "24 hours" and a gap
	minInner   = 20 // columns for text, however narrow the terminal
)

// inner returns the style of the text beside the labels.
func (s *sheet) inner() Style {
	style := s.Style
	if s.Width > 0 {
		style.Width = max(s.Width-labelWidth, minInner)
	}
	return style
}

// add puts lines beside a label. Without lines there is no label either.
func (s *sheet) add(label string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		pad := strings.Repeat(" ", max(labelWidth-ansi.StringWidth(label), 1))
		s.lines = append(s.lines, s.Fit(strings.TrimRight(s.Paint(Dim, label)+pad+line, " ")))
	}
}

// text wraps a text beside a label. Words of others in it went through [plain.Line].
func (s *sheet) text(label, text string) { s.add(label, s.wrap(text)) }

// wrap breaks a text between words, to the room beside the labels.
func (s *sheet) wrap(text string) []string {
	if text == "" {
		return nil
	}
	if s.Width <= 0 {
		return []string{text}
	}
	lines := strings.Split(ansi.Wrap(text, s.inner().Width, ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// clipped returns the first lines of a wrapped text. In a pipe the text is one line, and stays whole.
func (s *sheet) clipped(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	last := ansi.Truncate(lines[most-1], s.inner().Width-ansi.StringWidth(" …"), "") + " …"
	return append(lines[:most-1:most-1], last)
}

// short shows a time by its distance from now, see [OneUnit].
func short(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if d := t.Sub(now); d >= time.Second { // a clock was set back
		return "in " + OneUnit(d)
	}
	return OneUnit(max(now.Sub(t), 0)) + " ago"
}

// OneUnit shows a duration in one unit, rounded down: 59s, 17m, 47h, 12d.
func OneUnit(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}
