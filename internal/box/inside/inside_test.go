package inside

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stint/internal/box"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == Word {
		os.Exit(Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// follow has this program follow an order, and returns what it and the program print.
func follow(t *testing.T, o Order, program ...string) (said string, status int) {
	t.Helper()
	argv := o.Command(must.Get(os.Executable())(t), program...)
	cmd := exec.Command(argv[0], argv[1:]...)
	text, _ := cmd.CombinedOutput()
	return strings.TrimSpace(string(text)), cmd.ProcessState.ExitCode()
}

// system is a box that can start programs, in a folder with a name that is not UTF-8.
func system(t *testing.T) fleet.Box {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "\xe9")
	must.Do(t, os.Mkdir(dir, 0o700))
	b := box.For(fleet.BoxLandlock, box.Places{Home: "/nowhere", State: "/nowhere", Dir: dir})
	b.Layers.Landlock = Landlock()
	return b
}

// TestRestrict holds a program behind each version of Landlock that the kernel has, the oldest one as well.
func TestRestrict(t *testing.T) {
	t.Parallel()
	newest := Landlock()
	if newest < 1 {
		t.Fatal("this kernel has no Landlock")
	}
	const script = `cd "$1" && echo made >file && cat file && mkdir d && mv file moved; ln moved d/linked 2>d/no && echo linked; cat "$2"; echo >"$2.new"`
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for version := 1; version <= newest; version++ {
		b := system(t)
		b.Layers.Landlock = version
		said, status := follow(t, Order{Box: b}, "/bin/sh", "sh", "-c", script, "sh", b.Write[0], secret)
		if status == 0 || !strings.HasPrefix(said, "made\n") || strings.Contains(said, "\nsecret") || strings.Count(said, "Permission denied") != 2 ||
			strings.Contains(said, "\nlinked") != (version > 1) {
			t.Errorf("version %d: status %d, %s", version, status, said)
		}
	}
}

// TestEnvironment gives a program the environment of this process, without what bubblewrap adds.
func TestEnvironment(t *testing.T) {
	t.Setenv("PWD", "/nowhere")
	t.Setenv("LATIN", "\xe9")
	said, status := follow(t, Order{Box: system(t)}, "/usr/bin/env", "env")
	if lines := strings.Split(said, "\n"); status != 0 || slices.Contains(lines, "PWD=/nowhere") || !slices.Contains(lines, "LATIN=\xe9") {
		t.Errorf("status %d, %s", status, said)
	}
}

// TestTrial finds each wall broken where there is no box, and none that a box promises.
func TestTrial(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	trial := Trial{
		Name: "stint-trial-" + strings.ReplaceAll(folder, "/", "-"), Canary: filepath.Join(folder, "canary"), Folders: []Folder{At(folder)},
		Sockets: []string{filepath.Join(folder, "s")}, Supervisor: os.Getpid(), Spaces: Spaces(),
	}
	must.Do(t, os.WriteFile(trial.Canary, nil, 0o600))
	for _, address := range []string{"@" + trial.Name, trial.Sockets[0]} {
		l := must.Get(net.Listen("unix", address))(t)
		defer l.Close() //nolint:errcheck // it has served
	}
	b := system(t)
	b.Network, b.Fixed = &[]int{9}, []string{trial.Canary}
	broken := trial.broken(b)
	every := b
	every.Layers = fleet.BoxLayers{Landlock: 99, Namespaces: "bwrap"}
	for _, w := range box.Promised(every) {
		if !slices.Contains(broken, w) {
			t.Errorf("a process without a box cannot %s", w)
		}
	}
	for _, ports := range []*[]int{nil, {}, {9, 10}} {
		b.Network = ports
		if said, status := follow(t, Order{Box: b, Trial: &trial}); said != "" || status != 0 {
			t.Errorf("ports %v: status %d, %s", ports, status, said)
		}
	}
	b.Read = append(b.Read, trial.Canary)
	if said, status := follow(t, Order{Box: b, Trial: &trial}); status != Failed || said != "the box does not hold: from inside, a process can read files outside" {
		t.Errorf("status %d, %s", status, said)
	}
	if left := must.Get(os.ReadDir(folder))(t); len(left) != 2 {
		t.Errorf("the trial left %v", left)
	}
}

// TestPorts closes all ports where the list is empty, and UDP as well where the kernel can.
func TestPorts(t *testing.T) {
	t.Parallel()
	port := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer port.Close() //nolint:errcheck // it has served
	number := port.Addr().(*net.TCPAddr).Port
	for _, tt := range []struct {
		ports  *[]int
		status int
	}{{nil, 0}, {&[]int{}, 1}, {&[]int{number}, 0}, {&[]int{number + 1}, 1}} {
		b := system(t)
		b.Network = tt.ports
		said, status := follow(t, Order{Box: b}, "/bin/bash", "bash", "-c", fmt.Sprintf("exec 5<>/dev/tcp/127.0.0.1/%d", number))
		if status != tt.status {
			t.Errorf("ports %v: status %d, want %d: %s", tt.ports, status, tt.status, said)
		}
	}
}
