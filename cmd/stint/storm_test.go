package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// stormSize is the size of the storm. STINT_STORM=full asks for all of it.
type stormSize struct{ processes, keys, calls, openings int }

func stormSizeAsked() stormSize {
	if os.Getenv("STINT_STORM") == "full" {
		return stormSize{processes: 100, keys: 50, calls: 60, openings: 500}
	}
	return stormSize{processes: 16, keys: 4, calls: 20, openings: 5}
}

// storm is a fleet whose claims many processes fight over.
type storm struct {
	*testing.T
	configs  []string        // of the machines
	ahead    []time.Duration // how far the clocks of the machines are off; none: the program is as it is
	turns    bool            // each process has one of these clocks
	begun    time.Time
	machines int // that clients are on, the first ones
	keys     int
	faults   bool // a call may fail, which says nothing of what it did

	late time.Duration // how long a fault may hold what a process has sent before its death; 0: nothing holds it

	length pace // of a call

	past sync.RWMutex // a call goes by one past of the store
	lost int          // how often the store has lost writes: from then on the keys are others

	mu      sync.Mutex
	killed  int
	failed  int
	history map[string][]porcupine.Operation // by key
	answers map[string]int                   // by status
}

func newStorm(t *testing.T, keys int) *storm {
	t.Helper()
	dir := t.TempDir()
	storekit.Keep(t, dir)
	s := &storm{
		T: t, configs: []string{filepath.Join(dir, "stint.toml")}, begun: time.Now(), machines: 1, keys: keys,
		history: map[string][]porcupine.Operation{}, answers: map[string]int{},
	}
	config := fmt.Sprintf("fleet = \"storm\"\nstate = %q\n[agent.a]\ncommand = [\"true\"]\n[category.code]\n", filepath.Join(dir, "state"))
	must.Do(t, os.WriteFile(s.configs[0], []byte(config), 0o600))
	return s
}

// TestStorm has many processes claim, renew and give back few keys, kills some of them
// at random, and checks that one store that does one thing at a time can have given all the
// answers.
func TestStorm(t *testing.T) {
	t.Parallel()
	size := stormSizeAsked()
	newStorm(t, size.keys).blows(size)
}

// TestStormClocks is [TestStorm] with clocks that are set again and again: each second process finds its own two hours
// off. Before, one has used the store since the machine's start.
func TestStormClocks(t *testing.T) {
	t.Parallel()
	size := stormSizeAsked()
	s := newStorm(t, size.keys)
	s.ahead = []time.Duration{0}
	s.call("before", stormCall{Kind: "take", Holder: "p0", TTL: 1000}, 0, 0)
	s.ahead, s.turns = []time.Duration{0, 2 * time.Hour, 0, -2 * time.Hour}, true
	s.blows(size)
}

func (s *storm) blows(size stormSize) {
	s.Helper()
	var clients sync.WaitGroup
	for i := range size.processes {
		clients.Go(func() { s.client(s.Context(), i, size.calls) })
	}
	clients.Wait()
	s.Logf("%d killed of %d; answers: %v", s.killed, size.processes*size.calls, s.answers)
	for _, status := range []string{"", "granted", "denied", "released"} {
		if s.answers[status] == 0 {
			s.Errorf("no call was answered %q: that was no storm", status)
		}
	}
	s.judge()
}

// judge checks that the answers about each key can be those of a store that does one thing at a time.
func (s *storm) judge() {
	s.Helper()
	for _, key := range slices.Sorted(maps.Keys(s.history)) {
		if got := stormVerdict(s.history[key]); got != porcupine.Ok {
			s.Errorf("%s: %s, want %s", key, got, porcupine.Ok)
			for _, o := range s.history[key] {
				s.Logf("%+v: %+v", o.Input, o.Output)
			}
		}
	}
}

// pace is the time that something takes on this machine under its load. A process that is to
// be killed is killed after a part of that: on a slow machine as late in its work as on a fast one.
type pace struct {
	mu   sync.Mutex
	mean time.Duration
}

// note has a length count for a quarter.
func (p *pace) note(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		p.mean = d
	}
	p.mean += (d - p.mean) / 4
}

// long is more than nearly all take.
func (p *pace) long() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return 4 * p.mean
}

// part is a random part of it.
func (p *pace) part(chance *rand.Rand) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(chance.Float64() * float64(p.mean))
}

// client makes calls under a name of its own, one process each, and goes by the answers on its
// holds, until it has made them all or the time for them is up.
func (s *storm) client(ctx context.Context, i, calls int) {
	chance := rand.New(rand.NewPCG(3, uint64(i)))
	holder := fmt.Sprintf("p%d", i)
	holds, lost := map[string]int64{}, 0
	for range calls {
		if ctx.Err() != nil {
			return
		}
		s.past.RLock()
		if s.lost > lost {
			holds, lost = map[string]int64{}, s.lost
		}
		key := fmt.Sprintf("k%d.%d", lost, chance.IntN(s.keys))
		if held := slices.Sorted(maps.Keys(holds)); len(held) > 0 && chance.IntN(3) > 0 {
			key = held[chance.IntN(len(held))]
		}
		c := stormCall{Kind: "take", Holder: holder}
		if epoch := holds[key]; epoch > 0 || chance.IntN(5) == 0 {
			c.Kind = []string{"take", "renew", "release", "release", "check", "verify"}[chance.IntN(6)]
			if c.Kind != "take" { // which renews whatever the holder has
				c.Epoch = max(int64(lost)*epochLeap+1, epoch)
			}
		}
		if c.Kind == "take" || c.Kind == "renew" {
			c.TTL = []int64{100, 1000, 60_000}[chance.IntN(3)]
		}
		ending, after := chance.IntN(3), time.Duration(0)
		if chance.IntN(4) == 0 {
			after = s.length.part(chance)
		}
		switch a := s.call(key, c, ending, after); a.Status {
		case "granted", "renewed":
			holds[key] = a.Epoch
		case "released", "lost", "denied", "free":
			delete(holds, key)
		}
		s.past.RUnlock()
	}
}

