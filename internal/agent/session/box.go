package session

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
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
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/agent/command"
	"stint/internal/box"
	"stint/internal/box/inside"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Boxed is the command line by which a program runs in a box whose layers are known.
func (r Runner) Boxed(b fleet.Box, dir, program string, argv []string) []string {
	if b.Open() {
		return append([]string{program}, argv[1:]...)
	}
	return r.within(inside.Order{Box: b}, dir, append([]string{program}, argv...)...)
}

// within is the command line by which stint follows an order in its box.
func (r Runner) within(o inside.Order, dir string, program ...string) []string {
	o.Box = resolved(o.Box)
	copyOwn(o.Box)
	first := o.Command(r.Stint, program...)
	if o.Box.Layers.Namespaces == "" {
		return first
	}
	o.Box.Read = append(o.Box.Read, r.Stint)
	if os.Geteuid() == 0 { // to whom the kernel's settings belong
		o.Box.Read = append(o.Box.Read, "/proc/sys") // the others bubblewrap makes read-only by itself
	}
	return box.Namespace(o.Box, dir, first)
}

// resolved is the box of what there is, with what links lead to: inside, the folder of a link may not
// be there to lead on.
func resolved(b fleet.Box) fleet.Box {
	b.Links = map[string]string{}
	for _, list := range []*[]string{&b.Read, &b.Write, &b.Fixed, &b.Hidden, &b.Own.Private, &b.Own.Copied} {
		var there []string
		for _, path := range *list {
			target, err := filepath.EvalSymlinks(path)
			if err != nil {
				continue
			}
			if there = append(there, path); target == path {
				continue
			}
			if !slices.Contains(*list, target) {
				there = append(there, target)
			}
			b.Links[path] = target
		}
		*list = there
	}
	return b
}

// copyOwn makes the copies of files of an agent's own, as they are now. Without its copy, there is no box.
//
// If we die in it, a copy is half there: it goes with the folder of the run.
func copyOwn(b fleet.Box) {
	for _, path := range b.Own.Copied {
		if text, err := os.ReadFile(path); err == nil {
			_ = os.WriteFile(b.Copy(path), text, 0o600)
		}
	}
}

// Prove tries the box from inside, and returns it with the layers that hold on this machine. An error says which
// wall is missing, or why there can be no such box here.
func (r Runner) Prove(ctx context.Context, b fleet.Box, with fleet.BoxTrial) (fleet.Box, error) {
	if b.Open() {
		return b, nil
	}
	if err := furnish(with.Files); err != nil {
		return b, err
	}
	b.Layers = promised()
	if b.Profile == fleet.BoxLandlock {
		b.Layers = fleet.BoxLayers{Landlock: b.Layers.Landlock}
	}
	status, err := r.try(ctx, b, with)
	if err != nil && status != inside.Failed && b.Layers.Namespaces != "" { // nobody tried it
		if b.Layers = kept(ctx, b.Layers); b.Layers.Namespaces == "" {
			_, err = r.try(ctx, b, with)
		}
	}
	switch {
	case err == nil:
		if layers := b.Layers; r.Known != nil && layers.Namespaces != "" {
			r.Known.Store(&layers)
		}
		return b, nil
	case b.Layers.Fix != "" && b.Layers.Landlock > 0:
		return b, fleet.WithHint(err, b.Layers.Fix+`; box = "landlock" is weaker and does without`)
	}
	return b, fleet.WithHint(err, `stint doctor; with box = "open" the agent runs without one`)
}

// Layers are the layers that a box has on this machine.
func Layers(ctx context.Context) fleet.BoxLayers { return kept(ctx, promised()) }

// promised are the layers of the kernel's Landlock and of bubblewrap, which may yet fail.
func promised() fleet.BoxLayers {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return fleet.BoxLayers{Landlock: inside.Landlock(), Refused: "bubblewrap is not installed", Fix: "sudo apt install bubblewrap"}
	}
	return fleet.BoxLayers{Landlock: inside.Landlock(), Namespaces: bwrap}
}

// kept are the layers without namespaces where bubblewrap cannot make any.
func kept(ctx context.Context, l fleet.BoxLayers) fleet.BoxLayers {
	if l.Namespaces == "" {
		return l
	}
	least := []string{l.Namespaces, "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"}
	if _, refused := ask(ctx, least); refused != nil {
		return box.NoNamespaces(l, refused.Error(), func(setting string) string {
			text, _ := os.ReadFile("/proc/sys/" + strings.ReplaceAll(setting, ".", "/"))
			return strings.TrimSpace(string(text))
		})
	}
	return l
}

// try has a process try the box and end, and returns its exit status.
func (r Runner) try(ctx context.Context, b fleet.Box, with fleet.BoxTrial) (status int, err error) {
	t, over, err := newTrial(ctx, b, with)
	if err != nil {
		return 0, err
	}
	defer over()
	dir := with.Dir
	if _, err := os.Stat(dir); err != nil {
		dir = "/" // a clone that is not there yet
	}
	return ask(ctx, r.within(inside.Order{Box: b, Trial: t}, dir))
}

