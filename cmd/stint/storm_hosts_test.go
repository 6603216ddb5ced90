package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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

	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/rank"
	"stint/internal/store/postgres"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
	"stint/internal/testkit/storekit"
)

// hostsStormSize is the size of the storm over machines that share a server. STINT_STORM=full asks for all
// of it. All machines are this one, so its processors bound the workers: two processors with two hundred workers let
// no session begin, as no connection is made within 15 s.
type hostsStormSize struct {
	hosts, workers, tasks int
	ttl                   time.Duration
	lasts                 time.Duration // during which sessions begin and calls are made
	clients, calls, keys  int           // that fight over claims beside them, at most; a key with a thousand calls is more than can be judged
	servers               int
	turns                 []func(*hostsStorm) error // that the store takes, each once
}

func hostsStormSizeAsked() hostsStormSize {
	if os.Getenv("STINT_STORM") == "full" {
		return hostsStormSize{
			hosts: 20, workers: min(10, runtime.NumCPU()), tasks: 60, ttl: 12 * time.Second, lasts: 10 * time.Minute, clients: 20, calls: 250, keys: 100,
			servers: 3, turns: []func(*hostsStorm) error{(*hostsStorm).clone, (*hostsStorm).promote, (*hostsStorm).lose, (*hostsStorm).restore},
		}
	}
	return hostsStormSize{
		hosts: 3, workers: 2, tasks: 9, ttl: 4 * time.Second, lasts: 15 * time.Second, clients: 6, calls: 15, keys: 4,
		servers: 1, turns: []func(*hostsStorm) error{(*hostsStorm).clone},
	}
}

// hostsStorm is a fleet on several machines, each with a state folder of its own and its own way to
// the server, and the faults that happen to all of them.
type hostsStorm struct {
	*storm
	size    hostsStormSize
	dir     string
	cluster *pgtest.Cluster   // that takes writes
	servers []*pgtest.Cluster // in the order in which they take writes
	poolers []*pgtest.Pooler  // before the servers
	ways    [][]*pgtest.Proxy // of each machine to each server
	cloned  chan struct{}     // closed once the last machine, a copy of the first, is one of the fleet
	epochs  map[int64]bool    // granted of one key that all machines take

	met    [faults]atomic.Int64 // by fault
	worked atomic.Int64         // sessions that said how they ended
	killed atomic.Int64
	over   atomic.Bool // networks lose nothing any more
	frozen sync.Map    // run → when it was stopped, by its own beats
}

// The faults.
const (
	faultCut = iota
	faultToServer
	faultToClient
	faultServer
	faultLock
	faultFew
	faultAnswers // one in fifty, all the time
	faultClone   // and the turns
	faultPromote
	faultLose
	faultRestore
	faults
)

// TestStormHosts has workers and callers on several machines share a server, while networks are cut,
// also one way and within a commit, the server is killed, has few connections, its tables are locked, and workers
// are killed and stopped for longer than their leases last. Half of the machines have clocks that are two
// hours off, one has a pooler before the servers, and one is a copy of another. A standby that lagged takes the
// server's place, which comes up again, and a backup is restored. No two agents are at a task at once, no
// epoch is granted twice, no grade is lost that a worker has announced, and the claims that callers fight over can
// be those of a store that does one thing at a time.
func TestStormHosts(t *testing.T) {
	t.Parallel()
	s := newHostsStorm(t)
	ctx, over := context.WithTimeout(t.Context(), s.size.lasts)
	defer over()
	var all sync.WaitGroup
	for i := range s.configs {
		for w := range s.size.workers {
			all.Go(func() {
				if i == s.size.hosts {
					select {
					case <-s.cloned:
					case <-ctx.Done():
					}
				}
				s.worker(ctx, i, w)
			})
		}
	}
	for i := range s.size.clients {
		all.Go(func() { s.client(ctx, i, s.size.calls) })
	}
	calm, blows := context.WithCancel(t.Context())
	var nemeses sync.WaitGroup
	nemeses.Go(func() { s.blow(calm) })
	nemeses.Go(func() { s.freeze(calm) })
	all.Wait()
	blows()
	nemeses.Wait()
	s.over.Store(true)
	s.heal()
	s.settle()
	s.check()
}

