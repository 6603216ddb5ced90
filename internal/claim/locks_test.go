package claim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// childMode makes the test binary a process that holds locks under the folder in
// childState, says so on standard output, and ends with its standard input.
const (
	childMode  = "STINT_TEST_LANE"
	childState = "STINT_TEST_STATE"
)

func TestMain(m *testing.M) {
	mode, child := os.LookupEnv(childMode)
	if !child {
		os.Exit(m.Run())
	}
	if err := hold(mode, Locks(os.Getenv(childState))); err != nil {
		fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, "ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func hold(mode string, s Locks) error {
	switch mode {
	case "take":
		_, err := s.Take("code", 1, "0child")
		return err
	case "live": // and an agent that inherits the file
		alive, err := s.Live("0child")
		if err != nil {
			return err
		}
		agent := exec.Command("/proc/self/exe")
		agent.Env = append(os.Environ(), childMode+"=agent")
		agent.Stdin, agent.Stdout, agent.Stderr = os.Stdin, os.Stdout, os.Stderr
		agent.ExtraFiles = []*os.File{alive}
		if err := agent.Start(); err != nil {
			return err
		}
		return alive.Close()
	}
	return nil // an agent keeps what it inherited
}

// child is such a process.
type child struct {
	*exec.Cmd
	stdin io.Closer
}

// start starts one and waits until as many processes as are expected are ready.
func start(t *testing.T, mode string, s Locks, processes int) child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childState+"="+string(s))
	stdin := must.Get(cmd.StdinPipe())(t)
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	c := child{cmd, stdin}
	t.Cleanup(func() { c.kill(t) })
	t.Cleanup(func() { _ = stdin.Close() })
	lines := bufio.NewScanner(stdout)
	for range processes {
		if !lines.Scan() || lines.Text() != "ready" {
			t.Fatalf("got %q from the child, want it ready", lines.Text())
		}
	}
	return c
}

// kill kills the process itself and leaves its children alone.
func (c child) kill(t *testing.T) {
	t.Helper()
	if err := c.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_, _ = c.Process.Wait()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("got no %s within a minute", what)
		}
	}
}

func mustTake(t *testing.T, s Locks, lane int) fleet.Lane {
	t.Helper()
	l := must.Get(s.Take("code", lane, "0test"))(t)
	if l.Number != lane {
		t.Fatalf("got lane %d, want %d", l.Number, lane)
	}
	return l
}

func mustBeBusy(t *testing.T, s Locks, lane int) {
	t.Helper()
	if l, err := s.Take("code", lane, "0test"); !errors.Is(err, fleet.ErrBusy) {
		t.Fatalf("got lane %d, %v, want busy", l.Number, err)
	}
}

func lives(t *testing.T, s Locks, run fleet.RunID) bool {
	t.Helper()
	l := must.Get(s.Lives(run))(t)
	return l
}

func TestTakeLane(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	first := mustTake(t, s, 1)
	second := mustTake(t, s, 2)
	mustBeBusy(t, s, 2)
	mustBeBusy(t, s, 1)
	if l, err := s.Take("docs", 1, "0test"); err != nil || l.Number != 1 {
		t.Errorf("got lane %d of another category, %v, want 1", l.Number, err)
	}
	must.Do(t, first.Release())
	third := mustTake(t, s, 1)
	mustBeBusy(t, s, 2)
	for _, l := range []fleet.Lane{second, third} {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	mustTake(t, s, 1)
}

// TestLockFilesStay shows that a lock is always the same file, for its owner only:
// an unlinked one could be held beside its successor.
func TestLockFilesStay(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	path := filepath.Join(string(s), "locks", "code.1.lock")
	l := mustTake(t, s, 1)
	before := must.Get(os.Stat(path))(t)
	if got, err := os.ReadFile(path); err != nil || string(got) != fmt.Sprintf("run 0test pid %d\n", os.Getpid()) {
		t.Errorf("got %q, %v, want run and pid", got, err)
	}
	must.Do(t, l.Release())
	mustTake(t, s, 1)
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("got another file (%v), want the lock to stay", err)
	}
	if got, want := after.Mode(), os.FileMode(0o600); got != want {
		t.Errorf("got mode %v, want %v", got, want)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("got folder %v, %v, want mode 0700", dir.Mode(), err)
	}
}

