package claim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"stint/internal/agent/rundir"
	"stint/internal/claim"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
)

// session is the run that holds claims in these tests.
const session = fleet.RunID("01kt1gw6g0000001")

// desk is a desk on a real store, with sessions that the test sets and a clock that the test
// moves.
type desk struct {
	claim.Claims
	*testing.T
	db    *sqlite.DB
	now   time.Time
	lives fleet.Liveness
	asked int
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), lives: fleet.Lives}
	var err error
	d.db, err = sqlite.Open(t.Context(), sqlite.Options{
		Dir: t.TempDir(), Fleet: "bob", Workspace: "/w", Now: func() time.Time { return d.now },
	})
	if err == nil {
		err = d.db.AddRun(t.Context(), fleet.Run{ID: session, Category: "code", Agent: "fake", CreatedAt: d.now})
	}
	must.Do(t, err)
	t.Cleanup(func() {
		if err := d.db.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Claims = claim.Claims{Store: d.db, Sessions: d, Ends: rundir.Folders{State: t.TempDir()}, Log: slog.New(slog.DiscardHandler)}
	return d
}

func (d *desk) Liveness(context.Context, fleet.Run) fleet.Liveness {
	d.asked++
	return d.lives
}

func (d *desk) take(holder fleet.Holder) (fleet.Grant, fleet.Claim) {
	d.Helper()
	grant, c, err := d.Take(d.Context(), store.TakeRequest{Key: "fix", Holder: holder, TTL: ttl})
	if err != nil {
		d.Fatal(err)
	}
	return grant, c
}

// TestDeskDecides crosses who holds a claim, whether that lives, and whether the claim
// has expired. A take grants exactly the claims that are said to be free beforehand.
func TestDeskDecides(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		holder  fleet.Holder
		lives   fleet.Liveness
		later   time.Duration
		granted bool
	}{
		{"session lives", session.Holder(), fleet.Lives, 0, false},
		{"session lives, long expired", session.Holder(), fleet.Lives, 99 * ttl, false},
		{"session gone", session.Holder(), fleet.Gone, 0, true},
		{"session gone, clock back a day", session.Holder(), fleet.Gone, -24 * time.Hour, true},
		{"session unknown", session.Holder(), fleet.Unknown, ttl - time.Millisecond, false},
		{"session unknown, expired", session.Holder(), fleet.Unknown, ttl, true},
		{"session unknown, clock back by its length", session.Holder(), fleet.Unknown, -ttl, false},
		{"session unknown, clock back by more", session.Holder(), fleet.Unknown, -ttl - time.Millisecond, true},
		{"session lives, clock back a day", session.Holder(), fleet.Lives, -24 * time.Hour, false},
		{"a run that is not on record", "run:01kt1gw6g0000009", fleet.Gone, 0, false},
		{"a run that is not on record, expired", "run:01kt1gw6g0000009", fleet.Lives, ttl, true},
		{"a person", "alice", fleet.Gone, ttl - time.Millisecond, false},
		{"a person, expired", "alice", fleet.Lives, ttl, true},
		{"a person, clock back by its length", "alice", fleet.Lives, -ttl, false},
		{"a person, clock back by more", "alice", fleet.Lives, -ttl - time.Millisecond, true},
		{"a person with a run's looks", "run:no such thing", fleet.Gone, 0, false},
		{"a person with a run's looks, expired", "run:no such thing", fleet.Lives, ttl, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			if grant, _ := d.take(tt.holder); grant != fleet.Granted {
				t.Fatalf("first take: %s", grant)
			}
			d.now, d.lives = d.now.Add(tt.later), tt.lives
			held := must.Get(d.db.List(t.Context(), store.Listing{}))(t)
			if got := len(d.Held(t.Context(), held)) == 0; got != tt.granted {
				t.Errorf("said to be free: %t, want %t", got, tt.granted)
			}
			grant, c := d.take("bob")
			if got := grant == fleet.Granted; got != tt.granted {
				t.Errorf("take: %s, want granted: %t", grant, tt.granted)
			}
			want := fleet.Claim{Key: "fix", Holder: tt.holder, Epoch: 1}
			if tt.granted {
				want = fleet.Claim{Key: "fix", Holder: "bob", Epoch: 2}
			}
			must.Equal(t, "claim", fleet.Claim{Key: c.Key, Holder: c.Holder, Epoch: c.Epoch}, want)
		})
	}
}

