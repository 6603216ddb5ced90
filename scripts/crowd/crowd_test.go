package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/bandit"
	claims "stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
)

func small() Options {
	o := Defaults()
	o.Hosts, o.Workers, o.Length = 10, 10, 24*time.Hour
	return o.Complete()
}

func mustRun(t *testing.T, o Options) *Report {
	t.Helper()
	r := must.Get(simulate(t.Context(), o))(t)
	return r
}

// harsh is a world in which much dies, and tasks are few.
func harsh(seed uint64) Options {
	o := small()
	o.Seed, o.Hosts, o.Categories, o.Lanes, o.Every = seed, 20, 4, 3, 5*time.Minute
	o.HostLife, o.HostRepair, o.Orphans = 4*time.Hour, 90*time.Minute, 0.1
	return o
}

func TestSameSeedSameReport(t *testing.T) {
	t.Parallel()
	first, second := mustRun(t, harsh(1)), mustRun(t, harsh(1))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two runs of one seed differ:\n%s", diff)
	}
	if third := mustRun(t, harsh(2)); cmp.Equal(first.Counts, third.Counts) {
		t.Error("another seed changes nothing")
	}
}

// slow makes a store that cannot keep up.
func slow(o Options) Options {
	o.Costs.Write = 2 * time.Second
	return o
}

func TestEveryGrantEndsOnce(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"calm": small(), "harsh": harsh(3), "slow": slow(harsh(4))} {
		r := mustRun(t, o)
		if got := r.Completed + r.Lost + r.Died + r.Orphaned + r.Unrecorded + r.Running; got != r.Grants || got == 0 {
			t.Errorf("%s: %d grants have %d ends: %+v", name, r.Grants, got, r.Counts)
		}
		if r.DoubleHolders > 0 || r.BesideOrphans > 0 {
			t.Errorf("%s: two at once: %+v", name, r.Counts)
		}
		if name != "calm" && (r.TakenByExpiry == 0 || r.Reaped == 0 || r.HostDeaths == 0) {
			t.Errorf("%s: nothing was taken over: %+v", name, r.Counts)
		}
	}
}

func TestLostSessions(t *testing.T) {
	t.Parallel()
	o := slow(harsh(8))
	o.Costs.Write, o.TTL, o.Hosts = 4*time.Second, time.Minute, 30
	r := mustRun(t, o)
	if r.Lost == 0 || r.DoubleHolders > 0 {
		t.Errorf("a store that is too slow for its claims: %+v", r.Counts)
	}
	if got := r.Completed + r.Lost + r.Died + r.Orphaned + r.Unrecorded + r.Running; got != r.Grants {
		t.Errorf("%d grants have %d ends: %+v", r.Grants, got, r.Counts)
	}
}

// Another host's clock may be ahead of the holder's by what is left of a claim when it is
// renewed: the time-to-live less a beat, and less what a renewal waits.
func TestSkewThatTheRulesBear(t *testing.T) {
	t.Parallel()
	o := harsh(5)
	o.TasksPerHour, o.Orphans, o.HostLife = 20, 0, 0
	o.TTL = 30 * time.Minute
	bound := o.TTL - claims.Beat(o.TTL) // between two clocks, of which each is off by half
	o.Skew = bound/2 - 10*time.Second
	if r := mustRun(t, o); r.DoubleHolders > 0 {
		t.Errorf("%d double holders under a skew of %s", r.DoubleHolders, o.Skew)
	}
	o.Skew = bound
	if r := mustRun(t, o); r.DoubleHolders == 0 {
		t.Errorf("no double holder under a skew of %s: the bound is wider than said", o.Skew)
	}
}

// A session without supervisor works to its time-out at most. Other hosts wait for its
// claim's expiry alone.
func TestOrphansNeedALongerClaim(t *testing.T) {
	t.Parallel()
	o := harsh(6)
	o.Orphans, o.TTL = 0.3, 5*time.Minute
	if r := mustRun(t, o); r.BesideOrphans == 0 || r.DoubleHolders > 0 {
		t.Errorf("a time-to-live below the time-out: %+v", r.Counts)
	}
}

// The mean wait for a server of constant service time s under a load of ρ is s·ρ/(2(1−ρ)):
// M/D/1, by Pollaczek and Khinchine.
func TestQueueWaitsByTheBook(t *testing.T) {
	t.Parallel()
	const s = 10 * time.Millisecond
	for _, load := range []float64{0.05, 0.5, 0.9} {
		chance := rand.New(rand.NewPCG(1, 2))
		var (
			q   queue
			now time.Duration
		)
		for range 1_000_000 {
			now += time.Duration(chance.ExpFloat64() * float64(s) / load)
			if _, _, ok := q.enter(now, s); !ok {
				t.Fatal("nobody waits that long here")
			}
		}
		got, want := q.waits.mean().Seconds(), s.Seconds()*load/(2*(1-load))
		if math.Abs(got-want) > 0.05*want {
			t.Errorf("load %g: mean wait %gs, want %gs", load, got, want)
		}
		if use := q.busy.Seconds() / now.Seconds(); math.Abs(use-load) > 0.01*load {
			t.Errorf("load %g: the server is busy for %g of the time", load, use)
		}
	}
}

