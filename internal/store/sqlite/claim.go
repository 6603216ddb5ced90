package sqlite

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// Change runs a write that book decides.
func (d *DB) Change(ctx context.Context, n book.Need, decide func(*book.Page) error) error {
	return d.update(ctx, func(t tx) error {
		p := book.NewPage(t.now, t.learn)
		if err := t.run(ctx, table.Load(n, p)...); err != nil {
			return err
		}
		if err := decide(p); err != nil {
			return err
		}
		return t.run(ctx, table.Save(p)...)
	})
}

// run runs statements, one after the other.
func (t tx) run(ctx context.Context, list ...table.Statement) error {
	for _, s := range list {
		if err := t.one(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (t tx) one(ctx context.Context, s table.Statement) error {
	if s.Scan == nil {
		_, err := t.ExecContext(ctx, s.SQL, s.Args...)
		return err
	}
	_, err := collect(ctx, t, func(row scanner) (struct{}, error) { return struct{}{}, s.Scan(row) }, s.SQL, s.Args...)
	return err
}

// Check returns a key's last claim, or one with epoch 0 when there was none.
func (d *DB) Check(ctx context.Context, key fleet.Key) (c fleet.Claim, at time.Time, err error) {
	c.Key = key
	err = d.view(ctx, func(t tx) error {
		at = t.now
		return t.run(ctx, table.Claims().Select(func(found book.Claim) { c = found.Claim }, "where key = $1", key))
	})
	return c, at, wrap(err, "check claim %q", key)
}

// List lists claims by key.
func (d *DB) List(ctx context.Context, l store.Listing) (s store.Standing, err error) {
	err = d.view(ctx, func(t tx) error {
		s, err = t.standing(ctx, l)
		return err
	})
	return s, wrap(err, "list claims")
}

func (t tx) standing(ctx context.Context, l store.Listing) (s store.Standing, err error) {
	s.At = t.now
	if err = t.run(ctx, table.Listed(l, t.now, func(c book.Claim) { s.Claims = append(s.Claims, c.Claim) })); err == nil {
		s.Open, err = t.runs(ctx, "where ended_at is null order by id")
	}
	return s, err
}
