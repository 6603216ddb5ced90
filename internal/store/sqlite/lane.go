package sqlite

import (
	"context"
	"fmt"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// LaneTaken takes the claim of a lane for a run and records that the run holds the lane.
func (d *DB) LaneTaken(ctx context.Context, l store.LaneTake) (grant fleet.Grant, c fleet.Claim, err error) {
	err = d.update(ctx, func(t tx) error {
		grant, c, err = t.take(ctx, store.TakeRequest{
			Key: fleet.LaneKey(l.Category, l.Lane), Holder: l.Run.Holder(), Renews: true, TTL: l.TTL,
		})
		if err != nil || grant == fleet.Denied {
			return err
		}
		var taken int // on the run's machine, by others
		err = t.QueryRowContext(ctx, `select count(*) from lane_holds h join runs r on r.id = h.run
where h.released_at is null and h.category = ?1 and h.run <> ?2 and r.host = (select host from runs where id = ?2)`, l.Category, l.Run).Scan(&taken)
		if err == nil {
			err = book.RoomForLane(l, taken)
		}
		if err != nil {
			return err
		}
		return t.holdLane(ctx, l)
	})
	if err != nil {
		return "", fleet.Claim{}, fmt.Errorf("take lane %s.%d: %w", l.Category, l.Lane, err)
	}
	return grant, c, nil
}

// holdLane records a hold, unless it is on record.
func (t tx) holdLane(ctx context.Context, l store.LaneTake) error {
	_, err := t.ExecContext(ctx, `insert into lane_holds (run, category, lane, acquired_at) select ?1, ?2, ?3, ?4
where not exists (select 1 from lane_holds where run = ?1 and category = ?2 and lane = ?3 and released_at is null)`,
		l.Run, l.Category, l.Lane, millis(t.now))
	if err != nil {
		return err
	}
	rows, err := t.exec(ctx, "update runs set category = ?, lane = ? where id = ? and ended_at is null", l.Category, l.Lane, l.Run)
	return oneRow(rows, err, fmt.Errorf("run %s is not open: %w", l.Run, fleet.ErrLost))
}
