package systemd

import (
	"context"
	"fmt"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"

	"stint/internal/fleet"
)

// timer is (st) on the bus: when a timer elapses, counted from what.
type timer struct {
	Base string
	USec uint64
}

// StartAfter has the manager start the spec as a transient service after a delay, by a
// transient timer of the same name. Both are gone once the service has ended; nothing of
// this process need live until then. A machine that goes down before forgets it.
func (m *Manager) StartAfter(ctx context.Context, spec fleet.UnitSpec, delay time.Duration) error {
	service, err := workerProperties(spec)
	if err != nil {
		return fmt.Errorf("start unit %s later: %w", spec.Name, err)
	}
	name := fleet.TimerUnit(spec.Name)
	properties := []sdbus.Property{
		sdbus.PropDescription(spec.Description),
		setting("TimersMonotonic", []timer{{"OnActiveSec", microseconds(max(delay, time.Second))}}),
		setting("AccuracyUSec", microseconds(time.Second)),
		// Unloaded as soon as it has elapsed, so that none pile up.
		setting("RemainAfterElapse", false),
		setting("CollectMode", "inactive-or-failed"),
	}
	aux := []sdbus.PropertyCollection{{Name: spec.Name, Properties: service}}
	err = m.do(ctx, name, func(job chan<- string) (int, error) {
		return m.conn.StartTransientUnitAux(ctx, name, modeFail, properties, aux, job)
	})
	if err != nil {
		return fmt.Errorf("start timer %s: %w", name, err)
	}
	return nil
}
