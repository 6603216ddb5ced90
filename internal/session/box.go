package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/box"
	"stint/internal/box/inside"
	"stint/internal/command"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rundir"
)

// Boxed is the command line by which a program runs in a box whose layers are known. keep is how
// many descriptors from 3 on it gets.
func (r Runner) Boxed(b fleet.Box, dir, program string, argv []string, keep, report int) []string {
	if b.Open() {
		return append([]string{program}, argv[1:]...)
	}
	b = resolved(b)
	o := box.OrderFor(b)
	o.Keep, o.Report = keep, report
	return within(b, dir, slices.Concat(o.Command(r.Stint), []string{program}, argv))
}

// within puts a helper's command line into a namespace, where there is one.
func within(b fleet.Box, dir string, helper []string) []string {
	if b.Layers.Namespaces == "" {
		return helper
	}
	b.Read = append(b.Read[:len(b.Read):len(b.Read)], helper[0])
	if os.Geteuid() == 0 { // to whom the kernel's settings belong
		b.Read = append(b.Read, "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
	}
	return box.Namespace(b, dir, helper)
}

// resolved is the box of what there is, with what links lead to: inside, the folder of a link may not
// be there to lead on.
func resolved(b fleet.Box) fleet.Box {
	for _, list := range []*[]string{&b.Read, &b.Write, &b.Fixed, &b.Hidden} {
		var there []string
		for _, path := range *list {
			target, err := filepath.EvalSymlinks(path)
			if err != nil {
				continue
			}
			if there = append(there, path); target != path && !slices.Contains(*list, target) {
				there = append(there, target)
			}
		}
		*list = there
	}
	return b
}

// made is how it shows that a box was made around the agent; nil: it has none.
type made struct {
	read, write *os.File
	spaces      bool
}

// enclose has the agent's process run in its box.
//
// The box is made by programs that carry the agent: what they say when they fail must not be
// taken for the agent's.
func (r Runner) enclose(cmd *exec.Cmd, s fleet.SessionSpec) (*made, error) {
	if s.Box.Open() {
		return nil, nil
	}
	if err := makeMissing(s.Box.Made); err != nil { // what belongs to a worktree was not there for the trial
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	const alive, report = 3, 4
	cmd.ExtraFiles = append(cmd.ExtraFiles, write)
	cmd.Args = r.Boxed(s.Box, s.Dir, cmd.Path, cmd.Args, report-alive, report)
	cmd.Path = cmd.Args[0]
	return &made{read, write, s.Box.Layers.Namespaces != ""}, nil
}

func (m *made) close() {
	if m != nil {
		m.read.Close()
		m.write.Close()
	}
}

// exit is how the agent ended, by how what carried it did. Nobody has the pipe open any more but
// this process, unless the agent never came to be.
func (m *made) exit(e fleet.SessionExit) fleet.SessionExit {
	if m == nil || e.End == fleet.NoProcess {
		return e
	}
	m.write.Close()
	enough := time.AfterFunc(drainTime, func() { _ = m.read.SetReadDeadline(time.Unix(1, 0)) })
	defer enough.Stop()
	text, _ := io.ReadAll(io.LimitReader(m.read, 1<<10))
	failure, started := strings.CutPrefix(string(text), "ok\n")
	switch {
	case e.End != fleet.Exited:
	case !started && failure == "":
		return fleet.SessionExit{End: fleet.NoProcess, Detail: "its box could not be made, see its log", Output: e.Output, Left: e.Left}
	case failure != "":
		return fleet.SessionExit{End: fleet.NoProcess, Detail: failure, Output: e.Output, Left: e.Left}
	case m.spaces && e.Status > signalled && e.Status < signalled+32:
		// The first process of a namespace reports so what a signal ended.
		return fleet.SessionExit{End: fleet.Killed, Detail: unix.Signal(e.Status - signalled).String(), Output: e.Output, Left: e.Left}
	}
	return e
}

// signalled is what a shell, and bubblewrap, add to a signal's number.
const signalled = 128

// start starts a process that SIGTERM does not end: what carries the agent into its box must
// outlast it. The agent unblocks the signal, or what started it there; without a box it is
// not blocked.
func start(cmd *exec.Cmd) error {
	if len(cmd.ExtraFiles) < 2 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var term, before unix.Sigset_t
	term.Val[0] = 1 << (unix.SIGTERM - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &term, &before); err != nil {
		return err
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	return cmd.Start()
}

// Prove makes a box once with nothing in it but a process that tries its walls, and returns it
// with the layers that hold on this machine. An error says which wall is missing, or why there
// can be no such box here.
//
// If we die in it, the canary is left in the folder of the run, and goes with that; the process
// in the box ends by itself. A file outside that it could make, which takes a missing wall, stays.
func (r Runner) Prove(ctx context.Context, b fleet.Box, with fleet.BoxTrial) (fleet.Box, error) {
	if b.Open() {
		return b, nil
	}
	if err := errors.Join(rundir.MakeFolder(b.Tmp), makeMissing(b.Made), os.WriteFile(with.Canary, []byte("no session reads this\n"), 0o600)); err != nil {
		return b, err
	}
	defer os.Remove(with.Canary) //nolint:errcheck // it goes with the folder of the run
	name := "stint-trial-" + strconv.Itoa(os.Getpid())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", "@"+name)
	if err != nil {
		return b, err
	}
	defer listener.Close() //nolint:errcheck // it has served
	b, found, err := r.layered(ctx, b, with.Dir, func(b fleet.Box) box.Trial {
		t := box.TrialFor(b, with, name)
		t.Supervisor, t.Spaces, t.Abstract = os.Getpid(), inside.Spaces(), name
		return t
	})
	if err != nil {
		return b, fmt.Errorf("make the box: %w", err)
	}
	for _, path := range found.Wrote {
		if os.Remove(path) == nil {
			found.Broken = append(found.Broken, box.WallWrites)
		}
	}
	if refusal := box.Refusal(b); refusal != "" {
		return b, fleet.WithHint(errors.New(refusal), "stint doctor")
	}
	for _, w := range box.Promised(b) {
		if slices.Contains(found.Broken, w) {
			return b, fleet.WithHint(fmt.Errorf("the box does not hold: from inside, a process can %s", w),
				`stint doctor; with box = "open" the agent runs without one`)
		}
	}
	return b, nil
}

// Layers are the layers that a box has on this machine. Nothing is written to find out.
func (r Runner) Layers(ctx context.Context) (fleet.BoxLayers, error) {
	b, _, err := r.layered(ctx, box.For(fleet.BoxStrict, box.Places{}), "/", func(fleet.Box) box.Trial { return box.Trial{} })
	return b.Layers, err
}

// layered makes the box with the layers that there are, and says what came of a trial in it.
func (r Runner) layered(ctx context.Context, b fleet.Box, dir string, trial func(fleet.Box) box.Trial) (fleet.Box, box.Found, error) {
	var err error
	b.Layers = fleet.BoxLayers{}
	if b.Layers.Namespaces, err = exec.LookPath("bwrap"); err != nil {
		b.Layers = fleet.BoxLayers{Refused: "bubblewrap is not installed"}
	}
	found, err := r.try(ctx, b, dir, trial(b))
	if err != nil && b.Layers.Namespaces != "" {
		if refused := refusesNamespaces(ctx, b.Layers.Namespaces); refused != "" {
			b.Layers = fleet.BoxLayers{Refused: refused}
			found, err = r.try(ctx, b, dir, trial(b))
		}
	}
	b.Layers.Landlock = found.Landlock
	return b, found, err
}

// Needs are the files and folders that a program must be able to read to start: itself, and
// where it is installed, if that is a folder of its own.
func (Runner) Needs(program string, environment []string, dir string) (list []string) {
	path, err := command.Runnable(program, environment, dir)
	if err != nil {
		return nil
	}
	list = append(list, path)
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return list
	}
	list = append(list, target)
	folder := filepath.Dir(target)
	if before, _, is := strings.Cut(target, "/node_modules/"); is {
		folder = before + "/node_modules"
	}
	return append(list, folder)
}

// makeMissing makes files and folders with nothing in them.
func makeMissing(paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			continue // neither is what it belongs to
		}
		kind := filepath.Ext(strings.TrimPrefix(filepath.Base(path), "."))
		if kind == "" {
			if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && kind == ".json" {
			_, err = f.WriteString("{}\n")
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// try runs the trial.
func (r Runner) try(ctx context.Context, b fleet.Box, dir string, t box.Trial) (found box.Found, err error) {
	b = resolved(b)
	b.Tmp = "" // which no trial writes to
	o := box.OrderFor(b)
	o.Try = &t
	if _, err := os.Stat(dir); err != nil {
		dir = "/" // a worktree that is not there yet
	}
	answer, err := ask(ctx, within(b, dir, o.Command(r.Stint)))
	if err == nil {
		err = json.Unmarshal(answer, &found)
	}
	return found, err
}

// trialTime is far more than a trial takes.
const trialTime = 30 * time.Second

// ask runs a program that answers on its output, and fails with what it said.
func ask(ctx context.Context, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{}
	answer, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(plain.Line(strings.TrimSpace(string(exit.Stderr))))
	}
	return answer, err
}

// refusesNamespaces is why bubblewrap cannot make the least namespace here, or "".
func refusesNamespaces(ctx context.Context, bwrap string) string {
	_, err := ask(ctx, []string{bwrap, "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"})
	if err != nil {
		return err.Error()
	}
	return ""
}
