package postgres

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
)

// TestRoles has the role of the daily work, and the one that reads, try all that they must not.
// [TestStore] and the others run as the former.
func TestRoles(t *testing.T) {
	t.Parallel()
	o, other := testOptions(t), testOptions(t)
	d := mustOpen(t, o)
	aDay(t, d)
	schema := d.schema
	refused := func(dsn string, sql string, args ...any) {
		t.Helper()
		sql = fmt.Sprintf(sql, args...)
		var server *pgconn.PgError
		if err := try(t, dsn, sql); !errors.As(err, &server) || server.Code != codeForbidden {
			t.Errorf("%s: got %v, want that it is refused", sql, err)
		}
	}
	reader := as(cluster.DSN(t), Reader(o.Fleet))
	for _, dsn := range []string{o.DSN, reader} {
		refused(dsn, "create table %s.mine (a integer)", schema)
		refused(dsn, "alter table %s.claims drop column note", schema)
		refused(dsn, "drop table %s.notices", schema)
		refused(dsn, "drop schema %s cascade", schema)
		refused(dsn, "truncate %s.claims", schema)
		refused(dsn, "delete from %s.claims", schema)
		refused(dsn, "delete from %s.lessons", schema)
		refused(dsn, "delete from %s.fleet", schema)
		refused(dsn, "update %s.fleet set schema = 99", schema)
		refused(dsn, "update %s.fleet set name = 'eve'", schema)
		refused(dsn, "select from %s.claims", schemaOf(other.Fleet))
		refused(dsn, "update %s.claims set epoch = 9", schemaOf(other.Fleet))
		refused(dsn, "create role eve")
	}
	refused(reader, "update %s.claims set epoch = 9", schema)
	if err := try(t, reader, "select from "+schema+".claims"); err != nil {
		t.Error(err)
	}

	for name, want := range map[string]Condition{
		cluster.DSN(t): {Superuser: true, Owner: true, DeletesClaims: true, Writes: true}, o.DSN: {Writes: true}, reader: {},
	} {
		o.DSN = name
		got := must.Get(mustOpen(t, o).Condition(t.Context()))(t)
		got = Condition{Superuser: got.Superuser, Owner: got.Owner, DeletesClaims: got.DeletesClaims, Writes: got.Writes}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// TestReader reads all that there is to read as the role that only reads, and writes nothing.
func TestReader(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	aDay(t, mustOpen(t, o))
	o.DSN = as(cluster.DSN(t), Reader(o.Fleet))
	d := mustOpen(t, o)
	if got, err := d.LastRuns(t.Context(), store.RunQuery{Limit: 9}); err != nil || len(got) != 2 {
		t.Errorf("got %+v, %v; want two runs", got, err)
	}
	if _, err := d.Snapshot(t.Context()); err != nil || !strings.Contains(d.OnlyReads(), "_ro of the store only reads") {
		t.Errorf("got %v, %q; want that the role only reads", err, d.OnlyReads())
	}
	_, _, err := d.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "bob", TTL: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "may not write") || !strings.Contains(fleet.Hint(err), "only reads") {
		t.Errorf("got %v, hint %q; want that the role only reads", err, fleet.Hint(err))
	}
	_, err = d.Renew(t.Context(), store.Hold{Key: "fix", Holder: "run:0r1", Epoch: 1}, time.Hour)
	if err == nil || !strings.Contains(fleet.Hint(err), "only reads") {
		t.Errorf("got %v, hint %q; want that the role only reads", err, fleet.Hint(err))
	}
}

// TestGrants gives roles that come later, or have too much, what they need: once.
func TestGrants(t *testing.T) {
	t.Parallel()
	o := Options{DSN: cluster.DSN(t), Fleet: fleet.Name(fmt.Sprintf("t%d", fleets.Add(1))), Settings: rank.Defaults()}
	migrate := func(dryRun bool, steps, lacks int) Migrated {
		t.Helper()
		o.DryRun = dryRun
		m, err := Migrate(t.Context(), o)
		if err != nil || len(m.Steps) != steps || len(m.Lacks) != lacks {
			t.Fatalf("got %+v (%v), want %d steps and %d roles that there are not", m, err, steps, lacks)
		}
		return m
	}
	all := len(table.Migrations())
	administer(t, migrate(true, all, 2).Lacks...)
	migrate(true, all+1, 0)
	migrate(false, all+1, 0)
	migrate(false, 0, 0)
	administer(t, fmt.Sprintf("grant all on all tables in schema %s to %s", schemaOf(o.Fleet), quoted(Reader(o.Fleet))))
	migrate(true, 1, 0)
	migrate(false, 1, 0)
	migrate(false, 0, 0)
}

// TestOwnRole makes a schema as the fleet's role, which then owns it: it keeps all that it needs.
func TestOwnRole(t *testing.T) {
	t.Parallel()
	o := Options{DSN: cluster.DSN(t), Fleet: fleet.Name(fmt.Sprintf("t%d", fleets.Add(1))), Settings: rank.Defaults()}
	administer(t, makes(Role(o.Fleet), -1), "grant create on database postgres to "+quoted(Role(o.Fleet)))
	o.DSN = as(o.DSN, Role(o.Fleet))
	for _, want := range []int{len(table.Migrations()), 0} {
		if m, err := Migrate(t.Context(), o); err != nil || len(m.Steps) != want {
			t.Fatalf("got %+v, %v; want %d steps", m, err, want)
		}
	}
	d := mustOpen(t, o)
	aDay(t, d)
	if s, err := d.Condition(t.Context()); err != nil || !s.Owner || s.Superuser || !s.Writes {
		t.Errorf("got %+v, %v; want the owner", s, err)
	}
}

// TestMigrate makes a schema once, also when several do so at once.
func TestMigrate(t *testing.T) {
	t.Parallel()
	o := Options{DSN: cluster.DSN(t), Fleet: fleet.Name("m" + strings.Repeat("x", 31)), Settings: rank.Defaults(), DryRun: true}
	ctx := t.Context()
	for range 2 { // a dry run leaves nothing
		if m, err := Migrate(ctx, o); err != nil || len(m.Steps) != len(table.Migrations()) {
			t.Fatal(m, err)
		}
	}
	o.DryRun = false
	type made struct {
		Migrated
		err error
	}
	all := make(chan made, 4)
	for range cap(all) {
		go func() {
			m, err := Migrate(ctx, o)
			all <- made{m, err}
		}()
	}
	n := 0
	for range cap(all) {
		m := <-all
		if m.err != nil {
			t.Error(m.err)
		}
		n += len(m.Steps)
	}
	if n != len(table.Migrations()) {
		t.Errorf("%d steps were made, want each once", n)
	}
	d := mustOpen(t, o)
	if _, _, err := d.Take(ctx, store.TakeRequest{Key: "k", Holder: "bob", TTL: time.Hour}); err != nil {
		t.Error(err)
	}
}

// TestVersions has programs and schemas of other versions meet.
func TestVersions(t *testing.T) {
	t.Parallel()
	first := table.Migrations()
	adds := table.Migration{Name: "adds", SQL: "alter table runs add column mood text not null default '';\nalter table claims add column colour text not null default 'red';"}
	breaks := table.Migration{Name: "breaks", SQL: "alter table runs drop column mood;", Compat: len(first) + 2}
	lasts := append(append([]table.Migration{}, first...), adds, breaks)
	for _, tt := range []struct {
		name       string
		store      []table.Migration // by which it was made
		program    []table.Migration
		want, hint string // of the refusal; empty: it works
	}{
		{"the same", first, first, "", ""},
		{"a newer store that only adds", lasts[:len(first)+1], first, "", ""},
		{"a newer store that the last program can use", lasts, lasts[:len(first)+2], "", ""},
		{"a newer store that takes away", lasts, first, "for programs that know", "upgrade stint on this machine"},
		{"an older store", first, lasts[:len(first)+1], "this stint needs", "stint store migrate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{DSN: cluster.DSN(t), Fleet: fleet.Name(fmt.Sprintf("t%d", fleets.Add(1))), Settings: rank.Defaults()}
			administer(t, makes(Role(o.Fleet), -1))
			owner := mustOpen(t, o)
			owner.steps = tt.store
			if m, err := owner.migrate(t.Context(), o.Fleet); err != nil || len(m.Steps) != len(tt.store)+1 {
				t.Fatal(m, err)
			}
			o.DSN = as(o.DSN, Role(o.Fleet))
			d := mustOpen(t, o)
			d.steps = tt.program
			_, err := d.Snapshot(t.Context())
			_, _, err2 := d.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "bob", TTL: time.Hour})
			_, err3 := d.Renew(t.Context(), store.Hold{Key: "k", Holder: "bob", Epoch: 1}, time.Hour)
			for _, err := range []error{err, err2, err3} {
				if tt.want == "" && err != nil {
					t.Error(err)
				}
				if tt.want != "" && (!errors.Is(err, fleet.ErrUsage) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(fleet.Hint(err), tt.hint)) {
					t.Errorf("got %v, hint %q; want %q, hint %q", err, fleet.Hint(err), tt.want, tt.hint)
				}
			}
			if tt.want == "" {
				aDay(t, d)
				l, err := d.Ledger(t.Context())
				if off := book.Discrepancies(l); err != nil || len(off) > 0 {
					t.Errorf("got %v, %v; want that all adds up", off, err)
				}
				owner.steps = tt.program
				if m, err := owner.migrate(t.Context(), o.Fleet); len(tt.program) < len(tt.store) && (!errors.Is(err, fleet.ErrUsage) || len(m.Steps) > 0) {
					t.Errorf("got %+v, %v; want that an older program migrates nothing", m, err)
				}
			}
		})
	}
}

// TestMigrateStepByStep has a step fail: those before it stay, and the next call goes on from there.
func TestMigrateStepByStep(t *testing.T) {
	t.Parallel()
	o := Options{DSN: cluster.DSN(t), Fleet: fleet.Name(fmt.Sprintf("t%d", fleets.Add(1))), Settings: rank.Defaults()}
	d := mustOpen(t, o)
	good := table.Migration{Name: "good", SQL: "alter table runs add column mood text not null default '';"}
	d.steps = append(table.Migrations(), good, table.Migration{Name: "bad", SQL: "alter table runs add column worse text;\nalter table nosuch add column a text;"})
	m, err := d.migrate(t.Context(), o.Fleet)
	if err == nil || len(m.Steps) != len(d.steps)-1 || !strings.Contains(err.Error(), "migrate with bad") {
		t.Errorf("got %+v, %v; want that the last step fails", m, err)
	}
	d.steps[len(d.steps)-1].SQL = "alter table runs add column worse text collate \"C\" not null default '';"
	if m, err := d.migrate(t.Context(), o.Fleet); err != nil || len(m.Steps) != 1 {
		t.Errorf("got %+v, %v; want the last step", m, err)
	}
}
