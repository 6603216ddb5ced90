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

// limit is a property that the kernel enforces through a file of the unit's cgroup, of version 2,
// if the file is there. The manager reports the property either way: where it was not
// given the controller, what it reports is a wish.
type limit struct {
	property   string
	controller string // "memory", whose files begin with "memory."
	file       string
	holds      func(text string, want uint64) bool
}

// limits leaves out what no cgroup file holds, such as Nice, and IOWeight's effect:
// which scheduler the disk has is not the unit's doing.
func limits() []limit {
	return []limit{
		{"MemoryMin", "memory", "memory.min", nearly},
		{"MemoryLow", "memory", "memory.low", nearly},
		{"MemoryHigh", "memory", "memory.high", nearly},
		{"MemoryMax", "memory", "memory.max", nearly},
		{"MemorySwapMax", "memory", "memory.swap.max", nearly},
		{"CPUQuota", "cpu", "cpu.max", quota},
		{"CPUWeight", "cpu", "cpu.weight", exactly},
		{"IOWeight", "io", "io.weight", exactly},
		{"TasksMax", "pids", "pids.max", exactly},
	}
}

// Unenforced says, in a sentence each, which of the limits among a unit's properties
// do not bind a process: its own cgroup has no file for one, or another value in it.
// Root is the file system from /, process a number or "self". It is for a worker to
// ask about itself, from within its unit.
func Unenforced(root fs.FS, process string, properties map[string]any) []string {
	wanted := wantedLimits(properties)
	if len(wanted) == 0 {
		return nil
	}
	dir, err := locate(root, process)
	if err != nil {
		return []string{fmt.Sprintf("%s: not known whether in force: %v", strings.Join(namesOf(wanted), ", "), err)}
	}
	var broken []string
	for _, w := range wanted {
		if why := breach(root, dir, w); why != "" {
			broken = append(broken, w.property+" is not in force: "+why)
		}
	}
	return broken
}

// Undelegated says, in a sentence each, which limits among a unit's properties cannot
// come into force below the cgroup of a manager, such as [Manager.ControlGroup], because
// it was not given the controller.
func Undelegated(root fs.FS, group string, properties map[string]any) []string {
	wanted := wantedLimits(properties)
	if len(wanted) == 0 {
		return nil
	}
	mounted, err := readMount(root)
	dir, found := mounted.dir(group)
	if err != nil || !found {
		return []string{fmt.Sprintf("%s cannot be enforced: the service manager has no cgroup of version 2 that can be seen from here",
			strings.Join(namesOf(wanted), ", "))}
	}
	given := controllers(root, dir)
	var broken []string
	for _, w := range wanted {
		if !slices.Contains(given, w.controller) {
			broken = append(broken, fmt.Sprintf("%s cannot be enforced: the service manager was not given the controller %s, %s",
				w.property, w.controller, besides(given)))
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
	limit
	amount uint64
}

// wantedLimits are those that are to bind something, in the order of [limits]. Names that are
// no property were refused when the configuration was read.
func wantedLimits(properties map[string]any) (list []wanted) {
	for _, l := range limits() {
		value, given := properties[l.property]
		if !given {
			continue
		}
		parsed, err := parseProperty(l.property, value)
		if err != nil {
			continue
		}
		amount, ok := parsed.Value.Value().(uint64)
		if ok && amount != noLimit && (amount > 0 || l.property == "MemorySwapMax") {
			list = append(list, wanted{l, amount})
		}
	}
	return list
}

func namesOf(list []wanted) []string {
	return plain.Each(list, func(w wanted) string { return w.property })
}

// breach says why a limit does not hold in a cgroup, or "".
func breach(root fs.FS, dir string, w wanted) string {
	if given := controllers(root, dir); !slices.Contains(given, w.controller) {
		return fmt.Sprintf("its cgroup was not given the controller %s, %s", w.controller, besides(given))
	}
	text, err := fs.ReadFile(root, dir+"/"+w.file)
	if _, bfq := fs.Stat(root, dir+"/io.bfq.weight"); w.property == "IOWeight" && errors.Is(err, fs.ErrNotExist) && bfq == nil {
		return "" // The scale of this one changed between versions of systemd: that it is there must do.
	}
	said := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return fmt.Sprintf("its cgroup has no readable %s", w.file)
	case !w.holds(said, w.amount):
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

// quota compares "MICROSECONDS PERIOD" with the microseconds of a second, to within
// what the manager rounds for a period that is not a second.
func quota(text string, want uint64) bool {
	const rounding = 0.01
	used, period, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(used, 64)
	if err != nil {
		return false
	}
	every, err := strconv.ParseFloat(period, 64)
	return err == nil && every > 0 && math.Abs(n*1e6/every-float64(want)) <= rounding*float64(want)
}

// locate finds the folder, below root, of a process's cgroup. In a namespace of its own, or a container
// that shows only part of the tree, a process may be where no path leads.
func locate(root fs.FS, process string) (string, error) {
	text, err := fs.ReadFile(root, "proc/"+process+"/cgroup")
	if err != nil {
		return "", fmt.Errorf("read its cgroup: %w", err)
	}
	mounted, err := readMount(root)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if group, unified := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); unified {
			if dir, ok := mounted.dir(group); ok {
				return dir, nil
			}
		}
	}
	return "", errors.New("it has no cgroup of version 2 that can be seen from here")
}

// mount shows part of the tree of cgroups: all of it, if from is "/".
type mount struct {
	from string // the cgroup that is at the mount point
	at   string // below root, without the leading slash; empty: not mounted
}

// dir is the folder of a cgroup, if this mount shows it.
func (m mount) dir(group string) (string, bool) {
	below, ok := strings.CutPrefix(strings.TrimSuffix(group, "/"), strings.TrimSuffix(m.from, "/"))
	// A namespace shows what is outside of it as "/..".
	if m.at == "" || !ok || below != "" && below[0] != '/' || strings.HasPrefix(group, "/..") {
		return "", false
	}
	return path.Join(m.at, below), true
}

// readMount finds the tree. If it is mounted several times, the first mount that shows all of it
// counts, else the first.
func readMount(root fs.FS) (found mount, err error) {
	text, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return mount{}, fmt.Errorf("read the mounts: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		m := mount{from: unescape(fields[3]), at: strings.TrimPrefix(path.Clean(unescape(fields[4])), "/")}
		if found.at == "" || found.from != "/" && m.from == "/" {
			found = m
		}
	}
	return found, nil
}

// unescape reads the octal escapes that mountinfo has for blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
