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
func (w Writer) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (store.Kept, error) {
	run, _ := h.Holder.Run()
	n := Need{Key: h.Key, Renews: true, Heard: run}
	return unrefused(ctx, w, n, func(p *Page) (store.Kept, error) { return p.Renew(h, ttl) }, "renew claim %q", h.Key)
}

// Release gives a held claim back.
func (w Writer) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error) {
	return unrefused(ctx, w, Need{Key: h.Key}, func(p *Page) (fleet.Claim, error) { return p.Release(h, ending, reason) }, "release claim %q", h.Key)
}

// ReleaseHolder gives back whatever a holder still holds.
func (w Writer) ReleaseHolder(ctx context.Context, holder fleet.Holder, ending fleet.Ending) error {
	return w.note(ctx, Need{Holder: holder}, func(p *Page) { p.ReleaseHolder(holder, ending) }, "release claims of %s", holder)
}

// LaneReleased gives back the lane of a run.
func (w Writer) LaneReleased(ctx context.Context, id fleet.RunID) error {
	return w.note(ctx, Need{Holder: id.Holder()}, func(p *Page) { p.LeaveLane(id) }, "release the lane of run %s", id)
}

// write runs a write that fails with these words.
func (w Writer) write(ctx context.Context, n Need, decide func(*Page) error, format string, args ...any) error {
	if err := w.Change(ctx, n, decide); err != nil {
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	}
	return nil
}

// note runs a write that cannot be refused, and decides nothing that a caller wants to know.
func (w Writer) note(ctx context.Context, n Need, decide func(*Page), format string, args ...any) error {
	return w.write(ctx, n, func(p *Page) error { decide(p); return nil }, format, args...)
}

// decided runs a write that cannot be refused, and returns what it decides.
func decided[T any](ctx context.Context, w Writer, n Need, decide func(*Page) T, format string, args ...any) (T, error) {
	return unrefused(ctx, w, n, func(p *Page) (T, error) { return decide(p), nil }, format, args...)
}

// unrefused runs a write, and returns what it decides unless it is refused.
func unrefused[T any](ctx context.Context, w Writer, n Need, decide func(*Page) (T, error), format string, args ...any) (got T, err error) {
	err = w.write(ctx, n, func(p *Page) (err error) {
		got, err = decide(p)
		return err
	}, format, args...)
	if err != nil {
		return *new(T), err // what was decided was undone
	}
	return got, nil
}
