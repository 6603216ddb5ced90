package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/box"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// waiting is a process in a box, whose walls it tried. It becomes the agent, or ends.
//
// If we die, the line to it is shut, and it ends by itself: it has nothing of a session yet.
type waiting struct {
	cmd   *exec.Cmd // what carries it into the box, and ends with it
	line  *net.UnixConn
	said  *bytes.Buffer // by what carries it; complete once that has ended
	asked fleet.Box     // as it was asked for, without layers
	files []file        // which are listed in that
	box   fleet.Box     // of what was there
	over  bool          // it became the agent, or was ended
}

// file is which one a path led to; zero: none.
type file struct{ device, inode uint64 }

// enter makes the box that b describes, with the layers that it has, and has a process try it.
func (r Runner) enter(ctx context.Context, b fleet.Box, with fleet.BoxTrial, t box.Trial) (w *waiting, found box.Found, err error) {
	w = &waiting{said: &bytes.Buffer{}, asked: b, files: filesOf(b), box: resolved(b)}
	w.asked.Layers = fleet.BoxLayers{}
	o := box.OrderFor(w.box)
	o.Try = &t
	dir := with.Dir
	if _, err := os.Stat(dir); err != nil {
		dir = "/" // a clone that is not there yet
	}
	line, theirs, err := newLine()
	if err != nil {
		return nil, found, err
	}
	defer theirs.Close() // again, which does nothing
	// In the place of the run's lock. Neither that nor the run's id is the process's before it is the
	// agent: a run whose supervisor dies before that is over at once.
	place, err := os.Open(os.DevNull)
	if err != nil {
		return nil, found, errors.Join(err, line.Close())
	}
	defer place.Close()
	argv := within(w.box, dir, o.Command(r.Stint))
	w.line = line
	w.cmd = &exec.Cmd{
		Path: argv[0], Args: argv, Stderr: w.said,
		Env:         []string{},
		ExtraFiles:  []*os.File{place, theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = startDeaf(w.cmd)
	theirs.Close() // while we hold it, too, the line of one that has ended has no end
	if err != nil {
		return nil, found, errors.Join(err, line.Close())
	}
	defer w.within(ctx, trialTime)()
	said, err := bufio.NewReader(line).ReadString('\n')
	if err == nil {
		found, err = box.DecodeFound(said, t)
	}
	if err != nil {
		w.end()
		if text := plain.Line(strings.TrimSpace(w.said.String())); text != "" {
			err = errors.New(text)
		}
		return nil, found, err
	}
	return w, found, nil
}

// newLine makes the two ends of a line to a process in a box.
func newLine() (ours *net.UnixConn, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a line to the box: %w", err)
	}
	own := os.NewFile(uintptr(ends[0]), "line")
	defer own.Close()
	theirs = os.NewFile(uintptr(ends[1]), "line")
	conn, err := net.FileConn(own)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// within ends what is asked on the line after a time, or with ctx.
func (w *waiting) within(ctx context.Context, most time.Duration) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, most)
	over := context.AfterFunc(ctx, func() { _ = w.line.SetDeadline(time.Unix(1, 0)) })
	return func() {
		over()
		cancel()
	}
}

// startDeaf starts a process that SIGTERM does not end: what carries the agent into its box must
// outlast it. The process in the box unblocks the signal when it becomes the agent.
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

// Close ends the process, unless it became the agent.
func (w *waiting) Close() error {
	w.end()
	return nil
}

func (w *waiting) end() {
	if w.over {
		return
	}
	w.over = true
	w.line.Close()
	// It ends at once. One that does not is ended with all that carries it.
	stuck := time.AfterFunc(deathMillis*time.Millisecond, func() { _ = unix.Kill(-w.cmd.Process.Pid, unix.SIGKILL) })
	defer stuck.Stop()
	_ = w.cmd.Wait() // how it ended is of no interest
}

// stands reports whether the box is still the one that a session is to have: with the same lists, that
// lead to the same files. Another one in the place of a file is not mounted.
func (w *waiting) stands(b fleet.Box) bool {
	b.Layers = fleet.BoxLayers{}
	return reflect.DeepEqual(b, w.asked) && slices.Equal(filesOf(b), w.files)
}

// filesOf are the files to which the paths of a box lead.
func filesOf(b fleet.Box) (list []file) {
	for _, path := range slices.Concat(b.Read, b.Write, b.Fixed, b.Hidden, []string{b.Tmp}) {
		var stat unix.Stat_t
		_ = unix.Stat(path, &stat)
		list = append(list, file{stat.Dev, stat.Ino})
	}
	return list
}

// become has the process become a program, and returns once it did.
func (w *waiting) become(ctx context.Context, cmd *exec.Cmd) error {
	in, is := cmd.Stdin.(*os.File)
	if !is {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		defer null.Close()
		in = null
	}
	out, is := cmd.Stdout.(*os.File)
	if !is || len(cmd.ExtraFiles) != 1 {
		return errors.New("an agent has a file for its output, and its run's lock")
	}
	defer w.within(ctx, trialTime)()
	_, _, err := w.line.WriteMsgUnix([]byte{0}, unix.UnixRights(int(in.Fd()), int(out.Fd()), int(cmd.ExtraFiles[0].Fd())), nil)
	if err == nil {
		// The last value of a variable counts, as for other processes.
		_, err = w.line.Write(box.Program{Path: cmd.Path, Dir: cmd.Dir, Args: cmd.Args, Env: cmd.Environ()}.Encode())
	}
	if err == nil {
		err = w.line.CloseWrite()
	}
	if err != nil {
		return fmt.Errorf("its box is gone: %w", err)
	}
	failure, err := io.ReadAll(w.line) // execve closes the other end
	if number, is := strconv.Atoi(string(failure)); is == nil {
		err = syscall.Errno(number) //nolint:gosec // an error of the kernel
	}
	w.over = err == nil
	return err
}

// exit is how the agent ended, by how what carried it did; nil: it has no box.
func (w *waiting) exit(e fleet.SessionExit) fleet.SessionExit {
	if w == nil {
		return e
	}
	w.line.Close()
	if w.box.Layers.Namespaces != "" && e.End == fleet.Exited && e.Status > signalled && e.Status < signalled+32 {
		// The first process of a namespace reports so what a signal ended.
		e.End, e.Detail, e.Status = fleet.Killed, unix.Signal(e.Status-signalled).String(), 0
	}
	return e
}

// signalled is what a shell, and bubblewrap, add to a signal's number.
const signalled = 128