// TestLockFileTextMeansNothing leaves a file that looks held.
func TestLockFileTextMeansNothing(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	must.Do(t, os.MkdirAll(filepath.Join(string(s), "locks"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(string(s), "locks", "code.1.lock"), []byte("run 0r pid 1\n"), 0o600))
	mustTake(t, s, 1)
}

func TestTakeLaneOfTheDead(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	holder := start(t, "take", s, 1)
	mustBeBusy(t, s, 1)
	holder.kill(t)
	mustTake(t, s, 1)
}

// TestTakeLaneAtOnce has many take one lane again and again: never two at a time.
func TestTakeLaneAtOnce(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	var (
		wg      sync.WaitGroup
		holding = make(chan struct{}, 1)
	)
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l, err := s.Take("code", 1, "0test")
				if errors.Is(err, fleet.ErrBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case holding <- struct{}{}:
					<-holding
				default:
					t.Error("got a lane that another holds")
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustTake(t, s, 1)
}

func TestTakeLaneWithoutFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	if _, err := Locks(file).Take("code", 1, "0test"); err == nil || errors.Is(err, fleet.ErrBusy) {
		t.Errorf("got %v, want an error that is not busy", err)
	}
	s := Locks(t.TempDir())
	must.Do(t, os.MkdirAll(filepath.Join(string(s), "locks", "code.1.lock"), 0o700))
	if _, err := s.Take("code", 1, "0test"); err == nil || errors.Is(err, fleet.ErrBusy) {
		t.Errorf("got %v for a folder in place of the lock, want an error that is not busy", err)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	if _, err := s.Lives("0r1"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("got %v of a run that never began here, want not found", err)
	}
	alive := must.Get(s.Live("0r1"))(t)
	for range 3 { // asking takes nothing away
		if !lives(t, s, "0r1") {
			t.Error("got a run dead that holds its lock, want alive")
		}
	}
	if _, err := s.Lives("0r2"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("got %v of another run, want not found", err)
	}
	info, err := os.Stat(fleet.FilesOf(string(s), "0r1").Alive)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	must.Do(t, alive.Close())
	if lives(t, s, "0r1") {
		t.Error("got a run alive after its end, want dead")
	}
	if _, err := os.Stat(alive.Name()); err != nil {
		t.Errorf("got %v, want the file to stay", err)
	}
}

// TestLivesBesideAProbe asks of a dead run while another is asking: neither takes
// the other for the run.
func TestLivesBesideAProbe(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	alive := must.Get(s.Live("0r1"))(t)
	must.Do(t, alive.Close())
	probe := must.Get(os.Open(alive.Name()))(t)
	defer probe.Close()
	must.Do(t, lock(probe, unix.LOCK_SH))
	if lives(t, s, "0r1") {
		t.Error("got the run alive, want dead")
	}
}

// TestLiveTwice starts a run that is running: it must get an error, not wait until the other
// ends.
func TestLiveTwice(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	alive := must.Get(s.Live("0r1"))(t)
	defer alive.Close()
	second := make(chan error, 1)
	go func() {
		_, err := s.Live("0r1")
		second <- err
	}()
	select {
	case err := <-second:
		if !errors.Is(err, fleet.ErrBusy) {
			t.Errorf("got %v, want busy", err)
		}
	case <-time.After(time.Minute):
		t.Error("got no answer within a minute")
	}
}

// TestLiveUnderProbes begins runs while others keep asking whether they live.
func TestLiveUnderProbes(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := s.Lives("0r1"); err != nil && !errors.Is(err, fleet.ErrNotFound) {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 200 {
		alive, err := s.Live("0r1")
		if err != nil {
			t.Error(err)
			break
		}
		if !lives(t, s, "0r1") {
			t.Error("got a run dead that holds its lock, want alive")
		}
		if err := alive.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestLivesWithItsAgent kills the supervisor: the run lives for as long as its
// agent does.
func TestLivesWithItsAgent(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	supervisor := start(t, "live", s, 2)
	if !lives(t, s, "0child") {
		t.Error("got the run dead, want alive")
	}
	supervisor.kill(t)
	if !lives(t, s, "0child") {
		t.Error("got the run dead with its supervisor, want alive with its agent")
	}
	if err := supervisor.stdin.Close(); err != nil { // which ends the agent
		t.Fatal(err)
	}
	eventually(t, "end of the agent", func() bool { return !lives(t, s, "0child") })
}

func TestLivesUnreadable(t *testing.T) {
	t.Parallel()
	s := Locks(t.TempDir())
	path := fleet.FilesOf(string(s), "0r1").Alive
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.Symlink(path, path))
	if got, err := s.Lives("0r1"); err == nil {
		t.Errorf("got %v, want an error: nobody can tell", got)
	}
	if _, err := s.Live("0r1"); err == nil {
		t.Error("got a lock, want an error")
	}
}
