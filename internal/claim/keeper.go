package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

const (
	// beat is the part of the time-to-live after which a claim is renewed.
	beat = 3
	// retry is the part of it after which a renewal that failed is tried again, so
	// that there are several tries before the claim expires.
	retry = 12
)

// Renewer moves the expiry of claims.
type Renewer interface {
	// Renew wraps [fleet.ErrLost] when the claim is no longer the holder's.
	Renew(ctx context.Context, h store.Hold, ttl time.Duration) (fleet.Claim, error)
}

// Keeper keeps one claim while work is done under it: it renews the claim at a third of its
// time-to-live, and a claim that is lost ends the work, by cancelling its context with the loss as
// its cause. The caller must hold the claim when it begins to keep it, and gives it back.
type Keeper struct {
	Claims Renewer
	Hold   store.Hold
	TTL    time.Duration // of the grant, and of every renewal
	Log    *slog.Logger
}

// Keep renews the claim until stop is called or parent ends. The context it returns
// ends, with a cause that wraps [fleet.ErrLost], as soon as the claim is another's or
// could not be renewed for a whole time-to-live. The grant counts as the first beat,
// so Keep belongs right behind it. Stop returns once no renewal is under way.
//
// A process that was stopped, or a machine that slept, past the expiry learns of the
// loss at the first beat after it wakes. Before that beat nothing it writes under the
// claim goes through either: such writes check the expiry themselves.
func (k Keeper) Keep(parent context.Context) (ctx context.Context, stop func()) {
	ctx, lose := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.renew(ctx, lose)
	}()
	return ctx, func() {
		lose(nil)
		<-done
	}
}

func (k Keeper) renew(ctx context.Context, lose context.CancelCauseFunc) {
	// On a timer of its own: a renewal may itself be what hangs.
	expiry := time.AfterFunc(k.TTL, func() {
		lose(fmt.Errorf("claim %q was not renewed for %s: %w", k.Hold.Key, k.TTL, fleet.ErrLost))
	})
	defer expiry.Stop()
	next := time.NewTimer(k.TTL / beat)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		_, err := k.Claims.Renew(ctx, k.Hold, k.TTL)
		switch {
		case err == nil:
			expiry.Reset(k.TTL)
			next.Reset(k.TTL / beat)
		case errors.Is(err, fleet.ErrLost):
			lose(err)
		case ctx.Err() == nil:
			k.Log.WarnContext(ctx, "claim not renewed", slog.Int64("claim_epoch", int64(k.Hold.Epoch)), slog.Any("err", err))
			next.Reset(k.TTL / retry)
		}
	}
}
