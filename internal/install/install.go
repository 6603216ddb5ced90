// Package install is the plan of unit files and timers that a fleet has at the user's service manager.
// "stint init" applies it, "stint doctor" compares it, and "stint uninstall" undoes it.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/systemd"
	units "stint/systemd"
)

// The words for what was done with a path or a unit.
const (
	Created = "created"
	Updated = "updated"
	Kept    = "kept"
	Enabled = "enabled"
	Removed = "removed"
	Stopped = "stopped"
)

// Plan has a fleet's unit files in one folder.
type Plan struct {
	Config  *config.Config
	Folder  string                    // see [Folder]
	Runtime bool                      // until the machine goes down
	Watch   bool                      // tasks and programs ask for fires
	DryRun  bool                      // change nothing
	Purge   bool                      // a person's drop-ins are removed
	Did     func(path, action string) // is told of each change
}

// Folder returns the manager's folder of units: the user's own, or those until the machine goes down.
func Folder(getenv func(string) string, runtime bool) (string, error) {
	base := getenv("XDG_RUNTIME_DIR")
	if !runtime {
		base = getenv("XDG_CONFIG_HOME")
		if base == "" && getenv("HOME") != "" {
			base = filepath.Join(getenv("HOME"), ".config")
		}
	}
	if base == "" {
		return "", fmt.Errorf("%w: no folder for unit files: set HOME, or XDG_RUNTIME_DIR for --runtime", fleet.ErrUsage)
	}
	return filepath.Join(base, "systemd", "user"), nil
}

// Binary is the path of this program, as units are to name it.
func Binary() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// Pool is a pool's name, or "" for the one that the fleet's own timer fires.
func Pool(pool string) string {
	if pool == config.DefaultPool {
		return ""
	}
	return pool
}

// Timer is the timer that fires a pool.
func Timer(f fleet.Name, pool string) string {
	return "stint@" + units.Instance(f, Pool(pool)) + ".timer"
}

// Watch are the units by which tasks and programs ask for what a timer starts.
func Watch(timer string) []string {
	return units.Watch(strings.TrimSuffix(strings.TrimPrefix(timer, "stint@"), ".timer"))[:2]
}

// Apply writes the units of the fleet and of its further pools, and enables and starts timers.
//
// If we die between two of these steps, running init again does the rest: the
// timers are the last files, and nothing fires before they are started.
func (p Plan) Apply(ctx context.Context, pools, timers []string) error {
	program, err := Binary()
	if err != nil {
		return err
	}
	c := p.Config
	o := units.Options{
		Fleet: c.Fleet, Binary: program, Config: c.Path, Pools: pools, Credentials: c.Credentials, Runtime: p.Runtime, Spread: c.Store.Shared(),
	}
	if p.Watch {
		o.Tasks = c.Tasks.Dir
	}
	files, err := units.Files(o)
	if err != nil {
		return err
	}
	dropIn := filepath.Join(p.Folder, units.DropIn(units.Instance(c.Fleet, "")))
	if _, err := os.Lstat(dropIn); err == nil {
		ours, err := p.owns(dropIn)
		if err != nil {
			return err
		}
		if !ours {
			return fleet.WithHint(fmt.Errorf("%w: %s belongs to the timer of another configuration", fleet.ErrUsage, dropIn), "give this fleet another name")
		}
	}
	// The manager is asked first: without one, no file is written.
	m, err := systemd.Connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	for _, f := range files {
		if err := p.Write(filepath.Join(p.Folder, f.Name), f.Content); err != nil {
			return err
		}
	}
	if !p.Watch {
		for _, pool := range append([]string{""}, pools...) {
			if err := p.unwatch(ctx, m, units.Instance(c.Fleet, pool)); err != nil {
				return err
			}
		}
	}
	if p.DryRun {
		return nil
	}
	if err := m.Reload(ctx); err != nil {
		return err
	}
	for _, timer := range timers {
		if err := p.start(ctx, m, timer); err != nil {
			return err
		}
	}
	return nil
}