// newTrial puts up what a box is tried with, until over is called.
//
// If we die before that, the canary is left in the folder of the run, and goes with it. A file outside that the
// process in the box could make, which takes a missing wall, stays.
func newTrial(ctx context.Context, b fleet.Box, with fleet.BoxTrial) (t *inside.Trial, over func(), err error) {
	err = errors.Join(makeMissing(b), os.WriteFile(with.Files.Canary, []byte("no session reads this\n"), 0o600))
	if err != nil {
		return nil, nil, err
	}
	t = &inside.Trial{Name: "stint-trial-" + rand.Text(), Canary: with.Files.Canary, Supervisor: os.Getpid(), Spaces: inside.Spaces()}
	if slices.Contains(box.Promised(b), box.WallSockets) { // else to connect is to ask for something
		t.Sockets = with.Sockets
	}
	for _, path := range []string{with.Home, with.State} {
		t.Folders = append(t.Folders, inside.At(path))
	}
	for _, path := range b.Own.Private {
		t.Private = append(t.Private, inside.At(path))
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", "@"+t.Name)
	if err != nil {
		return nil, nil, errors.Join(err, os.Remove(t.Canary))
	}
	return t, func() {
		listener.Close()    //nolint:errcheck // it has served
		os.Remove(t.Canary) //nolint:errcheck // it goes with the folder of the run
	}, nil
}

// begin starts an agent in its box, after a trial of that. cmd becomes the process that ends when the agent does:
// the agent itself, or what carries it. log becomes its standard error.
//
// If we die during the trial, the process becomes the agent all the same: it has the run's lock, and its
// environment once it is the agent.
func (r Runner) begin(ctx context.Context, cmd *exec.Cmd, s fleet.SessionSpec, log *os.File) error {
	t, over, err := newTrial(ctx, s.Box, s.Trial)
	if err != nil {
		return err
	}
	defer over()
	values, err := memory(strings.Join(cmd.Environ(), "\x00"))
	if err != nil {
		return err
	}
	defer values.Close()
	report, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	var said bytes.Buffer
	cmd.Args = r.within(inside.Order{Box: s.Box, Trial: t, Session: true}, s.Dir, append([]string{cmd.Path}, cmd.Args...)...)
	// Nothing of the agent's environment, such as LD_PRELOAD, is for what carries it.
	cmd.Path, cmd.Env, cmd.Stderr = cmd.Args[0], []string{}, &said
	cmd.ExtraFiles = append(cmd.ExtraFiles, values, theirs, log)
	err = startDeaf(cmd)
	theirs.Close() // while we hold it as well, the report has no end
	if err != nil {
		return err
	}
	end := func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	stuck := time.AfterFunc(trialTime, end)
	defer stuck.Stop()
	text, err := io.ReadAll(report) // execve closes it
	if err == nil && string(text) == inside.Held {
		return nil
	}
	end()
	_ = cmd.Wait() // how it ended is of no interest
	return errors.New(plain.Line(strings.TrimSpace(cmp.Or(strings.TrimPrefix(string(text), inside.Held), said.String(), "its box is gone"))))
}

// memory is a file that has a text and no name.
func memory(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("environment", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("keep the environment: %w", err)
	}
	f := os.NewFile(uintptr(fd), "environment")
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return f, err
}

// startDeaf starts a process that SIGTERM does not end: what carries the agent into its box must
// outlast it. Go's runtime unblocks the signal in the process that becomes the agent.
func startDeaf(cmd *exec.Cmd) error {
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

// A shell and bubblewrap exit with signalled plus the number of the signal.
const signalled = 128

// unboxed returns the agent's end, from the end of the program that carried it.
func unboxed(b fleet.Box, e fleet.SessionExit) fleet.SessionExit {
	if b.Layers.Namespaces != "" && e.End == fleet.Exited && ends(unix.Signal(e.Status-signalled)) {
		// The first process of a namespace reports so what a signal ended.
		e.End, e.Detail, e.Status = fleet.Killed, unix.Signal(e.Status-signalled).String(), 0
	}
	return e
}

// ends reports whether a signal ends a process that does nothing about it. Some programs exit with an HTTP status, of which
// the system keeps the lowest byte: 401 becomes 145, and 400 becomes 144.
func ends(s unix.Signal) bool {
	harmless := []unix.Signal{
		unix.SIGCHLD, unix.SIGCONT, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGURG, unix.SIGWINCH,
		unix.SIGSTKFLT, // nothing sends it
	}
	return s > 0 && s < 32 && !slices.Contains(harmless, s)
}

// Needs are the files and folders that a program must be able to read to start: itself, and
// where it is installed, if that is a folder of its own. With it comes stint, for a hook in the box that
// verifies its claim, wherever stint is installed.
func (r Runner) Needs(program string, environment []string, dir string) (list []string) {
	if r.Stint != "" {
		list = append(list, r.Stint)
	}
	path, err := command.Runnable(program, environment, dir)
	if err != nil {
		return list
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
func makeMissing(b fleet.Box) error {
	for _, path := range b.Made {
		kind, parent := filepath.Ext(strings.TrimPrefix(filepath.Base(path), ".")), filepath.Dir(path)
		if kind == "" && !slices.Contains(b.Own.Fixed, path) && slices.Contains(b.Own.All(), path) {
			if err := os.MkdirAll(parent, 0o700); err != nil { // the program would make it at its first start
				return err
			}
		}
		if _, err := os.Stat(parent); err != nil {
			continue // neither is what it belongs to
		}
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

// trialTime is far more than a trial takes.
const trialTime = 30 * time.Second

// ask runs a program, and returns its exit status. It fails with what the program said.
func ask(ctx context.Context, argv []string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stderr = []string{}, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	err = cmd.Run()
	if text := plain.Line(strings.TrimSpace(said.String())); err != nil && text != "" {
		err = errors.New(text)
	}
	return cmd.ProcessState.ExitCode(), err
}
