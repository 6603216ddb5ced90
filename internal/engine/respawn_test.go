package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/survey"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// timers notes what is to be started later, or refuses to.
type timers struct {
	refusal error
	specs   []fleet.UnitSpec
	delays  []time.Duration
	wakes   []string // what is to fire, and when
}

func (s *timers) StartAfter(_ context.Context, spec fleet.UnitSpec, delay time.Duration) error {
	s.specs, s.delays = append(s.specs, spec), append(s.delays, delay)
	return s.refusal
}

func (s *timers) FireAt(_ context.Context, timer string, at time.Time) error {
	s.wakes = append(s.wakes, timer+" "+at.UTC().Format(time.RFC3339))
	return s.refusal
}

const good = `{"outcome":"productive","grade":0.8}`

// chain is a fleet of which a fire has planned a session in code, where good ones are
// followed.
func chain(t *testing.T, config string) (b *bench, later *timers, id fleet.RunID) {
	t.Helper()
	b, later = newBench(t, config), &timers{}
	b.Later = later
	b.Runner = says(good)
	b.addTask("fix", "code", fleet.StateTodo)
	r := must.Get(b.fire(engine.FanoutOptions{Payload: []byte(`{"selected":{"category":"code"}}`), Workers: 1}))(t)
	return b, later, b.runOf(r, "code")
}

// mustRun runs a planned session that must go well.
func (b *bench) mustRun(id fleet.RunID) fleet.Run {
	b.Helper()
	r := must.Get(b.Run(b.Context(), engine.RunOptions{Run: id, Binary: "/usr/bin/stint"}))(b)
	return r
}

// follower is the run that follows another.
func (b *bench) follower(r fleet.Run) fleet.Run {
	b.Helper()
	if r.FollowedBy == "" {
		b.Fatalf("no session follows: %q", r.Followed)
	}
	return b.stored(r.FollowedBy)
}

// explained returns the ranking's candidate for code.
func (b *bench) explained() rank.Candidate {
	b.Helper()
	s := must.Get(b.explain().Select(b.Context(), inspect.SelectOptions{}))(b)
	for _, c := range s.Candidates {
		if c.Category == "code" {
			return c
		}
	}
	b.Fatal("code is not explained")
	return rank.Candidate{}
}

func TestGoodSessionIsFollowedOnce(t *testing.T) {
	t.Parallel()
	b, later, id := chain(t, threeCategories)
	b.later(time.Second)
	first := b.mustRun(id)
	next := b.follower(first)
	if want := fmt.Sprintf("by run %s: its grade 0.80 is at least 0.65", next.ID); first.Following() != want {
		t.Errorf("followed: got %q, want %q", first.Following(), want)
	}
	unit := later.specs[0]
	want := fleet.Run{
		ID: next.ID, Fire: first.Fire, Category: "code", Rank: first.Rank, ChainDepth: 1, Source: fleet.FromRespawn,
		Unit: fleet.UnitName("bob", "code", next.ID), Agent: "fake", CreatedAt: b.clock(), NotBefore: b.clock().Add(3 * time.Minute),
		Limit: survey.StartGrace + unit.RuntimeMax + unit.StopTimeout, // another host may not close it while its unit can be there
	}
	must.Equal(t, "next run", next, want, cmpopts.EquateEmpty())
	if len(later.specs) != 1 || later.specs[0].Name != next.Unit || later.delays[0] != 3*time.Minute {
		t.Errorf("got timers for %+v after %v, want one for %s after its rest", later.specs, later.delays, next.Unit)
	}

	b.later(3 * time.Minute)
	second := b.mustRun(next.ID)
	if second.Followed != "a chain ends after 1 more" || len(later.specs) != 1 {
		t.Errorf("after the second: got %q and timers %+v, want the end of the chain", second.Followed, later.specs)
	}
	if out := b.explained().Out; !strings.HasPrefix(out, "cooldown") {
		t.Errorf("got code out for %q, want fires to go on once it has rested", out)
	}
}

