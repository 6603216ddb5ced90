package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"stint/internal/claim"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// haunting is an agent that looks, before it says where it is, whether any process of
// a session before it is left, and writes the two down if so.
const haunting = `#!/bin/bash
cd "$STINT_WORKSPACE"
for pid in $(cat pids 2>/dev/null); do
	if [ "$pid" != $$ ] && kill -0 "$pid" 2>/dev/null; then echo "$pid beside $$" >>overlap; fi
done
`

// deafAgent ignores the signal that asks it to end.
const deafAgent = haunting + `trap '' TERM
echo $$ >>pids
touch at.code
read -r grade <gate.code
echo "{\"outcome\":\"productive\",\"grade\":$grade}" >"$STINT_RESULT"
`

// parentAgent has its work done by a child as Node and Python start theirs: in a session
// of its own, and without any descriptor but the first three.
const parentAgent = haunting + `echo $$ >parent
setsid bash -c 'exec 3>&-
	echo $$ >>pids
	touch at.code
	read -r grade <gate.code
	echo "{\"outcome\":\"productive\",\"grade\":$grade}" >"$STINT_RESULT"' &
wait
`

// hiddenAgent has its work done by a child that no mark, no descriptor and no session
// distinguishes from any other process.
const hiddenAgent = haunting + `echo $$ >parent
setsid env -i PATH="$PATH" STINT_RESULT="$STINT_RESULT" bash -c 'exec 3>&-
	echo $$ >>pids
	touch at.code
	read -r grade <gate.code
	echo "{\"outcome\":\"productive\",\"grade\":$grade}" >"$STINT_RESULT"' &
wait
`

// try runs a command of the fleet and returns its exit status and all it printed.
func (s *site) try(args ...string) (int, string) {
	s.Helper()
	return s.tryWith(nil, args...)
}

// tryWith is try with more in the environment.
func (s *site) tryWith(environment []string, args ...string) (int, string) {
	s.Helper()
	// A session that begins where it should not would go on for ever.
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, append([]string{"--config", s.path("stint.toml")}, args...)...)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// refused fails the test unless a command ends with this status and says this.
func (s *site) refused(status int, says string, args ...string) {
	s.Helper()
	if got, out := s.try(args...); got != status || !strings.Contains(out, says) {
		s.Fatalf("stint %s: status %d, want %d, with %q in:\n%s", strings.Join(args, " "), got, status, says, out)
	}
}

// byHand starts a session as a person would, and returns what waits for its end.
func (s *site) byHand(category string) (wait func() int) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.binary, "--config", s.path("stint.toml"), "run", "--category", category)
	must.Do(s, cmd.Start())
	gone := make(chan struct{})
	go func() { defer close(gone); _ = cmd.Wait() }()
	s.Cleanup(func() { _ = cmd.Process.Kill(); <-gone })
	return func() int {
		s.Helper()
		select {
		case <-gone:
		case <-time.After(30 * time.Second):
			s.Fatalf("the session of %s does not end", category)
		}
		return cmd.ProcessState.ExitCode()
	}
}

var holder = regexp.MustCompile(`pid (\d+)`)

// supervisor is the process that holds a lane.
func (s *site) supervisor(lane string) int {
	s.Helper()
	text := must.Get(os.ReadFile(s.path("state/locks/" + lane + ".lock")))(s)
	match := holder.FindSubmatch(text)
	if match == nil {
		s.Fatalf("no process in the lock of %s: %q", lane, text)
	}
	pid := must.Get(strconv.Atoi(string(match[1])))(s)
	return pid
}

func (s *site) signal(pid int, sig syscall.Signal) {
	s.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		s.Fatalf("signal %d: %v", pid, err)
	}
}

// pids are the processes that a file of the workspace lists.
func (s *site) pids(file string) (pids []int) {
	text, _ := os.ReadFile(s.path(file)) // none has begun when it is not there
	for field := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			pids = append(pids, s.outside(pid))
		}
	}
	return pids
}

