package book

import (
	"context"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Engine runs a write: it keeps out all other writers, reads the clock and then the rows that are asked for, and writes
// the decision. An error undoes everything.
type Engine interface {
	Change(ctx context.Context, k Kind, decide func(Tx) error) error
}

// Kind is a kind of write.
type Kind int

// The kinds of writes.
const (
	Any     Kind = iota
	Renewal      // writes only a claim's expiry: other writes may go on meanwhile
	Firing       // it may set the store's clock
	Copying      // concerns every row
)

// Writer offers the writes of a store on an engine.
type Writer struct {
	Engine
	kind Kind
}

func (w Writer) as(k Kind) Writer { return Writer{w.Engine, k} }

// Take grants, renews or denies a claim.
func (w Writer) Take(ctx context.Context, r store.TakeRequest) (fleet.Grant, fleet.Claim, error) {
	return w.granted(ctx, func(p Tx) (fleet.Grant, fleet.Claim, error) { return p.Take(r) }, "take claim %q", r.Key)
}

func (w Writer) granted(ctx context.Context, decide func(Tx) (fleet.Grant, fleet.Claim, error), format string, args ...any) (grant fleet.Grant, c fleet.Claim, err error) {
	err = w.write(ctx, func(p Tx) (err error) {
		grant, c, err = decide(p)
		return err
	}, format, args...)
	if err != nil {
		return "", fleet.Claim{}, err // the grant was undone
	}
	return grant, c, nil
}

// Renew moves a held claim's expiry to ttl from now.
func (w Writer) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (store.Kept, error) {
	return unrefused(ctx, w.as(Renewal), func(p Tx) (store.Kept, error) { return p.Renew(h, ttl) }, "renew claim %q", h.Key)
}

// Release gives a held claim back.
func (w Writer) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error) {
	return unrefused(ctx, w, func(p Tx) (fleet.Claim, error) { return p.Release(h, ending, reason) }, "release claim %q", h.Key)
}

// write runs a write. The format describes it in errors.
func (w Writer) write(ctx context.Context, decide func(Tx) error, format string, args ...any) error {
	if err := w.Change(ctx, w.kind, decide); err != nil {
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	}
	return nil
}

// note runs a write that cannot be refused and has no answer.
func (w Writer) note(ctx context.Context, decide func(Tx), format string, args ...any) error {
	return w.write(ctx, func(p Tx) error { decide(p); return nil }, format, args...)
}

// decided runs a write that cannot be refused, and returns its answer.
func decided[T any](ctx context.Context, w Writer, decide func(Tx) T, format string, args ...any) (T, error) {
	return unrefused(ctx, w, func(p Tx) (T, error) { return decide(p), nil }, format, args...)
}

// unrefused runs a write, and returns its answer unless it is refused.
func unrefused[T any](ctx context.Context, w Writer, decide func(Tx) (T, error), format string, args ...any) (got T, err error) {
	err = w.write(ctx, func(p Tx) (err error) {
		got, err = decide(p)
		return err
	}, format, args...)
	if err != nil {
		return *new(T), err // the decision was undone
	}
	return got, nil
}
