package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
)

// installed is agents of which only some are installed. It notes what was run.
type installed struct {
	programs []string
	ran      *[]string
	agent
}

func (i installed) Find(program string, _ []string, _ string) error {
	if !slices.Contains(i.programs, program) {
		return fleet.ErrNotFound
	}
	return nil
}

func (i installed) Run(ctx context.Context, s fleet.SessionSpec) (fleet.SessionExit, error) {
	*i.ran = append(*i.ran, s.Argv[0])
	return i.agent.Run(ctx, s)
}

const twoAgents = `
[agent.other]
command = ["other"]
[category.code]
agents = ["fake", "other"]
lanes = 3
cooldown = "0s"
[category.docs]
agents = ["fake"]
`

func TestNextAgentIsUsed(t *testing.T) {
	t.Parallel()
	both := []string{"fake", "other"}
	tests := []struct {
		name      string
		config    string
		installed []string
		asked     string
		before    func(*bench)
		want      string // the agent at work; empty: it was refused
		reason    string
	}{
		{"preferred", "", both, "", nil, "fake", ""},
		{"asked for", "", both, "other", nil, "other", ""},
		{"not installed", "", both[1:], "", nil, "other", ""},
		{"none installed", "", nil, "", nil, "fake", ""},
		{"out of quota", "", both, "", func(b *bench) { b.meetWall("fake") }, "other", ""},
		{"both out of quota", "", both, "", func(b *bench) { b.meetWall("fake"); b.meetWall("other") }, "", "agent other: usage limit: enough (until 2026-06-01T15:00:00Z)"},
		{"faulty service", "", both, "", func(b *bench) { b.meetFault("fake") }, "other", ""},
		{
			"out of quota, and a faulty service", "", both, "", func(b *bench) { b.meetWall("fake"); b.meetFault("other") }, "",
			"agent fake: usage limit: enough (until 2026-06-01T15:00:00Z); agent other: login expired (until ",
		},
		{"out of quota, other not installed", "", both[:1], "", func(b *bench) { b.meetWall("fake") }, "", "agent fake: usage limit"},
		{"asked for, out of quota", "", both, "fake", func(b *bench) { b.meetWall("fake") }, "", "agent fake: usage limit"},
		{"out of slots", "[agent.fake]\nslots = 1", both, "", func(b *bench) { b.dead("docs", "write") }, "other", ""},
		{"out of budget", "[agent.fake.budget]\nruns = 1", both, "", func(b *bench) {
			b.session("0r1", "docs", "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Noop}})
		}, "other", ""},
		{"fleet out of budget", "[budget]\nruns = 1", both, "", func(b *bench) {
			b.session("0r1", "docs", "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Noop}})
		}, "", "budget of fleet: 1 of 1 runs today"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, strings.TrimPrefix(tt.config, "[agent.fake]\n")+"\n"+twoAgents)
			b.addTask("fix", "code", fleet.StateTodo)
			if tt.before != nil {
				tt.before(b)
			}
			var ran []string
			there := installed{tt.installed, &ran, says(`{"outcome":"nothing"}`)}
			b.Agents, b.Runner = there, there
			r, err := b.Run(t.Context(), engine.RunOptions{Category: "code", Agent: tt.asked})
			if tt.want == "" {
				if outcome(err) != fleet.Quota || !strings.Contains(r.Verdict.Reason, tt.reason) || ran != nil || r.Epoch != 0 {
					t.Errorf("got %v, %+v, ran %v, want it refused: %s", err, r, ran, tt.reason)
				}
				return
			}
			if err != nil || !slices.Equal(ran, []string{tt.want}) || r.Agent != tt.want {
				t.Errorf("got %v by %q in the row, %v, want %q", ran, r.Agent, err, tt.want)
			}
		})
	}
}

// TestWallKeepsOthersAway has one session meet a usage limit: nobody else tries until it
// is over, and all say why.
func TestWallKeepsOthersAway(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	for _, c := range b.Config.CategoryNames() {
		b.addTask("task-"+string(c), c, fleet.StateTodo)
	}
	b.meetWall("fake")
	const reason = "agent fake: usage limit: enough (until 2026-06-01T15:00:00Z)"
	if out := b.explained().Out; out != reason {
		t.Errorf("got code out for %q, want %q", out, reason)
	}
	r, err := b.fire(engine.FanoutOptions{})
	if !errors.Is(err, fleet.ErrNothing) || len(r.Choices) != 3 {
		t.Errorf("got %+v, %v, want nothing started", r.Choices, err)
	}
	for _, c := range r.Choices {
		if c.Reason != reason {
			t.Errorf("%s: got %q, want %q", c.Category, c.Reason, reason)
		}
	}
	b.later(3 * time.Hour)
	if r, err := b.fire(engine.FanoutOptions{}); err != nil || r.Count(fleet.Spawn) != 3 {
		t.Errorf("after it: got %+v, %v, want three started", r.Choices, err)
	}
}

