package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
)

// schemaOf returns the quoted name of a fleet's schema.
func schemaOf(name fleet.Name) string { return quoted(Role(name)) }

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// The busiest tables get room in their pages: an updated row stays in its page, and no index changes.
const roomy = "alter table %s set (fillfactor = 50)"

func hot() []string {
	return []string{"fleet", "hosts", "heard", "rankings", "agents", "spent", "claims"}
}

// Migrated lists changes to a fleet's schema.
type Migrated struct {
	Steps []Step
	Lacks []string // SQL with which an administrator makes the fleet's missing roles
}

// Step is one change, as SQL.
type Step struct{ Name, SQL string }

// Migrate makes a fleet's schema or brings it up to date, as its owner, and gives the fleet's roles their rights. No
// other command does so: a fleet's hosts are upgraded one by one. Each step is a transaction; if we die between two, the
// next call goes on.
func Migrate(ctx context.Context, o Options) (m Migrated, err error) {
	d, err := Open(o)
	if err != nil {
		return Migrated{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.migrate(ctx, o.Fleet)
}

func (d *DB) migrate(ctx context.Context, name fleet.Name) (all Migrated, err error) {
	for {
		var did Migrated
		err = d.line.use(ctx, true, func(ctx context.Context, c *pgconn.PgConn) (err error) {
			if err = say(ctx, c, "begin"); err != nil {
				return err
			}
			if did, err = d.next(ctx, c, name); err != nil || d.dryRun {
				return err // the connection is closed, which undoes it
			}
			return say(ctx, c, "commit")
		})
		if err != nil {
			return all, err
		}
		all.Steps, all.Lacks = append(all.Steps, did.Steps...), did.Lacks
		if len(did.Steps) == 0 || d.dryRun {
			return all, nil
		}
	}
}

// next does the next step, if any; a dry run does all of them.
func (d *DB) next(ctx context.Context, c *pgconn.PgConn, name fleet.Name) (m Migrated, err error) {
	for {
		step, err := d.step(ctx, c, name)
		if err != nil {
			return Migrated{}, err
		}
		if step.SQL == "" {
			break
		}
		if m.Steps = append(m.Steps, step); !d.dryRun {
			return m, nil
		}
	}
	step, lacks, err := d.grant(ctx, c, name)
	if m.Lacks = lacks; step.SQL != "" {
		m.Steps = append(m.Steps, step)
	}
	return m, err
}

// step does the next step of the schema, if any.
func (d *DB) step(ctx context.Context, c *pgconn.PgConn, name fleet.Name) (did Step, err error) {
	have, err := d.version(ctx, c)
	switch {
	case err != nil:
		return Step{}, err
	case have > len(d.steps):
		return Step{}, fleet.WithHint(fmt.Errorf("the store's schema is version %d, this program knows %d: %w", have, len(d.steps), fleet.ErrUsage),
			"use the stint that wrote it, or a newer one")
	case have == len(d.steps):
		return Step{}, nil
	}
	did = Step{d.steps[have].Name, d.text(name, have)}
	if err := say(ctx, c, did.SQL); atOnce(err) {
		return Step{}, passed{err}
	} else if err != nil {
		return Step{}, fmt.Errorf("migrate with %s: %w", did.Name, err)
	}
	return did, nil
}

// atOnce reports whether somebody made the same schema or table at the same time.
func atOnce(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && slices.Contains([]string{"23505", "42P06", "42P07"}, server.Code)
}

// version returns the schema's version, and locks the schema for this transaction; 0: there is none. All others wait
// behind the lock, so it waits at most five seconds.
func (d *DB) version(ctx context.Context, c *pgconn.PgConn) (have int, err error) {
	var there bool
	if err := ask(ctx, c, "select to_regclass($1) is not null", []any{d.schema + ".fleet"}, &there); err != nil || !there {
		return 0, err
	}
	if err := say(ctx, c, "set local lock_timeout = '5s'; lock table "+d.schema+".fleet"); err != nil {
		return 0, err
	}
	err = ask(ctx, c, "select schema from "+d.schema+".fleet", nil, &have)
	return have, err
}

// text returns the SQL of the step after a version.
func (d *DB) text(name fleet.Name, have int) string {
	var s strings.Builder
	step := d.steps[have]
	s.WriteString("set local lock_timeout = '5s';\n")
	if have == 0 { // later steps need no right to make schemas
		fmt.Fprintf(&s, "create schema if not exists %s;\n", d.schema)
	}
	fmt.Fprintf(&s, "set local search_path = %s;\n", d.schema)
	s.WriteString(dialect(step.SQL))
	if have == 0 {
		s.WriteString("\nalter table fleet add column schema integer not null default 0, add column compat integer not null default 1;\n")
		fmt.Fprintf(&s, "insert into fleet (one, name, workspace) values (1, '%s', '');\n", name) // the name has only a-z, 0-9 and _
		for _, t := range hot() {
			fmt.Fprintf(&s, roomy+";\n", t)
		}
	}
	fmt.Fprintf(&s, "update fleet set schema = %d;\n", have+1)
	if step.Compat > 0 {
		fmt.Fprintf(&s, "update fleet set compat = %d;\n", step.Compat)
	}
	return s.String()
}

// dialect translates a schema from SQLite to PostgreSQL. Text sorts by its bytes in both.
func dialect(sql string) string {
	for _, r := range []struct{ pattern, with string }{
		{`\) strict(, without rowid)?;`, ");"},
		{`(?m)^(\s*\w+\s+)integer\b`, "${1}bigint"},
		{`(?m)^(\s*\w+\s+)real\b`, "${1}double precision"},
		{`(?m)^(\s*\w+\s+)text\b`, `${1}text collate "C"`},
	} {
		sql = regexp.MustCompile(r.pattern).ReplaceAllString(sql, r.with)
	}
	return strings.TrimSpace(sql) + "\n"
}
