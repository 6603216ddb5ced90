package top

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/screen"
)

// minStacked is the least height for all panes at once: a title and two lines each.
const minStacked = 3 * panes

// panes lays the panes out below each other, or, where there is no room for that, the one
// that is chosen below the titles of all.
func (m Model) panes(room int) []string {
	if room < minStacked {
		lines, shown := m.paneLines(m.pane, room-1)
		return append([]string{m.tabs(shown)}, lines...)
	}
	var list []string
	for p, rows := range m.share(room - panes) {
		lines, note := m.paneLines(pane(p), rows)
		list = append(list, m.title(fmt.Sprintf("%d %s", p+1, m.paneTitle(pane(p))), pane(p) == m.pane, note))
		for len(lines) < rows {
			lines = append(lines, "")
		}
		list = append(list, lines[:rows]...)
	}
	return list
}

// share divides the lines between the panes: two for each to begin with, and what a log needs
// to be read; then what the chosen one wants, then the others, and what is left to the log.
func (m Model) share(room int) (rows [panes]int) {
	const least, minOfLog, fewOfList = 2, 5, 7
	wants := [panes]int{len(m.rows()), len(m.listed()) + 1, len(m.review.items) + 1, minOfLog}
	for p := range wants {
		if p := pane(p); p != m.pane && p != paneLanes {
			wants[p] = min(wants[p], fewOfList)
		}
	}
	if m.pane == paneLog {
		wants[paneLog] = room
	}
	for p := range rows {
		rows[p] = min(least, wants[p])
		room -= rows[p]
	}
	give := func(p pane, most int) {
		more := min(max(most-rows[p], 0), room)
		rows[p] += more
		room -= more
	}
	give(paneLog, min(minOfLog, wants[paneLog])) // which nothing else takes away
	for _, p := range []pane{m.pane, paneLanes, paneRuns, paneReview} {
		give(p, wants[p])
	}
	rows[paneLog] += room
	return rows
}

// paneLines are those of a pane, and what stands at the right of its title.
func (m Model) paneLines(p pane, rows int) (lines []string, note string) {
	switch p {
	case paneLanes:
		return m.laneLines(m.width, rows)
	case paneRuns:
		return m.runLines(rows)
	case paneReview:
		return m.reviewLines(rows)
	case paneLog:
		return m.logBody(rows), m.logPlace()
	}
	return nil, ""
}

func (m Model) paneTitle(p pane) string {
	switch title := paneNames()[p]; {
	case p == paneRuns:
		return title + m.filterText()
	case p == paneLog && m.log.run != "":
		return m.logTitle()
	default:
		return title
	}
}

// title is a line across the screen, with a note at its right end if there is room for it.
func (m Model) title(text string, chosen bool, note string) string {
	s := m.style()
	paint, mark := screen.Dim, "─"
	if chosen {
		paint, mark = screen.Bold, "━"
	}
	text = ansi.Truncate(text, max(m.width-4, 1), "…")
	rest, end := m.width-ansi.StringWidth(text)-3, ""
	if w := ansi.StringWidth(note) + 3; note != "" && w < rest {
		rest, end = rest-w, " "+note+" "+s.Paint(screen.Dim, mark)
	}
	return s.Paint(screen.Dim, mark) + " " + s.Paint(paint, text) + " " +
		s.Paint(screen.Dim, strings.Repeat(mark, max(rest, 0))) + end
}

// tabs are the titles of all panes on one line.
func (m Model) tabs(shown string) string {
	var parts []string
	for p, name := range paneNames() {
		if pane(p) == m.pane {
			parts = append(parts, m.style().Paint(screen.Bold, fmt.Sprintf("[%d %s]", p+1, name)))
			continue
		}
		parts = append(parts, m.style().Paint(screen.Dim, fmt.Sprintf(" %d %s ", p+1, name)))
	}
	return spread(strings.Join(parts, ""), shown, m.width)
}

func paneNames() [panes]string { return [panes]string{"lanes", "runs", "review", "log"} }

// pointer marks the selected line.
func (m Model) pointer(selected bool) string {
	if selected {
		return m.style().Paint(screen.Bold, ">")
	}
	return " "
}

// spread puts one text at the left and one at the right, which gives way to the first.
func spread(left, right string, width int) string {
	room := width - ansi.StringWidth(left)
	if w := ansi.StringWidth(right); w < room {
		return left + strings.Repeat(" ", room-w) + right
	}
	return left + "  " + ansi.Truncate(right, max(room-2, 0), "…")
}

// window is the part of n lines that rows have room for, and that the chosen one is in.
func window(n, rows, chosen int) (first, end int) {
	rows = max(rows, 0)
	first = min(max(chosen-rows/2, 0), max(n-rows, 0))
	return first, min(first+rows, n)
}

// partly says which lines a window shows, unless it shows all.
func partly(first, end, n int) string {
	if end-first == n {
		return ""
	}
	return fmt.Sprintf("%d-%d of %d", first+1, end, n)
}