func TestPaperAgreesWithALightLoad(t *testing.T) {
	t.Parallel()
	o := small()
	o.HostLife, o.Orphans = 0, 0
	o.Hosts, o.TasksPerHour = 30, 90
	r := mustRun(t, o)
	if r.Utilisation < 0.7*r.Paper.Utilisation || r.Utilisation > 1.3*r.Paper.Utilisation {
		t.Errorf("the store is in use for %g of the time, on paper for %g", r.Utilisation, r.Paper.Utilisation)
	}
	if r.Claims < 0.8*r.Paper.Claims || r.Claims > 1.2*r.Paper.Claims {
		t.Errorf("%g claims are held, on paper %g", r.Claims, r.Paper.Claims)
	}
	at := o.times(r.Paper.Hosts / float64(o.Hosts)).Utilisation
	if math.Abs(at-1) > 0.01 {
		t.Errorf("with %g hosts the store is in use for %g of the time, want all of it", r.Paper.Hosts, at)
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "d"))
		var h histogram
		h.add(d)
		if got := h.quantile(0.5); got != d {
			t.Fatalf("the median of %d is %d", d, got)
		}
		if top := top(slot(d)); top < d || float64(top-d) > float64(d)/fine {
			t.Fatalf("%d is counted as up to %d", d, top)
		}
	})
}

func TestAgendaIsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		for _, at := range rapid.SliceOf(rapid.Int64Range(0, 20)).Draw(t, "times") {
			a.add(event{at: time.Duration(at)})
		}
		var last event
		for n := 0; len(a.heap) > 0; n++ {
			e := a.pop()
			if n > 0 && !last.before(&e) {
				t.Fatalf("%v comes after %v", e, last)
			}
			last = e
		}
	})
}

// The picks of a backlog are those of the selector.
func TestBacklogPicksAsTheSelector(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tasks []task
		b := backlog{tasks: &tasks}
		var (
			listed []fleet.Task
			shun   = rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 2).Draw(t, "shun")
		)
		for id := range rapid.Int32Range(0, 12).Draw(t, "tasks") {
			s := task{
				created: time.Duration(rapid.IntRange(0, 3).Draw(t, "created")), priority: uint8(rapid.IntRange(0, 3).Draw(t, "priority")),
				begun: rapid.Bool().Draw(t, "begun"), family: rapid.Int32Range(0, 3).Draw(t, "family"), place: nobody,
			}
			tasks = append(tasks, s)
			state := fleet.StateTodo
			if s.begun {
				state = fleet.StateActive
			}
			listed = append(listed, fleet.Task{
				ID: fleet.TaskID('a' + id), State: state, Created: at(s.created), Category: "c", Priority: priorities()[s.priority],
			})
		}
		var offered []fleet.Task
		for id := range tasks {
			switch rapid.IntRange(0, 3).Draw(t, "offer") {
			case 0: // held
				continue
			case 1:
				b.dispute(int32(id))
			default:
				b.offer(int32(id))
			}
			if !slices.Contains(shun, tasks[id].family) {
				offered = append(offered, listed[id])
			}
		}
		for id := range tasks {
			if tasks[id].place != nobody && rapid.Bool().Draw(t, "again") {
				b.withdraw(int32(id))
				b.offer(int32(id))
			}
		}
		got := b.best(shun, func(int32) bool { return true })
		want, _ := selector.Queue{Tasks: offered, At: at(time.Hour)}.Pick("c", "")
		switch {
		case want == nil && got != nobody:
			t.Fatalf("picked %d, the selector nothing", got)
		case want != nil && (got == nobody || listed[got].ID != want.ID):
			t.Fatalf("picked %d, the selector %s", got, want.ID)
		}
	})
}

