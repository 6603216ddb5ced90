package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

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

// ReviewTimes reads when somebody reviewed.
func (d *DB) ReviewTimes(ctx context.Context, since time.Time) ([]time.Time, error) {
	return read(ctx, d, "reviews", func(row scanner) (at time.Time, err error) {
		err = row.Scan(table.When(&at))
		return at, err
	}, `select given_at from places where given_at >= ?1 union select looked_at from places where looked_at >= ?1 order by 1`, millis(since))
}

func (t tx) away(ctx context.Context) (a fleet.Away, err error) {
	err = t.QueryRowContext(ctx, "select since, until, reason from away").Scan(table.When(&a.Since), table.When(&a.Until), &a.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return a, err
}
