package top

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
)

// Model has the state of the screen.
type Model struct {
	Options
	width, height int
	now           time.Time

	look     Snapshot
	lookedAt time.Time // zero: there was none yet
	askedAt  time.Time // the look under way, or else the last one
	looking  bool
	fault    error // of the last look

	pane     pane
	selected place
	unfolded bool // lanes in which nothing runs have a line each
	help     bool
	asked    *question
	working  int  // actions under way
	leaving  bool // once these are done
	said     string
	wrong    bool // what was said is of a failure

	log    logView
	runs   runsView
	review reviewView
}

// pane is one of the parts of the screen.
type pane int

const (
	paneLanes pane = iota
	paneRuns
	paneReview
	paneLog
	panes = 4
)

// question asks the operator before anything is changed.
type question struct {
	text  string
	doing string // shown while it is done
	do    func(words string) (said string, err error)
	asks  bool   // for words; else for y or n
	words string // typed so far
}

// The reports of commands.
type (
	tickMsg   time.Time
	lookedMsg struct {
		look Snapshot
		err  error
		at   time.Time
	}
	loggedMsg struct {
		run fleet.RunID
		log Log
		err error
	}
	doneMsg struct {
		said string
		err  error
	}
)

// New is the screen before anything is known.
func New(o Options) Model {
	return Model{Options: o, width: 80, height: 24, now: o.Now(), looking: true, askedAt: o.Now()}
}

// Init begins to look.
func (m Model) Init() tea.Cmd { return tea.Batch(m.lookCmd(), m.tick()) }

// every is the interval at which clocks on the screen move on, and a log is read.
func (m Model) every() time.Duration { return min(m.Interval, time.Second) }

func (m Model) tick() tea.Cmd {
	return tea.Tick(m.every(), func(time.Time) tea.Msg { return tickMsg(m.Now()) })
}

func (m Model) lookCmd() tea.Cmd {
	return func() tea.Msg {
		l, err := m.Read()
		return lookedMsg{l, err, m.Now()}
	}
}

// Update takes in what happened.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		m.Colour = m.Colour && msg.Profile >= colorprofile.ANSI
	case tickMsg:
		due := m.advance(time.Time(msg))
		return m, tea.Batch(m.tick(), due)
	case lookedMsg:
		m.takeLook(msg)
		return m, tea.Batch(m.readLog(), m.lookForReview(everyReview))
	case loggedMsg:
		m.log = m.log.take(msg)
	case reviewedMsg:
		m.takeReview(msg)
	case doneMsg:
		m.working--
		m.said, m.wrong = msg.said, msg.err != nil
		if msg.err != nil {
			m.said = msg.err.Error()
		}
		if m.leaving && m.working == 0 {
			return m, tea.Quit
		}
		return m, tea.Batch(m.refresh(), m.lookForReview(0))
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

// advance moves the clock on, and does what is due.
func (m *Model) advance(now time.Time) tea.Cmd {
	m.now = now
	if m.now.Sub(m.askedAt) < m.Interval-m.every()/2 { // ticks are not exact
		return m.readLog()
	}
	return tea.Batch(m.refresh(), m.readLog())
}

// refresh looks, unless a look is under way.
func (m *Model) refresh() tea.Cmd {
	if m.looking {
		return nil
	}
	m.looking, m.askedAt = true, m.now
	return m.lookCmd()
}

func (m *Model) takeLook(msg lookedMsg) {
	m.looking, m.fault, m.now = false, msg.err, msg.at
	if msg.err != nil {
		return
	}
	m.look, m.lookedAt = msg.look, msg.at
	m.reselect()
	m.rechoose()
}

func (m Model) logCmd() tea.Cmd {
	run, _ := m.run(m.log.run)
	run.ID = m.log.run
	return func() tea.Msg {
		l, err := m.Log(run.Run)
		return loggedMsg{run.ID, l, err}
	}
}

