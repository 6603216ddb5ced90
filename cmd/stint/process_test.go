package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptExits runs a command to its end and compares its exit status. Its output is
// there for stdout and stderr.
func scriptExits(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// scriptRefuses runs a command that is wrong usage: it ends with status 2, prints nothing, and its standard error matches.
func scriptRefuses(ts *testscript.TestScript, args []string) {
	scriptExits(ts, append([]string{"2"}, args[1:]...))
	if got := ts.ReadFile("stdout"); got != "" {
		ts.Fatalf("standard output: %q, want nothing", got)
	}
	if got := ts.ReadFile("stderr"); !regexp.MustCompile("(?m)" + args[0]).MatchString(got) {
		ts.Fatalf("standard error: %q, want a match for %q", got, args[0])
	}
}

func exitStatus(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// scriptUntil repeats a command until its output matches.
func scriptUntil(ts *testscript.TestScript, args []string) {
	pattern := regexp.MustCompile(args[0])
	var err error
	eventually(ts, func() bool {
		err = ts.Exec(args[1], args[2:]...)
		return pattern.MatchString(ts.ReadFile("stdout"))
	}, func() string { return fmt.Sprintf("a match for %q; the last run: %v", args[0], err) })
}

// eventually asks again and again until ok says yes. When that takes longer than it may on
// a loaded machine, the test fails with what is missing.
func eventually(t interface {
	Fatalf(format string, args ...any)
}, ok func() bool, missing func() string,
) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !ok(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not in time: %s", missing())
		}
	}
}

// started keys the script's background processes by name.
type started struct{}

type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	gone           chan struct{}
	err            error // of its end, once it is gone
}

// scriptStart runs a command in the background. Should the script end before it, it
// is asked to end: stint takes its agent along.
func scriptStart(ts *testscript.TestScript, args []string) {
	cmd := exec.Command(args[1], args[2:]...)
	p := &process{cmd: cmd, gone: make(chan struct{})}
	cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnviron(ts)
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	ts.Check(cmd.Start())
	go func() {
		p.err = cmd.Wait()
		close(p.gone)
	}()
	ts.Value(started{}).(map[string]*process)[args[0]] = p
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
		<-p.gone
	})
}

// endProcesses kills every process whose environment has this text, and waits until none is
// left: an agent that outlives its killed supervisor would go on to write in its folder.
func endProcesses(text string) {
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		pids := processesWith(text)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// processesWith are the other processes that have this text in their environment. A process
// that has ended has none.
func processesWith(text string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		environ, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(environ, []byte(text)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// scriptEnviron is the part of a script's environment that stint looks at.
func scriptEnviron(ts *testscript.TestScript) (env []string) {
	for _, name := range []string{
		"PATH", "HOME", "LANG", "USER", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"DBUS_SESSION_BUS_ADDRESS", "STINT_CONFIG", "STINT_HOLDER", "GOCOVERDIR", "PGSERVICEFILE", crashChance,
	} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func scriptSignal(ts *testscript.TestScript, args []string) {
	signal, ok := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}[args[1]]
	if !ok {
		ts.Fatalf("signal %s: want INT, TERM, STOP or CONT", args[1])
	}
	ts.Check(find(ts, args[0]).cmd.Process.Signal(signal))
}

// scriptEnded waits for a background process and compares its exit status.
func scriptEnded(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	p := find(ts, args[0])
	select {
	case <-p.gone:
	case <-time.After(patience):
		ts.Fatalf("%s is still running", args[0])
	}
	_, _ = ts.Stdout().Write(p.stdout.Bytes())
	_, _ = ts.Stderr().Write(p.stderr.Bytes())
	if got := exitStatus(ts, p.err); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func find(ts *testscript.TestScript, name string) *process {
	p, ok := ts.Value(started{}).(map[string]*process)[name]
	if !ok {
		ts.Fatalf("nothing was started as %s", name)
	}
	return p
}

// held keys the FIFOs at which agents are held, by path.
type held struct{}

func scriptFIFO(ts *testscript.TestScript, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// scriptAwait waits until an agent has come to the FIFO, and holds it there.
func scriptAwait(ts *testscript.TestScript, args []string) {
	path := ts.MkAbs(args[0])
	type opened struct {
		file *os.File
		err  error
	}
	ready := make(chan opened, 1)
	go func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
		ready <- opened{file, err}
	}()
	select {
	case o := <-ready:
		ts.Check(o.err)
		ts.Value(held{}).(map[string]*os.File)[path] = o.file
		ts.Defer(func() { _ = o.file.Close() })
	case <-time.After(patience):
		ts.Fatalf("no agent came to %s", args[0])
	}
}

// scriptRelease lets the agent at the FIFO go on.
func scriptRelease(ts *testscript.TestScript, args []string) {
	file, ok := ts.Value(held{}).(map[string]*os.File)[ts.MkAbs(args[0])]
	if !ok {
		ts.Fatalf("nobody is held at %s", args[0])
	}
	ts.Check(file.Close())
}

// scriptManager connects the script to the user's service manager. Units that the fleet still
// runs at the script's end are stopped.
func scriptManager(ts *testscript.TestScript, _ []string) {
	ts.Setenv("XDG_RUNTIME_DIR", os.Getenv("XDG_RUNTIME_DIR"))
	ts.Setenv("DBUS_SESSION_BUS_ADDRESS", os.Getenv("DBUS_SESSION_BUS_ADDRESS"))
	out, err := exec.Command("busctl", "--user", "--timeout=5", "get-property", "org.freedesktop.systemd1",
		"/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "Version").CombinedOutput()
	if err != nil {
		ts.Fatalf("no service manager: %v: %s\nrun the tests as: scripts/with-systemd go test ./...", err, out)
	}
	name := ts.Getenv("FLEET")
	ts.Defer(func() {
		_ = exec.Command("systemctl", "--user", "stop", "stint-"+name+".slice").Run()
		ts.Check(uninstall(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd/user"), name))
	})
}

// uninstall removes the unit files of a fleet, and the stamps of its timers.
func uninstall(folder, fleet string) error {
	files, err := filepath.Glob(filepath.Join(folder, "stint?"+fleet+"*"))
	if err != nil || len(files) == 0 {
		return err
	}
	var errs []error
	for _, file := range files {
		if timer := filepath.Base(file); filepath.Ext(timer) == ".timer" {
			_ = exec.Command("systemctl", "--user", "stop", timer).Run() // Most run no longer.
			errs = append(errs, exec.Command("systemctl", "--user", "clean", "--what=state", timer).Run())
		}
	}
	for _, file := range files {
		errs = append(errs, os.RemoveAll(file))
	}
	return errors.Join(append(errs, exec.Command("systemctl", "--user", "daemon-reload").Run())...)
}
