package top

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/plain"
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
	shown := panes
	if m.hides(paneRanking) {
		shown--
	}
	for p, rows := range m.share(room - shown) {
		if m.hides(pane(p)) {
			continue
		}
		lines, shown := m.paneLines(pane(p), rows)
		note := m.paneNote(pane(p))
		list = append(list, m.title(m.paneTitle(pane(p)), pane(p) == m.pane, join(note, shown), note, shown))
		for len(lines) < rows {
			lines = append(lines, "")
		}
		list = append(list, lines[:rows]...)
	}
	return list
}

// hides reports whether a pane has nothing to show: a single category is not ranked.
func (m Model) hides(p pane) bool { return p == paneRanking && len(m.look.Ranking) < 2 }

// share divides the lines between the panes: two for each to begin with, and what a log needs
// to be read; then what the chosen one wants, then the others, and what is left to the log.
func (m Model) share(room int) (rows [panes]int) {
	const least, minOfLog = 2, 8
	wants := [panes]int{len(m.rows()), len(m.tracks()) + 1, len(m.look.Ranking), minOfLog}
	if m.hides(paneRanking) {
		wants[paneRanking] = 0
	}
	if m.log.run == "" {
		wants[paneLog] = 1
	}
	if m.pane == paneLog {
		wants[paneLog] = room
	}
	for p := range rows {
		rows[p] = min(least, wants[p])
		room -= rows[p]
	}
	give := func(p pane) {
		more := min(max(wants[p]-rows[p], 0), room)
		rows[p] += more
		room -= more
	}
	if more := min(minOfLog-least, wants[paneLog]-rows[paneLog], room); more > 0 {
		rows[paneLog] += more // which nothing else takes away
		room -= more
	}
	for _, p := range []pane{m.pane, paneLanes, paneRanking, paneTimeline} {
		give(p)
	}
	rows[paneLog] += room
	return rows
}

func (m Model) paneLines(p pane, rows int) (lines []string, shown string) {
	switch p {
	case paneLanes:
		return m.laneLines(m.width, rows)
	case paneTimeline:
		return m.timelineLines(m.width, rows)
	case paneRanking:
		return m.rankingLines(m.width, rows)
	case paneLog:
		return m.logBody(rows), ""
	}
	return nil, ""
}

func (m Model) paneTitle(p pane) string {
	switch p {
	case paneLanes:
		return "1 lanes"
	case paneTimeline:
		return "2 last " + limit(Past)
	case paneRanking:
		return "3 ranking"
	case paneLog:
		if m.log.run == "" {
			return "4 log"
		}
		return "4 " + m.logTitle()
	}
	return ""
}

// paneNote returns the text at the right of a pane's title.
func (m Model) paneNote(p pane) string {
	switch p {
	case paneTimeline:
		return m.legend()
	case paneRanking:
		return strings.TrimSpace(rankingTitles)
	case paneLog:
		return m.logPlace()
	case paneLanes:
	}
	return ""
}

// title is a line across the screen, with the first of the notes that there is room for at
// its right end.
func (m Model) title(text string, chosen bool, notes ...string) string {
	s := m.style()
	paint, mark := screen.Dim, "─"
	if chosen {
		paint, mark = screen.Bold, "━"
	}
	text = ansi.Truncate(text, max(m.width-4, 1), "…")
	rest, end := m.width-ansi.StringWidth(text)-3, ""
	for _, note := range notes {
		if w := ansi.StringWidth(note) + 3; note != "" && w < rest {
			rest, end = rest-w, " "+note+" "+s.Paint(screen.Dim, mark)
			break
		}
	}
	return s.Paint(screen.Dim, mark) + " " + s.Paint(paint, text) + " " +
		s.Paint(screen.Dim, strings.Repeat(mark, max(rest, 0))) + end
}

// tabs are the titles of all panes on one line.
func (m Model) tabs(shown string) string {
	s := m.style()
	names := []string{"lanes", "timeline", "ranking", "log"}
	var parts []string
	for p, name := range names {
		if m.hides(pane(p)) {
			continue
		}
		if pane(p) == m.pane {
			parts = append(parts, s.Paint(screen.Bold, fmt.Sprintf("[%d %s]", p+1, name)))
			continue
		}
		parts = append(parts, s.Paint(screen.Dim, fmt.Sprintf(" %d %s ", p+1, name)))
	}
	return spread(strings.Join(parts, ""), shown, m.width)
}

// pointer marks the selected line.
func (m Model) pointer(selected bool) string {
	if selected {
		return m.style().Paint(screen.Bold, ">")
	}
	return " "
}

// nameWidth is that of the lanes' names, within reason.
func (m Model) nameWidth() int {
	const most = 24
	width := 4
	for _, l := range m.look.Lanes {
		width = max(width, ansi.StringWidth(m.laneName(l.Category, l.Number)))
	}
	return min(width, most, max(m.width/3, 1))
}

// pad makes a text so wide.
func pad(text string, width int) string {
	text = ansi.Truncate(text, width, "…")
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
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

func join(parts ...string) string {
	list := plain.Kept(parts, func(p string) bool { return p != "" })
	return strings.Join(list, "  ")
}
