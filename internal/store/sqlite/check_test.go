package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storetest"
)

func TestDamage(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	d := must.Get(Open(t.Context(), o))(t)
	for _, id := range []fleet.RunID{"a", "b", "c"} {
		run := fleet.Run{ID: id, Category: "code", Source: fleet.FromHand, Agent: "claude", CreatedAt: storetest.Start()}
		must.Do(t, d.AddRun(t.Context(), run))
	}
	if got, err := d.Damage(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("whole: got %q, %v, want none", got, err)
	}
	must.Do(t, d.Close())
	breakIndex(t, o)
	d = must.Get(OpenRead(t.Context(), o))(t)
	t.Cleanup(func() { _ = d.Close() })
	got, err := d.Damage(t.Context())
	if err != nil || !strings.Contains(strings.Join(got, "\n"), "index") {
		t.Errorf("an index without its entries: got %q, %v, want it named", got, err)
	}
}

// breakIndex empties a page of an index of runs, as a disk does that loses a write: the
// store still opens, and most of it reads well.
func breakIndex(t *testing.T, o Options) {
	t.Helper()
	db := raw(t, o)
	var page, size int64
	must.Do(t, db.QueryRow("select rootpage from sqlite_schema where type = 'index' and tbl_name = 'runs' order by name limit 1").Scan(&page))
	must.Do(t, db.QueryRow("pragma page_size").Scan(&size))
	must.Get(db.Exec("pragma wal_checkpoint(truncate)"))(t)
	must.Do(t, db.Close())
	f := must.Get(os.OpenFile(filepath.Join(o.Dir, File), os.O_WRONLY, 0))(t)
	defer f.Close()
	// An empty leaf of an index, whose content begins at the page's end.
	empty := []byte{10, 0, 0, 0, 0, byte(size >> 8), byte(size), 0}
	must.Get(f.WriteAt(empty, (page-1)*size))(t)
}
