package systemd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/testkit/must"
)

// machine is a root folder with these files.
func machine(t *testing.T, files map[string]string) fs.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return os.DirFS(root)
}

const (
	ownGroup  = "/user.slice/user@1000.service/stint.slice/stint-bob.service"
	ownFolder = "sys/fs/cgroup" + ownGroup + "/"
)

// unified is a machine with one hierarchy, of version 2, in which the limits hold.
func unified() map[string]string {
	return map[string]string{
		"proc/self/cgroup":               "0::" + ownGroup + "\n",
		ownFolder + "cgroup.controllers": "cpu io memory pids\n",
		ownFolder + "memory.max":         "4294967296\n",
		ownFolder + "memory.high":        "3221225472\n",
		ownFolder + "memory.low":         "1048576\n",
		ownFolder + "memory.swap.max":    "0\n",
		ownFolder + "cpu.weight":         "50\n",
		ownFolder + "cpu.max":            "150000 100000\n",
		ownFolder + "io.weight":          "default 20\n8:0 100\n",
		ownFolder + "pids.max":           "500\n",
	}
}

func allLimits() map[string]any {
	return map[string]any{
		"MemoryMax": "4G", "MemoryHigh": "3G", "MemoryLow": "1M", "MemorySwapMax": int64(0),
		"CPUWeight": int64(50), "CPUQuota": "150%", "IOWeight": int64(20), "TasksMax": int64(500),
		"Nice": int64(5),
	}
}

func TestUnenforced(t *testing.T) {
	t.Parallel()
	oneLimit := map[string]any{"MemoryMax": "4G"}
	const outside = "MemoryMax: not known whether in force: this process has no cgroup of version 2"
	for name, test := range map[string]struct {
		machine    map[string]string
		change     map[string]string // a file's text; "-": there is none
		properties map[string]any
		want       []string
	}{
		"all hold":     {unified(), nil, allLimits(), nil},
		"none wanted":  {map[string]string{}, nil, map[string]any{"Nice": int64(5), "MemoryMax": "infinity"}, nil},
		"whole pages":  {unified(), map[string]string{ownFolder + "memory.max": "4294963200"}, map[string]any{"MemoryMax": int64(4294967295)}, nil},
		"disk by disk": {unified(), map[string]string{ownFolder + "io.weight": "-", ownFolder + "io.bfq.weight": "56"}, allLimits(), nil},
		"no controllers": {
			unified(),
			map[string]string{ownFolder + "cgroup.controllers": "pids"},
			map[string]any{"MemoryMax": "4G", "CPUWeight": int64(50), "TasksMax": int64(500)},
			[]string{
				"MemoryMax is not in force: its cgroup was not given the controller memory, only pids",
				"CPUWeight is not in force: its cgroup was not given the controller cpu, only pids",
			},
		},
		"no file": {unified(), map[string]string{ownFolder + "memory.max": "-"}, oneLimit, []string{
			"MemoryMax is not in force: its cgroup has no readable memory.max",
		}},
		"no folder": {map[string]string{"proc/self/cgroup": "0::/gone\n"}, nil, oneLimit, []string{
			"MemoryMax is not in force: its cgroup was not given the controller memory, nor any other",
		}},
		"other values": {
			unified(), map[string]string{
				ownFolder + "memory.max": "max\n", ownFolder + "memory.high": "3221291008", ownFolder + "cpu.weight": "100",
				ownFolder + "cpu.max": "max 100000", ownFolder + "io.weight": "default 100\n8:0 20", ownFolder + "pids.max": "",
				ownFolder + "memory.low": "0",
			}, allLimits(), []string{
				`MemoryLow is not in force: memory.low of its cgroup says "0", where 1048576 was asked for`,
				`MemoryHigh is not in force: memory.high of its cgroup says "3221291008", where 3221225472 was asked for`,
				`MemoryMax is not in force: memory.max of its cgroup says "max", where 4294967296 was asked for`,
				`CPUQuota is not in force: cpu.max of its cgroup says "max 100000", where 1500000 was asked for`,
				`CPUWeight is not in force: cpu.weight of its cgroup says "100", where 50 was asked for`,
				`IOWeight is not in force: io.weight of its cgroup says "default 100\n8:0 20", where 20 was asked for`,
				`TasksMax is not in force: pids.max of its cgroup says "", where 500 was asked for`,
			},
		},
		"version 1 only": {unified(), map[string]string{"proc/self/cgroup": "4:memory:/u\n"}, oneLimit, []string{outside}},
		"namespace": {unified(), map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "memory", "sys/fs/cgroup/memory.max": "4294967296",
		}, oneLimit, nil},
		"no proc": {map[string]string{}, nil, oneLimit, []string{outside}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for file, text := range test.change {
				test.machine[file] = text
				if text == "-" {
					delete(test.machine, file)
				}
			}
			got := Unenforced(machine(t, test.machine), "self", test.properties)
			must.Equal(t, "warnings", got, test.want, cmpopts.EquateEmpty())
		})
	}
}

