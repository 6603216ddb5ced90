package postgres

import (
	"slices"
	"testing"
	"time"

	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storetest"
)

// TestPooler runs what databases differ in behind pgbouncer, where a transaction may have another connection
// than the one before. Repeat makes no write that Same does not.
func TestPooler(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := must.Get(c.Pooler(4))(t)
	t.Cleanup(func() { must.Do(t, p.Close()) })
	storetest.Run(t, func(t *testing.T, now func() time.Time, s rank.Settings) func() store.Store {
		t.Helper()
		o := Options{DSN: c.DSN(), Fleet: newFleet(), Now: now, Settings: s}
		must.Get(Migrate(t.Context(), o))(t)
		o.DSN = p.DSN()
		return func() store.Store { return mustOpen(t, o) }
	}, slices.DeleteFunc(storetest.Differing(), func(name string) bool { return name == "Repeat" })...)
}

// TestPoolerPromoted has a standby be promoted whose pooler was asked before: the pooler goes on to say
// that its server takes no writes, and is written to all the same.
func TestPoolerPromoted(t *testing.T) {
	t.Parallel()
	old := alone(t)
	made, err := old.Standby()
	standby := removed(t, made, err)
	p := must.Get(standby.Pooler(4))(t)
	t.Cleanup(func() { must.Do(t, p.Close()) })
	through := func() *DB {
		return mustOpen(t, Options{DSN: p.DSN(), Fleet: "f", Settings: rank.Defaults(), Patience: 3 * time.Second})
	}
	fails(t, takeOne(t.Context(), through(), "k"), "read only connection", "promote one")
	must.Do(t, standby.Follows(old), old.Stop(), standby.Promote(), takeOne(t.Context(), through(), "k"))
}
