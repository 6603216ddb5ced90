package postgres

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/pgtest"
	"stint/internal/store/storetest"
)

var cluster pgtest.Shared

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time, s bandit.Settings) func() store.Store {
		t.Helper()
		o := testOptions(t)
		o.Now, o.Settings = now, s
		return func() store.Store { return mustOpen(t, o) }
	})
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