// TestChainEndsAcrossDeaths has each session of a chain run by a process of its own,
// which knows nothing but the store.
func TestChainEndsAcrossDeaths(t *testing.T) {
	t.Parallel()
	b, later, id := chain(t, "[category.code]\nmax_chain = 3\ncooldown = \"1s\"\n[selector]\ncap = 0\n")
	for depth := range 4 {
		r := b.mustRun(id)
		if r.ChainDepth != depth {
			t.Errorf("depth: got %d, want %d", r.ChainDepth, depth)
		}
		if depth < 3 {
			b.later(time.Second)
			id = b.follower(r).ID
		}
	}
	if len(later.specs) != 3 {
		t.Errorf("got %d timers, want 3", len(later.specs))
	}
}

func TestSessionIsNotFollowed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config string
		before func(*bench)
		result string
		want   string // part of what is recorded; empty: nothing
	}{
		{"no grade", "[category.code]", nil, `{"outcome":"noop"}`, ""},
		{"asked never to be", "[category.code]\nmax_chain = 0", nil, good, ""},
		{"a low grade", "[category.code]", nil, `{"outcome":"productive","grade":0.64}`, "its grade 0.64 is below 0.65"},
		{"below another bar", "[category.code]\nrespawn = 0.9", nil, good, "its grade 0.80 is below 0.90"},
		{"no task left", "[category.code]", nil, `{"outcome":"productive","grade":0.8,"task_state":"done"}`, "no workable task"},
		{"paused", "[category.code]", func(b *bench) {
			if err := b.db.Pause(b.Context(), fleet.Pause{Category: "code", Reason: "lunch"}); err != nil {
				b.Error(err)
			}
		}, good, "paused: lunch"},
		{"fleet paused", "[category.code]", func(b *bench) {
			if err := b.db.Pause(b.Context(), fleet.Pause{Reason: "lunch"}); err != nil {
				b.Error(err)
			}
		}, good, "paused: the whole fleet, lunch"},
		{"out of budget", "[category.code.budget]\nruns = 1", nil, good, "budget of category:code: 1 of 1 runs today"},
		{"out of quota", "[category.code]\nlanes = 2", func(b *bench) { b.meetWall("fake") }, good, "agent fake: usage limit: enough (until 2026-06-01T15:00:00Z)"},
		{"over its cap", "[category.code]\n[category.docs]\n[selector]\ncap = 1.0", func(b *bench) {
			b.addTask("more", "code", fleet.StateTodo)
			for i := range 5 {
				b.session(fleet.RunID(fmt.Sprint("0past", i)), "code", "fake", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Nothing}})
			}
		}, good, "sessions over its cap"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, later, id := chain(t, tt.config+"\n")
			b.Runner = agent(func(context.Context, fleet.SessionSpec) fleet.SessionExit {
				if tt.before != nil { // while it works
					tt.before(b)
				}
				return fleet.SessionExit{End: fleet.Exited, Result: []byte(tt.result)}
			})
			r := b.mustRun(id)
			if r.Followed != tt.want && (tt.want == "" || !strings.Contains(r.Followed, tt.want)) {
				t.Errorf("got %q, want %q", r.Followed, tt.want)
			}
			runs, err := storekit.RunsSince(t.Context(), b.db, r.CreatedAt)
			if err != nil || len(later.specs) != 0 || runs[len(runs)-1].Source == fleet.FromRespawn {
				t.Errorf("got timers %+v and runs %+v (%v), want nothing planned", later.specs, runs, err)
			}
		})
	}
}

func TestSessionByHandIsNotFollowed(t *testing.T) {
	t.Parallel()
	b, later, _ := chain(t, "[category.code]\nlanes = 2\n")
	r, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
	if err != nil || len(later.specs) != 0 || r.Followed != "it ran without a service manager, which would start the next" {
		t.Errorf("got %q and timers %+v (%v), want nothing planned", r.Followed, later.specs, err)
	}
}

// session records a session that is over.
func (b *bench) session(id fleet.RunID, c fleet.Category, agent string, end fleet.Run) {
	b.Helper()
	r := fleet.Run{ID: id, Category: c, Source: fleet.FromHand, Agent: agent, CreatedAt: b.clock()}
	key := fleet.Key("task of " + id)
	err := b.db.AddRun(b.Context(), r)
	if err == nil {
		_, _, err = storekit.TakeForRun(b.Context(), b.db, storekit.RunTake{TakeRequest: store.TakeRequest{Key: key, Holder: id.Holder(), TTL: time.Hour}, Run: id})
	}
	must.Do(b, err)
	end.ID, end.Category, end.Agent, end.Key, end.Epoch = id, c, agent, key, 1
	must.Do(b, b.db.Complete(b.Context(), end))
}

