package book_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
)

// TestShrinks compares the tables of which rows may be deleted, see [table.Rowset], with those of which
// this package does delete rows.
func TestShrinks(t *testing.T) {
	t.Parallel()
	tx := written(noon)
	must.Get(book.Tx{Tx: tx}.RecordFire(store.Firing{}))(t)
	deleted := map[string]bool{} // tables
	for _, s := range tx.Save() {
		if name, is := strings.CutPrefix(s.SQL, "delete from "); is {
			deleted[strings.Fields(name)[0]] = true
		}
	}
	files := must.Get(filepath.Glob("*.go"))(t)
	deletes := regexp.MustCompile(`\bp\.(\w+)\.Delete\(`)
	for _, name := range files {
		for _, found := range deletes.FindAllStringSubmatch(string(must.Get(os.ReadFile(name))(t)), -1) {
			if rows, is := reflect.ValueOf(tx).Elem().FieldByName(found[1]).Addr().Interface().(table.Rowset); is && !strings.HasSuffix(name, "_test.go") {
				deleted[rows.Name()] = true
			}
		}
	}
	for _, table := range tx.Tables() {
		if deleted[table.Name()] != table.Shrinks() {
			t.Errorf("%s: got that rows of it are deleted: %t, want %t as it says", table.Name(), deleted[table.Name()], table.Shrinks())
		}
		delete(deleted, table.Name())
	}
	if len(deleted) > 0 {
		t.Errorf("got that rows of %v are deleted, want a table for each", deleted)
	}
}
