package top

import (
	"fmt"
	"slices"
	"strings"

	"stint/internal/explain/inspect"
	"stint/internal/plain"
	"stint/internal/screen"
)

// numbers are the columns right of the bar.
func numbers(r inspect.Ranked) string {
	draw := "     -"
	if r.Draw != nil {
		draw = fmt.Sprintf("%6.2f", *r.Draw)
	}
	return fmt.Sprintf("%6.2f  %.2f-%.2f  %s  %5s", r.Mean(), r.Low, r.High, draw, plain.Count(int64(r.Graded)))
}

const rankingTitles = "  mean   interval   drew   graded"

// beliefBar draws a belief on so many columns that stand for the grades from 0 to 1: full up to
// where the interval begins, shaded within it, with a mark at what the last fire drew.
func beliefBar(r inspect.Ranked, columns int) string {
	if columns < 1 {
		return ""
	}
	var b strings.Builder
	for i := range columns {
		middle := (float64(i) + 0.5) / float64(columns)
		switch {
		case r.Draw != nil && i == min(int(*r.Draw*float64(columns)), columns-1):
			b.WriteString("◆")
		case middle < r.Low:
			b.WriteString("█")
		case middle < r.Mean():
			b.WriteString("▓")
		case middle < r.High:
			b.WriteString("░")
		default:
			b.WriteString("·")
		}
	}
	return b.String()
}

func (m Model) rankingLines(width, rows int) (lines []string, shown string) {
	at := slices.IndexFunc(m.look.Ranking, func(r inspect.Ranked) bool { return r.Category == m.selected.category })
	first, end := window(len(m.look.Ranking), rows, at)
	names := m.nameWidth()
	bar := min(max(width-names-4-len(rankingTitles)-1, 0), widestBar)
	for _, r := range m.look.Ranking[first:end] {
		name := pad(plain.Line(string(r.Category)), names)
		mark, paint := " ", screen.Normal
		if r.Started() {
			mark, paint = "*", screen.Green
		}
		text := m.pointer(r.Category == m.selected.category) + m.style().Paint(paint, mark+name) + " "
		if bar >= minBar {
			text += m.style().Paint(screen.Cyan, beliefBar(r, bar))
		}
		text += numbers(r)
		if bar == widestBar && r.Out != "" {
			text += "   " + m.style().Paint(screen.Dim, plain.Line(r.Out))
		}
		lines = append(lines, text)
	}
	return lines, partly(first, end, len(m.look.Ranking))
}

const (
	minBar    = 10 // columns of the narrowest bar that says more than its numbers
	widestBar = 40 // a column is then a fortieth of a grade, which is finer than any belief
)