// TestAnswerCountsForOneEpoch has the claim of a session that is gone be granted to
// another between the question and the write: what was found out of the first frees
// nothing of the second.
func TestAnswerCountsForOneEpoch(t *testing.T) {
	t.Parallel()
	for _, second := range []fleet.Holder{"carol", session.Holder()} {
		t.Run(string(second), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.take(session.Holder())
			d.lives = fleet.Gone
			slow := d.Claims
			slow.Store = &slowStore{Store: d.db, before: func() {
				if grant, _ := d.take(second); grant != fleet.Granted {
					t.Errorf("the quicker one: %s", grant)
				}
				d.lives = fleet.Lives // a session of that name works again
			}}
			grant, c, err := slow.Take(t.Context(), store.TakeRequest{Key: "fix", Holder: "bob", TTL: ttl})
			if err != nil || grant != fleet.Denied || c.Holder != second || c.Epoch != 2 {
				t.Errorf("take: %s, held by %s at %d, %v; want denied by %s at 2", grant, c.Holder, c.Epoch, err, second)
			}
		})
	}
}

// slowStore is a store in which something happens before the second take.
type slowStore struct {
	store.Store
	before func()
	takes  int
}

func (s *slowStore) Take(ctx context.Context, t store.TakeRequest) (fleet.Grant, fleet.Claim, error) {
	if s.takes++; s.takes == 2 {
		s.before()
	}
	return s.Store.Take(ctx, t)
}

// TestRelease crosses who gives a session's claim back with what is known of that session.
func TestRelease(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		by     fleet.RunID
		lives  fleet.Liveness
		ending fleet.Ending
		epoch  fleet.Epoch
		want   error
	}{
		{"its own, that lives", session, fleet.Lives, fleet.EndingDone, 0, nil},
		{"another, and it lives", "", fleet.Lives, fleet.EndingAbandoned, 0, fleet.ErrHeld},
		{"another, and it is gone", "", fleet.Gone, fleet.EndingReleased, 1, nil},
		{"another, and nobody can tell", "", fleet.Unknown, fleet.EndingReleased, 0, fleet.ErrHeld},
		{"another, who knows better", "", fleet.Unknown, fleet.EndingAbandoned, 0, nil},
		{"at another epoch", "", fleet.Lives, fleet.EndingReleased, 2, fleet.ErrLost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.lives = tt.lives
			d.take(session.Holder())
			h := store.Hold{Key: "fix", Holder: session.Holder(), Epoch: tt.epoch}
			if _, err := d.Release(t.Context(), h, tt.by, tt.ending, ""); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// TestHeldAsksOnceASession counts the questions that ten thousand claims cost: one for each
// session, however many claims it or anybody else has, and one to the store that has shown
// them, about all sessions that have ended.
func TestHeldAsksOnceASession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	runs := &countedRuns{Store: d.db}
	d.Store = runs
	const sessions = 100
	s := store.ClaimsAt{At: d.now}
	var holders []fleet.Holder
	for i := range sessions {
		r := fleet.Run{ID: fleet.RunID(fmt.Sprintf("01kt1gw6g%07d", i+2)), Category: "code", CreatedAt: d.now}
		holders = append(holders, r.ID.Holder())
		if i%2 == 0 {
			s.Open = append(s.Open, r)
		} else if err := d.db.AddRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10_000 {
		holder := fleet.Holder("alice")
		if i%2 == 0 {
			holder = holders[i/2%sessions]
		}
		c := fleet.Claim{Key: fleet.Key(fmt.Sprint(i)), Holder: holder, Epoch: 1, ExpiresAt: d.now.Add(ttl)}
		if i >= 5000 {
			c.ReleasedAt = d.now
		}
		s.Claims = append(s.Claims, c)
	}
	if got := len(d.Held(t.Context(), s)); got != 5000 {
		t.Errorf("got %d held, want the 5000 that were not given back", got)
	}
	if runs.read != 1 || d.asked != sessions {
		t.Errorf("read %d times and asked %d sessions, want 1 and %d", runs.read, d.asked, sessions)
	}
}

// BenchmarkHeld is a look at the claims of as many sessions, which all are open.
func BenchmarkHeld(b *testing.B) {
	s := store.ClaimsAt{At: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	for i := range 10_000 {
		r := fleet.Run{ID: fleet.RunID(fmt.Sprintf("01kt1gw6g%07d", i))}
		s.Open = append(s.Open, r)
		s.Claims = append(s.Claims, fleet.Claim{Key: fleet.Key(fmt.Sprint(i)), Holder: r.ID.Holder(), Epoch: 1, ExpiresAt: s.At.Add(ttl)})
	}
	d := claim.Claims{Sessions: &desk{lives: fleet.Lives}} // without a store: it is not asked
	for b.Loop() {
		d.Held(b.Context(), s)
	}
}

// countedRuns counts how often runs are read.
type countedRuns struct {
	store.Store
	read int
}

func (c *countedRuns) LastRuns(ctx context.Context, q store.RunQuery) ([]fleet.Run, error) {
	c.read++
	return c.Store.LastRuns(ctx, q)
}

func (c *countedRuns) Run(ctx context.Context, id fleet.RunID) (fleet.Run, error) {
	c.read++
	return c.Store.Run(ctx, id)
}

// TestDeskAsksOnce asks of a session once a take, and of nobody else at all.
func TestDeskAsksOnce(t *testing.T) {
	t.Parallel()
	for _, lives := range []fleet.Liveness{fleet.Lives, fleet.Gone} {
		d := newDesk(t)
		d.lives = lives
		d.take(session.Holder())
		d.take("bob")
		if d.asked != 1 {
			t.Errorf("asked %d times whether a session that %s does, want once", d.asked, lives)
		}
	}
	d := newDesk(t)
	d.take("alice")
	d.take("bob")
	if d.asked != 0 {
		t.Errorf("asked %d times of a person", d.asked)
	}
}

// TestOneLiveHolder plays takes, releases, deaths and clock steps of up to a day, and
// holds every grant to what may be free, and every epoch to the one before.
func TestOneLiveHolder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		var last fleet.Claim
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			step := time.Duration(rapid.Int64Range(-24*3600, 24*3600).Draw(rt, "clock")) * time.Second
			d.now = d.now.Add(step)
			d.lives = rapid.SampledFrom([]fleet.Liveness{fleet.Lives, fleet.Gone, fleet.Unknown}).Draw(rt, "lives")
			holder := rapid.SampledFrom([]fleet.Holder{"alice", "bob", session.Holder()}).Draw(rt, "holder")
			if rapid.Bool().Draw(rt, "release") && last.Epoch > 0 {
				h := store.Hold{Key: "fix", Holder: last.Holder, Epoch: last.Epoch}
				if c, err := d.db.Release(t.Context(), h, fleet.EndingReleased, ""); err == nil {
					last = c
				} else if !errors.Is(err, fleet.ErrLost) {
					rt.Fatal(err)
				}
				continue
			}
			ahead := last.AcquiredAt.After(d.now.Add(last.ExpiresAt.Sub(last.AcquiredAt))) // the clock was wrong when it was taken
			free := last.Epoch == 0 || !last.ReleasedAt.IsZero() || !last.ExpiresAt.After(d.now) || ahead
			if last.Holder == session.Holder() && last.ReleasedAt.IsZero() {
				free = d.lives == fleet.Gone || d.lives == fleet.Unknown && free
			}
			grant, c := d.take(holder)
			if (grant == fleet.Granted) != free {
				rt.Fatalf("%s, want free: %t; it was %+v, session %s, at %s", grant, free, last, d.lives, d.now)
			}
			if want := last.Epoch + 1; free && c.Epoch != want {
				rt.Fatalf("epoch %d, want %d", c.Epoch, want)
			}
			last = c
		}
	})
}

