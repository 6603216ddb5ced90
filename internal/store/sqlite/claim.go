package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// current is true of a claim that its holder may still write under. Whether another
// may take it is [fleet.Claim.Free].
const current = `(released_at is null and expires_at > :now)`

const claimColumns = `key, holder, epoch, acquired_at, expires_at, renewals, note, released_at, ending, reason, attempt`

// putClaim writes a grant (fresh) or a renewal, provided that the row is still as the
// decision saw it: epoch, renewals and release are all that a write can have changed.
const putClaim = `
insert into claims (key, holder, epoch, acquired_at, expires_at, note, attempt)
values (:key, :holder, 1, :now, :expires, :note, :attempt)
on conflict (key) do update set
  holder      = excluded.holder,
  epoch       = epoch + :fresh,
  acquired_at = iif(:fresh, :now, min(acquired_at, :now)),
  renewals    = iif(:fresh, 0, renewals + 1),
  note        = iif(:fresh or :note <> '', :note, note),
  expires_at  = :expires,
  released_at = null,
  ending      = '',
  reason      = '',
  attempt     = :attempt
where epoch = :seen_epoch and renewals = :seen_renewals and (released_at is null) = :seen_open
returning ` + claimColumns

// renewClaim takes a grant that lies ahead for one of now: the clock was wrong then, and the
// claim is further ahead than it is long no more.
const renewClaim = `
update claims set expires_at = :expires, renewals = renewals + 1, acquired_at = min(acquired_at, :now)
where key = :key and holder = :holder and (:epoch = 0 or epoch = :epoch)
and released_at is null and (:kept or expires_at > :now)
returning ` + claimColumns

const releaseClaim = `
update claims set released_at = :now, ending = :ending, reason = :reason
where key = :key and holder = :holder and (:epoch = 0 or epoch = :epoch) and ` + current + `
returning ` + claimColumns

const releaseHolder = `
update claims set released_at = :now, ending = :ending
where holder = :holder and released_at is null and not ` + isLane

// inTheWay are the claims that [fleet.Claim.Free] may refuse: those that have not
// expired, and those of sessions, which an expiry alone does not free. Each half reads
// an index of its own.
const inTheWay = `
select ` + claimColumns + ` from claims indexed by claims_expiry where released_at is null and expires_at > :now
union
select ` + claimColumns + ` from claims indexed by claims_open where released_at is null and holder >= 'run:' and holder < 'run;'`

// isCurrent answers whether a claim is still this holder's at this epoch.
const isCurrent = `
select exists (select 1 from claims
where key = :key and holder = :holder and epoch = :epoch and ` + current + `)`

// Take grants, renews or denies a claim.
func (d *DB) Take(ctx context.Context, r store.TakeRequest) (grant fleet.Grant, c fleet.Claim, err error) {
	err = d.update(ctx, func(t tx) error {
		grant, c, err = t.take(ctx, r)
		return err
	})
	if err != nil {
		return "", fleet.Claim{}, fmt.Errorf("take claim %q: %w", r.Key, err)
	}
	return grant, c, nil
}

func (t tx) take(ctx context.Context, r store.TakeRequest) (fleet.Grant, fleet.Claim, error) {
	if r.TTL < time.Millisecond {
		return "", fleet.Claim{}, fmt.Errorf("time-to-live %s: want at least 1ms: %w", r.TTL, fleet.ErrUsage)
	}
	seen, err := t.claim(ctx, r.Key)
	if err != nil {
		return "", fleet.Claim{}, err
	}
	if book.Repeats(seen.Claim, r, t.now) {
		return fleet.Granted, seen.Claim, nil
	}
	grant := book.Take(seen.Claim, r, t.now)
	if grant == fleet.Denied {
		return grant, seen.Claim, nil
	}
	c, err := scanClaim(t.QueryRowContext(ctx, putClaim,
		sql.Named("key", r.Key), sql.Named("holder", r.Holder), sql.Named("note", r.Note), sql.Named("attempt", r.Attempt), sql.Named("fresh", grant == fleet.Granted),
		sql.Named("now", millis(t.now)), sql.Named("expires", millis(t.now.Add(r.TTL))),
		sql.Named("seen_epoch", seen.Epoch), sql.Named("seen_renewals", seen.renewals), sql.Named("seen_open", seen.ReleasedAt.IsZero())))
	if err != nil {
		return "", fleet.Claim{}, err
	}
	return grant, c.Claim, nil
}