// TestRankingAndClaimAgree has whatever would be refused be left out before.
func TestRankingAndClaimAgree(t *testing.T) {
	t.Parallel()
	used := func(tokens int64, usd float64) fleet.Run {
		return fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Nothing}, Usage: fleet.Usage{Tokens: &tokens, USD: &usd}}
	}
	tests := []struct {
		name   string
		config string
		before func(*bench)
		ends   fleet.Outcome // of a session that starts all the same; empty: quota
	}{
		{"tokens left, but fewer than it takes", "[budget]\ntokens = 15", func(b *bench) { b.session("0r1", "docs", "fake", used(10, 0)) }, ""},
		{"money left, but less than it takes", "[category.code.budget]\nusd = 1.5", func(b *bench) { b.session("0r1", "code", "fake", used(0, 1)) }, ""},
		{"a budget that no second session fits in", "[category.code.budget]\ntokens = 9", func(b *bench) { b.session("0r1", "code", "fake", used(5, 0)) }, ""},
		{"runs", "[agent.fake.budget]\nruns = 1", func(b *bench) { b.session("0r1", "docs", "fake", used(10, 0)) }, ""},
		{"slots", "slots = 1", func(b *bench) { b.dead("docs", "write") }, fleet.Busy},
		{"breaker", "", func(b *bench) {
			for i := range fleet.FailuresToOpen {
				c := []fleet.Category{"docs", "code"}[i%2]
				b.session(fleet.RunID(fmt.Sprint("0r", i)), c, "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Failed}})
			}
		}, fleet.Unavailable},
		{"fault of its service", "", func(b *bench) { b.meetFault("fake") }, fleet.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.config+"\n[category.code]\ncooldown = \"0s\"\n[category.docs]\n")
			b.addTask("fix", "code", fleet.StateTodo)
			if out := b.explained().Out; out != "" {
				t.Errorf("before: got code out for %q", out)
			}
			tt.before(b)
			out := b.explained().Out
			r, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
			if outcome(err) != cmp.Or(tt.ends, fleet.Quota) || out == "" || r.Verdict.Reason != out {
				t.Errorf("got code out for %q, and its session %q (%v)", out, r.Verdict.Reason, err)
			}
		})
	}
}

// TestProbeThatIsKilled has the one session that tries an agent die: the next fire sweeps
// it up and lets another try.
func TestProbeThatIsKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	for i := range fleet.FailuresToOpen {
		c := []fleet.Category{"triage", "docs"}[i%2]
		b.session(fleet.RunID(fmt.Sprint("0r", i)), c, "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Failed, Reason: "no login"}})
	}
	b.later(30 * time.Minute)
	probe, lock := b.dead("docs", "write")
	if out, want := b.explained().Out, fmt.Sprintf("agent fake: it failed 5 times in a row, and run %s tries it", probe.ID); out != want {
		t.Errorf("beside the probe: got %q, want %q", out, want)
	}
	b.closeAll(lock)
	if r, err := b.fire(engine.FanoutOptions{}); err != nil || r.Count(fleet.Spawn) != 1 {
		t.Errorf("after its death: got %+v, %v, want one started", r.Choices, err)
	}
}

func TestTaskThatWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\ncooldown = \"0s\"\n")
	b.addTask("fix", "code", fleet.StateActive)
	b.Runner = says(`{"outcome":"failed","reason":"it does not build"}`)
	for range fleet.FailuresToWait {
		if r, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); outcome(err) != fleet.Failed || r.Task != "fix" {
			t.Fatalf("got %+v, %v, want a failed session", r, err)
		}
	}
	const reason = "waiting for a person: 3 sessions failed at it, last: it does not build"
	s, err := b.explain().Select(t.Context(), inspect.SelectOptions{})
	if err != nil || len(s.Blocked) != 1 || s.Blocked[0].Reason != reason {
		t.Errorf("got %+v, %v, want the task blocked: %s", s.Blocked, err, reason)
	}
	r, err := b.Run(t.Context(), engine.RunOptions{Category: "code", Task: "fix"})
	if outcome(err) != fleet.Idle || !strings.Contains(r.Verdict.Reason, reason) {
		t.Errorf("asked for: got %+v, %v, want it idle: %s", r.Verdict, err, reason)
	}
	if found, err := b.db.Retry(t.Context(), "fix"); !found || err != nil {
		t.Errorf("retry: got %v, %v", found, err)
	}
	if r, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); outcome(err) != fleet.Failed || r.Task != "fix" {
		t.Errorf("after the retry: got %+v, %v, want another session", r, err)
	}
}