func newHostsStorm(t *testing.T) *hostsStorm {
	t.Helper()
	size, dir := hostsStormSizeAsked(), t.TempDir()
	storekit.Keep(t, dir)
	s := &hostsStorm{
		storm: &storm{
			T: t, begun: time.Now(), machines: size.hosts, keys: size.keys, history: map[string][]porcupine.Operation{}, answers: map[string]int{}, faults: true,
			late: size.ttl/2 + time.Second, // as a network is held, or a table locked
		},
		size: size, dir: dir, cloned: make(chan struct{}), epochs: map[int64]bool{},
	}
	start := pgtest.New
	for range size.servers { // each repeats the one before
		c := must.Get(start())(t)
		s.closes(c.Remove)
		if s.cluster == nil {
			s.cluster = c
			must.Get(postgres.Migrate(t.Context(), postgres.Options{DSN: c.DSN(), Fleet: "storm", Settings: rank.Defaults()}))(t)
		}
		p := must.Get(c.Pooler(4))(t)
		s.closes(p.Close)
		s.servers, s.poolers, start = append(s.servers, c), append(s.poolers, p), c.Standby
	}
	for i := range size.hosts + 1 {
		s.host(i)
	}
	s.begun = time.Now()
	return s
}

// closes closes something after the test.
func (s *hostsStorm) closes(what func() error) {
	s.Cleanup(func() {
		if err := what(); err != nil {
			s.Error(err)
		}
	})
}

// host makes a machine: its ways to the servers lose one answer in fifty.
func (s *hostsStorm) host(i int) {
	s.Helper()
	var addresses []string
	var ways []*pgtest.Proxy
	for n, server := range s.servers {
		behind := server.Dir
		if i == 1 {
			behind = s.poolers[n].Dir
		}
		way := must.Get(pgtest.Between(context.WithoutCancel(s.Context()), behind))(s)
		s.closes(way.Close)
		chance := rand.New(rand.NewPCG(7, uint64(10*i+n)))
		way.Fate = func(int, []byte) pgtest.Fate { // nobody else asks: the proxy has its lock
			if s.over.Load() || chance.IntN(50) > 0 {
				return pgtest.Carried
			}
			s.met[faultAnswers].Add(1)
			return pgtest.AnswerLost
		}
		ways, addresses = append(ways, way), append(addresses, way.Dir)
	}
	s.ways = append(s.ways, ways)
	s.ahead = append(s.ahead, []time.Duration{0, 2 * time.Hour, 0, -2 * time.Hour}[i%4])
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
`, strings.Join(addresses, ","), filepath.Join(home, "state"), filepath.Join(s.dir, "beats"), s.size.ttl, min(99, s.size.hosts*s.size.workers)) // workers without a lane end as busy
	path := filepath.Join(home, "stint.toml")
	must.Do(s, errors.Join(append(errs, os.WriteFile(path, []byte(config), 0o600))...))
	s.configs = append(s.configs, path)
}

// worker runs one session after the other on a machine, and kills some of them.
func (s *hostsStorm) worker(ctx context.Context, host, n int) {
	chance := rand.New(rand.NewPCG(11, uint64(host*100+n)))
	for ctx.Err() == nil {
		var stdout, stderr bytes.Buffer
		cmd := s.command(s.Context(), host, "run", "--category", "code", "--json")
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

// blow has one fault after the other happen, and the turns spread over the storm.
func (s *hostsStorm) blow(ctx context.Context) {
	chance, turned := rand.New(rand.NewPCG(13, 1)), 0
	for n := 0; s.pause(ctx, 100, 600, chance) || turned < len(s.size.turns); n++ {
		if turned < len(s.size.turns) && time.Since(s.begun) > s.size.lasts*time.Duration(turned+1)/time.Duration(len(s.size.turns)+1) {
			if err := s.size.turns[turned](s); err != nil {
				s.Error(err)
				return
			}
			turned++
			s.Logf("turn %d was over after %s", turned, time.Since(s.begun))
			continue
		}
		ways, fault := s.ways[chance.IntN(len(s.ways))], n%faultAnswers
		s.met[fault].Add(1)
		switch fault {
		case faultCut: // now and then for longer than a lease lasts
			for _, way := range ways {
				way.Cut()
			}
			s.pause(ctx, 100, int(s.size.ttl.Milliseconds())*3/2, chance)
			s.heal()
		case faultToServer, faultToClient:
			for _, way := range ways {
				way.Hold(map[int]pgtest.Way{faultToServer: pgtest.ToServer, faultToClient: pgtest.ToClient}[fault])
			}
			s.pause(ctx, 100, int(s.size.ttl.Milliseconds())/2, chance)
			s.heal()
		case faultFew:
			err := errors.Join(s.cluster.Stop(), s.cluster.Start("max_connections=5"))
			s.pause(ctx, 100, 2000, chance)
			if err := errors.Join(err, s.cluster.Stop(), s.cluster.Start()); err != nil {
				s.Error(err)
				return
			}
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

// heal ends what was done to the networks.
func (s *hostsStorm) heal() {
	for _, ways := range s.ways {
		for _, way := range ways {
			way.Heal()
		}
	}
}

// clone copies the state folder of a machine that is at work to another, which is refused until somebody
// adopts it.
func (s *hostsStorm) clone() error {
	s.met[faultClone].Add(1)
	at, from := s.size.hosts, filepath.Join(s.dir, "h0", "state")
	to := filepath.Join(s.dir, fmt.Sprintf("h%d", at), "state")
	_ = exec.CommandContext(s.Context(), "cp", "-a", from, to).Run() // a file may go meanwhile
	identity, err := os.ReadFile(filepath.Join(to, "host"))
	if err != nil {
		return err
	}
	identity = regexp.MustCompile(`"machine":"[^"]*"`).ReplaceAll(identity, []byte(`"machine":"0123456789abcdef0123456789abcdef"`))
	if err := os.WriteFile(filepath.Join(to, "host"), identity, 0o600); err != nil {
		return err
	}
	if out, err := s.command(s.Context(), at, "run", "--category", "code").CombinedOutput(); err == nil || !bytes.Contains(out, []byte("was copied from another host")) {
		return fmt.Errorf("a session on a copied machine: %w: %s", err, out)
	}
	if out, err := s.stint(at, "host", "adopt"); err != nil {
		return fmt.Errorf("adopt: %w: %s", err, out)
	}
	close(s.cloned)
	return errors.Join(s.take(at), s.noLoss())
}