// outside is the number here of a process of the fleet that its box numbers otherwise. It is
// remembered, as nothing shows it once the process is gone.
func (s *site) outside(pid int) int {
	if s.boxed == nil {
		return pid
	}
	if found, known := s.boxed[pid]; known {
		return found
	}
	folders := must.Get(filepath.Glob("/proc/[0-9]*"))(s)
	for _, folder := range folders {
		environment, _ := os.ReadFile(folder + "/environ") // of one that has ended meanwhile there is none
		state, _ := os.ReadFile(folder + "/status")
		_, numbers, _ := strings.Cut(string(state), "\nNSpid:")
		numbers, _, _ = strings.Cut(numbers, "\n")
		inside := strings.Fields(numbers)
		if len(inside) > 1 && inside[len(inside)-1] == strconv.Itoa(pid) && bytes.Contains(environment, []byte("STINT_FLEET="+s.fleet)) {
			s.boxed[pid], _ = strconv.Atoi(filepath.Base(folder))
			return s.boxed[pid]
		}
	}
	s.Fatalf("no process of fleet %s has the number %d in a box", s.fleet, pid)
	return 0
}

// unboxed gives the fleet's agent no box: its processes have the numbers that they say they have.
func (s *site) unboxed() {
	s.Helper()
	s.configure("[agent.fake]", "box = \"open\"\n")
}

// died waits until a process is gone, or a zombie that nobody has waited for yet.
func (s *site) died(pid int) {
	s.Helper()
	s.eventually(fmt.Sprintf("the end of process %d", pid), func(status) bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err != nil || len(text) == 0
	})
}

// endOrphans kills whatever agents a failed test has left.
func (s *site) endOrphans() {
	for _, pid := range slices.Concat(s.pids("parent"), s.pids("pids")) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(text, []byte("STINT_FLEET="+s.fleet)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// orphan starts a session and kills its supervisor, and whatever of the agent is not to
// be left, and returns the process that lives on.
func (s *site) orphan(start func()) int {
	s.Helper()
	start()
	s.atWork("code")
	supervisor, orphan := s.supervisor("code.1"), s.pids("pids")[0]
	s.signal(supervisor, syscall.SIGKILL)
	for _, pid := range s.pids("parent") {
		_ = syscall.Kill(pid, syscall.SIGKILL) // systemd may have been first
	}
	s.died(supervisor)
	for _, pid := range s.pids("parent") {
		s.died(pid)
	}
	return orphan
}

// TestNoSessionBesideAnOrphan kills the supervisor of a session whose agent, or whose
// agent's child, cannot be made to end. Outside of a service that one lives on: no
// session of the category begins, nobody gets the task, and nothing is closed. In one
// it is ended. Once it is gone, the task is free long before its claim expires, and the
// next fire closes the run as abandoned, once, and grades nothing.
func TestNoSessionBesideAnOrphan(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]string{"deaf agent": deafAgent, "child without descriptors": parentAgent, "hidden child": hiddenAgent} {
		for _, how := range []string{"unit", "by hand", "detached", "boxed"} {
			if how == "boxed" && agent != deafAgent {
				continue // the child ends with the agent, as the first process of its box does
			}
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, "code")
				s.write("agent", agent, 0o755)
				if how == "boxed" {
					s.boxed = map[int]int{}
				} else {
					s.unboxed()
				}
				t.Cleanup(s.endOrphans)
				pid := s.orphan(map[string]func(){
					"unit":     func() { s.stint("fanout") },
					"by hand":  func() { s.byHand("code") },
					"detached": func() { s.stint("fanout", "--exec") },
					"boxed":    func() { s.stint("fanout", "--exec") },
				}[how])
				if how != "unit" {
					s.checkHaunted(pid, agent != deafAgent)
					s.open("code", 1)
				}
				s.died(pid)
				s.checkFreed()
			})
		}
	}
}

