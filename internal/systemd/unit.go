package systemd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/godbus/dbus/v5"
)

// UnitState has a unit's state, in the manager's own words.
type UnitState struct {
	Name   string
	Active string // active, activating, deactivating, inactive, failed, …
}

// List returns the loaded units whose names match the pattern, a glob such as
// "stint-bob-*.service" in which a backslash stands for itself. A worker that is
// deactivating still has processes.
func (m *Manager) List(ctx context.Context, pattern string) ([]UnitState, error) {
	found, err := m.conn.ListUnitsByPatternsContext(ctx, nil, []string{pattern})
	if err != nil {
		return nil, fmt.Errorf("list units %s: %w", pattern, err)
	}
	units := make([]UnitState, len(found))
	for i, u := range found {
		units[i] = UnitState{Name: u.Name, Active: u.ActiveState}
	}
	return units, nil
}

// Reload makes the manager read all unit files again. Running units keep running.
func (m *Manager) Reload(ctx context.Context) error {
	if err := m.conn.ReloadContext(ctx); err != nil {
		return fmt.Errorf("reload the manager: %w", err)
	}
	return nil
}

// Enable has the unit started with the user's manager, at every start of it or, with
// runtime, until the machine goes down. It reports whether that changed anything,
// and starts nothing; the manager sees the change after the next [Manager.Reload].
func (m *Manager) Enable(ctx context.Context, unit string, runtime bool) (changed bool, err error) {
	installable, changes, err := m.conn.EnableUnitFilesContext(ctx, []string{unit}, runtime, false)
	if err != nil {
		return false, fmt.Errorf("enable unit %s: %w", unit, err)
	}
	if !installable {
		return false, fmt.Errorf("enable unit %s: its file has no [Install] section", unit)
	}
	return len(changes) > 0, nil
}

// noSuchUnit is the manager's name for the error about an unknown unit.
const noSuchUnit = "org.freedesktop.systemd1.NoSuchUnit"

// Disable undoes [Manager.Enable]. A unit without a file has nothing to undo.
func (m *Manager) Disable(ctx context.Context, unit string, runtime bool) error {
	_, err := m.conn.DisableUnitFilesContext(ctx, []string{unit}, runtime)
	if err := unlessNamed(err, noSuchUnit); err != nil {
		return fmt.Errorf("disable unit %s: %w", unit, err)
	}
	return nil
}

// Forget has the manager forget what it remembers of a unit that is down: that the unit failed,
// and the stamp of a timer's last fire. A unit that it does not know counts as forgotten.
func (m *Manager) Forget(ctx context.Context, unit string) error {
	if err := unlessNamed(m.conn.ResetFailedUnitContext(ctx, unit), noSuchUnit); err != nil {
		return fmt.Errorf("reset unit %s: %w", unit, err)
	}
	// A unit that failed is not cleaned.
	clean := m.raw.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1").
		CallWithContext(ctx, "org.freedesktop.systemd1.Manager.CleanUnit", 0, unit, []string{"state"}).Err
	// A timer that is not Persistent has no stamp, a service none at all, and a path cannot have one.
	if err := unlessNamed(clean, "org.freedesktop.systemd1.NothingToClean", "org.freedesktop.DBus.Error.NotSupported", noSuchUnit); err != nil {
		return fmt.Errorf("clean unit %s: %w", unit, err)
	}
	return nil
}

// unlessNamed is an error except for those that the manager gives one of these names.
func unlessNamed(err error, names ...string) error {
	if known, ok := errors.AsType[dbus.Error](err); ok && slices.Contains(names, known.Name) {
		return nil
	}
	return err
}

// StartUnit starts a unit that has a file, such as the fleet's timer, and waits until
// it is up. One that is up already is left as it is.
func (m *Manager) StartUnit(ctx context.Context, unit string) error {
	err := m.do(ctx, unit, func(job chan<- string) (int, error) { return m.conn.StartUnitContext(ctx, unit, modeReplace, job) })
	if err != nil {
		return fmt.Errorf("start unit %s: %w", unit, err)
	}
	return nil
}
