package systemd

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"stint/internal/plain"
)

// cgroups is the mount point of the cgroup v2 tree, below the root of the file system.
const cgroups = "sys/fs/cgroup"

// Unenforced says, in a sentence each, which of the limits among a unit's properties
// do not bind a process: its own cgroup has no file for one, or another value in it.
// Root is the file system from /, process a number or "self". It is for a worker to
// ask about itself, from within its unit.
func Unenforced(root fs.FS, process string, properties map[string]any) (broken []string) {
	text, _ := fs.ReadFile(root, "proc/"+process+"/cgroup")
	group := ""
	for line := range strings.Lines(string(text)) {
		if name, unified := strings.CutPrefix(strings.TrimSpace(line), "0::"); unified {
			group = name
		}
	}
	for _, w := range wantedLimits(properties) {
		if group == "" {
			broken = append(broken, w.name+": not known whether in force: this process has no cgroup of version 2")
		} else if why := breach(root, path.Join(cgroups, group), w); why != "" {
			broken = append(broken, w.name+" is not in force: "+why)
		}
	}
	return broken
}

// Undelegated says, in a sentence each, which limits among a unit's properties cannot
// come into force below the cgroup of a manager, such as [Manager.ControlGroup], because
// it was not given the controller.
func Undelegated(root fs.FS, group string, properties map[string]any) (broken []string) {
	given := controllers(root, path.Join(cgroups, group))
	for _, w := range wantedLimits(properties) {
		if !slices.Contains(given, w.controller()) {
			broken = append(broken, fmt.Sprintf("%s cannot be enforced: the service manager was not given the controller %s, %s",
				w.name, w.controller(), besides(given)))
		}
	}
	return broken
}

// ControlGroup is the cgroup of the manager, in which its units have theirs.
func (m *Manager) ControlGroup() (string, error) {
	text, err := m.conn.GetManagerProperty("ControlGroup")
	if err != nil {
		return "", fmt.Errorf("read the manager's cgroup: %w", err)
	}
	group, err := strconv.Unquote(text)
	if err != nil {
		return "", fmt.Errorf("read the manager's cgroup %s: %w", text, err)
	}
	return group, nil
}

// wanted is a limit with the amount that a unit is to have.
type wanted struct {
	property
	amount uint64
}

func (w wanted) controller() string {
	name, _, _ := strings.Cut(w.file, ".")
	return name
}

// wantedLimits are those that are to bind something, in the order of [properties]. Faults in a configuration were
// refused when it was read.
func wantedLimits(properties map[string]any) (list []wanted) {
	for _, p := range limits() {
		parsed, err := p.parse(properties[p.name])
		amount, ok := parsed.(uint64)
		if err == nil && ok && amount != noLimit && (amount > 0 || p.name == "MemorySwapMax") {
			list = append(list, wanted{p, amount})
		}
	}
	return list
}

// limits leaves out what no cgroup file holds, such as Nice, and IOWeight's effect:
// which scheduler the disk has is not the unit's doing.
func limits() []property {
	return plain.Kept(properties(), func(p property) bool { return p.file != "" })
}

// breach says why a limit does not hold in a cgroup, or "".
func breach(root fs.FS, dir string, w wanted) string {
	if given := controllers(root, dir); !slices.Contains(given, w.controller()) {
		return fmt.Sprintf("its cgroup was not given the controller %s, %s", w.controller(), besides(given))
	}
	text, err := fs.ReadFile(root, dir+"/"+w.file)
	if _, bfq := fs.Stat(root, dir+"/io.bfq.weight"); w.name == "IOWeight" && errors.Is(err, fs.ErrNotExist) && bfq == nil {
		return "" // The scale of this one changed between versions of systemd: that it is there must do.
	}
	said := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return fmt.Sprintf("its cgroup has no readable %s", w.file)
	case !w.bounds(said, w.amount):
		return fmt.Sprintf("%s of its cgroup says %q, where %d was asked for", w.file, said, w.amount)
	}
	return ""
}

// controllers are those that a cgroup has.
func controllers(root fs.FS, dir string) []string {
	text, err := fs.ReadFile(root, dir+"/cgroup.controllers")
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// besides ends a sentence on a controller that is not among these.
func besides(controllers []string) string {
	if len(controllers) == 0 {
		return "nor any other"
	}
	return "only " + strings.Join(controllers, ", ")
}

// exactly compares a number. A file of weights has a line for each disk; the first is
// for the others.
func exactly(text string, want uint64) bool {
	line, _, _ := strings.Cut(text, "\n")
	n, err := strconv.ParseUint(strings.TrimPrefix(line, "default "), 10, 64)
	return err == nil && n == want
}

// nearly compares bytes, which the kernel rounds down to whole pages, of 64 KiB at most.
func nearly(text string, want uint64) bool {
	const page = 64 << 10
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && n <= want && want-n < page
}

// share compares "MICROSECONDS PERIOD" with the microseconds of a second, to within
// what the manager rounds for a period that is not a second.
func share(text string, want uint64) bool {
	const rounding = 0.01
	used, period, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(used, 64)
	if err != nil {
		return false
	}
	every, err := strconv.ParseFloat(period, 64)
	return err == nil && every > 0 && math.Abs(n*1e6/every-float64(want)) <= rounding*float64(want)
}
