package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store/table"
)

// Role names the role for a fleet's daily work. It owns nothing, and deletes rows only in tables that shrink.
func Role(name fleet.Name) string { return "stint_" + string(name) }

// Reader names the role that only reads, for dashboards.
func Reader(name fleet.Name) string { return Role(name) + "_ro" }

// makes returns the statement with which an administrator makes a role: stint makes none, and knows no password.
func makes(role string, connections int) string {
	return fmt.Sprintf("create role %s login connection limit %d;", quoted(role), connections)
}

// grants returns the statements that give a role its rights in the schema, and take away all others.
func (d *DB) grants(role string, works bool) string {
	var s strings.Builder
	say := func(format string) { fmt.Fprintf(&s, format+";\n", d.schema, quoted(role)) }
	say("revoke all on all tables in schema %s from %s")
	say("grant usage on schema %s to %s")
	say("grant select on all tables in schema %s to %s")
	if !works {
		return s.String()
	}
	var (
		all       = []string{d.schema + ".acknowledged"} // it is not part of the record
		shrinking []string
	)
	for _, t := range table.NewTx(rank.Settings{}, nil).Tables() {
		name := d.schema + "." + t.Name()
		if all = append(all, name); t.Shrinks() {
			shrinking = append(shrinking, name)
		}
	}
	say("grant update (" + table.FleetColumns() + ") on %s.fleet to %s") // except the schema's versions
	fmt.Fprintf(&s, "grant insert, update on %s to %s;\n", strings.Join(all, ", "), quoted(role))
	fmt.Fprintf(&s, "grant delete on %s to %s;\n", strings.Join(shrinking, ", "), quoted(role))
	return s.String()
}

// The rights in a schema, as text.
const rights = `select coalesce((select nspacl::text from pg_namespace where oid = to_regnamespace($1)), '') || coalesce((
select string_agg(relname || coalesce(relacl::text, '') || coalesce((
select string_agg(attname || attacl::text, '' order by attname) from pg_attribute where attrelid = pg_class.oid and attacl is not null), ''), '' order by relname)
from pg_class where relnamespace = to_regnamespace($1)), '')`

// The roles of these names. The schema's owner needs no rights: it may do anything there.
const others = `select rolname::text, (select nspowner from pg_namespace where nspname = $1) is distinct from oid from pg_roles where rolname in ($1, $2)`

// grant gives the fleet's roles their rights, if the roles exist. The step is empty if nothing changed.
func (d *DB) grant(ctx context.Context, c *pgconn.PgConn, name fleet.Name) (did Step, lacks []string, err error) {
	exists := map[string]bool{}
	grantee := map[string]bool{}
	err = run(ctx, c, []table.Statement{{SQL: others, Args: []any{Role(name), Reader(name)}, Scan: func(row table.Scanner) error {
		var role string
		var other bool
		err := row.Scan(&role, &other)
		exists[role], grantee[role] = true, other
		return err
	}}})
	if err != nil {
		return Step{}, nil, err
	}
	for _, r := range []struct {
		name        string
		works       bool
		connections int
	}{{Role(name), true, 80}, {Reader(name), false, 10}} {
		switch {
		case !exists[r.name]:
			lacks = append(lacks, makes(r.name, r.connections))
		case grantee[r.name]:
			did.SQL += d.grants(r.name, r.works)
		}
	}
	if did.SQL == "" {
		return Step{}, lacks, nil
	}
	did.Name = "the rights of the fleet's roles"
	var before, after string
	err = ask(ctx, c, rights, []any{d.schema}, &before)
	if err == nil {
		err = say(ctx, c, did.SQL)
	}
	if err == nil {
		err = ask(ctx, c, rights, []any{d.schema}, &after)
	}
	if err != nil {
		return Step{}, nil, fmt.Errorf("grant: %w", err)
	}
	if before == after {
		return Step{}, lacks, nil
	}
	return did, lacks, nil
}
