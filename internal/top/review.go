package top

import (
	"fmt"
	"io"
	"slices"

	tea "charm.land/bubbletea/v2"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/screen"
	"stint/internal/view"
)

// reviewView is the work that waits for review, on all of the screen. Git is asked for it each time
// that the view is opened, and not at each look: that may take a second.
type reviewView struct {
	open    bool
	reading bool
	detail  bool // of the chosen item, instead of the list
	target  review.Target
	items   []review.Item
	err     error
	chosen  fleet.RunID
}

type reviewedMsg struct {
	target review.Target
	items  []review.Item
	err    error
}

func (m Model) openReview() (Model, tea.Cmd) {
	m.review.open, m.review.detail = true, false
	return m.readReview()
}

func (m Model) readReview() (Model, tea.Cmd) {
	if m.review.reading {
		return m, nil
	}
	m.review.reading = true
	return m, func() tea.Msg {
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
		v.open, v.detail = v.detail, false
	case "enter", "l":
		v.detail = v.at() >= 0
	default:
		if by, moves := movesBy(key, page); moves && len(v.items) > 0 {
			v.chosen = v.items[min(max(v.at()+by, 0), len(v.items)-1)].Run
		}
	}
	return v
}

// reviewScreen is the list of work, or one item.
func (m Model) reviewScreen(room int) []string {
	v, style := m.review, m.style()
	style.Width = m.width - 2
	at := v.at()
	note := ""
	switch {
	case v.reading && len(v.items) == 0:
		note = "asking git …"
	case v.err != nil:
		note = plain.Line(v.err.Error())
	case len(v.items) == 0:
		note = "nothing waits for review"
	}
	lines := []string{m.title("review", true, fmt.Sprintf("%d for %s", len(v.items), plain.Line(v.target.Name)))}
	switch {
	case note != "":
		return append(lines, style.Paint(screen.Dim, "  "+note))
	case v.detail:
		for _, text := range screen.Review(screen.ReviewView{Item: v.items[at], Target: v.target, At: m.now}, style) {
			lines = append(lines, "  "+text)
		}
		return lines
	}
	first, end := window(len(v.items), room-2, at)
	for i, text := range view.Item().Without("Run").Table(v.items[first:end], m.now, style) {
		lines = append(lines, m.pointer(i > 0 && first+i-1 == at)+" "+text) // the titles come first
	}
	return lines
}