// Renew moves a held claim's expiry to ttl from now.
func (d *DB) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (c fleet.Claim, err error) {
	if ttl < time.Millisecond {
		return c, fmt.Errorf("renew claim %q: time-to-live %s: want at least 1ms: %w", h.Key, ttl, fleet.ErrUsage)
	}
	err = d.update(ctx, func(t tx) error {
		c, err = t.fenced(ctx, renewClaim, h, sql.Named("kept", h.Kept), sql.Named("expires", millis(t.now.Add(ttl))))
		return err
	})
	return c, wrap(err, "renew claim %q", h.Key)
}

// Release gives a held claim back.
func (d *DB) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (c fleet.Claim, err error) {
	err = d.update(ctx, func(t tx) error {
		c, err = t.fenced(ctx, releaseClaim, h, sql.Named("ending", ending), sql.Named("reason", reason))
		if errors.Is(err, fleet.ErrLost) {
			if seen, readErr := t.claim(ctx, h.Key); readErr == nil && book.Released(seen.Claim, h, ending, reason) {
				c, err = seen.Claim, nil
			}
		}
		if run, session := c.Holder.Run(); err == nil && session && c.Key.IsLane() {
			return t.endHold(ctx, run)
		}
		return err
	})
	return c, wrap(err, "release claim %q", h.Key)
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

// Check returns a key's last claim, or one with epoch 0 when there was none.
func (d *DB) Check(ctx context.Context, key fleet.Key) (c fleet.Claim, at time.Time, err error) {
	err = d.view(ctx, func(t tx) error {
		seen, err := t.claim(ctx, key)
		c, at = seen.Claim, t.now
		return err
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
	if s.Claims, err = t.claims(ctx, l); err == nil {
		s.Open, err = t.runs(ctx, "where ended_at is null order by id")
	}
	return s, err
}

func (t tx) claims(ctx context.Context, l store.Listing) ([]fleet.Claim, error) {
	from := "(" + inTheWay + ")"
	if l.All {
		from = "claims"
	}
	return collect(ctx, t, func(from scanner) (fleet.Claim, error) {
		c, err := scanClaim(from)
		return c.Claim, err
	}, "select "+claimColumns+" from "+from+" where :holder in ('', holder) order by key",
		sql.Named("now", millis(t.now)), sql.Named("holder", l.Holder))
}

// claim reads a key's last claim, or one with epoch 0 when there was none.
func (t tx) claim(ctx context.Context, key fleet.Key) (row, error) {
	c, err := scanClaim(t.QueryRowContext(ctx, "select "+claimColumns+" from claims where key = ?", key))
	if errors.Is(err, sql.ErrNoRows) {
		return row{Claim: fleet.Claim{Key: key}}, nil
	}
	return c, err
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
	return c.Claim, err
}

// current fails with [fleet.ErrLost] unless the claim is still this holder's at
// this epoch, and was not expired at a time.
func (t tx) current(ctx context.Context, h store.Hold, at time.Time) error {
	var ok bool
	err := t.QueryRowContext(ctx, isCurrent,
		sql.Named("key", h.Key), sql.Named("holder", h.Holder),
		sql.Named("epoch", h.Epoch), sql.Named("now", millis(at))).Scan(&ok)
	if err == nil && !ok {
		return fleet.ErrLost
	}
	return err
}

// row is a claim with what only the store needs of it.
type row struct {
	fleet.Claim
	renewals int64
}

func scanClaim(from scanner) (row, error) {
	var c row
	err := from.Scan(&c.Key, &c.Holder, &c.Epoch, when{&c.AcquiredAt}, when{&c.ExpiresAt}, &c.renewals, &c.Note, when{&c.ReleasedAt}, &c.Ending, &c.Reason, &c.Attempt)
	return c, err
}
