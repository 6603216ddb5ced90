package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/plain"
	"stint/internal/store/sqlite"
	"stint/internal/systemd"
	"stint/internal/wire"
	"stint/internal/workspace"
	units "stint/systemd"
)

type uninstallOptions struct{ purge, yes, dryRun bool }

func newUninstall(a *app) *cobra.Command {
	var o uninstallOptions
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the fleet's timers and units, and with --purge its state",
		Long: `Undo what "stint init --systemd" installed: the timers of the fleet and of all its pools, the
follow-up sessions that are waiting, units, drop-ins, slice and stamps. The last fleet's
uninstall also removes the units that all fleets share. Sessions at work continue: "stint
stop --all" ends them. Your own drop-ins, from "systemctl --user edit", stay.

--purge removes the state, too: the record, claims, logs, clones and your drop-ins. It
requires that no session is at work, and a typed answer or --yes. Configuration, tasks,
lessons and the branches of sessions stay. Running it again finishes what was left.`,
		Example: `  stint uninstall --dry-run
  stint stop --all; stint uninstall --purge`,
		Args: cobra.NoArgs,
		RunE: with(a.runUninstall, &o),
	}
	f := cmd.Flags()
	f.BoolVar(&o.purge, "purge", false, "remove the state folder's content, too")
	f.BoolVar(&o.yes, "yes", false, "with --purge: do not ask")
	addDryRun(cmd, &o.dryRun)
	return cmd
}

// removal is one run of uninstall, or the part of init that removes what a pool left.
type removal struct {
	*setup
	c       *config.Config
	purge   bool
	running []fleet.Run // sessions at work here
}

func (a *app) runUninstall(ctx context.Context, o uninstallOptions) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	a.removing = true
	r := &removal{setup: &setup{app: a, o: initOptions{dryRun: o.dryRun}}, c: c, purge: o.purge}
	if o.purge {
		if err := a.withRecord(ctx, o.dryRun, func(e *engine.Engine) error { return r.idle(ctx, e) }); err != nil {
			return err
		}
		if err := notMovedAway(ctx, c); err != nil {
			return err
		}
		if err := r.consent(o); err != nil {
			return err
		}
	}
	if err := r.timers(ctx); err != nil {
		return err
	}
	if err := a.withRecord(ctx, o.dryRun, func(e *engine.Engine) error { return r.waiting(ctx, e) }); err != nil {
		return err
	}
	if o.purge {
		err = r.state()
	}
	r.report()
	return err
}

