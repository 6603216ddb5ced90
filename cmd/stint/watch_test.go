package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/testkit/must"
)

// TestWatch looks at a fleet on a terminal: each screen takes the place of the one before.
func TestWatch(t *testing.T) {
	t.Parallel()
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			screen, cmd := startWatch(t)
			for range 2 {
				if before := screen.until(t, "\x1b[H\x1b[J"); strings.Count(before, "\n") > 23 {
					t.Errorf("more than a terminal of 24 lines has room for: %q", before)
				}
				screen.until(t, "fleet watched\x1b[m at ")
			}
			must.Do(t, cmd.Process.Signal(signal))
			_ = cmd.Wait() // the exit status is checked below
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("exit status %d, want %d", got, want)
			}
		})
	}
}

// pty is a terminal, seen from the outside.
type pty struct {
	*os.File
	unread bytes.Buffer
}

// startWatch starts "status --watch" on a terminal of 80×24, with looks close together.
func startWatch(t *testing.T) (*pty, *exec.Cmd) {
	t.Helper()
	dir := t.TempDir()
	text := "fleet = \"watched\"\nstate = \"" + dir + "/state\"\n[agent.fake]\ncommand = [\"true\"]\n[category.code]\n"
	path := filepath.Join(dir, "stint.toml")
	write(t, path, text, 0o600)
	must.Do(t, os.Mkdir(filepath.Join(dir, "tasks"), 0o700))
	outside, inside := openPTY(t)
	cmd := exec.Command("stint", "status", "--watch", "--interval", "100ms", "--config", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inside, inside, inside
	cmd.Env = append(os.Environ(), "TERM=xterm", "LC_ALL=C.UTF-8", "COLUMNS=", "NO_COLOR=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(t, cmd.Start())
	inside.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may be gone already
	return outside, cmd
}

func openPTY(t *testing.T) (*pty, *os.File) {
	t.Helper()
	// Opened without blocking, so that reads can have a deadline.
	fd := must.Get(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0))(t)
	outside := os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { outside.Close() })
	must.Do(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n := must.Get(unix.IoctlGetInt(fd, unix.TIOCGPTN))(t)
	inside := must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	raw := must.Get(unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS))(t)
	raw.Oflag &^= unix.OPOST // what is written is what is seen
	must.Do(t, unix.IoctlSetTermios(int(inside.Fd()), unix.TCSETS, raw))
	must.Do(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	return &pty{File: outside}, inside
}

// until reads what is shown, up to and with a mark.
func (p *pty) until(t *testing.T, mark string) string {
	t.Helper()
	must.Do(t, p.SetReadDeadline(time.Now().Add(patience)))
	piece := make([]byte, 4096)
	for {
		if before, _, ok := bytes.Cut(p.unread.Bytes(), []byte(mark)); ok {
			return string(p.unread.Next(len(before) + len(mark)))
		}
		n, err := p.Read(piece)
		p.unread.Write(piece[:n])
		if err != nil {
			t.Fatalf("%v before %q; shown: %q", err, mark, p.unread.String())
		}
	}
}
