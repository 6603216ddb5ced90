package systemd

import (
	"context"
	"fmt"
	"math"
	"time"
)

// TimerState is when a timer fired and will fire. A zero time is a "never": it has not
// fired since the manager started, it is stopped, or it counts from its last fire, not by
// the calendar.
type TimerState struct {
	Last time.Time
	Next time.Time
}

// Timer reads a timer's state. A timer that does not exist never fires.
func (m *Manager) Timer(ctx context.Context, unit string) (TimerState, error) {
	properties, err := m.conn.GetUnitTypePropertiesContext(ctx, unit, "Timer")
	if err != nil {
		return TimerState{}, fmt.Errorf("read timer %s: %w", unit, err)
	}
	state := TimerState{Next: instant(properties["NextElapseUSecRealtime"])}
	// For a fire that the manager did not see itself it has the wall clock's time alone, from the
	// time stamp of a file. That file is made when the timer is first started, too: no fire.
	if !instant(properties["LastTriggerUSecMonotonic"]).IsZero() {
		state.Last = instant(properties["LastTriggerUSec"])
	}
	return state, nil
}

// instant reads microseconds of Unix time, of which 0 and the maximum mean never.
func instant(value any) time.Time {
	usec, _ := value.(uint64)
	if usec == 0 || usec > math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMicro(int64(usec)).UTC()
}
