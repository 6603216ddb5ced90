package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/replay"
	"stint/internal/screen"
	"stint/internal/selector"
)

// ranked is what is believed of a category, and what the last fire of its pool made of it.
type ranked struct {
	engine.Belief
	low, high float64
	rank      int           // of that fire, from 1; 0: it was left out, or there was no fire
	score     float64       // of that fire
	draw      *float64      // nil: it was not ranked
	choice    *fleet.Choice // nil: the fire decided nothing about it
	out       string        // why no fire would start it; empty: nothing is known to keep it out
}

// rankingOf has the categories as the last fires ranked them, then the others by what is
// believed.
func rankingOf(s engine.Status) (list []ranked) {
	for _, b := range s.Beliefs {
		r := ranked{Belief: b}
		r.low, r.high = b.Credible()
		if bar, barred := s.Bars[b.Category]; barred {
			r.out = bar.String()
		}
		list = append(list, r)
	}
	pools := map[string]bool{}
	for _, f := range s.Fires { // newest first
		in, err := replay.Read(f)
		if err != nil || pools[in.FirePool] {
			continue // a record that cannot be read is for "stint replay" to complain of
		}
		pools[in.FirePool] = true
		for rank, score := range selector.Rank(in).Scores {
			i := slices.IndexFunc(list, func(r ranked) bool { return r.Category == score.Category })
			if i >= 0 && list[i].draw == nil {
				list[i].fired(f, rank+1, score)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		if (a.rank == 0) != (b.rank == 0) {
			return cmp.Compare(b.rank, a.rank) // who was left out stands below
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.Mean(), a.Mean()))
	})
	return list
}

// fired notes what a fire made of the category.
func (r *ranked) fired(f fleet.Fire, rank int, s selector.Score) {
	draw := s.TS
	r.draw, r.score = &draw, s.Value
	if s.In {
		r.rank = rank
	}
	if i := slices.IndexFunc(f.Choices, func(c fleet.Choice) bool { return c.Category == r.Category }); i >= 0 {
		r.choice = &f.Choices[i]
	}
}

func (r ranked) started() bool { return r.choice != nil && r.choice.Decision == fleet.Spawn }

// numbers are the columns right of the bar.
func (r ranked) numbers() string {
	draw := "     -"
	if r.draw != nil {
		draw = fmt.Sprintf("%6.2f", *r.draw)
	}
	return fmt.Sprintf("%6.2f  %.2f-%.2f  %s  %5s", r.Mean(), r.low, r.high, draw, screen.Count(int64(r.Graded)))
}

const rankingTitles = "  mean   interval   drew   graded"

// bar draws a belief on so many columns that stand for the grades from 0 to 1: full up to
// where the interval begins, shaded within it, with a mark at what the last fire drew.
func (r ranked) bar(columns int) string {
	if columns < 1 {
		return ""
	}
	var b strings.Builder
	for i := range columns {
		middle := (float64(i) + 0.5) / float64(columns)
		switch {
		case r.draw != nil && i == min(int(*r.draw*float64(columns)), columns-1):
			b.WriteString("◆")
		case middle < r.low:
			b.WriteString("█")
		case middle < r.Mean():
			b.WriteString("▓")
		case middle < r.high:
			b.WriteString("░")
		default:
			b.WriteString("·")
		}
	}
	return b.String()
}

func (m Model) rankingLines(width, rows int) (lines []string, shown string) {
	first, end := window(len(m.ranking), rows, m.rankAt())
	names := m.nameWidth()
	bar := min(max(width-names-4-len(rankingTitles)-1, 0), widestBar)
	for _, r := range m.ranking[first:end] {
		name := pad(line(string(r.Category)), names)
		mark, paint := " ", screen.Normal
		if r.started() {
			mark, paint = "*", screen.Green
		}
		text := m.pointer(r.Category == m.selected.category) + m.style().Paint(paint, mark+name) + " "
		if bar >= leastBar {
			text += m.style().Paint(screen.Cyan, r.bar(bar))
		}
		text += r.numbers()
		if bar == widestBar && r.out != "" {
			text += "   " + m.style().Paint(screen.Dim, line(r.out))
		}
		lines = append(lines, text)
	}
	return lines, partly(first, end, len(m.ranking))
}

const (
	leastBar  = 10 // columns of the narrowest bar that says more than its numbers
	widestBar = 40 // a column is then a fortieth of a grade, which is finer than any belief
)

func (m Model) rankAt() int {
	return slices.IndexFunc(m.ranking, func(r ranked) bool { return r.Category == m.selected.category })
}
