package claim_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stint/internal/claim"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/sqlite"
)

const ttl = time.Hour

// clock is the bubble's, and wait lets it run.
func clock() time.Time { return time.Now() } //nolint:forbidigo // a bubble has no other

func wait(d time.Duration) { <-time.After(d) }

// open is a real store on the bubble's clock, with one claim granted.
func open(t *testing.T) (*sqlite.DB, store.Hold) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Fleet: "bob", Workspace: "/w", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
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
	beats int
}

func (f *faulty) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = nil
}

func (f *faulty) Renew(ctx context.Context, h store.Hold, d time.Duration) (fleet.Claim, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beats++
	if f.err != nil {
		return fleet.Claim{}, f.err
	}
	return f.Renewer.Renew(ctx, h, d)
}

func keep(t *testing.T, claims claim.Renewer, h store.Hold) (context.Context, func()) {
	t.Helper()
	return claim.Keeper{Claims: claims, Hold: h, TTL: ttl, Log: slog.New(slog.DiscardHandler)}.Keep(t.Context())
}

//nolint:paralleltest // a bubble's test stands alone
func TestKeptClaimOutlivesItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		f := &faulty{Renewer: db}
		ctx, stop := keep(t, f, h)
		wait(100*ttl + time.Second)
		if err := ctx.Err(); err != nil {
			t.Fatalf("lost after a hundred times its time-to-live: %v", context.Cause(ctx))
		}
		stop()
		if f.beats != 300 {
			t.Errorf("%d beats, want 300", f.beats)
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
		ctx, stop := keep(t, db, h)
		defer stop()
		if _, err := db.Release(t.Context(), h, fleet.EndingReleased, ""); err != nil {
			t.Fatal(err)
		}
		if _, c, err := db.Take(t.Context(), store.TakeRequest{Key: "fix", Holder: "b", TTL: ttl}); err != nil || c.Epoch != 2 {
			t.Fatalf("take by another: epoch %d, %v", c.Epoch, err)
		}
		start := clock()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, fleet.ErrLost) {
			t.Errorf("cause %v, want lost", cause)
		}
		if waited := clock().Sub(start); waited > ttl/3 {
			t.Errorf("found out after %s, want a third of %s at most", waited, ttl)
		}
	})
}

//nolint:paralleltest // a bubble's test stands alone
func TestStoreThatFailsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, h := open(t)
		defer closeStore(t, db)
		f := &faulty{Renewer: db, err: errors.New("disk on fire")}
		ctx, stop := keep(t, f, h)
		defer stop()
		wait(ttl - ttl/4) // two beats failed
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
		ctx, stop := keep(t, &faulty{Renewer: db, err: errors.New("disk on fire")}, h)
		defer stop()
		start := clock()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, fleet.ErrLost) {
			t.Errorf("cause %v, want lost", cause)
		}
		if waited := clock().Sub(start); waited != ttl {
			t.Errorf("given up after %s, want %s", waited, ttl)
		}
	})
}
