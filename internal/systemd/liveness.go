package systemd

import (
	"context"
	"fmt"
)

// Populated reports whether a unit has, or is about to have, a process: it is on its
// way up or down, or up. A unit that is not loaded has none.
func (m *Manager) Populated(ctx context.Context, unit string) (bool, error) {
	state, err := m.conn.GetUnitPropertyContext(ctx, unit, "ActiveState")
	if err != nil {
		if err = unlessNamed(err, noSuchUnit); err != nil {
			err = fmt.Errorf("read unit %s: %w", unit, err)
		}
		return false, err
	}
	said := state.Value.Value()
	return said != "inactive" && said != "failed", nil
}

// Stop stops a unit and waits until it is down.
func (m *Manager) Stop(ctx context.Context, unit string) error {
	err := m.do(ctx, unit, func(job chan<- string) (int, error) { return m.conn.StopUnitContext(ctx, unit, modeReplace, job) })
	if err = unlessNamed(err, noSuchUnit); err != nil {
		return fmt.Errorf("stop unit %s: %w", unit, err)
	}
	return nil
}
