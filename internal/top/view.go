package top

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"stint/internal/explain/inspect"
	"stint/internal/plain"
	"stint/internal/screen"
)

// View draws the screen.
func (m Model) View() tea.View {
	v := tea.NewView(strings.Join(m.Lines(), "\n"))
	v.AltScreen = true
	return v
}

// Lines are those of the screen: as many as it has, none wider than it is.
func (m Model) Lines() []string {
	if m.width < 1 || m.height < 1 {
		return nil
	}
	head, foot := m.header(), m.footer()
	room := max(m.height-len(head)-1, 0)
	var body []string
	switch {
	case m.help:
		body = m.helpLines(room)
	case m.lookedAt.IsZero():
		body = []string{"", "  looking at the fleet …"}
	case m.log.open:
		body = m.logScreen(room)
	case m.pane == paneReview && m.review.detail:
		body = m.itemScreen()
	default:
		body = m.panes(room)
	}
	lines := append(head, body...)
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:m.height-1], foot)
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.width, "…")
	}
	return lines
}

func (m Model) style() screen.Style { return screen.Style{Width: m.width, Colour: m.Colour} }

// header is the line that names the fleet and its next fire, and below it what is out of
// the ordinary, if anything is.
func (m Model) header() []string {
	s := m.style()
	name := " stint " + plain.Line(string(m.Fleet))
	left := s.Paint(screen.Bold, name) + "  " + m.now.UTC().Format("15:04:05Z")
	list := []string{spread(left, m.nextFire()+" ", m.width)}
	if text := m.trouble(); text != "" && m.height > 4 {
		list = append(list, text)
	}
	return list
}

// nextFire says when the last fire was, and when each pool's timer fires next.
func (m Model) nextFire() string {
	if m.lookedAt.IsZero() {
		return ""
	}
	parts := []string{"never fired"}
	if len(m.look.Fires) > 0 {
		f := m.look.Fires[0]
		parts[0] = fmt.Sprintf("fire %d %s", f.ID, plain.Ago(f.At, m.now))
	}
	for i, t := range m.look.Timers {
		name := "next"
		if i > 0 {
			name = plain.Line(t.Pool)
		}
		switch {
		case t.Firing:
			parts = append(parts, name+" now")
		case t.Active && !t.Next.IsZero():
			parts = append(parts, name+" "+plain.Ago(t.Next, m.now))
		case t.Active:
			parts = append(parts, name+" not known")
		case i == 0:
			parts = append(parts, "no timer runs")
		}
	}
	if len(m.look.Timers) == 0 {
		parts = append(parts, "timer not known")
	}
	return strings.Join(parts, ", ")
}

// trouble lists what is out of the ordinary, the most important first.
func (m Model) trouble() string {
	s := m.style()
	var parts []string
	add := func(p screen.Paint, text string) { parts = append(parts, s.Paint(p, plain.Line(text))) }
	if m.fault != nil {
		add(screen.Red, "look failed: "+m.fault.Error())
	}
	stale := max(3*m.Interval, 5*time.Second) // a look is allowed to be slow once
	if age := m.now.Sub(m.lookedAt); !m.lookedAt.IsZero() && (m.fault != nil || age > stale) {
		add(screen.Red, "shown is "+plain.Span(age)+" old")
	}
	for _, a := range m.look.Alerts() {
		switch a.Kind {
		case inspect.AlertBroken:
			add(screen.Red, a.Text)
		case inspect.AlertClosed, inspect.AlertTask, inspect.AlertReview:
			add(screen.Yellow, a.Text)
		case inspect.AlertRun, inspect.AlertTimer: // which have a place of their own
		}
	}
	if m.look.ReadOnly != "" {
		add(screen.Dim, "read only: "+m.look.ReadOnly)
	}
	for _, w := range m.look.Warnings {
		add(screen.Dim, w)
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, s.Paint(screen.Dim, " | "))
}

