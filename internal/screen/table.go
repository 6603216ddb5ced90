package screen

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/plain"
)

// Column is a column of a table.
type Column struct {
	Title string
	Right bool // aligned at the right, like numbers
	Least int  // columns to which it may be cut; 0: it is never cut
}

// Cell is one line in a table, made safe when it is shown.
type Cell struct {
	Text  string
	Paint Paint
}

// Text is a cell of ordinary text.
func Text(s string) Cell { return Cell{Text: s} }

// Row is a row of ordinary cells.
func Row(texts ...string) []Cell {
	return plain.Each(texts, Text)
}

// Table is rows in aligned columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

const gap = 2 // columns between columns

// Lines lays the table out, with its titles unless all are empty. If it is too wide, the widest columns that may be cut
// are cut until it fits, or until none can be cut further.
func (t Table) Lines(s Style) []string {
	texts := make([][]string, len(t.Rows))
	widths := make([]int, len(t.Columns))
	titled := false
	for i, c := range t.Columns {
		widths[i] = ansi.StringWidth(c.Title)
		titled = titled || c.Title != ""
	}
	for i, row := range t.Rows {
		texts[i] = make([]string, len(row))
		for j, cell := range row {
			texts[i][j] = plain.Line(cell.Text)
			widths[j] = max(widths[j], ansi.StringWidth(texts[i][j]))
		}
	}
	last := len(widths) - 1
	below := s.Tall && t.Columns[last].Least > 0 && t.shrink(slices.Clone(widths), s.Width)
	if below {
		widths = widths[:last]
	}
	t.shrink(widths, s.Width)
	var lines []string
	if titled {
		titles := plain.Each(t.Columns[:len(widths)], func(c Column) string { return c.Title })
		lines = append(lines, t.line(s, widths, titles, nil))
	}
	for i, row := range t.Rows {
		lines = append(lines, t.line(s, widths, texts[i][:len(widths)], row))
		if below && texts[i][last] != "-" {
			lines = append(lines, s.Paragraph(Dim, "  ", "    ", strings.ToLower(t.Columns[last].Title)+": "+texts[i][last])...)
		}
	}
	return lines
}

// shrink cuts columns until all fit, and reports whether they were too wide.
func (t Table) shrink(widths []int, room int) bool {
	if room <= 0 {
		return false
	}
	all := gap * (len(widths) - 1)
	for _, w := range widths {
		all += w
	}
	wide := all > room
	for ; all > room; all-- {
		widest := -1
		for i, c := range t.Columns[:len(widths)] {
			if c.Least > 0 && widths[i] > c.Least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return wide
}

// line lays out one row; without cells, the titles.
func (t Table) line(s Style, widths []int, texts []string, row []Cell) string {
	var b strings.Builder
	for i, text := range texts {
		text = ansi.Truncate(text, widths[i], "…")
		pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(text))
		paint := Dim
		if row != nil {
			paint = row[i].Paint
		}
		switch painted := s.Paint(paint, text); {
		case t.Columns[i].Right:
			b.WriteString(pad + painted)
		case i == len(texts)-1:
			b.WriteString(painted)
		default:
			b.WriteString(painted + pad)
		}
		if i < len(texts)-1 {
			b.WriteString(strings.Repeat(" ", gap))
		}
	}
	return s.Fit(strings.TrimRight(b.String(), " "))
}
