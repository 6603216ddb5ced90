package book

import (
	"context"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Engine runs a write: it keeps all other writers out, reads the clock and then the rows, has
// them decided on, and writes the decision; all of it, or nothing when there is an error.
type Engine interface {
	Change(ctx context.Context, n Need, decide func(*Page) error) error
}

// Writer is the writes of a store on an engine.
type Writer struct{ Engine }

// Take grants, renews or denies a claim.
func (w Writer) Take(ctx context.Context, r store.TakeRequest) (grant fleet.Grant, c fleet.Claim, err error) {
	err = w.Change(ctx, Need{Key: r.Key}, func(p *Page) error {
		grant, c, err = p.Take(r)
		return err
	})
	if err != nil {
		return "", fleet.Claim{}, fmt.Errorf("take claim %q: %w", r.Key, err)
	}
	return grant, c, nil
}

// Renew moves a held claim's expiry to ttl from now.
func (w Writer) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (fleet.Claim, error) {
	return w.held(ctx, "renew", h, func(p *Page) (fleet.Claim, error) { return p.Renew(h, ttl) })
}

// Release gives a held claim back.
func (w Writer) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error) {
	return w.held(ctx, "release", h, func(p *Page) (fleet.Claim, error) { return p.Release(h, ending, reason) })
}

func (w Writer) held(ctx context.Context, verb string, h store.Hold, decide func(*Page) (fleet.Claim, error)) (c fleet.Claim, err error) {
	err = w.Change(ctx, Need{Key: h.Key}, func(p *Page) error {
		c, err = decide(p)
		return err
	})
	if err != nil {
		return fleet.Claim{}, fmt.Errorf("%s claim %q: %w", verb, h.Key, err)
	}
	return c, nil
}

// ReleaseHolder gives back whatever a holder still holds.
func (w Writer) ReleaseHolder(ctx context.Context, holder fleet.Holder, ending fleet.Ending) error {
	err := w.Change(ctx, Need{Holder: holder}, func(p *Page) error {
		p.ReleaseHolder(holder, ending)
		return nil
	})
	if err != nil {
		return fmt.Errorf("release claims of %s: %w", holder, err)
	}
	return nil
}

// LaneReleased gives back the lane of a run.
func (w Writer) LaneReleased(ctx context.Context, id fleet.RunID) error {
	err := w.Change(ctx, Need{Holder: id.Holder()}, func(p *Page) error {
		p.LeaveLane(id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("release the lane of run %s: %w", id, err)
	}
	return nil
}
