package sqlite

import (
	"context"
	"database/sql"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Start is a start of the machine, and the time since, by a clock that nobody sets and that goes on
// while the machine sleeps.
type Start struct {
	ID      string // empty: nobody knows
	Elapsed time.Duration
}

// clocks are those that the store's time depends on, all read at once.
type clocks struct {
	wall  time.Time // the machine's
	start Start
	boot  string    // the start since which the store's goes
	zero  time.Time // when that was, by the store's
}

// wound reports whether the store's clock goes since this start of the machine.
func (c clocks) wound() bool { return c.start.ID != "" && c.start.ID == c.boot }

// now is the time by the store's clock. It goes by the time since the machine's start, so that a person or a time
// server who sets the machine's clock ends no lease and makes none longer. Where nobody has written since that start,
// or nobody knows the start, it is the machine's clock.
func (c clocks) now() time.Time {
	if c.wound() {
		return c.zero.Add(c.start.Elapsed)
	}
	return c.wall
}

// clocks reads them in a transaction. A store that was moved since it was opened is refused: what is written here now,
// nobody reads.
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

// wind is the time by which a write goes. The first write after a start sets the store's clock by the machine's, and
// so does a fire that finds the two more than a minute apart: claims that stand keep the time that is left to them.
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
