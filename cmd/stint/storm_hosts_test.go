package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store/pgtest"
	"stint/internal/store/postgres"
	"stint/internal/store/storetest"
)

// hostsStormSize is how hard it blows over machines that share a server. STINT_STORM=full asks for all
// of it.
type hostsStormSize struct {
	hosts, workers, tasks int
	ttl                   time.Duration
	lasts                 time.Duration // during which sessions begin
	clients, calls        int           // that fight over claims beside them
}

func hostsStormSizeAsked() hostsStormSize {
	if os.Getenv("STINT_STORM") == "full" {
		return hostsStormSize{hosts: 20, workers: 10, tasks: 60, ttl: 12 * time.Second, lasts: 10 * time.Minute, clients: 20, calls: 400}
	}
	return hostsStormSize{hosts: 3, workers: 2, tasks: 9, ttl: 4 * time.Second, lasts: 15 * time.Second, clients: 6, calls: 15}
}

// hostsStorm is a fleet on several machines, each with a state folder of its own and its own way to
// the server, and the faults that happen to all of them.
type hostsStorm struct {
	*storm
	size    hostsStormSize
	dir     string
	cluster *pgtest.Cluster
	ways    []*pgtest.Proxy
	hosts   []string // configuration files

	met    [faults]atomic.Int64 // by fault
	worked atomic.Int64         // sessions that said how they ended
	killed atomic.Int64
	frozen sync.Map // run → when it was stopped, by its own beats
}

// The faults.
const (
	faultCut = iota
	faultToServer
	faultToClient
	faultServer
	faultLock
	faultAnswers
	faults
)

// TestStormHosts has workers and callers on several machines share a server, while networks are cut,
// also one way and within a commit, the server is killed, its tables are locked, and workers
// are killed and stopped for longer than their leases last. No two agents are at a task at once, no
// epoch is granted twice, no grade is lost that a worker has announced, and the claims that callers fight over can
// be those of a store that does one thing at a time.
func TestStormHosts(t *testing.T) {
	t.Parallel()
	s := newHostsStorm(t)
	ctx, over := context.WithTimeout(t.Context(), s.size.lasts)
	defer over()
	var all sync.WaitGroup
	for i := range s.size.hosts {
		for w := range s.size.workers {
			all.Go(func() { s.worker(ctx, i, w) })
		}
	}
	for i := range s.size.clients {
		all.Go(func() { s.client(i, s.size.calls) })
	}
	calm, blows := context.WithCancel(t.Context())
	var nemeses sync.WaitGroup
	nemeses.Go(func() { s.blow(calm) })
	nemeses.Go(func() { s.freeze(calm) })
	all.Wait()
	blows()
	nemeses.Wait()
	for _, way := range s.ways {
		way.Heal()
	}
	s.settle()
	s.check()
}

func newHostsStorm(t *testing.T) *hostsStorm {
	t.Helper()
	c, err := pgtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})
	if _, err := postgres.Migrate(t.Context(), postgres.Options{DSN: c.DSN(), Fleet: "storm", Settings: bandit.Defaults()}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	storetest.Keep(t, dir)
	s := &hostsStorm{
		storm: &storm{T: t, begun: time.Now(), keys: 4, history: map[string][]porcupine.Operation{}, answers: map[string]int{}, faults: true},
		size:  hostsStormSizeAsked(), dir: dir, cluster: c,
	}
	for i := range s.size.hosts {
		s.host(i)
	}
	s.configs = s.hosts
	return s
}

