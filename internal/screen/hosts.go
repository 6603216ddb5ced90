package screen

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/survey"
)

// Hosts are the machines of a fleet; in brief without what one looks up only when it matters.
func Hosts(list []survey.HostState, now time.Time, brief bool) Table {
	t := Table{Columns: []Column{{Title: "HOST", Least: 8}, {Title: "HEARD"}, {Title: "SESSIONS", Right: true}}}
	if !brief {
		t.Columns = append(t.Columns, Column{Title: "LAST-FIRE"}, Column{Title: "NEXT"}, Column{Title: "VERSION", Least: 8})
	}
	t.Columns = append(t.Columns, Column{Title: "WRONG", Least: 10})
	for _, h := range list {
		name, sessions, next, fired := h.Name, fmt.Sprint(h.Sessions), "-", "-"
		if h.Here {
			name += " (here)"
		}
		if h.Slots > 0 {
			sessions += fmt.Sprintf(" of %d", h.Slots)
		}
		if !h.NextFire.IsZero() {
			next = until(h.NextFire, now)
		}
		if !h.FiredAt.IsZero() {
			fired = plain.Ago(h.FiredAt, now)
		}
		row := Row(name, plain.Ago(h.HeardAt, now), sessions)
		if !brief {
			row = append(row, Row(fired, next, h.Version)...)
		}
		trouble := Text(Dash(h.Trouble))
		if h.Trouble != "" {
			trouble.Paint = Yellow
		}
		t.Rows = append(t.Rows, append(row, trouble))
	}
	return t
}

// Elsewhere says of a run which machine it is on, and of another machine's open run how long nothing
// was heard of that; empty: the fleet has one machine.
func Elsewhere(r fleet.RunStatus, now time.Time) string {
	switch {
	case r.Machine == "" || r.Heard.IsZero():
		return r.Machine
	case r.Unheard:
		return r.Machine + ": silent for " + plain.Span(now.Sub(r.Heard))
	}
	return r.Machine + ": lives, heard " + plain.Ago(r.Heard, now)
}

func elsewhere(r fleet.RunStatus, now time.Time) Cell {
	if r.Unheard {
		return Cell{Elsewhere(r, now), Yellow}
	}
	return Cell{Elsewhere(r, now), Dim}
}
