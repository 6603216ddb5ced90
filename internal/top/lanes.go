package top

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
)

// laneName is a category, with the number of its lane where it has several.
func (m Model) laneName(c fleet.Category, lane int) string {
	return plain.Line(screen.LaneName(c, lane, screen.LaneCounts(m.look.Lanes)[c]))
}

// state is the sign, the colour and the word for how a lane is.
func (m Model) state(r row) (glyph string, paint screen.Paint, word string) {
	switch {
	case r.run == nil && (m.paused(r.category) || m.paused("")):
		return "=", screen.Yellow, "paused"
	case r.run == nil:
		return "○", screen.Dim, "idle"
	}
	sign := r.run.Sign()
	if r.run.State == fleet.RunWaiting {
		sign.Word = screen.Waits(*r.run, m.now)
	}
	return sign.Mark, screen.MoodPaint(sign.Mood), sign.Word
}

// spent shows a run's time at work, beside its limit.
func (m Model) spent(r *fleet.RunStatus) string {
	if r.StartedAt.IsZero() {
		return ""
	}
	end := r.EndedAt
	if end.IsZero() {
		end = m.now
	}
	text := plain.Span(max(end.Sub(r.StartedAt), 0))
	if r.EndedAt.IsZero() && r.Timeout > 0 {
		text += "/" + limit(r.Timeout)
	}
	return text
}

// limit is a time-out, which is mostly of whole minutes or hours.
func limit(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0 && d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return plain.Span(d)
	}
}

// laneLines has a line for each of the rows that there is room for.
func (m Model) laneLines(width, rows int) (lines []string, shown string) {
	list := m.rows()
	first, end := window(len(list), rows, m.at(list))
	table := screen.Table{Columns: []screen.Column{
		{}, {Least: 6}, {}, {Least: 8}, {Least: 4}, {Right: true}, {Right: true},
	}}
	several := len(m.look.Hosts) > 0
	if several {
		table.Columns = append(table.Columns, screen.Column{Least: 4})
	}
	for _, r := range list[first:end] {
		if r.folded {
			continue // which has no columns
		}
		glyph, paint, word := m.state(r)
		cells := []screen.Cell{
			{Text: glyph, Paint: paint},
			screen.Text(m.laneName(r.category, r.lane)),
			{Text: word, Paint: paint},
			screen.Text(""), screen.Text(""), screen.Text(""), screen.Text(""),
		}
		if several {
			cells = append(cells, screen.Text(""))
		}
		if r.run != nil {
			cells[3], cells[4] = screen.Text(screen.Dash(string(r.run.Task))), screen.Text(r.run.Agent)
			cells[5] = screen.Text(m.spent(r.run))
			if several {
				cells[7] = screen.Text(screen.OnOtherHost(*r.run, m.now))
			}
			if r.run.Tokens != nil {
				cells[6] = screen.Text(plain.Count(*r.run.Tokens) + " tok")
			}
		} else if last := m.lastRun(r.category); last.ID != "" {
			cells[3] = screen.Cell{Text: m.lastText(last), Paint: screen.Dim}
		}
		table.Rows = append(table.Rows, cells)
	}
	style := m.style()
	style.Width = width - 2
	for i, text := range table.Lines(style) {
		lines = append(lines, m.pointer(list[first+i].place == m.selected)+" "+text)
	}
	if end > first && list[end-1].folded {
		lines = append(lines, m.pointer(m.selected.folded)+" "+m.foldLine(list[end-1].lanes))
	}
	return lines, partly(first, end, len(list))
}

// foldLine names the lanes that are folded.
func (m Model) foldLine(rows []row) string {
	names := plain.Each(rows, func(r row) string { return m.laneName(r.category, r.lane) })
	return m.style().Paint(screen.Dim, fmt.Sprintf("○  %d idle: %s", len(rows), strings.Join(names, ", ")))
}

// lastText says what a category did last.
func (m Model) lastText(r fleet.Run) string {
	if r.EndedAt.IsZero() {
		return ""
	}
	text := fmt.Sprintf("last %s %s", r.Verdict.Outcome, plain.Ago(r.EndedAt, m.now))
	if g := r.Final(); g != nil {
		text += fmt.Sprintf(", grade %.2f", *g)
	}
	return text
}
