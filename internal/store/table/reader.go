package table

import (
	"context"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// Source is a store that can be read.
type Source interface {
	// Read reads rows, all as of one instant. It runs the statements in their order.
	Read(ctx context.Context, ask func(now time.Time) []Statement) error
}

// Reader is the reads of a store.
type Reader struct {
	Source
	Host func() string // this machine's identity: a category rests here after its sessions here; nil, or empty: after any
}

// read reads what one statement asks for.
func read[R any](ctx context.Context, s Source, what string, ask func(add func(R)) Statement) (list []R, err error) {
	err = s.Read(ctx, func(time.Time) []Statement {
		return []Statement{ask(func(row R) { list = append(list, row) })}
	})
	return list, wrap(err, "read %s", what)
}

// wrap says what it was that failed, if anything did.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Check returns a key's last claim, or one with epoch 0 when there was none.
func (r Reader) Check(ctx context.Context, key fleet.Key) (c fleet.Claim, at time.Time, err error) {
	c.Key = key
	err = r.Read(ctx, func(now time.Time) []Statement {
		at = now
		return []Statement{Claims().Select(func(found book.Claim) { c = found.Claim }, "where key = $1", key)}
	})
	return c, at, wrap(err, "check claim %q", key)
}

// List lists claims by key.
func (r Reader) List(ctx context.Context, l store.Listing) (s store.Standing, err error) {
	err = r.Read(ctx, func(now time.Time) []Statement {
		return standing(&s, l, now, func(r book.Run) { s.Open = append(s.Open, r.Run) })
	})
	return s, wrap(err, "list claims")
}

// standing reads who holds what. Each run that has not ended is given to open.
func standing(s *store.Standing, l store.Listing, now time.Time, open func(book.Run)) []Statement {
	s.At = now
	claims := Listed(l, now, func(c book.Claim) { s.Claims = append(s.Claims, c.Claim) })
	return append(ended(open, "where ended_at is null order by id"), claims)
}

// Places reads the places that are taken.
func (r Reader) Places(ctx context.Context) (list []fleet.TakenPlace, away fleet.Away, err error) {
	err = r.Read(ctx, func(time.Time) []Statement {
		return []Statement{
			Away().Select(func(a fleet.Away) { away = a }, ""),
			{SQL: takenPlaces, Scan: func(row Scanner) error {
				var p fleet.TakenPlace
				err := row.Scan(&p.Run, Flag{&p.Ended}, Flag{&p.Left})
				list = append(list, p)
				return err
			}},
		}
	})
	return list, away, wrap(err, "read places in review")
}

const takenPlaces = `select p.run, case when r.id is null or r.ended_at is not null then 1 else 0 end, case when r.commits <> '[]' then 1 else 0 end
from places p left join runs r on r.id = p.run where p.given_at is null order by p.run`