// readLog reads the log of the selected run, unless that is being read.
func (m *Model) readLog() tea.Cmd {
	run := m.log.run
	if !m.log.open {
		run = m.selectedRun().ID
	}
	if run != m.log.run {
		m.log = logView{run: run, follows: true}
	}
	if run == "" || m.log.reading {
		return nil
	}
	m.log.reading = true
	return m.logCmd()
}

// place names the selection: a lane, the run of a category that has none yet, or the line
// of the lanes that are folded into one.
type place struct {
	category fleet.Category
	lane     int
	run      fleet.RunID // 0 lanes, and the second run in a lane; else empty
	folded   bool        // the line of lanes that are folded, which is no one category's
}

// row is a line of the lanes: one of them, a run that has none yet, or those that are folded.
type row struct {
	place
	run   *fleet.RunStatus // nil: the lane is free
	lanes []row            // that are folded
}

// rows are the lanes that are shown. Where several are idle these are folded into the last
// line, except the selected one.
func (m Model) rows() []row {
	list := m.allRows()
	idle := func(r row) bool { return r.run == nil && !m.paused(r.category) && r.place != m.selected }
	fold := row{place: place{folded: true}}
	for _, r := range list {
		if idle(r) {
			fold.lanes = append(fold.lanes, r)
		}
	}
	if m.unfolded || len(fold.lanes) < 2 {
		return list
	}
	return append(slices.DeleteFunc(list, idle), fold)
}

// fold folds the idle lanes, or unfolds them.
func (m *Model) fold() {
	rows := m.rows()
	at := m.at(rows)
	if m.unfolded = !m.unfolded; m.unfolded && m.selected.folded && at >= 0 {
		m.selected = rows[at].lanes[0].place
	}
}

// allRows are the lanes, each category's followed by its runs that have none.
func (m Model) allRows() (list []row) {
	add := func(r row) {
		if r.run != nil && slices.ContainsFunc(list, func(o row) bool { return o.place == r.place }) {
			r.place.run = r.run.ID
		}
		list = append(list, r)
	}
	lanes := m.look.Lanes
	waiting := func(c fleet.Category) {
		for i := range m.look.Open {
			if r := &m.look.Open[i]; r.Lane == 0 && r.Category == c {
				add(row{place: place{category: c, run: r.ID}, run: r})
			}
		}
	}
	for i, l := range lanes {
		add(row{place: place{category: l.Category, lane: l.Number}, run: l.Run})
		if i == len(lanes)-1 || lanes[i+1].Category != l.Category {
			waiting(l.Category)
		}
	}
	for i := range m.look.Open { // of categories that are configured no more
		r := &m.look.Open[i]
		if r.Lane == 0 && !slices.ContainsFunc(lanes, func(l inspect.LaneState) bool { return l.Category == r.Category }) {
			add(row{place: place{category: r.Category, run: r.ID}, run: r})
		}
	}
	return list
}

// at is the selected row, or -1.
func (m Model) at(rows []row) int {
	return slices.IndexFunc(rows, func(r row) bool { return r.place == m.selected })
}

// reselect keeps the selection on a row that is there: the same, or its category's first.
// At first it is on the first lane in which something runs, whose log is of interest.
func (m *Model) reselect() {
	rows := m.rows()
	if len(rows) == 0 || m.at(rows) >= 0 {
		return
	}
	same := slices.IndexFunc(rows, func(r row) bool {
		return r.category == m.selected.category || m.selected.category == "" && r.run != nil
	})
	m.selected = rows[max(same, 0)].place
}

func (m *Model) move(by int) {
	rows := m.rows()
	if len(rows) > 0 {
		m.selected = rows[min(max(m.at(rows)+by, 0), len(rows)-1)].place
	}
}

