package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// roomSize has the number of sessions to end with work, the number of results that may wait, and the
// bound on the kills of each before. STINT_STORM=full asks for all of it.
type roomSize struct{ finishers, limit, kills int }

func roomSizeAsked() roomSize {
	if os.Getenv("STINT_STORM") == "full" {
		return roomSize{finishers: 100, limit: 8, kills: 7}
	}
	return roomSize{finishers: 12, limit: 3, kills: 4}
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
workspace = "clone"
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

	fires int // that were killed

	mu       sync.Mutex
	placed   map[int]chan struct{} // by process: closed when it has a place
	statuses map[int]int           // how often sessions ended with each, -1: killed
	due      int                   // sessions that are to be killed
	session  pace                  // of one that ends with work
	most     int                   // branches that waited at once
}

// TestStormRoom has many sessions end at once where few results may wait, kills sessions and
// fires at random, and merges meanwhile. There are never more results than room, and none that
// nobody can find.
//
// How often each session is killed follows from a seed, and when, from how long the others take, the
// last time after it has got a place: so a slow machine kills as many, as late in their work, and
// comes to an end.
func TestStormRoom(t *testing.T) {
	t.Parallel()
	s := newRoomStorm(t)
	var others, finishers sync.WaitGroup
	for _, play := range []func(){s.merge, s.watch} {
		others.Go(play)
	}
	for i := range s.size.finishers {
		finishers.Go(func() { s.finish(i) })
	}
	finishers.Wait()
	close(s.calm)
	others.Wait()
	claimed := len(s.numbers("select 1 from runs where outcome = 'abandoned' and epoch > 0"))
	t.Logf("%d finishers and %d places: %d sessions killed, %d of them at work, and %d fires; at most %d results waited; statuses: %v",
		s.size.finishers, s.size.limit, s.statuses[-1], claimed, s.fires, s.most, s.statuses)
	if s.statuses[-1] != s.due || s.due < s.size.finishers || claimed == 0 || s.statuses[75] == 0 || s.most < s.size.limit {
		t.Errorf("that was no storm: %d sessions were to be killed", s.due)
	}
	s.call(doom{}, "fanout", "--exec")
	listed, _ := s.call(doom{}, "review", "--all")
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
		T: t, size: roomSizeAsked(), dir: t.TempDir(), calm: make(chan struct{}), placed: map[int]chan struct{}{}, statuses: map[int]int{},
	}
	state := filepath.Join(s.dir, "state")
	storekit.Keep(t, state)
	t.Cleanup(func() { endProcesses(s.dir + "/") })
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "stint.toml"), fmt.Appendf(nil, roomConfig, state, s.size.limit), 0o600))
	s.git("init", "-q", "-b", "main")
	s.git("config", "user.name", "storm")
	s.git("config", "user.email", "storm@example.org")
	s.git("commit", "-q", "--allow-empty", "-m", "begin")
	if _, status := s.call(doom{}, "pause"); status != 0 { // fires look, and start nothing
		t.Fatal("no store")
	}
	return s
}

