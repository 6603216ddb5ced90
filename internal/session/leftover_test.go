package session

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// stray starts a process with this environment that has left its parent's session and
// keeps no descriptor, and returns its number once it is that.
func stray(t *testing.T, script string, environment ...string) int {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	must.Do(t, syscall.Mkfifo(ready, 0o600))
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "READY=" + ready}, environment...)
	must.Do(t, cmd.Start())
	gone := make(chan struct{})
	go func() { defer close(gone); _ = cmd.Wait() }() // it is killed, or its child lives on
	t.Cleanup(func() { <-gone })
	f := must.Get(os.Open(ready))(t)
	defer f.Close()
	line := must.Get(bufio.NewReader(f).ReadString('\n'))(t)
	pid := must.Get(strconv.Atoi(strings.TrimSpace(line)))(t)
	t.Cleanup(func() {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it may be gone
		if strings.Contains(string(text), ready) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid
}

func mustStrays(t *testing.T, run fleet.RunID) []int {
	t.Helper()
	pids := must.Get(leftoversOf(run))(t)
	return pids
}

// The shapes in which processes stay behind. Each says which process it is, and waits.
const (
	strayHere = `trap '' TERM HUP; exec 3>&- 4>&-; echo $$ >"$READY"; exec sleep 100`
	strayAway = `setsid setsid bash -c 'trap "" TERM HUP; echo $$ >"$READY"; exec sleep 100' </dev/null >/dev/null 2>&1 &`
)

func TestStraysOfOneRun(t *testing.T) {
	t.Parallel()
	run := fleet.RunID(fmt.Sprintf("0s%d", os.Getpid()))
	here := stray(t, strayHere, "STINT_RUN_ID="+string(run))
	away := stray(t, strayAway, "A=1", "STINT_RUN_ID="+string(run), "B=2")
	stray(t, strayHere, "STINT_RUN_ID="+string(run)+"0") // longer
	stray(t, strayHere, "OLD_STINT_RUN_ID="+string(run))
	stray(t, strayHere, "A=\nSTINT_RUN_ID="+string(run))
	nobodys := stray(t, strayHere, "STINT_RUN_ID=")
	want := []int{here, away}
	slices.Sort(want)
	var got []int
	for range 1000 { // a look that finds one may miss another, which is half-way through execve(2)
		if got = mustStrays(t, run); len(got) == len(want) {
			break
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("strays %v, want %v", got, want)
	}
	if got := mustStrays(t, ""); len(got) > 0 {
		t.Errorf("strays %v of no run, among them perhaps %d", got, nobodys)
	}
}

// TestStraysOfMany finds what is left of many runs in one look.
func TestStraysOfMany(t *testing.T) {
	t.Parallel()
	id := func(name string) fleet.RunID { return fleet.RunID(fmt.Sprintf("0m%d%s", os.Getpid(), name)) }
	want := map[fleet.RunID][]int{}
	for _, name := range []string{"a", "b"} {
		want[id(name)] = []int{stray(t, strayAway, "STINT_RUN_ID="+string(id(name)))}
	}
	got, err := leftovers(id("a"), id("b"), id("none"))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	said := Sessions{Locks: unlocked{}, Log: slog.New(slog.DiscardHandler)}.Livenesses(t.Context(), fleet.Run{ID: id("none")}, fleet.Run{ID: id("b")})
	if said[id("none")] != fleet.Gone || said[id("b")] != fleet.Lives {
		t.Errorf("got %v, want one gone and one that lives", said)
	}
}

// unlocked are the locks of runs that nobody holds any more.
type unlocked struct{ Locks }

func (unlocked) Lives(fleet.RunID) (bool, error) { return false, nil }

func TestSweepEndsThemAll(t *testing.T) {
	t.Parallel()
	run := fleet.RunID(fmt.Sprintf("0w%d", os.Getpid()))
	mark := "STINT_RUN_ID=" + string(run)
	var theirs []int
	for range 3 {
		theirs = append(theirs, stray(t, strayHere, mark), stray(t, strayAway, mark))
	}
	other := stray(t, strayHere, mark+"0")
	must.Do(t, Sweep(run))
	// It returns when they are gone, not when they were signalled.
	for _, pid := range theirs {
		if marked(pid, run) {
			t.Errorf("process %d is left", pid)
		}
	}
	if err := syscall.Kill(other, 0); err != nil {
		t.Errorf("another run's process: %v", err)
	}
	if err := Sweep(run); err != nil {
		t.Errorf("a second sweep: %v", err)
	}
}

// TestEndOfWhoeverHasTheLock has a process with nothing of the run but its lock: the end of
// the run is its end. A process that only asks for the lock, or has that of another run, lives
// on.
func TestEndOfWhoeverHasTheLock(t *testing.T) {
	t.Parallel()
	run, dir := fleet.RunID(fmt.Sprintf("0h%d", os.Getpid())), t.TempDir()
	const keeps = `; echo $$ >"$READY"; exec env -i sleep 100`
	alive, other := filepath.Join(dir, "alive"), filepath.Join(dir, "other")
	theirs := stray(t, `exec 9<>"$LOCK"`+keeps, "LOCK="+alive)
	asks := stray(t, `exec 9<"$LOCK"`+keeps, "LOCK="+alive)
	others := stray(t, `exec 9<>"$LOCK"`+keeps, "LOCK="+other)
	for _, pid := range []int{asks, others} {
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // nothing in its environment shows whose it is
	}
	if !holds(theirs, alive) || len(opened(asks, alive)) == 0 {
		t.Fatal("they do not have the lock open")
	}
	must.Do(t, end(run, alive))
	if holds(theirs, alive) {
		t.Errorf("process %d is left", theirs)
	}
	for _, pid := range []int{asks, others} {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}

// TestSweepEndsAFamilyThatGrows has a stray that starts a new one each millisecond.
func TestSweepEndsAFamilyThatGrows(t *testing.T) {
	t.Parallel()
	run := fleet.RunID(fmt.Sprintf("0g%d", os.Getpid()))
	stray(t, `trap '' TERM; echo $$ >"$READY"; while :; do setsid sleep 100 & sleep 0.001; done`, "STINT_RUN_ID="+string(run))
	must.Do(t, Sweep(run))
	if left := mustStrays(t, run); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSessionLeavesNoStray runs an agent whose child has left its group and its session
// and ignores signals: the session ends with it gone.
func TestSessionLeavesNoStray(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "exit")
	s.Run = fleet.RunID(fmt.Sprintf("0l%d", os.Getpid()))
	ready := filepath.Join(s.Dir, "ready")
	must.Do(t, syscall.Mkfifo(ready, 0o600))
	s.Argv = []string{"/bin/bash", "-c", strayAway + `read -r pid <"$READY"; echo "$pid" >pid`}
	s.Environment = []string{"PATH=" + os.Getenv("PATH"), "READY=" + ready, "STINT_RUN_ID=" + string(s.Run)}
	exit, err := Runner{}.Run(t.Context(), s)
	if err != nil || exit.End != fleet.Exited || exit.Status != 0 || exit.Left != nil {
		t.Fatalf("exit %+v, %v", exit, err)
	}
	text := must.Get(os.ReadFile(filepath.Join(s.Dir, "pid")))(t)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || marked(pid, s.Run) {
		t.Errorf("process %d is left, %v", pid, err)
	}
}

// TestSupervised knows a supervisor by the lock that it has open.
func TestSupervised(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s, files := Sessions{State: state}, fleet.FilesOf(state, "0s1")
	must.Do(t, os.MkdirAll(files.Dir, 0o700))
	alive := must.Get(os.Create(files.Alive))(t)
	if !s.Supervised(fleet.Run{ID: "0s1", PID: os.Getpid()}) {
		t.Error("this process has the lock open, and is not taken for the supervisor")
	}
	link := filepath.Join(t.TempDir(), "state")
	must.Do(t, os.Symlink(state, link))
	if !(Sessions{State: link}).Supervised(fleet.Run{ID: "0s1", PID: os.Getpid()}) {
		t.Error("by another name of the state folder, this process is not taken for the supervisor")
	}
	if s.Supervised(fleet.Run{ID: "0s1"}) || s.Supervised(fleet.Run{ID: "0s1", PID: 1 << 30}) {
		t.Error("a run without a process has a supervisor")
	}
	must.Do(t, alive.Close())
	if s.Supervised(fleet.Run{ID: "0s1", PID: os.Getpid()}) {
		t.Error("a process without the lock is taken for the supervisor")
	}
}