// meetWall has an agent meet a usage limit for three hours.
func (b *bench) meetWall(agent string) {
	b.Helper()
	b.session(fleet.RunID("0wall"+agent), "docs", agent, fleet.Run{
		Verdict: fleet.Verdict{Outcome: fleet.Quota, Reason: "enough"}, QuotaUntil: b.clock().Add(3 * time.Hour),
	})
}

// meetFault has an agent's login expire.
func (b *bench) meetFault(agent string) {
	b.Helper()
	b.session(fleet.RunID("0fault"+agent), "docs", agent, fleet.Run{
		Verdict: fleet.Verdict{Outcome: fleet.Unavailable, Reason: "login expired", Fault: fleet.FaultLogin},
	})
}

// TestRestingRun has a session that waits to follow another take a lane and a slot: when it
// begins, no more than the slots run.
func TestRestingRun(t *testing.T) {
	t.Parallel()
	b, _, id := chain(t, "[fanout]\nslots = 1\n[category.code]\n[category.docs]\n")
	b.addTask("write", "docs", fleet.StateTodo)
	next := b.follower(b.mustRun(id))
	if r, err := b.fire(engine.FanoutOptions{}); !errors.Is(err, fleet.ErrNothing) || !strings.Contains(r.Choices[0].Reason, "no slot free") {
		t.Errorf("got %+v, %v, want docs left without a slot", r.Choices, err)
	}
	if out := b.explained().Out; out != fmt.Sprintf("lane busy: run %s", next.ID) {
		t.Errorf("got code out for %q, want it busy with run %s", out, next.ID)
	}
	b.later(3 * time.Minute)
	if r := b.mustRun(next.ID); r.Verdict.Outcome != fleet.Productive {
		t.Errorf("got %+v, want it to run in its own slot", r.Verdict)
	}
}

// TestNoSlotForOneMore has the slot that a session leaves be taken before one could follow it.
func TestNoSlotForOneMore(t *testing.T) {
	t.Parallel()
	b, later, id := chain(t, "[fanout]\nslots = 1\n[category.code]\n[category.docs]\n")
	must.Do(t, b.db.AddRun(t.Context(), fleet.Run{ID: "0other", Category: "docs", Source: fleet.FromHand, Agent: "fake", CreatedAt: b.clock()}))
	if r := b.mustRun(id); r.Followed != "no slot free" || len(later.specs) != 0 {
		t.Errorf("got %q and timers %+v, want nothing planned", r.Followed, later.specs)
	}
}

// TestTimerThatIsGone has a run that is to follow never begin, as is known long before its
// category has rested: its lane and its slot are free at once, and the next reaping closes it.
func TestTimerThatIsGone(t *testing.T) {
	t.Parallel()
	b, _, id := chain(t, "[fanout]\nslots = 1\n[category.code]\n[category.docs]\n")
	next := b.follower(b.mustRun(id))
	state := func() fleet.RunState {
		t.Helper()
		d := must.Get(b.explain().RunDetail(t.Context(), next.ID))(t)
		return d.State
	}
	if got := state(); got != fleet.RunWaiting {
		t.Errorf("got it %s, want it waiting", got)
	}
	b.untimed = next.ID
	if got := state(); got != fleet.RunCrashed {
		t.Errorf("without its timer: got it %s, want it crashed", got)
	}
	if out := b.explained().Out; strings.HasPrefix(out, "lane busy") {
		t.Errorf("got code out for %q, want its lane free", out)
	}
	if reaped := b.reap(); len(reaped) != 1 || reaped[0].Run.ID != next.ID || reaped[0].Reason != "the timer that was to start it is gone" {
		t.Errorf("got %+v, want run %s closed", reaped, next.ID)
	}
}

// full are gates that are closed.
type full map[fleet.Category]string

func (f full) Full(context.Context) (map[fleet.Category]string, map[fleet.Category]error) {
	return f, nil
}