// checkHaunted checks that nothing begins beside an orphan.
func (s *site) checkHaunted(pid int, withoutLock bool) {
	s.Helper()
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(descriptors) == 0 {
		s.Fatalf("the orphan %d is not there: %v", pid, err)
	}
	locked := slices.ContainsFunc(descriptors, func(d string) bool {
		target, _ := os.Readlink(d)
		return filepath.Base(target) == "alive"
	})
	if locked == withoutLock {
		s.Fatalf("the orphan has the lock it inherited: %t, want %t", locked, !withoutLock)
	}
	for range 3 {
		s.refused(75, "busy: ", "run", "--category", "code")
		s.refused(3, "lane busy: run ", "fanout", "--exec")
		s.refused(4, "DENIED", "claim", "work-code", "--holder", "another")
		s.refused(4, "held work-code", "claim", "check", "work-code")
		s.refused(0, "reaped=0\n", "reap")
	}
	// By now the last thread of the supervisor, and its lock with it, is gone for sure.
	s.refused(75, "has lost its supervisor and still works in lane code.1", "run", "--category", "code")
	if st := s.status(); len(st.Running) != 1 || st.Running[0].State == "crashed" {
		s.Errorf("running beside the orphan: %+v, want it alone", st.Running)
	}
}

// checkFreed checks that the next fire finds everything free, closes the crashed run once,
// and starts a session that has the lane to itself.
func (s *site) checkFreed() {
	s.Helper()
	st := s.eventually("no session alive", func(st status) bool { return len(st.Running) == 1 && st.Running[0].State == "crashed" })
	// The kernel knows, also where no manager can be asked.
	deafness := []string{"XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere"}
	if got, out := s.tryWith(deafness, "claim", "check", "work-code"); got != 0 || !strings.HasPrefix(out, "free work-code") {
		s.Errorf("claim without a manager: status %d, want 0\n%s", got, out)
	}
	must.Do(s, os.Remove(s.path("at.code")))
	dead := st.Running[0].Run
	_, out := s.try("fanout", "--exec")
	if n := strings.Count(out, "run abandoned"); n != 1 || !strings.Contains(out, "spawned=1") {
		s.Errorf("the fire closed %d runs, want 1, and a session started:\n%s", n, out)
	}
	s.refused(0, "reaped=0\n", "reap")
	st = s.atWork("code")
	if len(st.Claims) != 1 || st.Claims[0].Epoch != 2 || st.Posteriors[0].Graded != 0 {
		s.Errorf("claims %+v, posteriors %+v; want one claim at epoch 2, and no grade", st.Claims, st.Posteriors)
	}
	for _, r := range st.Runs {
		if r.Run == dead && (r.Outcome != "abandoned" || r.Grade != nil) {
			s.Errorf("the crashed run ended as %q, grade %v", r.Outcome, r.Grade)
		}
	}
	s.open("code", 0.5)
	st = s.eventually("the second session ended", func(st status) bool { return len(st.Running)+len(st.Claims) == 0 })
	if st.Posteriors[0].Graded != 1 {
		s.Errorf("%d grades, want that of the second session alone", st.Posteriors[0].Graded)
	}
	s.checkNoOverlap()
}

func (s *site) checkNoOverlap() {
	s.Helper()
	s.refused(0, "same_lock_violations=0\n", "audit")
	if text, err := os.ReadFile(s.path("overlap")); err == nil {
		s.Errorf("sessions side by side: %s", text)
	}
}

// TestStoppedSupervisor stops a supervisor past the end of its claim. Its session lives,
// so nobody gets its task or lane; when it wakes, it has lost, and neither counts a grade
// nor closes the task, even of an agent that ended well meanwhile.
func TestStoppedSupervisor(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		t.Run(fmt.Sprintf("agent done %t", done), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "code")
			s.configure("[category.code]", "ttl = \"2s\"\n")
			wait := s.byHand("code")
			s.atWork("code")
			pid := s.supervisor("code.1")
			stopped := must.Get(os.FindProcess(pid))(t)
			t.Cleanup(func() { _ = stopped.Signal(syscall.SIGCONT) })
			s.stop(pid)
			if done {
				s.open("code", 1)
			}
			s.eventually("the claim expired", func(status) bool {
				got, _ := s.try("claim", "verify", "work-code", "--epoch", "1")
				return got == 5
			})
			s.refused(4, "DENIED", "claim", "work-code", "--holder", "another")
			s.refused(75, "every lane of code is taken", "run", "--category", "code")
			s.refused(0, "reaped=0\n", "reap")
			s.signal(pid, syscall.SIGCONT)
			if got := wait(); got != 5 {
				t.Errorf("status %d, want 5", got)
			}
			st := s.status()
			if r := st.Runs[len(st.Runs)-1]; r.Outcome != "lost" || r.Grade != nil || st.Posteriors[0].Graded != 0 {
				t.Errorf("run %+v, posteriors %+v; want lost and no grade", r, st.Posteriors)
			}
			task, err := os.ReadFile(s.path("tasks/work-code.md"))
			if err != nil || strings.Contains(string(task), "done") {
				t.Errorf("task after the loss: %q, %v", task, err)
			}
			s.refused(0, "claimed work-code epoch 2 ", "claim", "work-code", "--holder", "another")
			s.checkNoOverlap()
		})
	}
}

