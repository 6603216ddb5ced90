package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgservicefile"
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

// Condition has the facts that a server tells of itself.
type Condition struct {
	Version           int // of PostgreSQL, such as 150018
	Schema            int // of the fleet: its version; 0: there is none
	Compat            int // the oldest program that may use it, by the version that it knows
	Known             int // the version that this program knows
	Standby           bool
	Role              string // that is connected
	Superuser         bool   // it may do anything
	Owner             bool   // the schema is its own: it may change and drop all of it
	DeletesClaims     bool   // it may: an epoch may be granted twice then
	Writes            bool   // it may
	Connections       int    // that the server has room for
	Busy              int    // of these
	NoSync            bool   // fsync is off
	NoFullPages       bool   // full_page_writes is off
	Synchronous, Late int    // standbys that have all that was acknowledged, and that may not
	Now               time.Time
	Lineage           fleet.Lineage
}

// A role without privileges sees of replication only that it is there: it counts as not synchronous.
const condition = `select current_setting('server_version_num')::bigint, pg_is_in_recovery(), current_user::text,
(select rolsuper from pg_roles where rolname = current_user),
coalesce((select pg_has_role(current_user, nspowner, 'usage') from pg_namespace where oid = to_regnamespace($1)), false),
coalesce(has_table_privilege(to_regclass($1 || '.claims'), 'delete'), false),
coalesce(has_table_privilege(to_regclass($1 || '.claims'), 'update'), false),
current_setting('max_connections')::bigint,
(select count(*) from pg_stat_activity where backend_type = 'client backend'),
current_setting('fsync') = 'off', current_setting('full_page_writes') = 'off',
(select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')),
(select count(*) from pg_stat_replication where coalesce(sync_state, '') not in ('sync', 'quorum')),
floor(extract(epoch from clock_timestamp()) * 1000)::bigint`

// Condition asks the server of itself, for the doctor.
func (d *DB) Condition(ctx context.Context) (s Condition, err error) {
	err = d.line.use(ctx, false, func(ctx context.Context, c *pgconn.PgConn) error {
		return run(ctx, c, []table.Statement{{SQL: condition, Args: []any{d.schema}, Scan: func(row table.Scanner) error {
			return row.Scan(&s.Version, &s.Standby, &s.Role, &s.Superuser, &s.Owner, &s.DeletesClaims, &s.Writes,
				&s.Connections, &s.Busy, &s.NoSync, &s.NoFullPages, &s.Synchronous, &s.Late, table.When(&s.Now))
		}}})
	})
	if err != nil {
		return s, err
	}
	s.Known = len(d.steps)
	err = d.line.use(ctx, false, func(ctx context.Context, c *pgconn.PgConn) error {
		return ask(ctx, c, "select schema, compat from "+d.schema+".fleet", nil, &s.Schema, &s.Compat)
	})
	switch {
	case isCode(err, codeNoTable):
		return s, nil
	case err != nil, fits(s.Schema, s.Compat, s.Known) != nil:
		return s, err
	}
	return s, d.Read(ctx, func(time.Time) []table.Statement {
		return []table.Statement{table.Fleets().Select(func(f table.Fleet) { s.Lineage = f.Lineage }, "")}
	})
}