// TestLookedAtAgain changes the world while a run rests that is to follow another. It is
// asked again when it begins, and ends with the reason and no grade.
func TestLookedAtAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  func(*bench)
		outcome fleet.Outcome
		want    string
	}{
		{"paused", func(b *bench) {
			if err := b.db.Pause(b.Context(), fleet.Pause{Category: "code", Reason: "lunch"}); err != nil {
				b.Error(err)
			}
		}, fleet.Cancelled, "paused: lunch"},
		{"not allowed any more", func(b *bench) { b.Config.Fanout.Allow = []fleet.Category{"docs"} }, fleet.Cancelled, rank.ReasonNotAllowed},
		{"a shorter chain", func(b *bench) {
			c := b.Config.Categories["code"]
			c.MaxChain = 0
			b.Config.Categories["code"] = c
		}, fleet.Cancelled, "a chain ends after 0 more"},
		{"fewer slots, which others have", func(b *bench) {
			b.Config.Fanout.Slots = 1
			if err := b.db.AddRun(b.Context(), fleet.Run{ID: "0other", Category: "docs", Source: fleet.FromHand, Agent: "fake", CreatedAt: b.clock()}); err != nil {
				b.Error(err)
			}
		}, fleet.Busy, "no slot free"},
		{"results that wait for review", func(b *bench) { b.Gates = full{"code": "3 results wait"} }, fleet.Busy, "3 results wait"},
		{"too little memory", func(b *bench) {
			b.Machine = func() string { return machine.Pressure{MemoryAvailable: new(int64(1 << 20))}.Refuse() }
		}, fleet.Busy, "memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, _, id := chain(t, threeCategories)
			next := b.follower(b.mustRun(id))
			b.later(3 * time.Minute)
			tt.change(b)
			graded := b.arm("code").Graded
			b.Runner = agent(func(context.Context, fleet.SessionSpec) fleet.SessionExit {
				t.Error("it ran")
				return fleet.SessionExit{End: fleet.Exited}
			})
			r, err := b.Run(t.Context(), engine.RunOptions{Run: next.ID})
			if outcome(err) != tt.outcome || !strings.Contains(r.Verdict.Reason, tt.want) || r.Verdict.Grade != nil || r.Followed != "" {
				t.Errorf("got %+v, %q, %v, want it %s: %s", r.Verdict, r.Followed, err, tt.outcome, tt.want)
			}
			if got := b.arm("code").Graded; got != graded {
				t.Errorf("got %d grades, want %d", got, graded)
			}
		})
	}
}

// TestRunThatNeverBegins is one whose timer died, with the machine or with the process that
// was to start it.
func TestRunThatNeverBegins(t *testing.T) {
	t.Parallel()
	b, _, id := chain(t, threeCategories)
	fire := b.stored(id).Fire
	next := b.follower(b.mustRun(id))
	before := must.Get(b.db.Fire(t.Context(), fire))(t)
	b.later(4*time.Minute - time.Millisecond) // its rest, and a minute's grace
	if reaped := b.reap(); reaped != nil {
		t.Errorf("closed before its time: %+v", reaped)
	}
	b.later(time.Millisecond)
	if reaped := b.reap(); len(reaped) != 1 || reaped[0].Run.ID != next.ID || reaped[0].Reason != "its worker never began" {
		t.Errorf("got %+v, want run %s closed", reaped, next.ID)
	}
	if out := b.explained().Out; out != "" {
		t.Errorf("got code out for %q, want it free", out)
	}
	after, err := b.db.Fire(t.Context(), fire)
	if diff := cmp.Diff(after, before); err != nil || diff != "" {
		t.Errorf("its fire was changed (-got +want): %v\n%s", err, diff)
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Run: next.ID}); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("begun after all: got %v, want it refused", err)
	}
}

func TestRunWhoseTimerIsRefused(t *testing.T) {
	t.Parallel()
	b, later, id := chain(t, threeCategories)
	later.refusal = errors.New("no bus")
	first := b.mustRun(id)
	runs, err := storekit.RunsSince(t.Context(), b.db, first.CreatedAt)
	if err != nil || len(runs) != 1 || first.Followed != "no bus" || first.Verdict.Outcome != fleet.Productive {
		t.Errorf("got runs %+v (%v), the first followed %q, want it alone and the reason", runs, err, first.Followed)
	}
}

