package systemd

import (
	"context"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// Installed has the manager's knowledge of a unit that has, or should have, a file. The
// words are the manager's own.
type Installed struct {
	Load     string   // loaded, not-found, bad-setting, error, masked
	Active   string   // active, inactive, failed, …
	Enabled  string   // enabled, enabled-runtime, disabled, static, …; empty: it has no file
	Fragment string   // its file
	Stale    bool     // its files changed since the manager read them
	Argv     []string // of a service: what it runs
	Result   string   // of a service: success, exit-code, timeout, …
}

// Installed reads how a unit is installed. One that does not exist is not-found.
func (m *Manager) Installed(ctx context.Context, unit string) (Installed, error) {
	properties, err := m.conn.GetAllPropertiesContext(ctx, unit)
	if err != nil {
		return Installed{}, fmt.Errorf("read unit %s: %w", unit, err)
	}
	text := func(name string) string {
		value, _ := properties[name].(string)
		return value
	}
	stale, _ := properties["NeedDaemonReload"].(bool)
	return Installed{
		Load: text("LoadState"), Active: text("ActiveState"), Enabled: text("UnitFileState"), Fragment: text("FragmentPath"),
		Stale: stale, Argv: lastArgv(properties["ExecStart"]), Result: text("Result"),
	}, nil
}

// lastArgv is the arguments of the last of a service's commands, which on the bus are
// a(sasbttttuii), or nil.
func lastArgv(value any) []string {
	commands, _ := value.([][]any)
	if len(commands) == 0 || len(commands[len(commands)-1]) < 2 {
		return nil
	}
	argv, _ := commands[len(commands)-1][1].([]string)
	return argv
}

// Environment returns the environment of every unit that the manager starts, as NAME=value.
func (m *Manager) Environment() ([]string, error) {
	text, err := m.conn.GetManagerProperty("Environment")
	if err != nil {
		return nil, fmt.Errorf("read the manager's environment: %w", err)
	}
	value, err := dbus.ParseVariant(text, dbus.SignatureOf([]string{}))
	if err != nil {
		return nil, fmt.Errorf("read the manager's environment: %w", err)
	}
	environment, _ := value.Value().([]string)
	return environment, nil
}
