package sqlite

import (
	"context"
	"database/sql"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Start is a boot of the machine, and the time since, sleep included, by a clock that nobody sets.
type Start struct {
	ID      string // empty: unknown
	Elapsed time.Duration
}

// clocks are the clocks behind the store's time, all read at once.
type clocks struct {
	wall  time.Time // the machine's clock
	start Start
	boot  string    // the boot that set the store's clock
	zero  time.Time // the time of that boot by the store's clock
}

// wound reports whether this boot of the machine has set the store's clock.
func (c clocks) wound() bool { return c.start.ID != "" && c.start.ID == c.boot }

// now returns the time by the store's clock. It counts from the machine's boot, so that setting the machine's clock
// neither ends a lease nor makes one longer. If nobody has written since the boot, or the boot is unknown, it is the
// machine's clock.
func (c clocks) now() time.Time {
	if c.wound() {
		return c.zero.Add(c.start.Elapsed)
	}
	return c.wall
}

// clocks reads the clocks in a transaction. It refuses a store that was moved since it was opened: nobody would read
// what is written here.
func (d *DB) clocks(ctx context.Context, on *sql.Conn) (c clocks, err error) {
	c.wall = d.now()
	if d.start != nil {
		c.start = d.start()
	}
	var (
		moved string
		zero  int64
	)
	if err := on.QueryRowContext(ctx, "select moved, boot, booted_at from fleet").Scan(&moved, &c.boot, &zero); err != nil {
		return c, err
	}
	c.zero = time.UnixMilli(zero)
	return c, store.Moved(moved)
}

// wind returns a write's time. The first write after a boot sets the store's clock by the machine's, and so does a fire
// that finds them more than a minute apart: claims keep the time that they have left.
func (d *DB) wind(ctx context.Context, on *sql.Conn, fire bool) (time.Time, error) {
	c, err := d.clocks(ctx, on)
	if err != nil || c.start.ID == "" {
		return c.wall, err
	}
	before := c.now()
	if c.wound() && (!fire || c.wall.Sub(before).Abs() <= fleet.ClockSlack) {
		return before, nil
	}
	c.boot, c.zero = c.start.ID, time.UnixMilli(c.wall.Add(-c.start.Elapsed).UnixMilli())
	_, err = on.ExecContext(ctx, "update fleet set boot = $1, booted_at = $2", c.boot, c.zero.UnixMilli())
	if by := c.now().Sub(before).Round(time.Millisecond).Milliseconds(); err == nil && by != 0 {
		_, err = on.ExecContext(ctx, `update claims set acquired_at = acquired_at + $1, expires_at = expires_at + $1
			where released_at is null and expires_at > $2`, by, before.UnixMilli())
	}
	return c.now(), err
}