// stop stops a process while it does not write to the store: one that is stopped in a transaction keeps
// its lock.
func (s *site) stop(pid int) {
	s.Helper()
	db := s.sql("pragma busy_timeout = 100")
	s.eventually("the process stopped beside the store's lock", func(status) bool {
		s.signal(pid, syscall.SIGSTOP)
		threads := must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)))(s)
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if _, state, _ := strings.Cut(string(text), ") "); err != nil || !strings.HasPrefix(state, "T") {
				return false // it may still take the lock
			}
		}
		if _, err := db.ExecContext(s.Context(), "begin immediate"); err != nil {
			s.signal(pid, syscall.SIGCONT)
			return false
		}
		must.Get(db.ExecContext(s.Context(), "rollback"))(s)
		return true
	})
}

// configure adds to a table of the config.
func (s *site) configure(table, text string) {
	s.Helper()
	config := must.Get(os.ReadFile(s.path("stint.toml")))(s)
	s.write("stint.toml", strings.Replace(string(config), table+"\n", table+"\n"+text, 1), 0o644)
}

// TestSessionOfWhichNothingIsLeft removes the folder of a run that crashed: nobody knows any
// more whether its session lives, so its claim stands until it expires, and then no longer.
func TestSessionOfWhichNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code")
	s.configure("[category.code]", "ttl = \"5s\"\n")
	s.byHand("code")
	st := s.atWork("code")
	s.signal(s.supervisor("code.1"), syscall.SIGKILL)
	s.open("code", 1)
	s.eventually("no session alive", func(st status) bool { return len(st.Running) == 1 && st.Running[0].State == "crashed" })
	must.Do(t, os.RemoveAll(s.path("state/runs/"+st.Running[0].Run)))
	s.refused(4, "DENIED", "claim", "work-code", "--holder", "another")
	s.eventually("the claim free", func(status) bool {
		got, _ := s.try("claim", "check", "work-code")
		return got == 0
	})
	if got, _ := s.try("claim", "verify", "work-code", "--epoch", "1"); got != 5 {
		t.Errorf("free before it expired: verify ends with status %d, want 5", got)
	}
}

// TestKilledLaneAlone kills one of two sessions of a category that has two lanes: the
// other keeps its lane and its claim, and there is room for one.
func TestKilledLaneAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code")
	s.unboxed()
	s.configure("[category.code]", "lanes = 2\nself_directed = true\n")
	s.write("agent", deafAgent, 0o755)
	t.Cleanup(s.endOrphans)
	s.byHand("code")
	s.eventually("one at work", func(status) bool { return len(s.pids("pids")) == 1 })
	s.byHand("code")
	s.eventually("two at work", func(st status) bool { return len(st.Running) == 2 && len(s.pids("pids")) == 2 })
	s.refused(75, "every lane of code is taken", "run", "--category", "code")
	s.signal(s.supervisor("code.2"), syscall.SIGKILL)
	s.died(s.supervisor("code.2"))
	s.refused(75, "still works in lane code.2", "run", "--category", "code")
	s.signal(s.pids("pids")[1], syscall.SIGKILL)
	s.died(s.pids("pids")[1])
	s.byHand("code")
	s.eventually("a third at work", func(status) bool { return len(s.pids("pids")) == 3 })
	st := s.status()
	var lanes []int
	for _, r := range st.Running {
		lanes = append(lanes, r.Lane)
	}
	slices.Sort(lanes)
	// The session without a task works under the claim of its lane, which stands with its run.
	if diff := cmp.Diff(lanes, []int{1, 2}); diff != "" || len(st.Claims) != 1 {
		t.Errorf("claims %+v, lanes (-got +want):\n%s", st.Claims, diff)
	}
	s.refused(75, "every lane of code is taken", "run", "--category", "code")
	s.refused(0, "peak_concurrency=2\n", "audit")
	s.refused(0, "same_lock_violations=0\n", "audit")
}

