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
	switch key {
	case "?", "h":
		m.help = true
	case "r":
		if m.review.open {
			return m.openReview()
		}
		return m, m.refresh()
	case "x":
		if m.review.open {
			return m.reviewKey(key)
		}
		m.askStop()
	case "P":
		m.askPause("")
	default:
		if m.log.open {
			m.log = m.log.key(key, m.logRows())
			return m, m.readLog()
		}
		if m.review.open {
			return m.reviewKey(key)
		}
		if m.runs.open {
			m = m.runsKey(key)
			return m, m.readLog()
		}
		return m.paneKey(key)
	}
	return m, nil
}

// turn chooses the next pane, in steps of so many.
func (m *Model) turn(by pane) {
	m.pane = (m.pane + by) % panes
	if m.hides(m.pane) {
		m.pane = (m.pane + by) % panes
	}
}

// paneKey is a key that means something beside the panes alone.
func (m Model) paneKey(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "tab", "right":
		m.turn(1)
	case "shift+tab", "left":
		m.turn(panes - 1)
	case "1", "2", "3", "4":
		if p := pane(key[0] - '1'); !m.hides(p) {
			m.pane = p
		}
	case "p":
		if m.selected.category != "" {
			m.askPause(m.selected.category)
		}
	case "R", "/":
		m.runs.open, m.runs.typing = true, key == "/"
		m.rechoose()
	case "w":
		return m.openReview()
	case "f":
		m.fold()
	case "enter", "l":
		if m.selected.folded {
			m.fold()
			break
		}
		return m.openLog()
	default:
		if by, moves := movesBy(key, m.height); moves {
			m.move(by)
		}
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
