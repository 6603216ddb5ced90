package sqlite

import (
	"testing"
	"time"

	"stint/internal/store"
	"stint/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		t.Helper()
		return mustOpen(t, testOptions(t, now))
	})
}

func testOptions(t *testing.T, now func() time.Time) Options {
	t.Helper()
	return Options{Dir: t.TempDir(), Fleet: "bob", Workspace: "/home/bob/work", Now: now}
}

func mustOpen(t *testing.T, o Options) *DB {
	t.Helper()
	d, err := Open(t.Context(), o)
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