// host makes a machine: its way to the server loses one answer in fifty.
func (s *hostsStorm) host(i int) {
	s.Helper()
	way, err := pgtest.Between(context.WithoutCancel(s.Context()), s.cluster.Dir)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := way.Close(); err != nil {
			s.Error(err)
		}
	})
	chance := rand.New(rand.NewPCG(7, uint64(i)))
	way.Fate = func(int, []byte) pgtest.Fate { // nobody else asks: the proxy has its lock
		if chance.IntN(50) > 0 {
			return pgtest.Carried
		}
		s.met[faultAnswers].Add(1)
		return pgtest.AnswerLost
	}
	s.ways = append(s.ways, way)
	home := filepath.Join(s.dir, fmt.Sprintf("h%d", i))
	errs := []error{os.MkdirAll(filepath.Join(home, "tasks"), 0o700), os.MkdirAll(filepath.Join(s.dir, "beats"), 0o700)}
	for n := range s.size.tasks {
		errs = append(errs, os.WriteFile(filepath.Join(home, "tasks", fmt.Sprintf("t%d.md", n)), []byte("---\nstate: todo\n---\nWork.\n"), 0o600))
	}
	config := fmt.Sprintf(`fleet = "storm"
store = "postgres:///postgres?host=%s&user=stint"
state = %q
[agent.fake]
box = "open"
trust = true
command = ["fakeagent", "beat=%s", "result={\"outcome\":\"productive\",\"grade\":0.5,\"task_state\":\"todo\"}"]
[category.code]
ttl = %q
timeout = "60s"
cooldown = "0s"
max_chain = 0
lanes = %d
[tasks]
most_sessions = 0
`, way.Dir, filepath.Join(home, "state"), filepath.Join(s.dir, "beats"), s.size.ttl, min(99, s.size.hosts*s.size.workers)) // workers without a lane end as busy
	path := filepath.Join(home, "stint.toml")
	if err := errors.Join(append(errs, os.WriteFile(path, []byte(config), 0o600))...); err != nil {
		s.Fatal(err)
	}
	s.hosts = append(s.hosts, path)
}

// worker runs one session after the other on a machine, and kills some of them.
func (s *hostsStorm) worker(ctx context.Context, host, n int) {
	chance := rand.New(rand.NewPCG(11, uint64(host*100+n)))
	for ctx.Err() == nil {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(s.Context(), "stint", "--config", s.hosts[host], "run", "--category", "code", "--json")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			s.Error(err)
			return
		}
		doom := (*time.Timer)(nil)
		if chance.IntN(4) == 0 {
			doom = time.AfterFunc(time.Duration(chance.IntN(1500))*time.Millisecond, func() { _ = cmd.Process.Kill() }) // it may be gone already
		}
		_ = cmd.Wait()
		if doom != nil {
			doom.Stop()
		}
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			s.killed.Add(1)
			continue
		}
		if !s.note(cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.String()) {
			return
		}
	}
}

// note keeps the word of a worker that a session was productive, and reports whether it ended as one may.
func (s *hostsStorm) note(status int, answer []byte, said string) bool {
	var run struct {
		Run, Outcome string
	}
	switch {
	case status == 0 && json.Unmarshal(answer, &run) == nil && run.Outcome == "productive":
		s.worked.Add(1)
		if err := os.WriteFile(filepath.Join(s.dir, "beats", "said."+run.Run), nil, 0o600); err != nil {
			s.Error(err)
		}
	case !slices.Contains([]int{0, 1, 3, 4, 5, 75}, status):
		s.Errorf("a worker ended with status %d: %s", status, said)
		return false
	}
	return true
}

// blow has one fault after the other happen.
func (s *hostsStorm) blow(ctx context.Context) {
	chance := rand.New(rand.NewPCG(13, 1))
	for s.pause(ctx, 100, 600, chance) {
		way, fault := s.ways[chance.IntN(len(s.ways))], chance.IntN(faultAnswers)
		s.met[fault].Add(1)
		switch fault {
		case faultCut: // now and then for longer than a lease lasts
			way.Cut()
			s.pause(ctx, 100, int(s.size.ttl.Milliseconds())*3/2, chance)
			way.Heal()
		case faultToServer, faultToClient:
			way.Hold(map[int]pgtest.Way{faultToServer: pgtest.ToServer, faultToClient: pgtest.ToClient}[fault])
			s.pause(ctx, 100, int(s.size.ttl.Milliseconds())/2, chance)
			way.Heal()
		case faultServer:
			err := s.cluster.Stop()
			s.pause(ctx, 10, 300, chance)
			if err := errors.Join(err, s.cluster.Start()); err != nil {
				s.Error(err)
				return
			}
		case faultLock:
			// Nobody gets at the table for a while, or the server was killed under the lock.
			sql := fmt.Sprintf("begin; lock table stint_storm.%s; select pg_sleep(%f); commit", []string{"fleet", "claims", "runs"}[chance.IntN(3)], chance.Float64())
			_ = exec.CommandContext(ctx, "psql", "-qX", s.cluster.DSN(), "-c", sql).Run()
		}
	}
}