// promote has a standby that has everything take the server's place: a machine has written that it has.
func (s *hostsStorm) promote() error {
	s.met[faultPromote].Add(1)
	old := s.cluster
	err := old.Set("synchronous_standby_names", "*")
	s.cluster = s.after()
	return errors.Join(err, s.cluster.Follows(old), s.take(0), old.Stop(), s.cluster.Promote(), s.depose(old), s.noLoss())
}

// noLoss checks that no machine believes that the store has lost a write: epochs would have leapt.
func (s *hostsStorm) noLoss() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for epoch := range s.epochs {
		if epoch > epochLeap {
			return fmt.Errorf("epoch %d: the store has lost nothing yet", epoch)
		}
	}
	return nil
}

// lose has a standby that lags take the server's place.
func (s *hostsStorm) lose() error {
	s.met[faultLose].Add(1)
	old := s.cluster
	s.cluster = s.after()
	if err := errors.Join(s.cluster.Follows(old), s.cluster.CutOff(), s.take(0)); err != nil {
		return err
	}
	err := s.loses(func() error { return errors.Join(old.Stop(), s.cluster.Promote()) })
	return errors.Join(err, s.depose(old))
}

// after is the server that repeats the one that takes writes.
func (s *hostsStorm) after() *pgtest.Cluster { return s.servers[slices.Index(s.servers, s.cluster)+1] }

// restore has the server go on from a backup, as a person does: no machine gets there before one of them was asked
// to accept that.
func (s *hostsStorm) restore() error {
	s.met[faultRestore].Add(1)
	if err := errors.Join(s.cluster.Stop(), s.cluster.Backup(), s.cluster.Start(), s.take(0)); err != nil {
		return err
	}
	err := s.loses(func() error {
		for _, ways := range s.ways {
			for _, way := range ways {
				way.Cut()
			}
		}
		defer s.heal()
		err := errors.Join(s.cluster.Stop(), s.cluster.Restore(), s.cluster.Start())
		for _, way := range s.ways[0] {
			way.Heal()
		}
		return errors.Join(err, s.accept())
	})
	return errors.Join(err, s.meet())
}

