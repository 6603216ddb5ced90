package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/install"
	"stint/internal/machine"
	"stint/internal/plain"
	"stint/internal/store/sqlite"
	"stint/internal/workspace"
)

func newUninstall(a *app) *cobra.Command {
	var purge, yes bool
	cmd := a.dry(&cobra.Command{
		Use:   "uninstall",
		Short: "Remove the fleet's timers and units, and with --purge its state",
		Long: `Undo what "stint init --systemd" installed: the timers of the fleet and of all its pools, the
follow-up sessions that are waiting, units, drop-ins, slice and stamps. The last fleet's
uninstall also removes the units that all fleets share. Sessions at work continue: "stint
stop --all" ends them. Your own drop-ins, from "systemctl --user edit", stay.

--purge also removes the state: the record, claims, logs, clones and your drop-ins. It
requires that no session is at work, and a typed answer or --yes. Configuration, tasks,
lessons and the branches of sessions stay. Running it again finishes what was left.`,
		Example: `  stint uninstall --dry-run
  stint stop --all; stint uninstall --purge`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runUninstall(cmd.Context(), purge, yes) },
	})
	f := cmd.Flags()
	f.BoolVar(&purge, "purge", false, "remove the state folder's content, too")
	f.BoolVar(&yes, "yes", false, "with --purge: do not ask")
	return cmd
}

// removal is one run of uninstall.
type removal struct {
	*setup
	c       *config.Config
	purge   bool
	running []fleet.Run // sessions at work here
}

func (a *app) runUninstall(ctx context.Context, purge, yes bool) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	a.removing = true
	r := &removal{setup: &setup{app: a}, c: c, purge: purge}
	if purge {
		if err := a.with(ctx, existing, func(e opened) error { return r.idle(ctx, e) }); err != nil {
			return err
		}
		if err := notMovedAway(ctx, c); err != nil {
			return err
		}
		if err := r.consent(yes); err != nil {
			return err
		}
	}
	if err := r.timers(ctx); err != nil {
		return err
	}
	if err := a.with(ctx, existing, func(e opened) error { return r.waiting(ctx, e) }); err != nil {
		return err
	}
	if purge {
		err = r.state()
	}
	r.report()
	return err
}

// idle notes the sessions at work on this host, and refuses to purge under one. Sessions of other hosts have their own folders.
func (r *removal) idle(ctx context.Context, e opened) error {
	open, err := e.Open(ctx, "")
	r.running = plain.Kept(open, func(run fleet.Run) bool { return !run.StartedAt.IsZero() && !e.Here.OnOtherHost(run.Location) })
	if err != nil || !r.purge || len(r.running) == 0 {
		return err
	}
	return fleet.WithHint(fmt.Errorf("uninstall --purge: %w: sessions are at work: %s", fleet.ErrHeld, r.atWork()), "stint stop --all")
}

// atWork counts and names the sessions at work.
func (r *removal) atWork() string {
	names := plain.Each(r.running, func(run fleet.Run) string { return fmt.Sprintf("%s (%s)", run.ID, run.Category) })
	return fmt.Sprintf("%d: %s", len(names), strings.Join(names, ", "))
}

// consent refuses to purge unasked.
func (r *removal) consent(yes bool) error {
	if yes || r.dryRun {
		return nil
	}
	question := fmt.Sprintf("This removes the record, the logs and the clones in %s.\nType the fleet's name, %s, to go on", plain.Text(r.c.State), r.c.Fleet)
	return r.confirm("uninstall --purge", question, string(r.c.Fleet))
}

// timers takes the fleet's units away, from the user's own folder and from that of trials.
func (r *removal) timers(ctx context.Context) error {
	for _, runtime := range []bool{false, true} {
		p, err := r.plan(r.c, runtime)
		if err != nil {
			continue // then nothing can have been installed there
		}
		p.Purge = r.purge
		if err := p.Undo(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waiting keeps from beginning what has not begun: planned and waiting runs.
func (r *removal) waiting(ctx context.Context, e opened) error {
	open, err := e.Open(ctx, "")
	if err != nil {
		return err
	}
	for _, run := range open {
		if !run.StartedAt.IsZero() || e.Here.OnOtherHost(run.Location) {
			continue
		}
		r.did("run "+string(run.ID), install.Stopped)
		if r.dryRun {
			continue
		}
		if _, err := e.Stop(ctx, run.ID); err != nil && !errors.Is(err, fleet.ErrNothing) {
			return err
		}
	}
	return r.idle(ctx, e) // a fire may have begun one since the timers were told to stop
}

// state removes from the state folder what is stint's, and the folder, if that was all.
//
// If we die half-way, the store, which goes last, says whose the rest is.
func (r *removal) state() error {
	p := install.Plan{DryRun: r.dryRun, Did: r.did}
	paths := []string{r.trustStore(r.c.Path).Dir}
	for _, name := range []string{
		"clones", "runs", "locks", filepath.Base(fleet.FilesOf(r.c.State, "").Cache), workspace.MemoryFile, config.SchemaFile,
		machine.IdentityFile, machine.SeenFile, sqlite.File + "-shm", sqlite.File + "-wal", sqlite.File,
	} {
		paths = append(paths, filepath.Join(r.c.State, name))
	}
	for _, path := range append(paths, r.storeMark(r.c)) {
		if err := p.Remove(path); err != nil {
			return err
		}
	}
	if r.dryRun {
		return nil
	}
	left, err := os.ReadDir(r.c.State)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // nothing has run yet
	case err != nil:
		return err
	case len(left) > 0:
		r.did(r.c.State, install.Kept)
		return nil
	}
	return p.Remove(r.c.State)
}

func (r *removal) report() {
	if r.asObject(uninstallObject(r.dryRun, r.changes, r.running).JSON(r.c.Fleet)) {
		return
	}
	r.printChanges()
	if len(r.changes) == 0 {
		fmt.Fprintf(r.Stdout, "nothing of fleet %s is installed\n", r.c.Fleet)
	}
	if len(r.running) > 0 {
		r.hint("sessions at work go on: " + r.atWork() + "; to end them: stint stop --all")
	}
}
