package claim_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stint/internal/claim"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

const ttl = time.Hour

// clock is the bubble's, and wait lets it run.
func clock() time.Time { return time.Now() } //nolint:forbidigo // a bubble has no other

func wait(d time.Duration) { <-time.After(d) }

// open is a real store on the bubble's clock, with one claim granted.
func open(t *testing.T) (*sqlite.DB, store.Hold) {
	t.Helper()
	db := must.Get(sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Fleet: "bob", Workspace: "/w", Now: clock}))(t)
	grant, c, err := db.Take(t.Context(), store.TakeRequest{Key: "fix", Holder: "a", Renews: true, TTL: ttl})
	if err != nil || grant != fleet.Granted {
		t.Fatalf("take: %s, %v", grant, err)
	}
	return db, store.Hold{Key: c.Key, Holder: c.Holder, Epoch: c.Epoch}
}

func closeStore(t *testing.T, db *sqlite.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// faulty is a store whose renewals fail while err is set.
type faulty struct {
	claim.Renewer

	mu    sync.Mutex
	err   error
	asked int
}

func (f *faulty) beats() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *faulty) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = nil
}

func (f *faulty) Renew(ctx context.Context, h store.Hold, d time.Duration) (store.Kept, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.err != nil {
		return store.Kept{}, f.err
	}
	return f.Renewer.Renew(ctx, h, d)
}

// elapsed is the bubble's clock as one that does not jump.
func elapsed() time.Duration { return clock().Sub(time.Unix(0, 0)) }

func keep(t *testing.T, claims claim.Renewer, h store.Hold) (context.Context, *claim.Kept) {
	t.Helper()
	return keeper(claims, h).Keep(t.Context())
}

// keeper keeps a claim that was granted just now.
func keeper(claims claim.Renewer, h store.Hold) claim.Keeper {
	return claim.Keeper{
		Claims: claims, Hold: h, TTL: ttl, Elapsed: elapsed, Asked: elapsed(), Expires: clock().Add(ttl), Log: slog.New(slog.DiscardHandler),
	}
}

// lost waits for the end of a lease, and returns how long it lasted.
func lost(ctx context.Context, t *testing.T) time.Duration {
	t.Helper()
	start := clock()
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, fleet.ErrLost) {
		t.Errorf("cause %v, want lost", cause)
	}
	return clock().Sub(start)
}

//nolint:paralleltest // a bubble's test stands alone
func TestKeptClaimOutlivesItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		f := &faulty{Renewer: db}
		ctx, kept := keep(t, f, h)
		wait(100*ttl + time.Second)
		if err := ctx.Err(); err != nil {
			t.Fatalf("lost after a hundred times its time-to-live: %v", context.Cause(ctx))
		}
		if now := kept.Now(); !now.Equal(clock()) {
			t.Errorf("the store's clock is %v, want %v", now, clock())
		}
		kept.Stop()
		if f.beats() != 1200 {
			t.Errorf("%d beats, want 1200: one in 5 minutes", f.beats())
		}
		c, _, err := db.Check(t.Context(), h.Key)
		if held := c.Current(clock()); err != nil || !held || c.Epoch != 1 {
			t.Errorf("claim: held %t at epoch %d, %v; want held at 1", held, c.Epoch, err)
		}
		// Nobody beats any more.
		wait(ttl)
		if c, _, err = db.Check(t.Context(), h.Key); err != nil || c.Current(clock()) {
			t.Errorf("held a time-to-live after the last beat: %+v, %v", c, err)
		}
	})
}

//nolint:paralleltest // a bubble's test stands alone
func TestTakenClaimEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		ctx, kept := keep(t, db, h)
		defer kept.Stop()
		must.Get(db.Release(t.Context(), h, fleet.EndingReleased, ""))(t)
		if _, c, err := db.Take(t.Context(), store.TakeRequest{Key: "fix", Holder: "b", TTL: ttl}); err != nil || c.Epoch != 2 {
			t.Fatalf("take by another: epoch %d, %v", c.Epoch, err)
		}
		if waited := lost(ctx, t); waited > 5*time.Minute {
			t.Errorf("found out after %s, want 5 minutes at most", waited)
		}
	})
}

// TestWishEndsTheWork has a person on another machine want a session to end: it hears so with its next
// renewal, and has not lost its claim.
//
//nolint:paralleltest // a bubble's test stands alone
func TestWishEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, _ := open(t)
		defer closeStore(t, db)
		const run fleet.RunID = "0123456789abcdef"
		err := db.AddRun(t.Context(), fleet.Run{ID: run, Category: "code"})
		_, c, taken := storekit.TakeForRun(t.Context(), db, storekit.RunTake{
			TakeRequest: store.TakeRequest{Key: "dig", Holder: run.Holder(), Renews: true, TTL: ttl}, Run: run, Task: "dig",
		})
		if err = errors.Join(err, taken); err != nil {
			t.Fatal(err)
		}
		h := store.Hold{Key: c.Key, Holder: c.Holder, Epoch: c.Epoch}
		ctx, kept := keep(t, db, h)
		defer kept.Stop()
		wait(9 * time.Minute)
		if open, err := db.AskToStop(t.Context(), run, "enough"); err != nil || !open || ctx.Err() != nil {
			t.Fatalf("asked: open %t, %v; ended %v", open, err, context.Cause(ctx))
		}
		asked := clock()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, claim.ErrStopRequested) || !strings.Contains(cause.Error(), "enough") {
			t.Errorf("cause %v, want the wish", cause)
		}
		if waited := clock().Sub(asked); waited > claim.HeartbeatEvery(ttl) {
			t.Errorf("heard after %s, want %s at most", waited, claim.HeartbeatEvery(ttl))
		}
		if c, at, err := db.Check(t.Context(), h.Key); err != nil || !c.Current(at) {
			t.Errorf("claim %+v, %v; want it held until the end is on record", c, err)
		}
	})
}