// command is the program on a machine.
func (s *storm) command(ctx context.Context, machine int, args ...string) *exec.Cmd {
	args = append([]string{"--config", s.configs[machine]}, args...)
	if s.ahead == nil {
		return exec.CommandContext(ctx, "stint", args...)
	}
	off := s.ahead[machine]
	if s.turns {
		off = s.ahead[rand.IntN(len(s.ahead))]
	}
	cmd := exec.CommandContext(ctx, "crashstint", args...)
	cmd.Env = append(os.Environ(), crashClock+"="+off.String())
	return cmd
}

// args are the command line of a call.
func (c stormCall) args(key string, ending int) []string {
	args := []string{"claim", c.Kind, key, "--json"}
	if c.Kind != "check" && c.Kind != "verify" {
		args = append(args, "--holder", c.Holder)
	}
	if c.TTL > 0 {
		args = append(args, "--ttl", strconv.FormatInt(c.TTL, 10)+"ms")
	}
	if c.Epoch > 0 && c.Kind != "take" && c.Kind != "check" {
		args = append(args, "--epoch", strconv.FormatInt(c.Epoch, 10))
	}
	if c.Kind == "release" {
		args = append(args, []string{"--reason=given back", "--done", "--abandoned"}[ending])
	}
	return args
}

// call runs one process, kills it after a time that is not 0, and records its answer.
func (s *storm) call(key string, c stormCall, ending int, after time.Duration) stormAnswer {
	var stdout, stderr bytes.Buffer
	client, _ := strconv.Atoi(c.Holder[1:])
	cmd := s.command(s.Context(), client%s.machines, c.args(key, ending)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Since(s.begun)
	if err := cmd.Start(); err != nil {
		s.Error(err)
		return stormAnswer{}
	}
	if after > 0 {
		defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop() // It may be gone already.
	}
	_ = cmd.Wait()
	ended := time.Since(s.begun)
	s.mu.Lock()
	defer s.mu.Unlock()
	var a stormAnswer
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		s.killed++ // Nothing that it did to a file comes later than its death.
	} else if s.faults && cmd.ProcessState.ExitCode() == 1 {
		s.failed++
	} else if a = parseStormAnswer(stdout.Bytes()); cmd.ProcessState.ExitCode() != stormExit(c.Kind, a.Status) || strings.Contains(stderr.String(), "locked") {
		s.Errorf("%v: status %d\n%s%s", cmd.Args, cmd.ProcessState.ExitCode(), &stdout, &stderr)
	}
	if a.Status != "" {
		s.length.note(ended - began)
	}
	s.answers[a.Status]++
	origin := s.begun.UnixMilli()
	c.Window = span{origin + began.Milliseconds() - 1, origin + ended.Milliseconds() + 2} // The store counts in milliseconds.
	c.Epoch %= epochLeap
	seen := a
	seen.Epoch %= epochLeap
	op := porcupine.Operation{ClientId: client, Input: c, Output: seen, Call: int64(began), Return: int64(ended)}
	if tardy := op; a.Status == "" && s.late > 0 && (c.TTL > 0 || c.Kind == "release") {
		late := s.late + s.length.long() // then the server has to do it
		c.Window.Hi += late.Milliseconds()
		tardy.Input, tardy.Return = c, int64(ended+late)
		tardy.ClientId = client + 1000*(4+len(s.history[key])) // which goes on meanwhile
		s.history[key] = append(s.history[key], tardy)
	} else {
		s.history[key] = append(s.history[key], op)
	}
	if s.faults && (c.TTL > 0 || c.Kind == "release") { // what never got an answer was repeated: each try may have done it
		op.Output = stormAnswer{}
		for n := range 3 {
			op.ClientId = client + 1000*(n+1)
			s.history[key] = append(s.history[key], op)
		}
	}
	return a
}

// epochLeap is the step of epochs at each loss of writes. A key is of one past of the store: there the first
// grant is 1, or as much higher.
const epochLeap = 1_000_000

// stormExit is the exit status that goes with an answer.
func stormExit(kind, status string) int {
	switch status {
	case "held":
		return map[string]int{"check": 4}[kind]
	case "granted", "renewed", "released", "free":
		return 0
	case "lost":
		return 5
	case "denied":
		return 4
	}
	return -1
}

// parseStormAnswer reads an answer; times are exact to the second.
func parseStormAnswer(data []byte) stormAnswer {
	var told struct {
		Status, Holder string
		Epoch          int64
		AcquiredAt     time.Time `json:"acquired_at"`
		ExpiresAt      time.Time `json:"expires_at"`
	}
	if json.Unmarshal(data, &told) != nil {
		return stormAnswer{Status: "garbage"}
	}
	second := func(t time.Time) span { return span{t.UnixMilli(), t.UnixMilli() + 999} }
	return stormAnswer{told.Status, told.Holder, told.Epoch, second(told.AcquiredAt), second(told.ExpiresAt)}
}
