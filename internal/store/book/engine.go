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
func (w Writer) Take(ctx context.Context, r store.TakeRequest) (fleet.Grant, fleet.Claim, error) {
	return w.granted(ctx, Need{Key: r.Key}, func(p *Page) (fleet.Grant, fleet.Claim, error) { return p.Take(r) }, "take claim %q", r.Key)
}

func (w Writer) granted(ctx context.Context, n Need, decide func(*Page) (fleet.Grant, fleet.Claim, error), format string, args ...any) (grant fleet.Grant, c fleet.Claim, err error) {
	err = w.write(ctx, n, func(p *Page) (err error) {
		grant, c, err = decide(p)
		return err
	}, format, args...)
	if err != nil {
		return "", fleet.Claim{}, err // what was granted was undone
	}
	return grant, c, nil
}

// Renew moves a held claim's expiry to ttl from now.
func (w Writer) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (kept store.Kept, err error) {
	run, _ := h.Holder.Run()
	_, err = w.held(ctx, "renew", Need{Key: h.Key, Renews: true, Heard: run}, func(p *Page) (c fleet.Claim, err error) {
		kept, err = p.Renew(h, ttl)
		return kept.Claim, err
	})
	if err != nil {
		return store.Kept{}, err
	}
	return kept, nil
}

// Release gives a held claim back.
func (w Writer) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error) {
	return w.held(ctx, "release", Need{Key: h.Key}, func(p *Page) (fleet.Claim, error) { return p.Release(h, ending, reason) })
}

func (w Writer) held(ctx context.Context, verb string, n Need, decide func(*Page) (fleet.Claim, error)) (c fleet.Claim, err error) {
	err = w.write(ctx, n, func(p *Page) (err error) {
		c, err = decide(p)
		return err
	}, "%s claim %q", verb, n.Key)
	if err != nil {
		return fleet.Claim{}, err
	}
	return c, nil
}

// ReleaseHolder gives back whatever a holder still holds.
func (w Writer) ReleaseHolder(ctx context.Context, holder fleet.Holder, ending fleet.Ending) error {
	return w.write(ctx, Need{Holder: holder}, func(p *Page) error {
		p.ReleaseHolder(holder, ending)
		return nil
	}, "release claims of %s", holder)
}

// LaneReleased gives back the lane of a run.
func (w Writer) LaneReleased(ctx context.Context, id fleet.RunID) error {
	return w.write(ctx, Need{Holder: id.Holder()}, func(p *Page) error {
		p.LeaveLane(id)
		return nil
	}, "release the lane of run %s", id)
}

// write runs a write that fails with these words.
func (w Writer) write(ctx context.Context, n Need, decide func(*Page) error, format string, args ...any) error {
	if err := w.Change(ctx, n, decide); err != nil {
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	}
	return nil
}

// decided runs a write that cannot be refused, and returns what it decides.
func decided[T any](ctx context.Context, w Writer, n Need, decide func(*Page) T, format string, args ...any) (got T, err error) {
	err = w.write(ctx, n, func(p *Page) error {
		got = decide(p)
		return nil
	}, format, args...)
	if err != nil {
		return *new(T), err
	}
	return got, nil
}