// freeze stops a worker and its agent together, as a machine does that is suspended, for longer than the
// lease.
func (s *hostsStorm) freeze(ctx context.Context) {
	chance := rand.New(rand.NewPCG(17, 1))
	for s.pause(ctx, 1000, 3000, chance) {
		files, err := filepath.Glob(filepath.Join(s.dir, "beats", "*.*.*.*"))
		if err != nil || len(files) == 0 {
			continue
		}
		parts := strings.Split(filepath.Base(files[len(files)-1-chance.IntN(min(4, len(files)))]), ".") // task, run, worker, agent
		worker, _ := strconv.Atoi(parts[2])
		agent, _ := strconv.Atoi(parts[3])
		if !isProcess(agent, parts[1]) {
			continue
		}
		if unix.Kill(worker, unix.SIGSTOP) != nil || unix.Kill(agent, unix.SIGSTOP) != nil {
			_ = unix.Kill(worker, unix.SIGCONT)
			continue
		}
		s.frozen.Store(parts[1], boottime())
		s.pause(ctx, int(s.size.ttl.Milliseconds()), int(s.size.ttl.Milliseconds())*2, chance)
		for _, pid := range []int{worker, agent} {
			if isProcess(pid, parts[1]) || pid == worker {
				_ = unix.Kill(pid, unix.SIGCONT) // it may be gone already
			}
		}
	}
}

// isProcess reports whether a process is the agent of a run.
func isProcess(pid int, run string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(environ, []byte("STINT_RUN_ID="+run))
}

// pause waits a number of milliseconds, and reports whether the storm goes on.
func (s *hostsStorm) pause(ctx context.Context, least, most int, chance *rand.Rand) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(least+chance.IntN(most-least)) * time.Millisecond):
		return true
	}
}

// settle reaps on each machine until no run is open.
func (s *hostsStorm) settle() {
	s.Helper()
	var open []stormRun
	eventually(s.T, func() bool {
		for i := range s.hosts {
			_, _ = s.stint(i, "reap") // says what was left
		}
		open = slices.DeleteFunc(s.runs(), func(r stormRun) bool { return r.EndedAt != "" || r.StartedAt == "" }) // one that never began is closed after ten minutes
		return len(open) == 0
	}, func() string { return fmt.Sprintf("open: %+v", open) })
}

type stormRun struct {
	Run, Task, Outcome string
	Epoch              int64
	StartedAt          string `json:"started_at"`
	EndedAt            string `json:"ended_at"`
}

func (s *hostsStorm) runs() []stormRun {
	s.Helper()
	var told struct{ Runs []stormRun }
	out, err := s.stint(0, "runs", "--json", "--limit", "100000")
	if err == nil {
		err = json.Unmarshal(out, &told)
	}
	if err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	return told.Runs
}

func (s *hostsStorm) stint(host int, args ...string) ([]byte, error) {
	return exec.CommandContext(s.Context(), "stint", append([]string{"--config", s.hosts[host]}, args...)...).Output()
}