// corpses leaves n dead runs in the fleet's store, each with a claim.
func (s *site) corpses(n int) *sqlite.DB {
	s.Helper()
	state := s.path("state")
	db, err := sqlite.Open(s.Context(), sqlite.Options{Dir: state, Fleet: fleet.Name(s.fleet), Workspace: s.dir, Now: time.Now, Settings: rank.Defaults()})
	must.Do(s, err)
	s.Cleanup(func() { _ = db.Close() })
	for i := range n {
		r := fleet.Run{ID: fleet.NewRunID(time.Now(), uint32(i)), Category: "code", Agent: "fake", CreatedAt: time.Now()}
		lock, err := claim.Locks(state).Live(r.ID)
		if err == nil {
			err = errors.Join(lock.Close(), db.AddRun(s.Context(), r))
		}
		if err == nil {
			_, _, err = storekit.TakeForRun(s.Context(), db, storekit.RunTake{
				TakeRequest: store.TakeRequest{Key: fleet.Key("key-" + r.ID), Holder: r.ID.Holder(), TTL: time.Hour}, Run: r.ID, PID: 1 << 22,
			})
		}
		must.Do(s, err)
	}
	return db
}

// abandoned counts the runs that are closed as abandoned.
func (s *site) abandoned(db *sqlite.DB) (n int) {
	s.Helper()
	runs := must.Get(db.LastRuns(s.Context(), store.RunQuery{Limit: 1000}))(s)
	for _, r := range runs {
		if r.Verdict.Outcome == fleet.Abandoned {
			n++
		}
	}
	return n
}

// TestReapKilledHalfWay kills a reaper between two runs: the next closes the rest.
func TestReapKilledHalfWay(t *testing.T) {
	t.Parallel()
	const all = 100
	s := newSite(t, "code")
	db := s.corpses(all)
	// It writes a line a run, and nobody reads: once the pipe is full, it waits.
	out, in, err := os.Pipe()
	must.Do(t, err)
	defer out.Close()
	defer in.Close()
	must.Get(unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()))(t)
	reaper := exec.CommandContext(t.Context(), s.binary, "--config", s.path("stint.toml"), "reap")
	reaper.Stderr = in
	must.Do(t, reaper.Start())
	s.eventually("some runs closed", func(status) bool { return s.abandoned(db) >= 5 })
	s.signal(reaper.Process.Pid, syscall.SIGKILL)
	_ = reaper.Wait() // it was killed
	before := s.abandoned(db)
	if before >= all {
		t.Fatalf("%d runs were closed before it was killed, want fewer than %d", before, all)
	}
	s.refused(0, fmt.Sprintf("reaped=%d\n", all-before), "reap")
	if after := s.abandoned(db); after != all {
		t.Errorf("%d runs closed in the end, want %d", after, all)
	}
	if st := s.status(); len(st.Claims) != 0 || st.Posteriors[0].Graded != 0 {
		t.Errorf("claims %+v, posteriors %+v; want neither", st.Claims, st.Posteriors)
	}
}