// Watched reports whether the fleet's timer has others ask for fires.
func (p Plan) Watched() bool {
	files := units.Watch(units.Instance(p.Config.Fleet, ""))
	_, err := os.Lstat(filepath.Join(p.Folder, files[len(files)-1]))
	return err == nil
}

// unwatch stops what asks for fires of an instance, and removes its files.
//
// If we die between them, the timer wants units that are not there, which the manager passes over. Doing it again does the rest.
func (p Plan) unwatch(ctx context.Context, m *systemd.Manager, instance string) error {
	for _, name := range units.Watch(instance) {
		if filepath.Dir(name) == "." && !p.DryRun {
			if err := errors.Join(m.Stop(ctx, name), m.Forget(ctx, name)); err != nil {
				return err
			}
		}
		if err := p.Remove(filepath.Join(p.Folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// start enables and starts the timer.
func (p Plan) start(ctx context.Context, m *systemd.Manager, timer string) error {
	changed, err := m.Enable(ctx, timer, p.Runtime)
	if err != nil {
		return err
	}
	action := Kept
	if changed {
		action = Enabled
		if err := m.Reload(ctx); err != nil {
			return err
		}
	}
	if err := m.StartUnit(ctx, timer); err != nil {
		return err
	}
	p.Did(timer, action)
	if !p.Watch {
		return nil
	}
	for _, unit := range Watch(timer) { // a timer that is up already starts nothing that it wants
		if err := m.StartUnit(ctx, unit); err != nil {
			return err
		}
	}
	return nil
}

// Write brings a file to its content.
func (p Plan) Write(path string, content []byte) error {
	old, err := os.ReadFile(path)
	switch {
	case err != nil:
		p.Did(path, Created)
	case bytes.Equal(old, content):
		p.Did(path, Kept)
		return nil
	default:
		p.Did(path, Updated)
	}
	if p.DryRun {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return renameio.WriteFile(path, content, 0o644)
}

// owns reports whether a drop-in is this configuration's. Where the configuration that it names is gone, as
// after a workspace was moved, it is that of the fleet of its name.
func (p Plan) owns(dropIn string) (bool, error) {
	text, err := os.ReadFile(dropIn)
	named := regexp.MustCompile(` --config (\S+) `).FindSubmatch(text)
	if err != nil || named == nil {
		return false, err
	}
	_, there := os.Stat(string(named[1]))
	return string(named[1]) == p.Config.Path || errors.Is(there, fs.ErrNotExist), nil
}

// instances are those of the folder that are this configuration's, of the fleet, of its pools, and
// of pools that it had; and the drop-ins of a fleet of the same name, which it may not remove.
func (p Plan) instances() (list, others []string, err error) {
	for _, pattern := range []string{units.Instance(p.Config.Fleet, ""), units.Instance(p.Config.Fleet, "*")} {
		found, err := filepath.Glob(plain.GlobIn(p.Folder, units.DropIn(pattern)))
		if err != nil {
			return nil, nil, err
		}
		for _, dropIn := range found {
			ours, err := p.owns(dropIn)
			if err != nil {
				return nil, nil, err
			}
			if !ours {
				others = append(others, dropIn)
				continue
			}
			name := strings.TrimPrefix(filepath.Base(filepath.Dir(dropIn)), "stint@")
			list = append(list, strings.TrimSuffix(name, ".service.d"))
		}
	}
	return list, others, nil
}

// Former are the instances whose pools the configuration does not fire any more.
func (p Plan) Former() ([]string, error) {
	list, _, err := p.instances()
	return slices.DeleteFunc(list, func(instance string) bool {
		return slices.ContainsFunc(p.Config.FiredPools(), func(pool string) bool { return Timer(p.Config.Fleet, pool) == "stint@"+instance+".timer" })
	}), err
}

// UndoFormer stops and removes the timers of [Plan.Former].
func (p Plan) UndoFormer(ctx context.Context) error {
	list, err := p.Former()
	if err != nil || len(list) == 0 {
		return err
	}
	return p.undo(ctx, list, nil)
}

// Undo takes the fleet's units away, and with those of the last fleet the units of all.
//
// If we die between two steps, nothing fires any more, and running it again does the rest:
// the drop-in, which says whose an instance is, goes last.
func (p Plan) Undo(ctx context.Context) error {
	list, others, err := p.instances()
	for _, dropIn := range others {
		p.Did(dropIn, Kept)
	}
	if err != nil || len(list) == 0 {
		return err
	}
	all, err := filepath.Glob(plain.GlobIn(p.Folder, units.DropIn("*")))
	if err != nil {
		return err
	}
	var shared []string
	if len(all) == len(list) {
		shared = []string{"stint@.timer", "stint@.service"}
	}
	slice := fleet.SliceName(p.Config.Fleet)
	if err := p.undo(ctx, list, append(shared, slice)); err != nil {
		return err
	}
	return p.removeFolder(filepath.Join(p.Folder, slice+".d"))
}

// undo stops the timers of instances, and removes their unit files and the shared ones.
func (p Plan) undo(ctx context.Context, list, shared []string) error {
	m, err := systemd.Connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	var names, dropIns []string
	for _, instance := range list {
		unit := "stint@" + instance
		if err := errors.Join(p.unwatch(ctx, m, instance), p.silence(ctx, m, unit)); err != nil {
			return err
		}
		names = append(names, unit+".timer", unit+".service", units.Spread(instance))
		dropIns = append(dropIns, units.DropIn(instance))
	}
	for _, name := range slices.Concat(names, shared, dropIns) {
		if err := p.Remove(filepath.Join(p.Folder, name)); err != nil {
			return err
		}
	}
	for _, instance := range list {
		for _, kind := range []string{".timer.d", ".service.d"} {
			if err := p.removeFolder(filepath.Join(p.Folder, "stint@"+instance+kind)); err != nil {
				return err
			}
		}
	}
	if p.DryRun {
		return nil
	}
	return m.Reload(ctx)
}

// silence stops and disables an instance's timer, and has the manager forget it.
func (p Plan) silence(ctx context.Context, m *systemd.Manager, unit string) error {
	p.Did(unit+".timer", Stopped)
	if p.DryRun {
		return nil
	}
	if err := m.Disable(ctx, unit+".timer", p.Runtime); err != nil {
		return err
	}
	// A fire under way is ended, too: runs that it planned and that have not begun are found next.
	for _, kind := range []string{".timer", ".service"} {
		if err := errors.Join(m.Stop(ctx, unit+kind), m.Forget(ctx, unit+kind)); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a file, or a folder with what is in it.
func (p Plan) Remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	p.Did(path, Removed)
	if p.DryRun {
		return nil
	}
	return os.RemoveAll(path)
}

// removeFolder removes a folder of drop-ins. A person's files stay, except in a purge.
func (p Plan) removeFolder(path string) error {
	left, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case p.Purge:
		return p.Remove(path)
	}
	ours := append(units.Watch(""), units.DropIn(""), units.Spread("")) // which a dry run finds there
	for _, f := range left {
		if !slices.ContainsFunc(ours, func(name string) bool { return filepath.Base(name) == f.Name() }) {
			p.Did(filepath.Join(path, f.Name()), Kept)
		}
	}
	if len(left) > 0 || p.DryRun {
		return nil
	}
	return os.Remove(path)
}

// Timers are the timers of a fleet.
type Timers struct{ Fleet fleet.Name }

// Timers asks the service manager about the timers of pools.
func (t Timers) Timers(ctx context.Context, pools []string) (list []fleet.Timer, err error) {
	err = systemd.Ask(ctx, func(ctx context.Context, m *systemd.Manager) error {
		for _, pool := range pools {
			unit := Timer(t.Fleet, pool)
			state, err := m.Timer(ctx, unit)
			if err != nil {
				return err
			}
			list = append(list, fleet.Timer{
				Pool: pool, Unit: unit, Active: state.Active, Firing: state.Firing, Failed: state.Failed,
				Last: state.Last, Next: state.Next, Began: state.Began,
			})
		}
		return nil
	})
	return list, err
}