// idle notes the sessions at work on this host, and refuses to purge under one. Those of other hosts have their own folders.
func (r *removal) idle(ctx context.Context, e *engine.Engine) error {
	open, err := e.Open(ctx, "")
	r.running = plain.Kept(open, func(run fleet.Run) bool { return !run.StartedAt.IsZero() && !e.Here.Elsewhere(run.Seat) })
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
func (r *removal) consent(o uninstallOptions) error {
	if o.yes || o.dryRun {
		return nil
	}
	question := fmt.Sprintf("This removes the record, the logs and the clones in %s.\nType the fleet's name, %s, to go on", plain.Text(r.c.State), r.c.Fleet)
	return r.confirm("uninstall --purge", question, string(r.c.Fleet))
}

// timers takes the fleet's units away, from the user's own folder and from that of trials.
//
// If we die between two steps, nothing fires any more, and running it again does the rest:
// the drop-in, which says whose an instance is, goes last.
func (r *removal) timers(ctx context.Context) error {
	for _, runtime := range []bool{false, true} {
		folder, err := r.unitFolder(runtime)
		if err != nil {
			continue // then nothing can have been installed there
		}
		list, others, err := instances(folder, r.c)
		if err != nil {
			return err
		}
		for _, dropIn := range others {
			r.did(dropIn, kept)
		}
		if len(list) == 0 {
			continue
		}
		shared, err := r.shared(folder, list)
		if err == nil {
			err = r.take(ctx, folder, runtime, list, shared)
		}
		if err == nil {
			err = r.removeFolder(filepath.Join(folder, fleet.SliceName(r.c.Fleet)+".d"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// instances are those of a folder that are this configuration's, of the fleet, of its pools, and
// of pools that it had; and the drop-ins of a fleet of the same name, which it may not remove.
func instances(folder string, c *config.Config) (list, others []string, err error) {
	for _, pattern := range []string{units.Instance(c.Fleet, ""), units.Instance(c.Fleet, "*")} {
		found, err := filepath.Glob(plain.GlobIn(folder, units.DropIn(pattern)))
		if err != nil {
			return nil, nil, err
		}
		for _, dropIn := range found {
			whose, err := ownerOf(dropIn, c)
			if err != nil {
				return nil, nil, err
			}
			if whose != ours {
				others = append(others, dropIn)
				continue
			}
			name := strings.TrimPrefix(filepath.Base(filepath.Dir(dropIn)), "stint@")
			list = append(list, strings.TrimSuffix(name, ".service.d"))
		}
	}
	return list, others, nil
}

// former are the instances of a folder whose pools the configuration does not fire any more.
func former(folder string, c *config.Config) ([]string, error) {
	list, _, err := instances(folder, c)
	return slices.DeleteFunc(list, func(instance string) bool {
		return slices.ContainsFunc(c.FiredPools(), func(pool string) bool { return timerUnit(c.Fleet, pool) == "stint@"+instance+".timer" })
	}), err
}

// formerPools stops and removes the timers of pools that the configuration does not fire any more.
func (s *setup) formerPools(ctx context.Context, c *config.Config) error {
	if !s.o.systemd {
		return nil
	}
	folder, err := s.unitFolder(s.o.runtime)
	if err != nil {
		return err
	}
	list, err := former(folder, c)
	if err != nil || len(list) == 0 {
		return err
	}
	return (&removal{setup: s, c: c}).take(ctx, folder, s.o.runtime, list, nil)
}

// take stops the timers of instances and removes their unit files, and with them the shared ones.
func (r *removal) take(ctx context.Context, folder string, runtime bool, list, shared []string) error {
	m, err := systemd.Connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	for _, instance := range list {
		if err := r.silence(ctx, m, "stint@"+instance, runtime); err != nil {
			return err
		}
	}
	if err := r.files(folder, list, shared); err != nil || r.o.dryRun {
		return err
	}
	return m.Reload(ctx)
}

// silence stops and disables an instance's timer, and has the manager forget it.
func (r *removal) silence(ctx context.Context, m *systemd.Manager, unit string, runtime bool) error {
	r.did(unit+".timer", stopped)
	if r.o.dryRun {
		return nil
	}
	if err := m.Disable(ctx, unit+".timer", runtime); err != nil {
		return err
	}
	// A fire under way is ended, too: runs that it planned and that have not begun are found next.
	for _, kind := range []string{".timer", ".service"} {
		if err := m.Stop(ctx, unit+kind); err != nil {
			return err
		}
		if err := m.Forget(ctx, unit+kind); err != nil {
			return err
		}
	}
	return nil
}

// shared are the unit files that go with the fleet: its slice, and with the last fleet the units of all.
func (r *removal) shared(folder string, list []string) (names []string, err error) {
	others, err := filepath.Glob(plain.GlobIn(folder, units.DropIn("*")))
	if err != nil {
		return nil, err
	}
	ofOthers := func(dropIn string) bool {
		return !slices.ContainsFunc(list, func(instance string) bool { return dropIn == filepath.Join(folder, units.DropIn(instance)) })
	}
	if !slices.ContainsFunc(others, ofOthers) {
		names = append(names, "stint@.timer", "stint@.service")
	}
	return append(names, fleet.SliceName(r.c.Fleet)), nil
}

// files removes the unit files of instances, the shared ones, and the drop-ins.
func (r *removal) files(folder string, list, shared []string) error {
	var names []string
	for _, instance := range list {
		names = append(names, "stint@"+instance+".timer", "stint@"+instance+".service", units.Spread(instance))
	}
	names = append(names, shared...)
	for _, instance := range list {
		names = append(names, units.DropIn(instance))
	}
	for _, name := range names {
		if err := r.remove(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	for _, instance := range list {
		for _, kind := range []string{".timer.d", ".service.d"} {
			if err := r.removeFolder(filepath.Join(folder, "stint@"+instance+kind)); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes a file, or a folder with what is in it.
func (r *removal) remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	r.did(path, removed)
	if r.o.dryRun {
		return nil
	}
	return os.RemoveAll(path)
}

// removeFolder removes a folder of drop-ins. A person's files stay, except in a purge.
func (r *removal) removeFolder(path string) error {
	left, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case r.purge:
		return r.remove(path)
	}
	for _, f := range left {
		if f.Name() != filepath.Base(units.DropIn("")) && f.Name() != filepath.Base(units.Spread("")) { // which a dry run finds there
			r.did(filepath.Join(path, f.Name()), kept)
		}
	}
	if err := os.Remove(path); len(left) == 0 && !r.o.dryRun {
		return err
	}
	return nil
}

// waiting keeps from beginning what has not begun: planned and waiting runs.
func (r *removal) waiting(ctx context.Context, e *engine.Engine) error {
	open, err := e.Open(ctx, "")
	if err != nil {
		return err
	}
	for _, run := range open {
		if !run.StartedAt.IsZero() || e.Here.Elsewhere(run.Seat) {
			continue
		}
		r.did("run "+string(run.ID), stopped)
		if r.o.dryRun {
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
	files := fleet.FilesOf(r.c.State, "")
	if err := r.remove(r.trustStore(r.c.Path).Dir); err != nil {
		return err
	}
	for _, path := range []string{
		"clones", "runs", "locks", filepath.Base(files.Cache), workspace.MemoryFile, config.SchemaFile,
		machine.IdentityFile, machine.SeenFile, sqlite.File + "-shm", sqlite.File + "-wal", sqlite.File,
	} {
		if err := r.remove(filepath.Join(r.c.State, path)); err != nil {
			return err
		}
	}
	if err := r.remove(r.storeMark(r.c)); err != nil {
		return err
	}
	if r.o.dryRun {
		return nil
	}
	left, err := os.ReadDir(r.c.State)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // nothing has run yet
	case err != nil:
		return err
	case len(left) > 0:
		r.did(r.c.State, kept)
		return nil
	}
	return r.remove(r.c.State)
}

// The words for what uninstall did, beside [kept].
const (
	removed = "removed"
	stopped = "stopped"
)

func (r *removal) report() {
	if r.asObject(wire.NewUninstall(r.c.Fleet, r.o.dryRun, r.changes, r.running)) {
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
