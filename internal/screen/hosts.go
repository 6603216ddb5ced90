package screen

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// OnOtherHost says of a run which machine it is on, and of another machine's open run how long nothing
// was heard of that; empty: the fleet has one machine.
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