func openStore(t testing.TB, now func() time.Time) *sqlite.DB {
	t.Helper()
	d := must.Get(sqlite.Open(t.Context(), sqlite.Options{
		Dir: t.TempDir(), Fleet: "crowd", Workspace: "/nowhere", Now: now, Settings: bandit.Defaults(),
	}))(t)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// The claim table of the simulation and the real store give the same answers to the same
// random sequence of takes, renewals and releases.
func TestClaimsAsTheStore(t *testing.T) {
	t.Parallel()
	var (
		now    time.Duration
		chance = rand.New(rand.NewPCG(7, 7))
		c      claim
		tell   = map[fleet.Liveness]bool{}
	)
	d := openStore(t, func() time.Time { return at(now) })
	holder := func(run int32) fleet.Holder { return fleet.NewRunID(at(0), uint32(run)).Holder() }
	for step := range 1500 {
		now += time.Duration(chance.IntN(40)) * time.Millisecond
		ttl := time.Duration(1+chance.IntN(100)) * time.Millisecond
		run, epoch := int32(chance.IntN(4)), c.epoch-uint32(chance.IntN(2))*min(1, c.epoch)
		before := c
		var got, want bool
		var err error
		switch chance.IntN(4) {
		case 0, 1:
			if c.holder == run && c.epoch > 0 && !c.released {
				continue // in the simulation no run takes what it has
			}
			k := known{c.epoch, []fleet.Liveness{"", fleet.Lives, fleet.Gone, fleet.Unknown}[chance.IntN(4)]}
			tell[k.session] = true
			got = c.take(run, now, ttl, k)
			var grant fleet.Grant
			grant, _, err = d.Take(t.Context(), store.TakeRequest{
				Key: "k", Holder: holder(run), Renews: true, TTL: ttl,
				Known: store.Known{Holder: holder(before.holder), Epoch: fleet.Epoch(k.epoch), Session: k.session},
			})
			want = grant == fleet.Granted
		case 2:
			if epoch == 0 {
				continue // in the store that is any epoch
			}
			got = c.renew(run, epoch, now, ttl)
			_, err = d.Renew(t.Context(), store.Hold{Key: "k", Holder: holder(run), Epoch: fleet.Epoch(epoch)}, ttl)
			want = err == nil
		case 3:
			got = c.epoch > 0 && c.release(run)
			err = d.ReleaseHolder(t.Context(), holder(run), fleet.EndingReleased)
			want = got // it says nothing: what it did shows below
		}
		if err != nil && !errors.Is(err, fleet.ErrLost) {
			t.Fatal(err)
		}
		stored, _, err := d.Check(t.Context(), "k")
		must.Do(t, err)
		if got != want || fleet.Epoch(c.epoch) != stored.Epoch {
			t.Fatalf("step %d: %+v → %+v (%t), in the store %+v (%t)", step, before, c, got, stored, want)
		}
		if c.epoch > 0 && (stored.Holder != holder(c.holder) || !stored.ExpiresAt.Equal(at(c.expires)) || stored.ReleasedAt.IsZero() == c.released) {
			t.Fatalf("step %d: %+v, in the store %+v", step, c, stored)
		}
		if got, want := c.held(run, c.epoch, now), stored.Holder == holder(run) && stored.Current(at(now)); c.epoch > 0 && got != want {
			t.Fatalf("step %d: held %t, in the store %t", step, got, want)
		}
	}
	if c.epoch < 20 || len(tell) < 4 {
		t.Errorf("the sequence granted %d claims", c.epoch)
	}
}

func TestDefaultsAreTheConfigurations(t *testing.T) {
	t.Parallel()
	o := Defaults()
	got := []any{o.TTL, o.Timeout, o.Cooldown, o.MaxPivots, o.Lanes}
	c, err := config.Parse("/w/stint.toml", []byte("fleet = \"a\"\nstate = \"/s\"\n[agent.a]\ncommand = [\"true\"]\n[category.code]\n"), config.Options{})
	must.Do(t, err)
	category := c.Categories["code"]
	want := []any{category.TTL, category.Timeout, category.Cooldown, c.Fanout.MaxPivots, category.Lanes}
	must.Equal(t, "defaults", got, want)
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Options){
		"no hosts":      func(o *Options) { o.Hosts = 0 },
		"a crowd":       func(o *Options) { o.Hosts = mostWorkers },
		"many lanes":    func(o *Options) { o.Lanes = 256 },
		"no time":       func(o *Options) { o.Length = 0 },
		"endless tasks": func(o *Options) { o.TasksPerHour = math.Inf(1) },
		"wide spread":   func(o *Options) { o.Spread = o.Every + 1 },
		"no tasks":      func(o *Options) { o.TasksPerHour = math.NaN() },
		"short claims":  func(o *Options) { o.TTL = 1 },
		"negative skew": func(o *Options) { o.Skew = -1 },
	} {
		o := small()
		spoil(&o)
		_, err := simulate(t.Context(), o)
		if wrong := (rangeError{}); !errors.As(err, &wrong) || wrong.Want == "" {
			t.Errorf("%s: %v, want wrong usage with an option and its range", name, err)
		}
	}
}

func TestStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := simulate(ctx, small()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	d := openStore(t, func() time.Time { now = now.Add(time.Millisecond); return now })
	c := must.Get(Measure(t.Context(), d, func() time.Time { now = now.Add(time.Millisecond); return now }))(t)
	if c.Write <= 0 || c.Read <= 0 || c.Fire <= 0 || c.Snapshot <= 0 {
		t.Errorf("costs: %+v", c)
	}
}

func BenchmarkThousandHosts(b *testing.B) {
	o := Defaults()
	o.Length = time.Hour
	for b.Loop() {
		must.Get(simulate(b.Context(), o.Complete()))(b)
	}
}
