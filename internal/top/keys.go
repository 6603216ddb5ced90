package top

import tea "charm.land/bubbletea/v2"

// key does what a key asks for.
func (m Model) key(key string) (tea.Model, tea.Cmd) {
	switch {
	case m.asked != nil:
		return m.answer(key)
	case m.runs.typing && key != "ctrl+c" && key != "ctrl+z":
		m.runs = m.runs.key(key)
		m.rechoose()
		return m, m.readLog()
	case key == "q", key == "ctrl+c":
		if m.working == 0 || m.leaving {
			return m, tea.Quit
		}
		m.leaving = true // it waits for what is being done, unless it is asked twice
		return m, nil
	case key == "ctrl+z":
		return m, tea.Suspend
	case m.help:
		m.help = false // whichever key it was
		return m, nil
	}
	m.said, m.wrong = "", false
	reviews := m.pane == paneReview && !m.log.open
	switch {
	case key == "?", key == "h":
		m.help = true
	case key == "r":
		return m, tea.Batch(m.refresh(), m.lookForReview(0))
	case key == "x" && !reviews:
		m.askStop()
	case key == "P":
		m.askPause("")
	case m.log.open:
		m.log = m.log.key(key, m.logRows())
		return m, m.readLog()
	case reviews && m.review.detail:
		return m.reviewKey(key)
	default:
		return m.paneKey(key)
	}
	return m, nil
}

// paneKey is a key that means something beside the panes alone.
func (m Model) paneKey(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "tab", "right":
		m.pane = (m.pane + 1) % panes
	case "shift+tab", "left":
		m.pane = (m.pane + panes - 1) % panes
	case "1", "2", "3", "4":
		m.pane = pane(key[0] - '1')
	case "p":
		if m.selected.category != "" {
			m.askPause(m.selected.category)
		}
	case "R", "/":
		m.pane, m.runs.typing = paneRuns, key == "/"
		m.rechoose()
	case "w":
		m.pane = paneReview
		return m, m.lookForReview(0)
	case "f":
		m.fold()
	case "esc", "backspace":
		m.pane = paneLanes
	default:
		return m.listKey(key)
	}
	return m, m.readLog()
}

// listKey is a key for the list in the chosen pane.
func (m Model) listKey(key string) (tea.Model, tea.Cmd) {
	by, moves := movesBy(key, m.height)
	switch {
	case m.pane == paneReview:
		return m.reviewKey(key)
	case key == "enter" || key == "l":
		if m.pane != paneRuns && m.selected.folded {
			m.fold()
			break
		}
		return m.openLog()
	case moves && m.pane == paneRuns:
		if list := m.listed(); len(list) > 0 {
			m.runs.chosen = list[min(max(m.chosenRun(list)+by, 0), len(list)-1)].ID
		}
	case moves:
		m.move(by)
	}
	return m, m.readLog()
}

// movesBy returns the number of lines that a key moves by.
func movesBy(key string, page int) (by int, moves bool) {
	const far = 1 << 30
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -page, true
	case "pgdown", "ctrl+f", "space":
		return page, true
	case "home", "g":
		return -far, true
	case "end", "G":
		return far, true
	}
	return 0, false
}

func (m Model) openLog() (tea.Model, tea.Cmd) {
	if m.log.run == "" {
		m.said, m.wrong = "no run of this category is known: there is no log", true
		return m, nil
	}
	m.log.open = true
	return m, m.readLog()
}
