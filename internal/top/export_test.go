package top

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// LookNow is the look that a screen begins with.
func LookNow(m tea.Model) tea.Cmd { return m.(Model).lookCmd() }

// Advance moves a screen's clock on, and returns what is due then.
func Advance(m tea.Model, now time.Time) (tea.Model, tea.Cmd) {
	model := m.(Model)
	due := model.advance(now)
	return model, due
}