// footer is a question, or what came of the last action, or which keys there are.
func (m Model) footer() string {
	s := m.style()
	said := plain.Line(m.said)
	switch {
	case m.asked != nil && m.asked.asks:
		return s.Paint(screen.Bold, m.longest(" "+plain.Line(m.asked.text)+"? "+plain.Line(m.asked.words)+"█", " why? "+plain.Line(m.asked.words)+"█"))
	case m.asked != nil:
		return s.Paint(screen.Bold, m.longest(" "+plain.Line(m.asked.text)+"? y/n", " y/n: "+plain.Line(m.asked.text)+"?"))
	case m.leaving:
		return s.Paint(screen.Yellow, m.longest(" "+said+" then leaving; q: at once", " q: leave at once"))
	case m.said != "" && m.wrong:
		return s.Paint(screen.Red, " "+said)
	case m.said != "":
		return s.Paint(screen.Green, " "+said)
	case m.help:
		return s.Paint(screen.Dim, " any key: back")
	case m.runs.typing:
		return s.Paint(screen.Dim, m.longest(" type words of a category, task, agent or outcome  enter keeps them  esc drops them", " enter keeps the words  esc drops them"))
	case m.log.open:
		return s.Paint(screen.Dim, m.longest(
			" esc back  ↑↓ pgup pgdn g scroll  G follow  x stop  ? help  q quit", " esc back  ? help  q quit"))
	case m.pane == paneReview:
		return s.Paint(screen.Dim, m.longest(
			" esc back  ↑↓ select  enter open  d diff  L land  x reject  ? help  q quit", " enter open  d diff  esc back"))
	case m.pane == paneRuns:
		return s.Paint(screen.Dim, m.longest(
			" esc back  ↑↓ select  enter open  / filter  x stop  ? help  q quit", " enter open  / filter  esc back"))
	default:
		return s.Paint(screen.Dim, m.longest(
			" ↑↓ select  enter open  / runs  f fold  p pause  P all  x stop  ? help  q quit", " enter open  ? help  q quit"))
	}
}

// longest is the first of the texts that the screen has room for, or else the last.
func (m Model) longest(texts ...string) string {
	for _, t := range texts {
		if ansi.StringWidth(t) <= m.width {
			return t
		}
	}
	return texts[len(texts)-1]
}

// logRows returns the number of lines of a log that fills the screen.
func (m Model) logRows() int { return max(m.height-len(m.header())-2-len(m.logDetail()), 1) }

// logScreen is a run on all of the screen: how it does or ended, and its log.
func (m Model) logScreen(room int) []string {
	list := append([]string{m.title(m.logTitle(), true, m.logPlace())}, m.logDetail()...)
	return append(list, m.logBody(room-len(list))...)
}

// logDetail is none on a screen that has no room for it.
func (m Model) logDetail() []string {
	r, known := m.run(m.log.run)
	if !known || m.height < minStacked {
		return nil
	}
	return m.detail(r)
}

func (m Model) logTitle() string {
	r, known := m.run(m.log.run)
	if !known {
		return "log " + plain.Line(string(m.log.run))
	}
	text := fmt.Sprintf("log %s %s %s", r.ID, r.Category, r.Task)
	if !r.EndedAt.IsZero() {
		text += fmt.Sprintf(" (%s %s)", r.Verdict.Outcome, plain.Ago(r.EndedAt, m.now))
	}
	return plain.Line(text)
}

// logPlace says which part of the log is to be seen.
func (m Model) logPlace() string {
	v := m.log
	switch {
	case v.run == "":
		return ""
	case !v.follows && v.size > v.grown:
		return fmt.Sprintf("+%s below: G", plain.Count(v.size-v.grown))
	case !v.follows:
		return "G follows"
	case v.size > v.shown:
		return fmt.Sprintf("end of %s bytes", plain.Count(v.size))
	default:
		return ""
	}
}

func (m Model) logBody(rows int) []string {
	v := m.log
	note := ""
	switch {
	case v.run == "":
		note = "no run of this category yet"
	case v.err != nil:
		note = plain.Line(v.err.Error())
	case !v.read:
		note = "reading …"
	case len(v.lines) == 0:
		note = "nothing printed yet"
	}
	if note != "" {
		return []string{m.style().Paint(screen.Dim, "  "+note)}
	}
	lines := v.window(max(rows, 0))
	return plain.Each(lines, func(l string) string { return "  " + l })
}

func (m Model) helpLines(room int) []string {
	list := []string{
		m.title("help", true, ""),
		"  q ctrl-c   quit",
		"  ↑ ↓ j k    select a lane",
		"  enter l    open the lane's run, or else its category's last one: how it ended",
		"             and its log. ↑ ↓ pgup pgdn g scroll, G follows, esc goes back",
		"  R /        go to the latest runs; / filters them by words of theirs",
		"  w          ask git for the work that waits for review; enter opens one,",
		"             d shows its changes, L lands it, and x rejects it with a reason",
		"  f          a line for each idle lane, or one for all of them",
		"  p          pause or resume the category: fires start nothing of it",
		"  P          pause or resume the whole fleet",
		"  x          stop the run in the lane: it is recorded as cancelled",
		"  tab 1-4    choose a pane: it gets more room",
		"  r          look again now",
		"",
		"  ● running  ◌ planned or waiting  ✗ crashed: no result  ○ idle  = paused",
	}
	return list[:min(len(list), room)]
}
