package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

const (
	// A claim is renewed after this part of its time-to-live, or after MaxHeartbeat.
	beatPart = 3
	// MaxHeartbeat is the longest time between two renewals.
	MaxHeartbeat = 5 * time.Minute
	// A renewal that failed is tried again after this part of it, or after so long, give or take a
	// fifth: many supervisors meet one fault.
	retryPart, maxRetry, jitter = 12, 15 * time.Second, 5
	// look is the time between two comparisons of the lease with the clock: a machine that sleeps stops timers.
	look = 5 * time.Second
)

// HeartbeatEvery is the time between two renewals.
func HeartbeatEvery(ttl time.Duration) time.Duration { return min(ttl/beatPart, MaxHeartbeat) }

// HeartbeatWithin is the time within which a session has asked for a renewal, and once more if that failed.
func HeartbeatWithin(ttl time.Duration) time.Duration {
	return HeartbeatEvery(ttl) + maxRetry + maxRetry/jitter
}

// Retry is the time until a renewal that failed is tried again, by chance from 0 to 1.
func Retry(ttl time.Duration, chance float64) time.Duration {
	d := min(ttl/retryPart, maxRetry)
	return d + time.Duration((2*chance-1)*float64(d/jitter))
}

// Lease is the time for which a session may work after it asked for a renewal that it got. The claim lasts
// for its time-to-live from a moment after that, by another clock. Within the rest, which is the
// guard, the session ends: the time between two looks at the clock, [Grace], and a thousandth for
// clocks that go at different speeds. The guard of a time-to-live below a minute is a quarter of it.
func Lease(ttl time.Duration) time.Duration {
	return ttl - min(look+MostGrace+ttl/1000, ttl/4)
}

// MostGrace is the longest time that an agent gets between SIGTERM and SIGKILL.
const MostGrace = 10 * time.Second

// Grace is the time that an agent gets between SIGTERM and SIGKILL: it ends before its claim does.
func Grace(ttl time.Duration) time.Duration { return min(MostGrace, (ttl-Lease(ttl))*2/3) }

// ErrStopRequested is the cause of an end that a person on another machine wants.
var ErrStopRequested = errors.New("stopped by a person")

// Renewer moves the expiry of claims.
type Renewer interface {
	// Renew wraps [fleet.ErrLost] when the claim is no longer the holder's. Its answer says whether a
	// person wants the work to end.
	Renew(ctx context.Context, h store.Hold, ttl time.Duration) (store.Kept, error)
}

// Keeper keeps one claim while work is done under it: it renews the claim, and a lease that is over,
// or a claim that is lost, ends the work, by cancelling its context with the loss as its cause. The
// caller must hold the claim when it begins to keep it, and gives it back. The work of a session that a
// person wants to end, on another machine, ends in the same way, with that as its cause.
type Keeper struct {
	Claims Renewer
	Hold   store.Hold
	TTL    time.Duration // of the grant, and of every renewal
	// Elapsed is a clock that does not jump, and goes on while the machine sleeps.
	Elapsed func() time.Duration
	Asked   time.Duration // when the grant was asked for, by that clock
	Expires time.Time     // the grant, by the store's clock
	Tail    func() string // goes along with a renewal when it has changed; nil: nothing
	Log     *slog.Logger
}

// Kept is a claim that is kept.
type Kept struct {
	keeper  Keeper
	end     context.CancelCauseFunc
	stopped chan struct{}

	mu      sync.Mutex
	asked   time.Duration // for the last renewal that was got
	expires time.Time     // by the store's clock
}

// Keep renews the claim until it is stopped or parent ends. The context that it returns ends, with
// a cause that wraps [fleet.ErrLost], as soon as the claim is another's or the lease is over.
//
// A process that was stopped, or a machine that slept, for longer than the lease learns of that
// when it wakes. Before that nothing it writes under the claim goes through either: such writes
// check the expiry themselves.
func (k Keeper) Keep(parent context.Context) (context.Context, *Kept) {
	ctx, end := context.WithCancelCause(parent)
	kept := &Kept{keeper: k, end: end, stopped: make(chan struct{}), asked: k.Asked, expires: k.Expires}
	go func() {
		defer close(kept.stopped)
		kept.watch(ctx)
	}()
	return ctx, kept
}

// Stop ends it. It returns once no renewal is under way.
func (k *Kept) Stop() {
	k.end(nil)
	<-k.stopped
}

// Now is the store's clock, carried on from the last renewal by one that does not jump. It is late
// rather than early.
func (k *Kept) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.expires.Add(k.keeper.Elapsed() - k.asked - k.keeper.TTL)
}

// left is the rest of the lease.
func (k *Kept) left() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked + Lease(k.keeper.TTL) - k.keeper.Elapsed()
}

// watch ends the work with the lease. It does not renew: a renewal may itself be what hangs.
func (k *Kept) watch(ctx context.Context) {
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		k.renew(ctx)
	}()
	defer func() { <-renewing }()
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		left := k.left()
		if left <= 0 {
			k.end(fmt.Errorf("claim %q was not renewed for %s: %w", k.keeper.Hold.Key, Lease(k.keeper.TTL), fleet.ErrLost))
			return
		}
		tick.Reset(min(left, look, k.keeper.TTL/retryPart))
	}
}

func (k *Kept) renew(ctx context.Context) {
	ttl, sent := k.keeper.TTL, ""
	next := time.NewTimer(HeartbeatEvery(ttl))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if k.left() <= 0 { // it was stopped, or the machine slept: the lease is over, whatever the store would say
			continue
		}
		hold, tail := k.keeper.Hold, ""
		if k.keeper.Tail != nil {
			tail = k.keeper.Tail()
		}
		if tail != sent {
			hold.Tail = tail
		}
		asked := k.keeper.Elapsed()
		c, err := k.keeper.Claims.Renew(ctx, hold, ttl)
		switch {
		case err == nil:
			sent = tail
			k.mu.Lock()
			k.asked, k.expires = asked, c.ExpiresAt
			k.mu.Unlock()
			if c.Stop != "" {
				k.end(fmt.Errorf("%w: %s", ErrStopRequested, c.Stop))
				return
			}
			next.Reset(HeartbeatEvery(ttl))
		case errors.Is(err, fleet.ErrLost):
			k.end(err)
		case ctx.Err() == nil:
			k.keeper.Log.WarnContext(ctx, "claim not renewed", slog.Int64("claim_epoch", int64(k.keeper.Hold.Epoch)), slog.Any("err", err))
			next.Reset(Retry(ttl, rand.Float64())) //nolint:gosec // nothing is decided by it
		}
	}
}