// TestHeartbeatAcrossClockSteps steps the wall clock by a day under a claim that is
// kept: its lease is by another clock. Nobody else gets it, and an end right after the step lies
// within it.
//
//nolint:paralleltest // a bubble's test stands alone
func TestHeartbeatAcrossClockSteps(t *testing.T) {
	for _, step := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var offset atomic.Int64
				db := must.Get(sqlite.Open(t.Context(), sqlite.Options{
					Dir: t.TempDir(), Fleet: "bob", Workspace: "/w", Now: func() time.Time { return clock().Add(time.Duration(offset.Load())) },
				}))(t)
				defer closeStore(t, db)
				_, c, err := db.Take(t.Context(), store.TakeRequest{Key: "fix", Holder: session.Holder(), Renews: true, TTL: ttl})
				must.Do(t, err)
				ctx, kept := keep(t, db, store.Hold{Key: c.Key, Holder: c.Holder, Epoch: c.Epoch, Kept: true})
				defer kept.Stop()
				wait(ttl/2 + time.Second)
				offset.Store(int64(step))
				if c, _, err = db.Check(t.Context(), c.Key); err != nil || !kept.Now().Before(c.ExpiresAt) {
					t.Errorf("an end of now is at %v, and the claim %+v, %v", kept.Now(), c, err)
				}
				wait(ttl)
				if ctx.Err() != nil {
					t.Errorf("lost: %v", context.Cause(ctx))
				}
				known := store.Known{Holder: c.Holder, Epoch: c.Epoch, Session: fleet.Lives}
				grant, _, err := db.Take(t.Context(), store.TakeRequest{Key: "fix", Holder: "bob", TTL: ttl, Known: known})
				if err != nil || grant != fleet.Denied {
					t.Errorf("take by another: %s, %v; want denied", grant, err)
				}
			})
		})
	}
}