func TestUndelegated(t *testing.T) {
	t.Parallel()
	const manager = "/user.slice/user@1000.service"
	properties := map[string]any{"MemoryMax": "4G", "TasksMax": int64(5), "Nice": int64(5)}
	files := func(controllers string) map[string]string {
		return map[string]string{"sys/fs/cgroup" + manager + "/cgroup.controllers": controllers}
	}
	for name, test := range map[string]struct {
		files      map[string]string
		group      string
		properties map[string]any
		want       []string
	}{
		"given":       {files("memory pids\n"), manager, properties, nil},
		"none wanted": {nil, manager, nil, nil},
		"in part": {files("cpu pids\n"), manager, properties, []string{
			"MemoryMax cannot be enforced: the service manager was not given the controller memory, only cpu, pids",
		}},
		"at the root": {map[string]string{"sys/fs/cgroup/cgroup.controllers": "memory pids"}, "", properties, nil},
		"nothing": {files(""), manager, properties, []string{
			"MemoryMax cannot be enforced: the service manager was not given the controller memory, nor any other",
			"TasksMax cannot be enforced: the service manager was not given the controller pids, nor any other",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Undelegated(machine(t, test.files), test.group, test.properties)
			must.Equal(t, "warnings", got, test.want, cmpopts.EquateEmpty())
		})
	}
}

// TestLimitsOfARealUnit looks at a worker of the manager that is there: what the cgroup
// files say must be what the warnings say, whichever controllers it was given.
func TestLimitsOfARealUnit(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	spec := testSpec(t, testFleet(t, m), "r1", "wait")
	spec.Properties = map[string]any{"MemoryMax": "512M", "CPUWeight": int64(50), "TasksMax": int64(99), "CPUQuota": "150%"}
	start(t, m, spec)
	unit := unitProperties(t, m, spec.Name)
	manager := must.Get(m.ControlGroup())(t)
	root := os.DirFS("/")
	warnings := Unenforced(root, fmt.Sprint(unit["MainPID"]), spec.Properties)
	undelegated := Undelegated(root, manager, spec.Properties)
	t.Logf("manager in %s, unit in %s: %q, %q", manager, unit["ControlGroup"], warnings, undelegated)
	folder := filepath.Join("/sys/fs/cgroup", unit["ControlGroup"].(string))
	for property, file := range map[string]string{"MemoryMax": "memory.max", "CPUWeight": "cpu.weight", "TasksMax": "pids.max", "CPUQuota": "cpu.max"} {
		_, err := os.Stat(filepath.Join(folder, file))
		for _, list := range [][]string{warnings, undelegated} {
			if warned := strings.Contains(strings.Join(list, "\n"), property+" "); warned != (err != nil) {
				t.Errorf("%s: %s: %v, and warnings %q", property, file, err, list)
			}
		}
	}
}

// TestUnenforcedOnThisMachine must say something of a limit that nobody set.
func TestUnenforcedOnThisMachine(t *testing.T) {
	t.Parallel()
	if got := Unenforced(os.DirFS("/"), "self", map[string]any{"TasksMax": int64(12_345_677)}); len(got) != 1 {
		t.Errorf("got %q, want one warning", got)
	}
}
