package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// past is this machine's knowledge of the store's past. Without a memory it knows nothing and asks nothing.
type past struct {
	memory store.Memory
	pause  time.Duration
	host   func() string
}

// errMet makes a write start again: the store's lineage was written first.
var errMet = errors.New("the store's lineage was written")

// ErrDeposed reports a server whose place a standby took.
var ErrDeposed = errors.New("another server took its place")

// deposed describes a server whose place a standby took.
type deposed struct{ book.Meeting }

func (d deposed) Error() string {
	return fmt.Sprintf("this server is on timeline %d, and this machine has written to timeline %d: another server took its place",
		d.Server.Timeline, d.Seen.Timeline)
}

func (d deposed) Is(target error) bool { return target == ErrDeposed }

// Restored records a person's word that the server's data come from a backup: nothing is granted for the time after a
// loss, and epochs grow.
func (d *DB) Restored(ctx context.Context) (l fleet.Lineage, err error) {
	err = d.Change(ctx, book.Any, func(p book.Tx) error {
		l = p.Restored(d.past.pause)
		return nil
	})
	return l, err
}

// meeting returns the facts known before the server answers.
func (p past) meeting() (m book.Meeting) {
	if p.memory != nil && p.host != nil {
		m = book.Meeting{Host: p.host(), Seen: p.memory.Seen(), Pause: p.pause}
	}
	return m
}

// The name of a log file begins with its timeline. A standby writes none.
const origin = `select system_identifier, case when pg_is_in_recovery() then '00000000' else pg_walfile_name(pg_current_wal_lsn()) end,
current_setting('synchronous_standby_names') from pg_control_system()`

// asks asks the server for its identity, if this machine can compare it.
func (p past) asks(m *book.Meeting) []table.Statement {
	if m.Host == "" {
		return nil
	}
	return []table.Statement{{SQL: origin, Scan: func(row table.Scanner) error {
		var file, standbys string
		if err := row.Scan(&m.Server.System, &file, &standbys); err != nil {
			return err
		}
		m.Server.Synchronous = standbys != ""
		_, err := fmt.Sscanf(file, "%8x", &m.Server.Timeline)
		return err
	}}}
}

// guard closes a connection to a deposed server at once if there are other addresses: the next is tried.
func (p past) guard(config *pgconn.Config) {
	validate := config.ValidateConnect
	if p.memory == nil || len(config.Fallbacks) == 0 {
		return
	}
	config.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, c); err != nil {
				return err
			}
		}
		m := p.meeting()
		if m.Host == "" {
			return nil
		}
		if err := run(ctx, c, p.asks(&m)); err != nil {
			return err
		}
		if m.Seen.Deposed(m.Server) {
			return deposed{m}
		}
		return nil
	}
}