// finish runs sessions until as many as are due were killed and one has ended with work.
func (s *roomStorm) finish(i int) {
	chance := rand.New(rand.NewPCG(5, uint64(i)))
	kills := chance.IntN(s.size.kills + 1)
	s.count(func() { s.due += kills })
	for s.Context().Err() == nil {
		var d doom
		if kills > 0 {
			d = doom{after: s.session.part(chance), placed: kills == 1}
		}
		began := time.Now()
		_, status := s.call(d, "run", "--category", "code")
		s.count(func() { s.statuses[status]++ })
		switch status {
		case 0:
			s.session.note(time.Since(began))
			if kills == 0 {
				return
			}
		case -1:
			kills--
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

// merge merges some of what waits, and has a fire look, until the storm is over and as many fires were
// killed as there are places.
func (s *roomStorm) merge() {
	chance := rand.New(rand.NewPCG(8, 9))
	var fire pace
	for s.blows(300*time.Millisecond) || s.fires < s.size.limit && s.Context().Err() == nil {
		for _, branch := range s.waiting() {
			if chance.IntN(2) == 0 {
				s.git("merge", "-q", "--no-edit", branch)
			}
		}
		var d doom
		if chance.IntN(2) == 0 {
			d.after = fire.part(chance)
		}
		began := time.Now()
		if _, status := s.call(d, "fanout", "--exec"); status == -1 {
			s.fires++
		} else {
			fire.note(time.Since(began))
		}
	}
}

func (s *roomStorm) count(one func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one()
}

// watch looks all the time, and says which sessions have a place.
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
	waiting, taken := s.waiting(), len(s.numbers("select 1 from reviews where taken = 1"))
	if len(waiting) > s.size.limit || taken > s.size.limit {
		s.Errorf("%d places are taken, and %d branches wait, want at most %d: %q", taken, len(waiting), s.size.limit, waiting)
	}
	pids := s.numbers("select r.pid from reviews p join runs r on r.id = p.run where p.taken = 1 and r.ended_at is null")
	s.count(func() {
		s.most = max(s.most, len(waiting))
		for _, pid := range pids {
			if has, waits := s.placed[pid]; waits {
				close(has)
				delete(s.placed, pid)
			}
		}
	})
}

// numbers asks the store for some.
func (s *roomStorm) numbers(query string) (list []int) {
	rows, err := queryRows(s.Context(), filepath.Join(s.dir, "state", sqlite.File), "ro", query)
	for _, row := range rows {
		n, failed := strconv.Atoi(row)
		list, err = append(list, n), errors.Join(err, failed)
	}
	if err != nil && s.Context().Err() == nil {
		s.Error(err)
	}
	return list
}

// waiting are the branches with commits that are not merged.
func (s *roomStorm) waiting() []string {
	return strings.Fields(s.git("for-each-ref", "--no-merged=main", "--format=%(refname:short)", "refs/heads/stint/"))
}

func (s *roomStorm) git(args ...string) string {
	cmd := exec.CommandContext(s.Context(), "git", append([]string{"-C", s.dir}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said // a branch that goes away while git lists them is warned about
	out, err := cmd.Output()
	if err != nil && s.Context().Err() == nil {
		s.Errorf("git %v: %v\n%s%s", args, err, out, said.String())
	}
	return string(out)
}

// doom is when a process is killed: so long after it began, or after it has a place in review. Zero:
// never.
type doom struct {
	after  time.Duration
	placed bool
}

// fulfil kills a process unless it ends before.
func (s *roomStorm) fulfil(d doom, p *os.Process, ended <-chan struct{}) {
	if d.placed {
		has := make(chan struct{})
		s.count(func() { s.placed[p.Pid] = has })
		defer s.count(func() { delete(s.placed, p.Pid) })
		select {
		case <-has:
		case <-ended:
			return
		}
	}
	select {
	case <-time.After(d.after):
		_ = p.Kill() // It may be gone already.
	case <-ended:
	}
}

// call runs stint and returns its output and status, -1 if it was killed.
func (s *roomStorm) call(d doom, args ...string) (stdout string, status int) {
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(s.Context(), "stint", append([]string{"--config", filepath.Join(s.dir, "stint.toml")}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &stderr, s.dir
	if err := cmd.Start(); err != nil {
		s.Error(err)
		return "", 1
	}
	var killer sync.WaitGroup
	ended := make(chan struct{})
	if d.after > 0 {
		killer.Go(func() { s.fulfil(d, cmd.Process, ended) })
	}
	_ = cmd.Wait() // The status says how it ended.
	close(ended)
	killer.Wait()
	if status = cmd.ProcessState.ExitCode(); status == -1 {
		return out.String(), status
	}
	if strings.Contains(stderr.String(), "database is locked") { // a hundred processes at once may be too many for a small machine
		return out.String(), 75
	}
	if status == 1 || status == 2 {
		s.Logf("stint %v: status %d\n%s%s", args, status, &out, &stderr)
	}
	return out.String(), status
}
