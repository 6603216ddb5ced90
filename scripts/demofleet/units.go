package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// units are the fleet's units on the user's service manager, all named for the fleet.
type units struct {
	fleet string
	dir   string // where the manager looks for units until the machine goes down
}

func newUnits(fleet string) (units, error) {
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		return units{}, errors.New("XDG_RUNTIME_DIR is not set; run this by scripts/demo")
	}
	return units{fleet: fleet, dir: filepath.Join(runtime, "systemd", "user")}, nil
}

func (u units) timer() string   { return "stint@" + u.fleet + ".timer" }
func (u units) service() string { return "stint@" + u.fleet + ".service" }

func systemctl(ctx context.Context, args ...string) (string, error) {
	out, err := output(ctx, environment(), append([]string{"systemctl", "--user"}, args...)...)
	return string(out), err
}

// setCadence has the timer fire every few seconds, and the fires write to a file, as a private
// manager has no journal. The units themselves are "stint init"'s to install.
func (u units) setCadence(f folder) error {
	for unit, from := range map[string]string{u.timer(): "timer.conf", u.service(): "service.conf"} {
		text, err := f.file(from, u.fleet)
		if err != nil {
			return err
		}
		path := filepath.Join(u.dir, unit+".d", "demo.conf")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// failed names the fleet's failed units. A worker that failed is unloaded at once, so
// this is about the fires.
func (u units) failed(ctx context.Context) (string, error) {
	names, err := u.list(ctx, "--state=failed", u.timer(), u.service())
	return strings.Join(names, ", "), err
}

// list names the loaded units that match.
func (u units) list(ctx context.Context, args ...string) (names []string, err error) {
	out, err := systemctl(ctx, append([]string{"list-units", "--all", "--full", "--plain", "--no-legend"}, args...)...)
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 0 {
			names = append(names, fields[0])
		}
	}
	return names, err
}

// remove stops what runs, the timer first and then whatever it started, and takes
// the unit files away. It goes on after a failure, and says in the end what is left.
func (u units) remove(ctx context.Context) error {
	workers := "stint-" + u.fleet + "-*"
	slice := "stint-" + u.fleet + ".slice"
	for _, pattern := range []string{u.timer(), u.service(), workers, slice} {
		u.stop(ctx, pattern)
	}
	_, _ = systemctl(ctx, "--quiet", "--runtime", "disable", u.timer())
	for _, path := range u.files() {
		_ = os.RemoveAll(path)
	}
	_, reload := systemctl(ctx, "daemon-reload")
	_, _ = systemctl(ctx, "reset-failed", u.timer(), u.service())
	left, err := u.list(ctx, "--state=active,activating,deactivating,reloading,failed", "stint@"+u.fleet+".*", workers, slice)
	left = append(left, u.files()...)
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("left behind: %s", strings.Join(left, ", ")))
	}
	return errors.Join(reload, err)
}

// stop stops the units that match by their exact names. One that ended meanwhile is
// an error to systemctl; a unit that really did not stop is found in the end.
func (u units) stop(ctx context.Context, pattern string) {
	names, _ := u.list(ctx, pattern)
	if len(names) > 0 {
		_, _ = systemctl(ctx, append([]string{"stop"}, names...)...)
	}
}

// files are the fleet's unit files, their drop-ins and the links to them.
func (u units) files() (paths []string) {
	for _, pattern := range []string{"stint@" + u.fleet + ".*", "stint-" + u.fleet + ".*", "*.wants/stint@" + u.fleet + ".*"} {
		found, _ := filepath.Glob(filepath.Join(u.dir, pattern))
		paths = append(paths, found...)
	}
	return paths
}
