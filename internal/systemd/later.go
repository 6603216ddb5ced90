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

// calendar is (ss) on the bus: when a timer elapses, by the wall clock.
type calendar struct{ Base, Spec string }

// FireAt has the manager start once more what a timer starts, at a time that is to come, by a transient timer. There is one for
// each timer: the earliest time that was asked for counts. It goes with the timer, and when it has elapsed.
//
// If we die between the end of one that is later and the start of its successor, there is none, as after the machine went
// down: the next scheduled fire comes in its place.
func (m *Manager) FireAt(ctx context.Context, timer string, at time.Time) error {
	name := fleet.WakeUnit(timer)
	known, err := m.Timer(ctx, name)
	if err != nil || known.Active && !known.Next.After(at) {
		return err
	}
	if err := m.Stop(ctx, name); err != nil {
		return err
	}
	description := "One more start, beside those by " + timer
	properties := append(
		passing(description), setting("PartOf", []string{timer}),
		setting("TimersCalendar", []calendar{{"OnCalendar", at.UTC().Format("2006-01-02 15:04:05.000000 UTC")}}),
	)
	// A transient timer starts the service of its own name alone. That one does nothing, and wants the other.
	aux := []sdbus.PropertyCollection{{Name: fleet.ServiceUnit(name), Properties: []sdbus.Property{
		sdbus.PropDescription(description), sdbus.PropType("oneshot"), sdbus.PropExecStart([]string{"/bin/sh", "-c", ":"}, false),
		sdbus.PropWants(fleet.ServiceUnit(timer)), setting("CollectMode", "inactive-or-failed"),
	}}}
	err = m.do(ctx, name, func(job chan<- string) (int, error) {
		return m.conn.StartTransientUnitAux(ctx, name, modeFail, properties, aux, job)
	})
	if err != nil {
		return fmt.Errorf("start timer %s: %w", name, err)
	}
	return nil
}

// passing are the properties of a transient timer: it is a second late at most, and unloaded as soon as it has elapsed, so that
// none pile up.
func passing(description string) []sdbus.Property {
	return []sdbus.Property{
		sdbus.PropDescription(description), setting("AccuracyUSec", microseconds(time.Second)),
		setting("RemainAfterElapse", false), setting("CollectMode", "inactive-or-failed"),
	}
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
	properties := append(passing(spec.Description), setting("TimersMonotonic", []timer{{"OnActiveSec", microseconds(max(delay, time.Second))}}))
	aux := []sdbus.PropertyCollection{{Name: spec.Name, Properties: service}}
	err = m.do(ctx, name, func(job chan<- string) (int, error) {
		return m.conn.StartTransientUnitAux(ctx, name, modeFail, properties, aux, job)
	})
	if err != nil {
		return fmt.Errorf("start timer %s: %w", name, err)
	}
	return nil
}
