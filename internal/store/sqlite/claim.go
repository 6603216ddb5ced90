package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// free is the predicate that decides whether a claim may be taken. It stands
// here once, and serves the take, every fenced write and the selector's view.
const free = `(released_at is not null or expires_at <= :now)`

const claimColumns = `key, holder, epoch, acquired_at, expires_at, note, released_at, ending, reason`

// takeClaim grants a free key at the next epoch, or renews what the same named
// holder still holds. It returns no row when the key is another's.
const takeClaim = `
insert into claims (key, holder, epoch, acquired_at, expires_at, note)
values (:key, :holder, 1, :now, :expires, :note)
on conflict (key) do update set
  holder      = excluded.holder,
  epoch       = epoch + ` + free + `,
  acquired_at = case when ` + free + ` then :now else acquired_at end,
  renewals    = case when ` + free + ` then 0 else renewals + 1 end,
  note        = case when ` + free + ` or :note <> '' then :note else note end,
  expires_at  = :expires,
  released_at = null,
  ending      = '',
  reason      = ''
where ` + free + ` or (:renews and holder = excluded.holder)
returning renewals = 0, ` + claimColumns

const renewClaim = `
update claims set expires_at = :expires, renewals = renewals + 1
where key = :key and holder = :holder and (:epoch = 0 or epoch = :epoch) and not ` + free + `
returning ` + claimColumns

const releaseClaim = `
update claims set released_at = :now, ending = :ending, reason = :reason
where key = :key and holder = :holder and (:epoch = 0 or epoch = :epoch) and not ` + free + `
returning ` + claimColumns

const releaseHolder = `
update claims set released_at = :now, ending = :ending
where holder = :holder and not ` + free

// currentClaim answers whether a claim is still this holder's at this epoch.
const currentClaim = `
select exists (select 1 from claims
where key = :key and holder = :holder and epoch = :epoch and not ` + free + `)`

// Take grants, renews or denies a claim. With [fleet.Denied] the claim returned
// is the one that stands in the way.
func (d *DB) Take(ctx context.Context, r store.Take) (grant fleet.Grant, c fleet.Claim, err error) {
	err = d.update(ctx, func(t tx) error {
		grant, c, err = t.take(ctx, r)
		return err
	})
	if err != nil {
		return "", fleet.Claim{}, fmt.Errorf("take claim %q: %w", r.Key, err)
	}
	return grant, c, nil
}

func (t tx) take(ctx context.Context, r store.Take) (fleet.Grant, fleet.Claim, error) {
	if r.TTL < time.Millisecond {
		return "", fleet.Claim{}, fmt.Errorf("time-to-live %s: want at least 1ms: %w", r.TTL, fleet.ErrUsage)
	}
	row := t.QueryRowContext(ctx, takeClaim,
		sql.Named("key", r.Key), sql.Named("holder", r.Holder), sql.Named("renews", r.Renews),
		sql.Named("note", r.Note), sql.Named("now", millis(t.now)), sql.Named("expires", millis(t.now.Add(r.TTL))))
	var fresh bool
	c, err := scanClaim(row, &fresh)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		c, err := t.claim(ctx, r.Key)
		return fleet.Denied, c, err
	case err != nil:
		return "", fleet.Claim{}, err
	case fresh:
		return fleet.Granted, c, nil
	default:
		return fleet.Renewed, c, nil
	}
}

// Renew moves a held claim's expiry to ttl from now. When the claim is not, or
// no longer, this holder's the error wraps [fleet.ErrLost].
func (d *DB) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (c fleet.Claim, err error) {
	if ttl < time.Millisecond {
		return c, fmt.Errorf("renew claim %q: time-to-live %s: want at least 1ms: %w", h.Key, ttl, fleet.ErrUsage)
	}
	err = d.update(ctx, func(t tx) error {
		c, err = t.fenced(ctx, renewClaim, h, sql.Named("expires", millis(t.now.Add(ttl))))
		return err
	})
	return c, wrapClaim("renew", h.Key, err)
}

// Release gives a held claim back. When the claim is not, or no longer, this
// holder's the error wraps [fleet.ErrLost].
func (d *DB) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (c fleet.Claim, err error) {
	err = d.update(ctx, func(t tx) error {
		c, err = t.fenced(ctx, releaseClaim, h, sql.Named("ending", ending), sql.Named("reason", reason))
		return err
	})
	return c, wrapClaim("release", h.Key, err)
}

