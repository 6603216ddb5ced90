package pressure

import (
	"fmt"
	"strconv"

	"stint/internal/plain"
)

// Limits are what the machine must keep to for a fire to start anything. Zero is no
// limit.
type Limits struct {
	Load            float64 // load for each processor, at most
	MemoryPressure  float64 // percent of the last ten seconds that somebody waited for memory, at most
	MemoryAvailable int64   // bytes that must be left
}

// Defaults are limits that only a machine in trouble exceeds: a fire that is refused
// costs half an hour, one that should have been refused may cost every session.
func Defaults() Limits {
	return Limits{
		// No limit of load: sessions wait for their models most of the time, and a machine
		// that compiles is not one in trouble. Slots bound the sessions.
		Load: 0,
		// At a fifth, the machine takes back memory that is in use. It is where
		// systemd-oomd, which kills at 60 by default, has not yet begun.
		MemoryPressure: 20,
		// One session takes this much with a compiler or a test suite under it.
		MemoryAvailable: 1 << 30,
	}
}

// Refuse says why a fire should start nothing now, or "" when it may. Memory comes first: going
// on without it costs sessions, and not only time.
func (l Limits) Refuse(r Reading) string {
	switch {
	case l.MemoryAvailable > 0 && r.MemoryAvailable != nil && *r.MemoryAvailable < l.MemoryAvailable:
		return fmt.Sprintf("memory: %s available%s, and %s must be left",
			plain.Bytes(*r.MemoryAvailable), of(r.MemoryTotal), plain.Bytes(l.MemoryAvailable))
	case l.MemoryPressure > 0 && r.MemoryPressure != nil && *r.MemoryPressure > l.MemoryPressure:
		return fmt.Sprintf("memory pressure: %s %% of the last ten seconds were lost to waiting for it, above the limit of %s %%",
			shortest(*r.MemoryPressure), shortest(l.MemoryPressure))
	case l.Load > 0 && r.Load != nil && *r.Load > l.Load:
		return fmt.Sprintf("load: %.2f for each processor, above the limit of %s", *r.Load, shortest(l.Load))
	}
	return ""
}

func of(total *int64) string {
	if total == nil {
		return ""
	}
	return " of " + plain.Bytes(*total)
}

func shortest(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