// selectedRun is the run in the selected lane, or else the last of the category; of folded
// lanes, the last of all.
func (m Model) selectedRun() fleet.Run {
	if m.pane == paneRuns {
		r, _ := m.run(m.runs.chosen)
		return r.Run
	}
	rows := m.rows()
	if i := m.at(rows); i >= 0 && rows[i].run != nil {
		return rows[i].run.Run
	}
	return m.lastRun(m.selected.category)
}

func (m Model) lastRun(c fleet.Category) (last fleet.Run) {
	for _, r := range m.look.Runs {
		if (r.Category == c || c == "") && !r.StartedAt.IsZero() && r.CreatedAt.After(last.CreatedAt) {
			last = r.Run
		}
	}
	return last
}

// run returns the facts about a run.
func (m Model) run(id fleet.RunID) (fleet.RunStatus, bool) {
	list := m.known()
	if i := slices.IndexFunc(list, func(r fleet.RunStatus) bool { return r.ID == id }); i >= 0 {
		return list[i], true
	}
	return fleet.RunStatus{}, false
}

func (m Model) paused(c fleet.Category) bool {
	return slices.ContainsFunc(m.look.Pauses, func(p fleet.Pause) bool { return p.Category == c })
}

// askPause asks whether to pause a category, or the whole fleet, or to resume it.
func (m *Model) askPause(c fleet.Category) {
	name := "the whole fleet"
	if c != "" {
		name = string(c)
	}
	if m.paused(c) {
		m.ask("resume "+name, "resuming "+name, func(string) (string, error) { return "resumed " + name, m.Resume(c) })
		return
	}
	m.ask("pause "+name, "pausing "+name, func(string) (string, error) {
		return "paused " + name + ": fires start nothing of it; what runs goes on", m.Pause(c)
	})
}

func (m *Model) askStop() {
	var r fleet.RunStatus
	if rows := m.rows(); m.log.open || m.pane == paneRuns {
		r, _ = m.run(m.log.run)
	} else if i := m.at(rows); i >= 0 && rows[i].run != nil {
		r = *rows[i].run
	}
	if r.ID == "" || !r.EndedAt.IsZero() {
		m.said, m.wrong = "no run to stop here", true
		return
	}
	name := fmt.Sprintf("%s of %s", r.ID, r.Category)
	m.ask("stop "+name, "stopping "+name, func(string) (string, error) {
		ended, err := m.Stop(r.ID)
		if err == nil && ended.Stop != "" && ended.EndedAt.IsZero() {
			return name + " was asked to end, on host " + r.Machine, nil
		}
		return fmt.Sprintf("%s ended: %s", name, ended.Verdict.Outcome), err
	})
}

func (m *Model) ask(text, doing string, do func(string) (string, error)) {
	switch {
	case m.lookedAt.IsZero():
		return
	case m.look.ReadOnly != "":
		m.said, m.wrong = "read only: "+m.look.ReadOnly, true
	default:
		m.asked = &question{text: text, doing: doing, do: do}
	}
}

// answer does what was asked about, or forgets it.
func (m Model) answer(key string) (tea.Model, tea.Cmd) {
	q := *m.asked
	switch {
	case key == "esc", key == "ctrl+c", !q.asks && (key == "n" || key == "N" || key == "q"):
		m.asked = nil
	case q.asks && (key != "enter" || strings.TrimSpace(q.words) == ""):
		q.words = typed(q.words, key)
		m.asked = &q
	case q.asks, key == "y", key == "Y":
		m.asked, m.said, m.wrong = nil, q.doing+" …", false
		m.working++
		return m, func() tea.Msg {
			said, err := q.do(q.words)
			return doneMsg{said, err}
		}
	}
	return m, nil
}

// typed is a line of text after a key.
func typed(text, key string) string {
	switch {
	case key == "backspace":
		_, size := utf8.DecodeLastRuneInString(text)
		return text[:len(text)-size]
	case key == "space":
		return text + " "
	case utf8.RuneCountInString(key) == 1:
		return text + key
	}
	return text
}
