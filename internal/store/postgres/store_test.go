package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/pgtest"
	"stint/internal/store/storetest"
	"stint/internal/store/table"
)

var cluster pgtest.Shared

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// TestStore runs the suite of stores through a proxy that counts: each transaction takes two round
// trips, whether it grants, denies or only reads.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time, s bandit.Settings) func() store.Store {
		t.Helper()
		var n atomic.Int64
		o, p := throughProxy(t)
		o.Now, o.Settings = now, s
		t.Cleanup(func() {
			// Same reads around the count, and Repeat ends transactions half-way.
			exact := !strings.HasSuffix(t.Name(), "/Same") && !strings.HasSuffix(t.Name(), "/Repeat")
			if want := 2 * n.Load(); exact && int64(p.Trips()) != want && !t.Failed() {
				t.Errorf("%d round trips, want %d", p.Trips(), want)
			}
		})
		return func() store.Store {
			d := mustOpen(t, o)
			d.Engine, d.Source = counted{d, &n}, counted{d, &n}
			return d
		}
	})
}

// counted counts the transactions of a store.
type counted struct {
	*DB
	n *atomic.Int64
}

func (c counted) Change(ctx context.Context, n book.Need, decide func(*book.Page) error) error {
	c.n.Add(1)
	return c.DB.Change(ctx, n, decide)
}

func (c counted) Read(ctx context.Context, ask func(time.Time) []table.Statement) error {
	c.n.Add(1)
	return c.DB.Read(ctx, ask)
}

var fleets atomic.Int64

func newFleet() fleet.Name { return fleet.Name(fmt.Sprintf("t%d", fleets.Add(1))) }

// testOptions are of a fleet of its own, which has a schema, as its role: it owns nothing.
func testOptions(t *testing.T) Options {
	t.Helper()
	o := Options{DSN: cluster.DSN(t), Fleet: newFleet(), Settings: bandit.Defaults()}
	administer(t, makes(Role(o.Fleet), -1), makes(Reader(o.Fleet), -1))
	if _, err := Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.DSN = as(o.DSN, Role(o.Fleet))
	return o
}

// as is where a server is, as another role.
func as(dsn, role string) string { return strings.Replace(dsn, "user=stint", "user="+role, 1) }

// administer runs statements as the server's administrator.
func administer(t *testing.T, statements ...string) {
	t.Helper()
	if err := try(t, cluster.DSN(t), strings.Join(statements, "\n")); err != nil {
		t.Fatal(err)
	}
}

// try runs a statement on a connection of its own.
func try(t *testing.T, dsn, sql string) error {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), sql)
	return errors.Join(err, c.Close(context.WithoutCancel(t.Context())))
}

func mustOpen(t *testing.T, o Options) *DB {
	t.Helper()
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