// check looks at the claims, the record and the beats of all agents.
func (s *hostsStorm) check() {
	s.Helper()
	for _, key := range slices.Sorted(maps.Keys(s.history)) {
		if got := stormVerdict(s.history[key]); got != porcupine.Ok {
			s.Errorf("%s: %s, want %s", key, got, porcupine.Ok)
			for _, o := range s.history[key] {
				s.Logf("%+v: %+v", o.Input, o.Output)
			}
		}
	}
	met := make([]int64, faults)
	for i := range met {
		if met[i] = s.met[i].Load(); met[i] == 0 {
			s.Errorf("fault %d never happened: that was no storm", i)
		}
	}
	outcomes, epochs, ended := map[string]int{}, map[string]string{}, map[string]string{}
	for _, r := range s.runs() {
		outcomes[r.Outcome]++
		ended[r.Run] = r.Outcome
		at := fmt.Sprintf("%s at epoch %d", r.Task, r.Epoch)
		if other := epochs[at]; other != "" && r.Task != "" {
			s.Errorf("%s was granted to runs %s and %s", at, other, r.Run)
		}
		epochs[at] = r.Run
	}
	said, err := filepath.Glob(filepath.Join(s.dir, "beats", "said.*"))
	if err != nil {
		s.Fatal(err)
	}
	for _, path := range said {
		if run := strings.TrimPrefix(filepath.Base(path), "said."); ended[run] != "productive" {
			s.Errorf("run %s said that it was productive, and is %q on record", run, ended[run])
		}
	}
	s.audit()
	beats := s.beats()
	s.Logf("%d sessions had an agent, %d workers were killed, %d sessions said productive; faults %v; outcomes %v; answers %v",
		len(beats), s.killed.Load(), s.worked.Load(), met, outcomes, s.answers)
	if outcomes["productive"] == 0 || s.killed.Load() == 0 {
		s.Error("nothing worked, or nothing was killed: that was no storm")
	}
	slices.SortFunc(beats, func(a, b atWork) int { return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.from, b.from)) })
	for i := 1; i < len(beats); i++ {
		if a, b := beats[i-1], beats[i]; a.task == b.task && b.from <= a.to {
			s.Errorf("runs %s and %s were both at task %s, for %s", a.run, b.run, a.task, a.to-b.from)
		}
	}
}

// audit finds no session beside another by the record, except those of machines that stood still.
func (s *hostsStorm) audit() {
	out, err := s.stint(0, "audit", "--json")
	var found struct {
		Violations    int   `json:"same_lock_violations"`
		Discrepancies []any `json:"discrepancies"`
		Overruns      []struct {
			Run    string  `json:"run"`
			Shared float64 `json:"shared_seconds"`
		} `json:"overruns"`
	}
	shared := 0
	if json.Unmarshal(out, &found) != nil {
		s.Fatalf("audit: %v\n%s", err, out)
	}
	for _, o := range found.Overruns {
		if _, froze := s.frozen.Load(o.Run); !froze {
			s.Errorf("run %s was not stopped, and worked on after its lease", o.Run)
		}
		if o.Shared > 0 {
			shared++
		}
	}
	if (err != nil) != (shared > 0) || found.Violations+len(found.Discrepancies) > 0 {
		s.Errorf("audit: %v\n%s", err, out)
	}
}

// atWork is when an agent was at a task, by a clock that does not jump.
type atWork struct {
	task, run string
	from, to  time.Duration
}

// beats are when the agents were at work. One that was stopped cannot know that its lease is over before
// its supervisor goes on: up to then it counts until it was stopped.
func (s *hostsStorm) beats() (list []atWork) {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "beats", "*.*.*.*"))
	if err != nil {
		s.Fatal(err)
	}
	for _, path := range files {
		parts := strings.Split(filepath.Base(path), ".")
		text, err := os.ReadFile(path)
		if err != nil {
			s.Fatal(err)
		}
		w := atWork{task: parts[0], run: parts[1]}
		stopped, was := s.frozen.Load(w.run)
		for line := range strings.Lines(string(text)) {
			nanos, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			if at := time.Duration(nanos); err == nil && (!was || at < stopped.(time.Duration)) {
				w.from, w.to = cmp.Or(w.from, at), at
			}
		}
		if w.from > 0 {
			list = append(list, w)
		}
	}
	return list
}

func boottime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every kernel that boxes a session has it
	}
	return time.Duration(t.Nano())
}

// agentBeat is at work for a while, and notes all the time that it is. It ends with its supervisor, as in a
// unit.
func agentBeat(dir string) error {
	run, parent := os.Getenv("STINT_RUN_ID"), os.Getppid()
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s.%s.%d.%d", os.Getenv("STINT_TASK_ID"), run, parent, os.Getpid())))
	if err != nil {
		return err
	}
	defer f.Close()
	id := fleet.RunID(run)
	length := time.Duration(300+100*int(id[len(id)-1]%30)) * time.Millisecond
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := boottime() + length; boottime() < end; <-tick.C {
		if os.Getppid() != parent {
			os.Exit(1)
		}
		if _, err := fmt.Fprintln(f, int64(boottime())); err != nil {
			return err
		}
	}
	return nil
}
