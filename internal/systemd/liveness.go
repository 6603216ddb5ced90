package systemd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cgroupRoot is where the unified hierarchy is mounted.
const cgroupRoot = "/sys/fs/cgroup"

// Populated reports whether a unit has, or is about to have, a process: it is on its
// way up or down, or its cgroup is not empty. A unit that is not loaded has none.
func (m *Manager) Populated(ctx context.Context, unit string) (bool, error) {
	properties, err := m.conn.GetAllPropertiesContext(ctx, unit)
	if err != nil {
		if err = unlessNamed(err, noSuchUnit); err != nil {
			err = fmt.Errorf("read unit %s: %w", unit, err)
		}
		return false, err
	}
	switch properties["ActiveState"] {
	case "inactive", "failed":
	default:
		return true, nil
	}
	group, _ := properties["ControlGroup"].(string)
	if group == "" {
		return false, nil
	}
	return populated(filepath.Join(cgroupRoot, group))
}

// populated reads what the kernel says of a cgroup and all below it.
func populated(group string) (bool, error) {
	f, err := os.Open(filepath.Join(group, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read cgroup: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "populated "); ok {
			return value == "1", nil
		}
	}
	return false, lines.Err()
}

// Stop stops a unit and waits until it is down.
func (m *Manager) Stop(ctx context.Context, unit string) error {
	err := m.do(ctx, unit, func(job chan<- string) (int, error) { return m.conn.StopUnitContext(ctx, unit, modeReplace, job) })
	if err = unlessNamed(err, noSuchUnit); err != nil {
		return fmt.Errorf("stop unit %s: %w", unit, err)
	}
	return nil
}
