package sqlite

import (
	"testing"
	"time"

	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
	"stint/internal/testkit/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time, s rank.Settings) func() store.Store {
		t.Helper()
		o := testOptions(t, now)
		o.Settings = s
		return func() store.Store { return mustOpen(t, o) }
	})
}

func testOptions(t *testing.T, now func() time.Time) Options {
	t.Helper()
	dir := t.TempDir()
	storekit.Keep(t, dir)
	return Options{Dir: dir, Fleet: "bob", Workspace: "/home/bob/work", Now: now, Settings: rank.Defaults()}
}

func mustOpen(t *testing.T, o Options) *DB {
	t.Helper()
	d := must.Get(Open(t.Context(), o))(t)
	t.Cleanup(func() { must.Do(t, d.Close()) })
	return d
}