// accept has a person accept the restored store, again if it gave no answer in time.
func (s *hostsStorm) accept() (err error) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		out, accepted := s.command(s.Context(), 0, "store", "accept", "--restored").CombinedOutput()
		if accepted == nil {
			return nil
		}
		err = fmt.Errorf("accept: %w: %s", accepted, out)
	}
	return err
}

// loses has the store lose what was written of late, between two calls of the callers.
func (s *hostsStorm) loses(turn func() error) error {
	s.past.Lock()
	defer s.past.Unlock()
	s.lost++
	return turn()
}

// depose starts the old server again once every machine has written to the new one: a machine that
// has not cannot know better.
func (s *hostsStorm) depose(old *pgtest.Cluster) error { return errors.Join(s.meet(), old.Start()) }

// meet has every machine write.
func (s *hostsStorm) meet() error {
	errs := make([]error, len(s.configs))
	var all sync.WaitGroup
	for i := range s.configs {
		all.Go(func() { errs[i] = s.take(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// take has a machine take the key of them all, as soon as it gets it: its epochs are all different.
func (s *hostsStorm) take(host int) error {
	var said []byte
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		out, err := s.command(s.Context(), host, "claim", "take", "all", "--json", "--ttl", "100ms", "--holder", fmt.Sprintf("h%d.%d", host, time.Now().UnixNano())).CombinedOutput()
		if said = out; err != nil {
			continue
		}
		if a := parseStormAnswer(out); a.Status == "granted" {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.epochs[a.Epoch] {
				s.Errorf("epoch %d was granted twice", a.Epoch)
			}
			s.epochs[a.Epoch] = true
			return nil
		}
	}
	return fmt.Errorf("machine %d got no claim: %s", host, said)
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
		s.frozen.Store(parts[1], machine.Elapsed())
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
		for i := range s.configs {
			_, _ = s.stint(i, "reap") // says what was left
		}
		// A run that never began is closed once its unit's time is over.
		open = slices.DeleteFunc(s.runs(), func(r stormRun) bool { return r.EndedAt != "" || r.StartedAt == "" })
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
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = exit.Stderr
		}
		s.Fatalf("%v: %s", err, out)
	}
	return told.Runs
}

func (s *hostsStorm) stint(host int, args ...string) ([]byte, error) {
	return s.command(s.Context(), host, args...).Output()
}

// check looks at the claims, the record and the beats of all agents.
func (s *hostsStorm) check() {
	s.Helper()
	s.judge()
	met := make([]int64, faults)
	for i := range met {
		if met[i] = s.met[i].Load(); met[i] == 0 && i < faultClone {
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
	said := must.Get(filepath.Glob(filepath.Join(s.dir, "beats", "said.*")))(s)
	gone := 0
	for _, path := range said {
		run := strings.TrimPrefix(filepath.Base(path), "said.")
		if _, there := ended[run]; !there && s.lost > 0 {
			gone++ // with the store's last words
		} else if ended[run] != "productive" {
			s.Errorf("run %s said that it was productive, and is %q on record", run, ended[run])
		}
	}
	s.audit()
	beats := s.beats()
	s.Logf("%d sessions had an agent, %d workers were killed, %d sessions said productive, of which the store lost %d; faults %v; outcomes %v; answers %v",
		len(beats), s.killed.Load(), s.worked.Load(), gone, met, outcomes, s.answers)
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
		agents := must.Get(filepath.Glob(filepath.Join(s.dir, "beats", "*."+o.Run+".*.*")))(s)
		if _, froze := s.frozen.Load(o.Run); !froze && len(agents) > 0 { // a session may be slow to end before it has an agent
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
	files := must.Get(filepath.Glob(filepath.Join(s.dir, "beats", "*.*.*.*")))(s)
	for _, path := range files {
		parts := strings.Split(filepath.Base(path), ".")
		text := must.Get(os.ReadFile(path))(s)
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
	for end := machine.Elapsed() + length; machine.Elapsed() < end; <-tick.C {
		if os.Getppid() != parent {
			os.Exit(1)
		}
		if _, err := fmt.Fprintln(f, int64(machine.Elapsed())); err != nil {
			return err
		}
	}
	return nil
}
