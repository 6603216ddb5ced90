package postgres

import (
	"testing"
	"time"

	"stint/internal/rank"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
)

func newCluster(t *testing.T) *pgtest.Cluster {
	t.Helper()
	c, err := pgtest.New()
	return removed(t, c, err)
}

// removed is a cluster that ends with the test.
func removed(t *testing.T, c *pgtest.Cluster, err error) *pgtest.Cluster {
	t.Helper()
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Remove()) })
	return c
}

// TestStandby names a standby before its primary: writes go to the primary. When that dies a write says
// that nobody takes it, until the standby is promoted.
func TestStandby(t *testing.T) {
	t.Parallel()
	primary := newCluster(t)
	o := Options{DSN: primary.DSN(), Fleet: "bob", Settings: rank.Defaults()}
	must.Get(Migrate(t.Context(), o))(t)
	s, err := primary.Standby()
	standby := removed(t, s, err)
	o.DSN = "host=" + standby.Dir + "," + primary.Dir + " user=stint dbname=postgres sslmode=disable"
	d := mustOpen(t, o)
	if err := takeOne(t.Context(), d, "k"); err != nil {
		t.Error(err)
	}
	if _, err := d.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	o.Patience = 12 * time.Second
	alone := o
	for _, attrs := range []string{"", " target_session_attrs=read-write"} {
		alone.DSN = standby.DSN() + attrs
		fails(t, takeOne(t.Context(), mustOpen(t, alone), "x"), "read only connection", "no address of the store takes writes")
	}
	alone.DSN = standby.DSN() + " target_session_attrs=standby"
	if _, err := mustOpen(t, alone).Snapshot(t.Context()); err != nil {
		t.Errorf("got %v of who wants a standby", err)
	}
	must.Do(t, primary.Stop())
	fails(t, takeOne(t.Context(), mustOpen(t, o), "x"), "read only connection", "no address of the store takes writes")
	must.Do(t, standby.Promote())
	if err := takeOne(t.Context(), d, "after"); err != nil {
		t.Error(err)
	}
}