//nolint:paralleltest // a bubble's test stands alone
func TestStoreThatFailsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		f := &faulty{Renewer: db, err: errors.New("disk on fire")}
		ctx, kept := keep(t, f, h)
		defer kept.Stop()
		wait(ttl - 2*time.Minute) // every try failed, the last a moment ago
		if tries := f.beats(); tries < 180 || tries > 280 {
			t.Errorf("%d tries in 53 minutes, want one about every 15 s", tries)
		}
		f.heal()
		wait(10 * ttl)
		if err := ctx.Err(); err != nil {
			t.Errorf("lost although the store came back in time: %v", context.Cause(ctx))
		}
	})
}

//nolint:paralleltest // a bubble's test stands alone
func TestStoreThatFailsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		ctx, kept := keep(t, &faulty{Renewer: db, err: errors.New("disk on fire")}, h)
		defer kept.Stop()
		if waited := lost(ctx, t); waited != claim.Lease(ttl) {
			t.Errorf("given up after %s, want %s", waited, claim.Lease(ttl))
		}
	})
}

// slow answers late, and then not at all.
type slow struct {
	claim.Renewer
	late  time.Duration
	beats int
}

func (s *slow) Renew(ctx context.Context, h store.Hold, d time.Duration) (store.Kept, error) {
	if s.beats++; s.beats > 1 {
		<-ctx.Done()
		return store.Kept{}, ctx.Err()
	}
	c, err := s.Renewer.Renew(ctx, h, d)
	wait(s.late)
	return c, err
}

// TestLeaseCountsFromTheQuestion has an answer take its time: the store counted from before it.
//
//nolint:paralleltest // a bubble's test stands alone
func TestLeaseCountsFromTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		const late = 20 * time.Minute
		ctx, kept := keep(t, &slow{Renewer: db, late: late}, h)
		defer kept.Stop()
		waited := lost(ctx, t)
		if want := 5*time.Minute + claim.Lease(ttl); waited != want {
			t.Errorf("lasted %s, want %s", waited, want)
		}
		c, _, err := db.Check(t.Context(), h.Key)
		if err != nil || !c.Current(clock().Add(claim.MostGrace)) {
			t.Errorf("by the time its agent is dead the claim is %+v, %v; want it held", c, err)
		}
	})
}

// TestGrantThatTookLong begins to keep a claim that was asked for long ago.
//
//nolint:paralleltest // a bubble's test stands alone
func TestGrantThatTookLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		k := keeper(&faulty{Renewer: db, err: errors.New("disk on fire")}, h)
		wait(10 * time.Minute)
		ctx, kept := k.Keep(t.Context())
		defer kept.Stop()
		if waited := lost(ctx, t); waited != claim.Lease(ttl)-10*time.Minute {
			t.Errorf("lasted %s after 10 minutes, want %s in all", waited, claim.Lease(ttl))
		}
	})
}

// TestMachineThatSleeps stops the timers and not the clock that goes on in sleep.
//
//nolint:paralleltest // a bubble's test stands alone
func TestMachineThatSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		f := &faulty{Renewer: db}
		k := keeper(f, h)
		var slept atomic.Int64
		k.Elapsed = func() time.Duration { return elapsed() + time.Duration(slept.Load()) }
		ctx, kept := k.Keep(t.Context())
		defer kept.Stop()
		wait(time.Minute)
		slept.Store(int64(50 * time.Minute)) // it goes on: the next beat comes
		wait(5 * time.Minute)
		if ctx.Err() != nil || f.beats() != 1 {
			t.Fatalf("after 50 minutes of sleep: %v, %d beats", context.Cause(ctx), f.beats())
		}
		wait(4*time.Minute - time.Millisecond) // the next beat is about to come
		slept.Add(int64(2 * time.Hour))
		if waited := lost(ctx, t); waited > 5*time.Second || f.beats() != 1 {
			t.Errorf("after 2 hours of sleep it worked on for %s, and beat %d times", waited, f.beats())
		}
	})
}

// TestLease shows what is left of a time-to-live for work, and for an agent's end.
func TestLease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ ttl, lease, grace time.Duration }{
		{24 * time.Hour, 24*time.Hour - 15*time.Second - 86400*time.Millisecond, 10 * time.Second},
		{time.Hour, time.Hour - 18600*time.Millisecond, 10 * time.Second},
		{2 * time.Minute, 2*time.Minute - 15120*time.Millisecond, 10 * time.Second},
		{time.Minute, 45 * time.Second, 10 * time.Second},
		{30 * time.Second, 22500 * time.Millisecond, 5 * time.Second},
		{2 * time.Second, 1500 * time.Millisecond, 333333333},
	} {
		lease, grace := claim.Lease(tt.ttl), claim.Grace(tt.ttl)
		if lease != tt.lease || grace != tt.grace {
			t.Errorf("%s: lease %s, grace %s; want %s, %s", tt.ttl, lease, grace, tt.lease, tt.grace)
		}
		if lease+grace >= tt.ttl {
			t.Errorf("%s: an agent may outlive its claim", tt.ttl)
		}
	}
}
