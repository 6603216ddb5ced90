package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stint/internal/command"
	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/engine"
	"stint/internal/fleet"
)

// failures is what could not be fixed, and the first hint of it: status 1, whatever the
// status of the command is that fixes only that.
func failures(done []doctor.Repaired) error {
	var texts []string
	hint := ""
	for _, m := range done {
		if m.Err != nil {
			texts = append(texts, fmt.Sprintf("fix %s: %v", m.Repair, m.Err))
			hint = cmp.Or(hint, fleet.Hint(m.Err))
		}
	}
	if texts == nil {
		return nil
	}
	return fleet.WithHint(errors.New(strings.Join(texts, "; ")), hint)
}

// lingerTime is how long logind may take, which waits for polkit.
const lingerTime = 20 * time.Second

// repair does what can be done without a person. Each is done whatever becomes of the
// others. If we die between two of them, running it again does the rest.
func (a *app) repair(ctx context.Context, c *config.Config, seen inspection, repairs []doctor.Repair, dryRun bool) (list []doctor.Repaired) {
	for _, m := range repairs {
		did := doctor.Repaired{Repair: m}
		switch m {
		case doctor.RepairLinger:
			did.Done = []string{"loginctl enable-linger"}
			if !dryRun {
				_, did.Err = command.Command{
					Argv: []string{"loginctl", "--no-ask-password", "enable-linger"}, Env: os.Environ(), Timeout: lingerTime,
				}.Output(ctx)
			}
		case doctor.RepairMode:
			did.Done = []string{"chmod 700 " + c.State}
			if !dryRun {
				did.Err = os.Chmod(c.State, 0o700)
			}
		case doctor.RepairReap:
			did.Done, did.Err = a.repairRuns(ctx, dryRun)
		case doctor.RepairTimers:
			did.Done, did.Err = a.repairTimers(ctx, c, seen, dryRun)
		}
		if did.Err != nil {
			did.Done = nil // the findings show what was done of it in part
		}
		list = append(list, did)
	}
	return list
}

func (a *app) repairRuns(ctx context.Context, dryRun bool) (done []string, err error) {
	err = a.withEngine(ctx, accessFor(dryRun), nil, func(e *engine.Engine) error {
		reaped, err := e.Reap(ctx, dryRun)
		for _, r := range reaped {
			done = append(done, fmt.Sprintf("closed run %s (%s): %s", r.Run.ID, r.Run.Category, r.Reason))
		}
		return err
	})
	return done, err
}

// repairTimers brings the unit files of installed timers up to date, and starts the timers that
// are enabled. One that is not was switched off, or never on, and a person does that.
func (a *app) repairTimers(ctx context.Context, c *config.Config, seen inspection, dryRun bool) (done []string, err error) {
	s := &setup{app: a, o: initOptions{systemd: true, runtime: seen.runtime, dryRun: dryRun}, dir: filepath.Dir(c.Path)}
	var pools, on, started []string
	for _, t := range seen.Timers {
		if t.Pool != "" && t.Installed() {
			pools = append(pools, t.Pool)
		}
		if t.Installed() && t.On() {
			on = append(on, t.Unit)
			if t.Active != "active" {
				started = append(started, "started: "+t.Unit)
			}
		}
	}
	if err := s.install(ctx, c, pools, on); err != nil {
		return nil, err
	}
	for _, ch := range s.changes {
		if ch.Action != kept {
			done = append(done, ch.Action+": "+ch.Path)
		}
	}
	return append(done, started...), nil
}
