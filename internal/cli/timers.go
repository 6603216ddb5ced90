package cli

import (
	"context"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/systemd"
	units "stint/systemd"
)

// timers are those that "init --systemd" installs for a fleet.
type timers struct{ fleet fleet.Name }

// Timers asks the service manager about the timers of pools.
func (t timers) Timers(ctx context.Context, pools []string) (list []fleet.Timer, err error) {
	err = systemd.Ask(ctx, func(ctx context.Context, m *systemd.Manager) error {
		for _, pool := range pools {
			unit := timerUnit(t.fleet, pool)
			state, err := m.Timer(ctx, unit)
			if err != nil {
				return err
			}
			list = append(list, fleet.Timer{Pool: pool, Unit: unit, Active: state.Active, Firing: state.Firing, Failed: state.Failed, Last: state.Last, Next: state.Next})
		}
		return nil
	})
	return list, err
}

// timerUnit is the timer that fires a pool.
func timerUnit(f fleet.Name, pool string) string {
	if pool == config.DefaultPool {
		pool = ""
	}
	return "stint@" + units.Instance(f, pool) + ".timer"
}
