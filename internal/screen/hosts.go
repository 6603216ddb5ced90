package screen

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// OnOtherHost names the host of a run, and of an open one the time since that host was last heard of. It is empty in a
// fleet with one host.
func OnOtherHost(r fleet.RunStatus, now time.Time) string {
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
		return Cell{OnOtherHost(r, now), Yellow}
	}
	return Cell{OnOtherHost(r, now), Dim}
}
