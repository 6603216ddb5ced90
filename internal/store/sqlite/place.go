package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// room is how much of the room in review is used, for a session that is about to take some.
func (t tx) room(ctx context.Context) (taken int, away bool, err error) {
	if err := t.QueryRowContext(ctx, "select count(*) from places where given_at is null").Scan(&taken); err != nil {
		return 0, false, err
	}
	a, err := t.away(ctx)
	return taken, a.At(t.now), err
}

// takePlace gives a run a place in review. One that somebody decided about since it was looked
// at stays given back.
func (t tx) takePlace(ctx context.Context, id fleet.RunID, looked time.Time) error {
	_, err := t.ExecContext(ctx, `insert into places (run, taken_at) values (?, ?)
on conflict (run) do update set given_at = null where given_at <= ?`, id, millis(t.now), millis(looked))
	return err
}

// giveBack takes the place of a run whose work somebody has decided about.
func (t tx) giveBack(ctx context.Context, id fleet.RunID) error {
	_, err := t.ExecContext(ctx, "update places set given_at = ? where run = ? and given_at is null", millis(t.now), id)
	return err
}

// Places reads the places that are taken.
func (d *DB) Places(ctx context.Context) (list []fleet.TakenPlace, away fleet.Away, err error) {
	err = d.view(ctx, func(t tx) error {
		if away, err = t.away(ctx); err != nil {
			return err
		}
		list, err = collect(ctx, t, func(row scanner) (p fleet.TakenPlace, err error) {
			err = row.Scan(&p.Run, &p.Ended, &p.Left)
			return p, err
		}, `select p.run, r.id is null or r.ended_at is not null, coalesce(r.commits <> '[]', 0) from places p left join runs r on r.id = p.run
where p.given_at is null order by p.run`)
		return err
	})
	return list, away, wrap(err, "read places in review")
}

// SeePlaces takes what was found of runs' work into their places.
func (d *DB) SeePlaces(ctx context.Context, at time.Time, list []fleet.PlaceSight) error {
	err := d.update(ctx, func(t tx) error {
		for _, s := range list {
			if err := t.seePlace(ctx, at, s); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "note places in review")
}

func (t tx) seePlace(ctx context.Context, at time.Time, s fleet.PlaceSight) (err error) {
	switch s.State {
	case fleet.PlaceWaits:
		err = t.takePlace(ctx, s.Run, at)
	case fleet.PlaceOut:
		if err = t.takePlace(ctx, s.Run, at); err == nil {
			_, err = t.ExecContext(ctx, "update places set looked_at = ? where run = ? and looked_at is null", millis(t.now), s.Run)
		}
	case fleet.PlaceReviewed:
		err = t.giveBack(ctx, s.Run)
	case fleet.PlaceEmpty:
		_, err = t.ExecContext(ctx, "delete from places where run = ? and given_at is null", s.Run)
	}
	return err
}

// ReviewTimes reads when somebody reviewed.
func (d *DB) ReviewTimes(ctx context.Context, since time.Time) ([]time.Time, error) {
	return read(ctx, d, "reviews", func(row scanner) (at time.Time, err error) {
		err = row.Scan(table.When(&at))
		return at, err
	}, `select given_at from places where given_at >= ?1 union select looked_at from places where looked_at >= ?1 order by 1`, millis(since))
}

// GoAway notes that the reviewer is away.
func (d *DB) GoAway(ctx context.Context, a fleet.Away) error {
	err := d.update(ctx, func(t tx) error {
		_, err := t.ExecContext(ctx, "insert or replace into away (only, since, until, reason) values (1, ?, ?, ?)",
			millis(t.now), nullMillis(a.Until), a.Reason)
		return err
	})
	return wrap(err, "note that the reviewer is away")
}

// ComeBack ends that the reviewer is away.
func (d *DB) ComeBack(ctx context.Context) (was bool, err error) {
	err = d.update(ctx, func(t tx) error {
		n, err := t.exec(ctx, "delete from away")
		was = n > 0
		return err
	})
	return was, wrap(err, "note that the reviewer is back")
}

func (t tx) away(ctx context.Context) (a fleet.Away, err error) {
	err = t.QueryRowContext(ctx, "select since, until, reason from away").Scan(table.When(&a.Since), table.When(&a.Until), &a.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return a, err
}
