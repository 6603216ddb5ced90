// Package units holds the unit files of a fleet: the service that fires it, the timer
// that starts the service, the slice that holds its workers, the drop-ins that
// name its binary and configuration and spread the fires of several hosts, and what asks for a
// fire between those of the timer. It fills them in and writes nothing: the caller puts them
// into the folder for unit files that it means.
package units

import (
	"embed"
	"fmt"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
)

//go:embed stint@.service stint@.timer stint-FLEET.slice stint@FLEET.service.d stint@FLEET.timer.d
//go:embed stint-FLEET-watch.path stint-FLEET-watch.socket stint-FLEET-watch.service
var files embed.FS

// Options say which fleet the files are for.
type Options struct {
	Fleet  fleet.Name
	Binary string   // absolute; passes [fleet.CheckUnitWord], as does Config
	Config string   // absolute
	Pools  []string // that have a timer of their own, beside the fleet's
	// Credentials are files that a fire loads, as LoadCredential= has them.
	Credentials []string
	// Runtime names the service and the timer for this fleet, in place of the two
	// templates, so that a trial in the runtime folder neither uses nor changes
	// what other fleets have.
	Runtime bool
	// Spread keeps apart the fires of hosts that share a store.
	Spread bool
	// Tasks is the folder whose changes ask for a fire; empty: neither they nor a socket do.
	Tasks string
}

// File is one unit file.
type File struct {
	Name    string // relative to the folder for unit files; may have a folder itself
	Content []byte
}

// Files returns the fleet's unit files, those that others need first. Where a path
// would not reach systemd unchanged the error wraps [fleet.ErrUsage].
func Files(o Options) ([]File, error) {
	if _, err := fleet.ParseName(string(o.Fleet)); err != nil {
		return nil, fmt.Errorf("%w: %w", fleet.ErrUsage, err)
	}
	if err := checkPath("binary", o.Binary); err != nil {
		return nil, err
	}
	if err := checkPath("configuration", o.Config); err != nil {
		return nil, err
	}
	if o.Tasks != "" {
		if err := checkPath("folder of tasks", o.Tasks); err != nil {
			return nil, err
		}
	}
	for _, pool := range o.Pools {
		if pool == "" || fleet.CheckUnitWord(pool) != nil || strings.ContainsAny(pool, "/=:") {
			return nil, fmt.Errorf("%w: pool %q: no part of a unit's name", fleet.ErrUsage, pool)
		}
	}
	var out []File
	for _, template := range o.templates() {
		content, err := files.ReadFile(template)
		if err != nil {
			return nil, fmt.Errorf("read unit template: %w", err)
		}
		for _, pool := range o.pools(template) {
			out = append(out, o.fill(template, content, pool))
		}
	}
	return out, nil
}

// pools are those for which there is a file of the template each; "" is the fleet itself.
func (o Options) pools(template string) []string {
	shared := strings.Contains(template, "@.") && !o.Runtime
	if shared || template == slice {
		return []string{""}
	}
	return append([]string{""}, o.Pools...)
}

func (o Options) fill(template string, content []byte, pool string) File {
	instance, fanout := Instance(o.Fleet, pool), "fanout"
	if pool != "" {
		fanout += " --pool " + pool
	}
	fill := strings.NewReplacer("FLEET", instance, "BINARY", o.Binary, "CONFIG", o.Config, "FANOUT", fanout, "TASKS", o.Tasks)
	name, text := fill.Replace(template), fill.Replace(string(content))
	if name == DropIn(instance) || strings.HasSuffix(template, "-watch.service") {
		for _, file := range o.Credentials {
			text += "LoadCredential=" + file + "\n"
		}
	}
	if o.Runtime {
		name = strings.Replace(name, "stint@.", "stint@"+instance+".", 1)
	}
	return File{Name: name, Content: []byte(text)}
}

// Instance names the service and the timer that fire a pool, or with "" the fleet: there
// is no "-" in a fleet's name, so no two are called the same.
func Instance(f fleet.Name, pool string) string {
	if pool == "" {
		return string(f)
	}
	return string(f) + "-" + pool
}

// DropIn is the file that names a fleet's binary and configuration, as [File.Name]; there
// is one for each [Instance].
func DropIn(instance string) string { return "stint@" + instance + ".service.d/stint.conf" }

// Spread is the file that keeps an instance's fires apart from those of other hosts, as
// [File.Name]. A person's own drop-in, override.conf, comes after it.
func Spread(instance string) string { return "stint@" + instance + ".timer.d/10-stint.conf" }

// Watch are the files by which fires of an instance are asked for, as [File.Name]. The timer wants the first two units.
func Watch(instance string) []string {
	unit := "stint-" + instance + "-watch"
	return []string{unit + ".path", unit + ".socket", unit + ".service", "stint@" + instance + ".timer.d/20-stint-watch.conf"}
}

// slice is the template of the one slice of a fleet and its pools.
const slice = "stint-FLEET.slice"

// templates stand in an order that is safe to stop in: the timer, which sets the rest
// going, is last. FLEET, BINARY, CONFIG, FANOUT and TASKS are filled in, in names and in text.
func (o Options) templates() []string {
	list := []string{slice, DropIn("FLEET")}
	if o.Spread {
		list = append(list, Spread("FLEET"))
	}
	if o.Tasks != "" {
		list = append(list, Watch("FLEET")...)
	}
	return append(list, "stint@.service", "stint@.timer")
}

func checkPath(what, path string) error {
	hint := "install the binary, and keep the configuration, at a path of these only"
	if !filepath.IsAbs(path) {
		return fleet.WithHint(fmt.Errorf("%w: %s %q: want an absolute path", fleet.ErrUsage, what, path), hint)
	}
	if err := fleet.CheckUnitWord(path); err != nil {
		return fleet.WithHint(fmt.Errorf("%w: %s: %w", fleet.ErrUsage, what, err), hint)
	}
	return nil
}
