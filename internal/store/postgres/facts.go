package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgservicefile"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// Section reads a section of a service file, https://www.postgresql.org/docs/current/libpq-pgservice.html.
// It is empty where there is none: then the driver fails, and says why.
func Section(path, name string) map[string]string {
	file, err := pgservicefile.ReadServicefile(path)
	if err != nil {
		return nil
	}
	s, err := file.GetService(name)
	if err != nil {
		return nil
	}
	return s.Settings
}

// Condition is what a server says of itself.
type Condition struct {
	Version           int // of PostgreSQL, such as 150018
	Schema            int // of the fleet: its version; 0: there is none
	Standby           bool
	Superuser         bool // the role may do anything
	Connections       int  // that the server has room for
	Busy              int  // of these
	NoSync            bool // fsync is off
	NoFullPages       bool // full_page_writes is off
	Synchronous, Late int  // standbys that have all that was acknowledged, and that may not
	Now               time.Time
	Lineage           fleet.Lineage
}

// A role without privileges sees of replication only that it is there: it counts as not synchronous.
const condition = `select current_setting('server_version_num')::bigint, pg_is_in_recovery(),
(select rolsuper from pg_roles where rolname = current_user),
current_setting('max_connections')::bigint,
(select count(*) from pg_stat_activity where backend_type = 'client backend'),
current_setting('fsync') = 'off', current_setting('full_page_writes') = 'off',
(select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')),
(select count(*) from pg_stat_replication where coalesce(sync_state, '') not in ('sync', 'quorum')),
clock_timestamp()`

// Condition asks the server of itself, for the doctor.
func (d *DB) Condition(ctx context.Context) (s Condition, err error) {
	err = d.line.use(ctx, false, func(ctx context.Context, c *pgx.Conn) error {
		return run(ctx, c, []table.Statement{{SQL: condition, Scan: func(row table.Scanner) error {
			return row.Scan(&s.Version, &s.Standby, &s.Superuser, &s.Connections, &s.Busy, &s.NoSync, &s.NoFullPages, &s.Synchronous, &s.Late, &s.Now)
		}}})
	})
	if err != nil {
		return s, err
	}
	err = d.Read(ctx, func(time.Time) []table.Statement {
		return []table.Statement{
			{SQL: "select version from fleet", Scan: func(row table.Scanner) error { return row.Scan(&s.Schema) }},
			table.Lineage().Select(func(l fleet.Lineage) { s.Lineage = l }, ""),
		}
	})
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == codeNoTable {
		return s, nil
	}
	return s, err
}
