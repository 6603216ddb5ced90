package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stint/internal/store/storetest"
)

// roomSize is how many sessions are to end with work, and how many of their results may wait.
// STINT_STORM=full asks for all of it.
type roomSize struct{ finishers, limit int }

func roomSizeAsked() roomSize {
	if os.Getenv("STINT_STORM") == "full" {
		return roomSize{finishers: 100, limit: 8}
	}
	return roomSize{finishers: 12, limit: 3}
}

const roomConfig = `fleet = "room"
state = %q
[review]
limit = %d
max_age = "0s"
[agent.a]
box = "open"
command = ["sh", "-c", "echo x >$STINT_RUN_ID.txt && git add $STINT_RUN_ID.txt && git commit -q -m work"]
[category.code]
self_directed = true
workspace = "worktree"
cooldown = "0s"
lanes = 99
max_chain = 0
`

// roomStorm is a fleet of more sessions than there are places in review, of which some are
// killed, with somebody who merges.
type roomStorm struct {
	*testing.T
	size roomSize
	dir  string
	calm chan struct{}

	mu       sync.Mutex
	running  map[int]*os.Process
	statuses map[int]int // how often sessions ended with each
	killed   int
	most     int // branches that waited at once
}

// TestStormRoom has many sessions end at once where few results may wait, kills sessions and
// fires at random, and merges meanwhile. There are never more results than room, and none that
// nobody can find.
func TestStormRoom(t *testing.T) {
	t.Parallel()
	s := newRoomStorm(t)
	var others, finishers sync.WaitGroup
	for _, play := range []func(){s.kill, s.merge, s.watch} {
		others.Go(play)
	}
	for i := range s.size.finishers {
		finishers.Go(func() { s.finish(i) })
	}
	finishers.Wait()
	close(s.calm)
	others.Wait()
	t.Logf("%d finishers and %d places: %d processes killed, at most %d results waited; statuses: %v", s.size.finishers, s.size.limit, s.killed, s.most, s.statuses)
	if s.killed == 0 || s.statuses[75] == 0 || s.most < s.size.limit {
		t.Error("that was no storm")
	}
	s.call("fanout", "--exec")
	listed, _ := s.call("review", "--all")
	for _, branch := range s.waiting() {
		if run := branch[strings.LastIndexByte(branch, '/')+1:]; !strings.Contains(listed, run) {
			t.Errorf("branch %s is not listed:\n%s", branch, listed)
		}
	}
	s.look()
}

func newRoomStorm(t *testing.T) *roomStorm {
	t.Helper()
	s := &roomStorm{
		T: t, size: roomSizeAsked(), dir: t.TempDir(), calm: make(chan struct{}), running: map[int]*os.Process{}, statuses: map[int]int{},
	}
	state := filepath.Join(s.dir, "state")
	storetest.Keep(t, state)
	t.Cleanup(func() { endProcesses(s.dir + "/") })
	if err := os.WriteFile(filepath.Join(s.dir, "stint.toml"), fmt.Appendf(nil, roomConfig, state, s.size.limit), 0o600); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "-b", "main")
	s.git("config", "user.name", "storm")
	s.git("config", "user.email", "storm@example.org")
	s.git("commit", "-q", "--allow-empty", "-m", "begin")
	if _, status := s.call("pause"); status != 0 { // fires look, and start nothing
		t.Fatal("no store")
	}
	return s
}

// finish runs sessions until one of them has ended with work.
func (s *roomStorm) finish(i int) {
	chance := rand.New(rand.NewPCG(5, uint64(i)))
	for s.Context().Err() == nil {
		_, status := s.call("run", "--category", "code")
		s.mu.Lock()
		s.statuses[status]++
		s.mu.Unlock()
		switch status {
		case 0:
			return
		case -1: // killed
		case 75:
			select {
			case <-s.Context().Done():
			case <-time.After(time.Duration(chance.IntN(100*s.size.finishers)) * time.Millisecond):
			}
		default:
			s.Errorf("a session ended with %d", status)
			return
		}
	}
}

// kill kills a random process now and then.
func (s *roomStorm) kill() {
	chance := rand.New(rand.NewPCG(6, 7))
	for s.blows(time.Duration(50+chance.IntN(400)) * time.Millisecond) {
		s.mu.Lock()
		if pids := slices.Sorted(maps.Keys(s.running)); len(pids) > 0 {
			_ = s.running[pids[chance.IntN(len(pids))]].Kill() // It may be gone already.
		}
		s.mu.Unlock()
	}
}

// merge merges some of what waits, and has a fire look.
func (s *roomStorm) merge() {
	chance := rand.New(rand.NewPCG(8, 9))
	for s.blows(300 * time.Millisecond) {
		for _, branch := range s.waiting() {
			if chance.IntN(2) == 0 {
				s.git("merge", "-q", "--no-edit", branch)
			}
		}
		s.call("fanout", "--exec")
	}
}

// watch looks all the time.
func (s *roomStorm) watch() {
	for s.blows(20 * time.Millisecond) {
		s.look()
	}
}

// blows waits, and reports false once the storm is over.
func (s *roomStorm) blows(pause time.Duration) bool {
	select {
	case <-s.calm:
		return false
	case <-s.Context().Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// look checks that no more waits than there is room for, and that no more places are taken.
func (s *roomStorm) look() {
	waiting := s.waiting()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(s.dir, "state", "stint.db")+"?mode=ro&_busy_timeout=15000")
	if err != nil {
		s.Error(err)
		return
	}
	defer func() { _ = db.Close() }()
	taken := 0
	if err := db.QueryRowContext(s.Context(), "select count(*) from places where given_at is null").Scan(&taken); err != nil && s.Context().Err() == nil {
		s.Error(err)
	}
	if len(waiting) > s.size.limit || taken > s.size.limit {
		s.Errorf("%d places are taken, and %d branches wait, want at most %d: %q", taken, len(waiting), s.size.limit, waiting)
	}
	s.mu.Lock()
	s.most = max(s.most, len(waiting))
	s.mu.Unlock()
}

// waiting are the branches with commits that are not merged.
func (s *roomStorm) waiting() []string {
	return strings.Fields(s.git("for-each-ref", "--no-merged=main", "--format=%(refname:short)", "refs/heads/stint/"))
}

func (s *roomStorm) git(args ...string) string {
	out, err := exec.CommandContext(s.Context(), "git", append([]string{"-C", s.dir}, args...)...).CombinedOutput()
	if err != nil && s.Context().Err() == nil {
		s.Errorf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// call runs stint and returns its output and status, -1 if it was killed.
func (s *roomStorm) call(args ...string) (stdout string, status int) {
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(s.Context(), "stint", append([]string{"--config", filepath.Join(s.dir, "stint.toml")}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &stderr, s.dir
	if err := cmd.Start(); err != nil {
		s.Error(err)
		return "", 1
	}
	s.mu.Lock()
	s.running[cmd.Process.Pid] = cmd.Process
	s.mu.Unlock()
	_ = cmd.Wait() // The status says how it ended.
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, cmd.Process.Pid)
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		s.killed++
		return out.String(), -1
	}
	status = cmd.ProcessState.ExitCode()
	if strings.Contains(stderr.String(), "database is locked") { // a hundred processes at once may be too many for a small machine
		return out.String(), 75
	}
	if status == 1 || status == 2 {
		s.Logf("stint %v: status %d\n%s%s", args, status, &out, &stderr)
	}
	return out.String(), status
}
