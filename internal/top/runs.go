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

// runsView is the list of the latest runs, on all of the screen.
type runsView struct {
	open   bool
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

// runsKey is a key that means something beside the list of runs alone.
func (m Model) runsKey(key string) Model {
	switch key {
	case "esc", "R", "backspace", "left":
		m.runs.open = false
	case "/":
		m.runs.typing = true
	case "enter", "l":
		m.log.open = m.log.run != ""
	default:
		if by, moves := movesBy(key, m.height); moves {
			list := m.listed()
			at := slices.IndexFunc(list, func(r fleet.RunStatus) bool { return r.ID == m.runs.chosen })
			if len(list) > 0 {
				m.runs.chosen = list[min(max(at+by, 0), len(list)-1)].ID
			}
		}
	}
	return m
}

// known are all runs of which something is known, newest first.
func (m Model) known() []fleet.RunStatus {
	list := slices.Concat(m.look.Open, m.look.Runs, m.look.Past)
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

// rechoose keeps the chosen run, or takes the first that is listed.
func (m *Model) rechoose() {
	list := m.listed()
	if !slices.ContainsFunc(list, func(r fleet.RunStatus) bool { return r.ID == m.runs.chosen }) {
		m.runs.chosen = ""
		if len(list) > 0 {
			m.runs.chosen = list[0].ID
		}
	}
}

// runsScreen is the list of runs, with the filter in its title.
func (m Model) runsScreen(room int) []string {
	list := m.listed()
	at := slices.IndexFunc(list, func(r fleet.RunStatus) bool { return r.ID == m.runs.chosen })
	first, end := window(len(list), room-2, at)
	title := "runs"
	if m.runs.typing || m.runs.filter != "" {
		title += "  /" + plain.Line(m.runs.filter)
	}
	if m.runs.typing {
		title += "█"
	}
	style := m.style()
	style.Width = m.width - 2
	lines := []string{m.title(title, true, fmt.Sprintf("%d of %d", len(list), len(m.known())))}
	for i, text := range view.Run().Table(list[first:end], m.now, style) {
		lines = append(lines, m.pointer(i > 0 && first+i-1 == at)+" "+text) // the titles come first
	}
	if len(list) == 0 {
		lines = append(lines, m.style().Paint(screen.Dim, "  no run has these words"))
	}
	return lines
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