// unruly is a store that decides on no session to follow.
type unruly struct{ store.Store }

func (unruly) Respawn(context.Context, fleet.RunID, *fleet.Run, string, store.Bounds) (fleet.RunID, string, error) {
	return "", "", errDisk
}

func TestDecisionThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	b, later, id := chain(t, threeCategories)
	b.Store = unruly{b.db}
	if r := b.mustRun(id); r.Verdict.Outcome != fleet.Productive || len(later.specs) != 1 || len(b.told) != 1 {
		t.Errorf("got %+v, timers %+v and runs %v kept from beginning, want a good end and the timer taken back", r.Verdict, later.specs, b.told)
	}
}

//nolint:paralleltest // a bubble's test stands alone
func TestSessionWithoutAnEndIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, later, id := chain(t, threeCategories)
		b.Store = broken{Store: b.db, applied: false}
		if _, err := b.Run(t.Context(), engine.RunOptions{Run: id}); !errors.Is(err, errDisk) {
			t.Errorf("got %v, want the store's error", err)
		}
		if r := b.stored(id); r.Followed != "" || len(later.specs) != 0 {
			t.Errorf("got %q and timers %+v of a run that is open", r.Followed, later.specs)
		}
	})
}

// slow is a workspace that is never ready.
type slow struct{ noRepo }

func (slow) Enter(ctx context.Context, _ fleet.RunID, _ fleet.Place) (fleet.Site, func(context.Context) (string, error), error) {
	<-ctx.Done()
	return fleet.Site{}, nil, ctx.Err()
}

// TestBackstopBehindTimeouts has the fetch of a sync hang. The worker gives up on it by itself,
// and its unit would have let a session begin then and take all of its time.
//
//nolint:paralleltest // a bubble's test stands alone
func TestBackstopBehindTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, later, id := chain(t, "[category.code]\nsync = true\n")
		next := b.follower(b.mustRun(id))
		b.Repo = slow{}
		b.later(3 * time.Minute)
		began := bubbleClock()
		r, err := b.Run(t.Context(), engine.RunOptions{Run: next.ID})
		if outcome(err) != fleet.Failed || !strings.Contains(r.Verdict.Reason, "prepare the workspace") {
			t.Errorf("got %+v, %v, want it given up", r.Verdict, err)
		}
		if took, rest := bubbleClock().Sub(began), b.Config.Categories["code"].Timeout; later.specs[0].RuntimeMax < took+rest+time.Minute {
			t.Errorf("got at most %v for the unit, want more than the %v that a sync may take and %v after it", later.specs[0].RuntimeMax, took, rest)
		}
	})
}

func bubbleClock() time.Time { return time.Now() } //nolint:forbidigo // a bubble has no other

// slowGate counts for as long as a command may take.
type slowGate time.Duration

func (d slowGate) Full(ctx context.Context) (map[fleet.Category]string, map[fleet.Category]error) {
	select {
	case <-time.After(time.Duration(d)):
		return map[fleet.Category]string{}, nil
	case <-ctx.Done():
		return map[fleet.Category]string{}, map[fleet.Category]error{"code": ctx.Err()}
	}
}

// slowTracker lists for as long as a command may take, once a session has ended.
type slowTracker struct {
	survey.Tasks
	takes *time.Duration
}

func (s slowTracker) List(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	select {
	case <-time.After(*s.takes):
	case <-ctx.Done():
	}
	return s.Tasks.List(ctx)
}

// TestSlowCommandsKeepNoSessionFromFollowing has who counts results and who lists tasks take nearly the time that commands
// have, after a good session.
//
//nolint:paralleltest // a bubble's test stands alone
func TestSlowCommandsKeepNoSessionFromFollowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, later, id := chain(t, threeCategories)
		var takes time.Duration
		b.Tasks = slowTracker{b.Tasks, &takes}
		b.Gates = slowGate(55 * time.Second)
		b.Runner = agent(func(ctx context.Context, s fleet.SessionSpec) fleet.SessionExit {
			takes = 55 * time.Second
			return says(good)(ctx, s)
		})
		b.follower(b.mustRun(id))
		if len(later.specs) != 1 {
			t.Errorf("got timers for %+v, want one", later.specs)
		}
	})
}
