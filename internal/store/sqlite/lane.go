package sqlite

import (
	"context"
	"fmt"

	"stint/internal/fleet"
	"stint/internal/store"
)

// isLane is true of a claim on a lane.
const isLane = `(key >= 'category:' and key < 'category;')`

// LaneTaken takes the claim of a lane for a run and records that the run holds the lane.
func (d *DB) LaneTaken(ctx context.Context, l store.LaneTake) (grant fleet.Grant, c fleet.Claim, err error) {
	err = d.update(ctx, func(t tx) error {
		grant, c, err = t.take(ctx, store.TakeRequest{
			Key: fleet.LaneKey(l.Category, l.Lane), Holder: l.Run.Holder(), Renews: true, TTL: l.TTL,
		})
		if err != nil || grant == fleet.Denied {
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

// LaneReleased gives back the lane of a run.
func (d *DB) LaneReleased(ctx context.Context, id fleet.RunID) error {
	err := d.update(ctx, func(t tx) error {
		_, err := t.ExecContext(ctx, "update claims set released_at = ?, ending = ? where holder = ? and released_at is null and "+isLane,
			millis(t.now), fleet.EndingReleased, id.Holder())
		if err != nil {
			return err
		}
		return t.endHold(ctx, id)
	})
	return wrap(err, "release the lane of run %s", id)
}

// endHold records that a run holds no lane any more.
func (t tx) endHold(ctx context.Context, id fleet.RunID) error {
	_, err := t.ExecContext(ctx, "update lane_holds set released_at = ? where run = ? and released_at is null", millis(t.now), id)
	return err
}
