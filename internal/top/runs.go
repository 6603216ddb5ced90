package top

import (
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/view"
)

// runsView is the list of the latest runs.
type runsView struct {
	typing bool   // keys go into the filter
	filter string // words that each run shown has
	chosen fleet.RunID
}

// key is a key that goes into the filter.
func (v runsView) key(key string) runsView {
	switch key {
	case "esc":
		v.filter, v.typing = "", false
	case "enter":
		v.typing = false
	default:
		v.filter = typed(v.filter, key)
	}
	return v
}

// known are all runs of which something is known, newest first.
func (m Model) known() []fleet.RunStatus {
	list := slices.Concat(m.look.Open, m.look.Runs)
	slices.SortStableFunc(list, func(a, b fleet.RunStatus) int { return strings.Compare(string(b.ID), string(a.ID)) })
	return slices.CompactFunc(list, func(a, b fleet.RunStatus) bool { return a.ID == b.ID })
}

// listed are the runs that have all words of the filter.
func (m Model) listed() []fleet.RunStatus {
	words := strings.Fields(strings.ToLower(m.runs.filter))
	return slices.DeleteFunc(m.known(), func(r fleet.RunStatus) bool {
		text := strings.ToLower(fmt.Sprintln(r.ID, r.Category, r.Task, r.Agent, r.Machine, r.Sign().Word, r.Verdict.Reason))
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

// chosenRun is the place of the chosen run in the list, or -1.
func (m Model) chosenRun(list []fleet.RunStatus) int {
	return slices.IndexFunc(list, func(r fleet.RunStatus) bool { return r.ID == m.runs.chosen })
}

// rechoose keeps the chosen run, or takes the first that is listed.
func (m *Model) rechoose() {
	if list := m.listed(); m.chosenRun(list) < 0 {
		m.runs.chosen = ""
		if len(list) > 0 {
			m.runs.chosen = list[0].ID
		}
	}
}

// runLines are the runs that the filter finds.
func (m Model) runLines(rows int) (lines []string, note string) {
	list := m.listed()
	at := m.chosenRun(list)
	first, end := window(len(list), rows-1, at)
	lines = m.pointed(view.Run().Table(list[first:end], m.now, m.inner()), at-first)
	switch known := len(m.known()); {
	case known == 0:
		lines = []string{m.style().Paint(screen.Dim, "  nothing has run yet")}
	case len(list) == 0:
		lines = []string{m.style().Paint(screen.Dim, "  no run has these words")}
	default:
		note = fmt.Sprintf("%d of %d", len(list), known)
	}
	return lines, note
}

// filterText is the filter, as the title has it.
func (m Model) filterText() (text string) {
	if m.runs.typing || m.runs.filter != "" {
		text = "  /" + plain.Line(m.runs.filter)
	}
	if m.runs.typing {
		text += "█"
	}
	return text
}

// inner is the style of a table that has a pointer before each line.
func (m Model) inner() screen.Style {
	style := m.style()
	style.Width -= 2
	return style
}

// pointed marks one row of a table, whose first line has the titles.
func (m Model) pointed(table []string, at int) []string {
	for i, text := range table {
		table[i] = m.pointer(i > 0 && i-1 == at) + " " + text
	}
	return table
}

// detail lists the facts about a run beside its log.
func (m Model) detail(r fleet.RunStatus) []string {
	sign := r.Sign()
	how := sign.Mark + " " + sign.Word
	if g := r.Final(); g != nil {
		how += fmt.Sprintf(", grade %.2f", *g)
	}
	if r.Verdict.Reason != "" {
		how += ": " + r.Verdict.Reason
	}
	what := []string{"task " + screen.Dash(string(r.Task)), "agent " + screen.Dash(r.Agent), "made " + plain.Ago(r.CreatedAt, m.now)}
	if where := screen.OnOtherHost(r, m.now); where != "" {
		what = append(what, "on "+where)
	}
	if r.Fire != 0 {
		what = append(what, fmt.Sprintf("by fire %d", r.Fire))
	}
	if spent := m.spent(&r); spent != "" {
		what = append(what, "at work "+spent)
	}
	if tokens := r.Usage.Tokens; tokens != nil {
		what = append(what, plain.Count(*tokens)+" tokens")
	}
	return []string{"  " + m.style().Paint(screen.MoodPaint(sign.Mood), plain.Line(how)), "  " + plain.Line(strings.Join(what, ", "))}
}