// ReleaseHolder gives back whatever a holder still holds.
func (d *DB) ReleaseHolder(ctx context.Context, holder fleet.Holder, ending fleet.Ending) error {
	return d.update(ctx, func(t tx) error {
		_, err := t.ExecContext(ctx, releaseHolder,
			sql.Named("holder", holder), sql.Named("ending", ending), sql.Named("now", millis(t.now)))
		if err != nil {
			return fmt.Errorf("release claims of %s: %w", holder, err)
		}
		return nil
	})
}

// Check reports whether a key is held, and its last claim. A key that was never
// claimed is free, with the zero claim.
func (d *DB) Check(ctx context.Context, key fleet.Key) (c fleet.Claim, held bool, err error) {
	err = d.view(ctx, func(t tx) error {
		row := t.QueryRowContext(ctx, "select not "+free+", "+claimColumns+" from claims where key = :key",
			sql.Named("key", key), sql.Named("now", millis(t.now)))
		c, err = scanClaim(row, &held)
		if errors.Is(err, sql.ErrNoRows) {
			c, err = fleet.Claim{Key: key}, nil
		}
		return err
	})
	return c, held, wrapClaim("check", key, err)
}

// List lists claims by key.
func (d *DB) List(ctx context.Context, l store.Listing) (list []store.Listed, err error) {
	err = d.view(ctx, func(t tx) error {
		list, err = t.claims(ctx, l)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return list, nil
}

func (t tx) claims(ctx context.Context, l store.Listing) (list []store.Listed, err error) {
	query := "select not " + free + ", " + claimColumns + " from claims where (:holder = '' or holder = :holder)"
	if !l.All {
		query += " and released_at is null and not " + free // the first half is the index's
	}
	rows, err := t.QueryContext(ctx, query+" order by key", sql.Named("holder", l.Holder), sql.Named("now", millis(t.now)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var item store.Listed
		if item.Claim, err = scanClaim(rows, &item.Held); err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, rows.Err()
}

// claim reads a key's row, which must exist.
func (t tx) claim(ctx context.Context, key fleet.Key) (fleet.Claim, error) {
	return scanClaim(t.QueryRowContext(ctx, "select "+claimColumns+" from claims where key = ?", key))
}

// fenced runs a write that repeats holder and epoch, and reports [fleet.ErrLost]
// when no row matched.
func (t tx) fenced(ctx context.Context, query string, h store.Hold, more ...any) (fleet.Claim, error) {
	args := append([]any{
		sql.Named("key", h.Key), sql.Named("holder", h.Holder),
		sql.Named("epoch", h.Epoch), sql.Named("now", millis(t.now)),
	}, more...)
	c, err := scanClaim(t.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.Claim{}, fleet.ErrLost
	}
	return c, err
}

// current fails with [fleet.ErrLost] unless the claim is still this holder's at
// this epoch.
func (t tx) current(ctx context.Context, h store.Hold) error {
	var ok bool
	err := t.QueryRowContext(ctx, currentClaim,
		sql.Named("key", h.Key), sql.Named("holder", h.Holder),
		sql.Named("epoch", h.Epoch), sql.Named("now", millis(t.now))).Scan(&ok)
	if err == nil && !ok {
		return fleet.ErrLost
	}
	return err
}

// scanner is a row, or rows at one.
type scanner interface{ Scan(dest ...any) error }

// scanClaim reads the claim columns after those that lead them.
func scanClaim(row scanner, lead ...any) (fleet.Claim, error) {
	var (
		c                 fleet.Claim
		acquired, expires int64
		released          sql.NullInt64
	)
	err := row.Scan(append(lead, &c.Key, &c.Holder, &c.Epoch, &acquired, &expires, &c.Note, &released, &c.Ending, &c.Reason)...)
	if err != nil {
		return fleet.Claim{}, err
	}
	c.AcquiredAt, c.ExpiresAt, c.ReleasedAt = fromMillis(acquired), fromMillis(expires), fromNullMillis(released)
	return c, nil
}

func wrapClaim(verb string, key fleet.Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s claim %q: %w", verb, key, err)
}