// TestReapersOfOneFleet has processes reap and fire at once: each run is closed by one.
func TestReapersOfOneFleet(t *testing.T) {
	t.Parallel()
	const all = 30
	s := newSite(t, "code")
	s.write("tasks/work-code.md", "---\nstate: done\ncategory: code\n---\n", 0o644) // nothing to start
	db := s.corpses(all)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		lines []string
	)
	for i := range 6 {
		group.Go(func() {
			command := []string{"reap"}
			if i%2 == 1 {
				command = []string{"fanout", "--exec"}
			}
			_, out := s.try(command...)
			mu.Lock()
			defer mu.Unlock()
			for line := range strings.Lines(out) {
				if strings.Contains(line, "run abandoned") {
					lines = append(lines, line)
				}
			}
		})
	}
	group.Wait()
	if len(lines) != all || s.abandoned(db) != all {
		t.Errorf("%d closings, %d runs closed, want %d of both:\n%s", len(lines), s.abandoned(db), all, strings.Join(lines, ""))
	}
}

// TestProbesDisturbNobody has processes ask all the time who works on what, while
// sessions start: none finds its lane, or itself, busy.
func TestProbesDisturbNobody(t *testing.T) {
	t.Parallel()
	const starts = 40
	s := newSite(t, "code")
	s.write("agent", "#!/bin/sh\n", 0o755)
	s.write("tasks/work-code.md", "---\nstate: active\ncategory: code\n---\n", 0o644) // which any number of sessions may have
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range 8 {
		probe := [][]string{{"select"}, {"status"}, {"claim", "check", "work-code"}, {"reap", "--dry-run"}}[i%4]
		group.Go(func() {
			for ctx.Err() == nil {
				// Another test reads its answer.
				_ = exec.CommandContext(ctx, s.binary, append([]string{"--config", s.path("stint.toml")}, probe...)...).Run()
			}
		})
	}
	for i := range starts {
		if got, out := s.try("run", "--category", "code"); got != 0 {
			t.Errorf("start %d: status %d\n%s", i, got, out)
		}
	}
	cancel()
	group.Wait()
	var audit struct {
		Acquisitions int `json:"total_acquisitions"`
	}
	if err := json.Unmarshal([]byte(s.stint("audit", "--json")), &audit); err != nil || audit.Acquisitions != starts {
		t.Errorf("%d lanes taken, %v; want %d", audit.Acquisitions, err, starts)
	}
}

// sql changes the record behind the program's back, and returns what keeps it open.
func (s *site) sql(statement string) *sql.DB {
	s.Helper()
	db := must.Get(sql.Open("sqlite3", "file:"+s.path("state/stint.db")+"?_busy_timeout=10000"))(s)
	db.SetMaxOpenConns(1)
	s.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(s.Context(), statement); err != nil {
		s.Fatal(err)
	}
	return db
}

// TestStoreLockedAtTheEnd has somebody lock the store while a session ends, and in one case
// kills its supervisor before the lock is gone. The result is written down: nobody else gets
// the task, and it is recorded once, with the grade.
func TestStoreLockedAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"waits": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "code")
			wait := s.byHand("code")
			run := s.atWork("code").Running[0].Run
			locked := s.sql("begin immediate")
			s.open("code", 1)
			s.eventually("the end written down", func(status) bool {
				info, err := os.Stat(s.path("state/runs/" + run + "/end.json"))
				return err == nil && info.Size() > 0
			})
			if killed {
				s.signal(s.supervisor("code.1"), syscall.SIGKILL)
				wait()
				s.refused(4, "held work-code", "claim", "check", "work-code")
			}
			must.Do(t, locked.Close())
			reaped := "reaped=0\n"
			if killed {
				reaped = "recorded run " + run + " (code): its end was written down, and is on record now\nreaped=1\n"
			} else if got := wait(); got != 0 {
				t.Errorf("status %d, want 0", got)
			}
			s.refused(0, reaped, "reap")
			s.refused(0, "reaped=0\n", "reap")
			st := s.status()
			if r := st.Runs[len(st.Runs)-1]; r.Outcome != "productive" || r.Grade == nil || st.Posteriors[0].Graded != 1 || len(st.Claims) != 0 {
				t.Errorf("run %+v, posteriors %+v, claims %+v", r, st.Posteriors, st.Claims)
			}
			s.checkNoOverlap()
		})
	}
}
