package top

import (
	"fmt"
	"io"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/screen"
	"stint/internal/view"
)

// reviewView is the work that waits for review. Git is asked for it now and then, and not at each
// look: that may take a second.
type reviewView struct {
	reading bool
	askedAt time.Time // zero: never
	detail  bool      // of the chosen item, on all of the screen
	target  review.Target
	items   []review.Item
	err     error
	chosen  fleet.RunID
}

const everyReview = time.Minute

type reviewedMsg struct {
	target review.Target
	items  []review.Item
	err    error
}

// lookForReview asks git, unless it was asked within that time, or is being asked.
func (m *Model) lookForReview(within time.Duration) tea.Cmd {
	if m.review.reading || m.now.Sub(m.review.askedAt) < within {
		return nil
	}
	m.review.reading, m.review.askedAt = true, m.now
	return func() tea.Msg {
		target, items, err := m.Review()
		return reviewedMsg{target, items, err}
	}
}

func (m *Model) takeReview(msg reviewedMsg) {
	v := &m.review
	v.reading, v.target, v.items, v.err = false, msg.target, msg.items, msg.err
	if v.at() < 0 {
		v.chosen, v.detail = "", false
		if len(v.items) > 0 {
			v.chosen = v.items[0].Run
		}
	}
}

// at is the chosen item, or -1.
func (v reviewView) at() int {
	return slices.IndexFunc(v.items, func(i review.Item) bool { return i.Run == v.chosen })
}

// reviewKey is a key that means something beside the list of work alone.
func (m Model) reviewKey(key string) (Model, tea.Cmd) {
	run := m.review.chosen
	switch {
	case run == "" || key != "d" && key != "L" && key != "x":
		m.review = m.review.key(key, m.height)
	case key == "d":
		m.working++
		return m, tea.Exec(&pager{show: func(in io.Reader, out io.Writer) error { return m.Diff(run, in, out) }}, func(err error) tea.Msg { return doneMsg{err: err} })
	case key == "L":
		name, tip := fmt.Sprintf("the work of %s on %s", run, m.review.target.Name), m.review.items[m.review.at()].Tip
		m.ask("land "+name, "landing "+name, func(string) (string, error) { return m.Land(run, tip) })
	default:
		name, tip := "the work of "+string(run), m.review.items[m.review.at()].Tip
		m.ask("reject "+name+", and why", "rejecting "+name, func(reason string) (string, error) { return "rejected " + name, m.Reject(run, tip, reason) })
		if m.asked != nil {
			m.asked.asks = true
		}
	}
	return m, nil
}

// pager has the terminal while it shows something.
type pager struct {
	show func(in io.Reader, out io.Writer) error
	in   io.Reader
	out  io.Writer
}

// SetStdin gives it the keyboard.
func (p *pager) SetStdin(in io.Reader) { p.in = in }

// SetStdout gives it the screen.
func (p *pager) SetStdout(out io.Writer) { p.out = out }

// SetStderr does nothing: errors are returned.
func (p *pager) SetStderr(io.Writer) {}

// Run shows it.
func (p *pager) Run() error { return p.show(p.in, p.out) }

// key moves in the list, and opens and closes an item.
func (v reviewView) key(key string, page int) reviewView {
	switch key {
	case "esc", "backspace", "left":
		v.detail = false
	case "enter", "l":
		v.detail = v.at() >= 0
	default:
		if by, moves := movesBy(key, page); moves && len(v.items) > 0 {
			v.chosen = v.items[min(max(v.at()+by, 0), len(v.items)-1)].Run
		}
	}
	return v
}

// reviewLines are the items in the order in which they are best looked at.
func (m Model) reviewLines(rows int) (lines []string, note string) {
	v := m.review
	switch {
	case v.err != nil:
		note = plain.Line(v.err.Error())
	case len(v.items) == 0 && (v.reading || v.askedAt.IsZero()):
		note = "asking git …"
	case len(v.items) == 0:
		note = "nothing waits for review"
	}
	if note != "" {
		return []string{m.style().Paint(screen.Dim, "  "+note)}, ""
	}
	first, end := window(len(v.items), rows-1, v.at())
	table := view.Item().Without("Run").Table(v.items[first:end], m.now, m.inner())
	return m.pointed(table, v.at()-first), fmt.Sprintf("%d for %s", len(v.items), plain.Line(v.target.Name))
}

// itemScreen is the chosen item.
func (m Model) itemScreen() []string {
	v := m.review
	shown := screen.Review(screen.ReviewView{Item: v.items[v.at()], Target: v.target, At: m.now}, m.inner())
	return append([]string{m.title("review", true, "")}, plain.Each(shown, func(text string) string { return "  " + text })...)
}
