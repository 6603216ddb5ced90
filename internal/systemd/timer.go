package systemd

import (
	"context"
	"fmt"
	"math"
	"time"

	"stint/internal/fleet"
)

// TimerState is when a timer fired and will fire.
type TimerState struct {
	Active bool      // it will fire again
	Firing bool      // its service runs; the manager sets the next time when that has ended
	Last   time.Time // zero: it has not fired since the manager started
	Next   time.Time // zero: never, or not known while it fires, or not by the calendar
	Failed bool      // the last run of its service did
	Began  time.Time // that run; zero: there was none since the manager started
}

// Timer reads a timer's state. A timer that does not exist never fires.
func (m *Manager) Timer(ctx context.Context, unit string) (TimerState, error) {
	properties, err := m.conn.GetAllPropertiesContext(ctx, unit)
	if err != nil {
		return TimerState{}, fmt.Errorf("read timer %s: %w", unit, err)
	}
	sub := properties["SubState"]
	state := TimerState{
		Active: sub == "waiting" || sub == "running", Firing: sub == "running",
		Next: instant(properties["NextElapseUSecRealtime"]),
	}
	// For a fire that the manager did not see itself it has the wall clock's time alone, from the
	// time stamp of a file. That file is made when the timer is first started, too: no fire.
	if !instant(properties["LastTriggerUSecMonotonic"]).IsZero() {
		state.Last = instant(properties["LastTriggerUSec"])
	}
	service, err := m.conn.GetUnitPropertiesContext(ctx, fleet.ServiceUnit(unit))
	if err != nil {
		return TimerState{}, fmt.Errorf("read the service of timer %s: %w", unit, err)
	}
	state.Failed, state.Began = service["ActiveState"] == "failed", instant(service["InactiveExitTimestamp"])
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
