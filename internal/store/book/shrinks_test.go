package book_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"stint/internal/bandit"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
)

// TestShrinks compares the tables of which rows may be deleted, see [book.Named], with those of which
// this package does delete rows.
func TestShrinks(t *testing.T) {
	t.Parallel()
	deleted := map[string]bool{} // fields of a page
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				if method, is := call.Fun.(*ast.SelectorExpr); is && strings.HasPrefix(method.Sel.Name, "Delete") {
					if rows, is := method.X.(*ast.SelectorExpr); is {
						deleted[rows.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	page := book.NewPage(noon, bandit.Defaults())
	fields := reflect.ValueOf(page).Elem()
	for _, table := range page.Tables() {
		for i := range fields.NumField() {
			if fields.Field(i).Addr().Pointer() != reflect.ValueOf(table.Rowset).Pointer() || fields.Field(i).Addr().Type() != reflect.TypeOf(table.Rowset) {
				continue
			}
			name := fields.Type().Field(i).Name
			if deleted[name] != table.Shrinks {
				t.Errorf("%s: got that rows of it are deleted: %t, want %t as in Tables", table.Name, deleted[name], table.Shrinks)
			}
			delete(deleted, name)
		}
	}
	if len(deleted) > 0 {
		t.Errorf("got that rows of %v are deleted, want a table for each", deleted)
	}
}
