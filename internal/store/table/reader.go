package table

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Source can read a store.
type Source interface {
	// Read reads rows, all as of one instant. It runs the statements in their order.
	Read(ctx context.Context, ask func(now time.Time) []Statement) error
}

// Reader offers the reads of a store.
type Reader struct {
	Source
	Host func() string // this machine's identity, for cooldowns after its own sessions; nil or empty: it has none
}

// read reads the answer to one statement.
func read[R any](ctx context.Context, s Source, what string, ask func(add func(R)) Statement) (list []R, err error) {
	err = s.Read(ctx, func(time.Time) []Statement {
		return []Statement{ask(func(row R) { list = append(list, row) })}
	})
	return list, wrap(err, "read %s", what)
}

// wrap adds to an error the action that failed.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Check returns a key's last claim; for a new key one with epoch 0.
func (r Reader) Check(ctx context.Context, key fleet.Key) (c fleet.Claim, at time.Time, err error) {
	c.Key = key
	err = r.Read(ctx, func(now time.Time) []Statement {
		at = now
		return []Statement{Claims().Select(func(found Claim) { c = found.Claim }, "where key = $1", key)}
	})
	return c, at, wrap(err, "check claim %q", key)
}

// List lists claims by key.
func (r Reader) List(ctx context.Context, l store.Listing) (s store.ClaimsAt, err error) {
	err = r.Read(ctx, func(now time.Time) []Statement {
		return standing(&s, l, now, func(r Run) { s.Open = append(s.Open, r.Run) })
	})
	slices.SortFunc(s.Claims, byKey)
	return s, wrap(err, "list claims")
}

// standing reads claims and open runs, and passes each of these runs to open.
func standing(s *store.ClaimsAt, l store.Listing, now time.Time, open func(Run)) []Statement {
	s.At = now
	runs := Runs().Select(open, "where ended_at is null order by id")
	return append([]Statement{runs}, listed(l, now, func(c Claim) { s.Claims = append(s.Claims, c.Claim) })...)
}

// listed reads the claims of a listing. Without All it reads those that [fleet.Claim.Free] may refuse: claims that have
// not expired, and claims of sessions, which expiry alone does not free. Each of the two has an index, which an order
// would not use.
func listed(l store.Listing, now time.Time, add func(Claim)) []Statement {
	const session = "holder >= 'run:' and holder < 'run;'"
	switch at := now.UnixMilli(); {
	case l.All && l.Holder == "":
		return []Statement{Claims().Select(add, "")}
	case l.All:
		return []Statement{Claims().Select(add, "where holder = $1", l.Holder)}
	case l.Holder == "":
		return []Statement{
			Claims().Select(add, "where released_at is null and expires_at > $1", at),
			Claims().Select(add, "where released_at is null and "+session+" and expires_at <= $1", at),
		}
	default:
		return []Statement{Claims().Select(add, "where released_at is null and holder = $1 and (expires_at > $2 or "+session+")", l.Holder, at)}
	}
}

func byKey(a, b fleet.Claim) int { return cmp.Compare(a.Key, b.Key) }

// Places reads the taken places in review.
func (r Reader) Places(ctx context.Context) (list []fleet.ReviewSlot, away fleet.Away, err error) {
	err = r.Read(ctx, func(time.Time) []Statement {
		return []Statement{
			Fleets().Select(func(f Fleet) { away = f.Away }, ""),
			{SQL: takenPlaces, Scan: func(row Scanner) error {
				var p fleet.ReviewSlot
				err := row.Scan(&p.Run, Flag{&p.Ended}, Flag{&p.Left}, &p.Host)
				list = append(list, p)
				return err
			}},
		}
	})
	return list, away, wrap(err, "read places in review")
}

const takenPlaces = `select p.run, case when r.id is null or r.ended_at is not null then 1 else 0 end, case when r.commits <> '[]' then 1 else 0 end, coalesce(r.host, '')
from reviews p left join runs r on r.id = p.run where p.taken = 1 order by p.run`
