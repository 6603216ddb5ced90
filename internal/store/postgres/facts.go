package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgservicefile"
	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// Section reads a section of a service file, https://www.postgresql.org/docs/current/libpq-pgservice.html. It is empty
// if there is none: then the driver fails, and tells why.
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

// Condition holds a server's facts about itself.
type Condition struct {
	Version           int // of PostgreSQL, such as 150018
	Schema            int // version of the fleet's schema; 0: none
	Compat            int // the oldest program that may use it, by its schema version
	Known             int // this program's schema version
	Standby           bool
	Role              string // the connected role
	Superuser         bool   // the role may do anything
	Owner             bool   // the role owns the schema, and may change and drop all of it
	DeletesClaims     bool   // the role may delete claims: an epoch may then be granted twice
	Writes            bool   // the role may write
	Connections       int    // the server's limit
	Busy              int    // connections in use
	NoSync            bool   // fsync is off
	NoFullPages       bool   // full_page_writes is off
	Synchronous, Late int    // standbys that confirm each write, and others
	Now               time.Time
	Lineage           fleet.Lineage
}

// A role without privileges sees only that replication exists: it counts as not synchronous.
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

// Condition asks the server about itself, for the doctor.
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
