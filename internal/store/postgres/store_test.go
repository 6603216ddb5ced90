package postgres

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// testOptions are of a fleet of its own, which has a schema.
func testOptions(t *testing.T) Options {
	t.Helper()
	o := Options{DSN: cluster.DSN(t), Fleet: fleet.Name(fmt.Sprintf("t%d", fleets.Add(1))), Settings: bandit.Defaults()}
	if _, err := Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
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
