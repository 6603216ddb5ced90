package systemd

import (
	"context"
	"time"

	"stint/internal/fleet"
)

// askTime bounds the wait for the manager's answer. It answers in a millisecond,
// or hangs.
const askTime = 5 * time.Second

// Ask connects to the user's manager for questions, which it has to answer at once.
func Ask(ctx context.Context, fn func(context.Context, *Manager) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return with(ctx, func(m *Manager) error { return fn(ctx, m) })
}

func with(ctx context.Context, fn func(*Manager) error) error {
	m, err := Connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	return fn(m)
}

// Units are those of the user's manager, to which each call connects anew.
type Units struct{}

// Populated reports whether one of the units has, or is about to have, a process, see
// [Manager.Populated].
func (Units) Populated(ctx context.Context, units ...string) (up bool, err error) {
	err = Ask(ctx, func(ctx context.Context, m *Manager) (err error) {
		for i := 0; i < len(units) && !up && err == nil; i++ {
			up, err = m.Populated(ctx, units[i])
		}
		return err
	})
	return up, err
}

// Stop stops units, one after the other, and waits until they are down.
func (Units) Stop(ctx context.Context, units ...string) error {
	return with(ctx, func(m *Manager) error {
		for _, unit := range units {
			if err := m.Stop(ctx, unit); err != nil {
				return err
			}
		}
		return nil
	})
}

// StartAfter starts a worker when its time has come, see [Manager.StartAfter].
func (Units) StartAfter(ctx context.Context, spec fleet.UnitSpec, delay time.Duration) error {
	return with(ctx, func(m *Manager) error { return m.StartAfter(ctx, spec, delay) })
}

// FireAt has what a timer starts be started once more, see [Manager.FireAt].
func (Units) FireAt(ctx context.Context, timer string, at time.Time) error {
	return Ask(ctx, func(ctx context.Context, m *Manager) error { return m.FireAt(ctx, timer, at) })
}

// Scope moves this process into a new scope, see [Manager.Scope].
func (Units) Scope(ctx context.Context, name string) error {
	return Ask(ctx, func(ctx context.Context, m *Manager) error { return m.Scope(ctx, name) })
}
