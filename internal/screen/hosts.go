package screen

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/survey"
)

// Hosts are the machines of a fleet.
func Hosts(list []survey.HostState, now time.Time) Table {
	t := Table{Columns: []Column{
		{Title: "HOST", Least: 8},
		{Title: "HEARD"},
		{Title: "SESSIONS", Right: true},
		{Title: "LAST-FIRE"},
		{Title: "NEXT"},
		{Title: "VERSION", Least: 8},
		{Title: "WRONG", Least: 10},
	}}
	for _, h := range list {
		name, sessions := h.Name, fmt.Sprint(h.Sessions)
		if h.Here {
			name += " (here)"
		}
		if h.Slots > 0 {
			sessions += fmt.Sprintf(" of %d", h.Slots)
		}
		next := "-"
		if !h.NextFire.IsZero() {
			next = until(h.NextFire, now)
		}
		trouble := Cell{Dash(h.Trouble), Normal}
		if h.Trouble != "" {
			trouble.Paint = Yellow
		}
		t.Rows = append(t.Rows, append(Row(name, plain.Ago(h.HeardAt, now), sessions, plain.Ago(h.FiredAt, now), next, h.Version), trouble))
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
