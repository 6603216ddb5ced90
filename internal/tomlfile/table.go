package tomlfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Table is one table of a file while it is read. A key that no function was asked for by
// the time of [Table.Close] is unknown.
type Table struct {
	*File
	Name string
	Key  string // dotted; empty for the file itself

	entries map[string]any // nil: the file has no such table, or a value in its place
	known   []string
}

func (t *Table) lookup(name string) (any, bool) {
	t.known = append(t.known, name)
	value, ok := t.entries[name]
	return value, ok
}

// Has reports whether the table has a key.
func (t *Table) Has(name string) bool {
	_, ok := t.entries[name]
	return ok
}

// Word is the string that stands at a key, or "": for what other keys depend on. It does
// not count as a question for the key.
func (t *Table) Word(name string) string {
	word, _ := t.entries[name].(string)
	return word
}

// Report adds a fault at a key of the table.
func (t *Table) Report(name string, err error, hint string) {
	t.File.Report(under(t.Key, name), err, hint)
}

// Close reports the keys that nobody asked for.
func (t *Table) Close() {
	for name := range t.entries {
		if !slices.Contains(t.known, name) {
			t.Report(name, errors.New("unknown key"), cmp.Or(t.kind.Removed(under(t.Key, name)), Meant(name, t.known)))
		}
	}
}

// Leave takes whatever the table has: nothing can be said of it.
func (t *Table) Leave() { t.known = slices.Collect(maps.Keys(t.entries)) }

// Missing reports, at the table, a key that it must have. A value that is no table has been
// reported as such.
func (t *Table) Missing(name, hint string) {
	if t.entries == nil {
		return
	}
	t.reportAt(t.at[t.Key], under(t.Key, name), errors.New("missing"), hint)
}

// Child is the table name within t, without keys when the file has none.
func (t *Table) Child(name string) *Table {
	child := &Table{File: t.File, Name: name, Key: under(t.Key, name)}
	value, ok := t.lookup(name)
	if !ok {
		return child
	}
	child.entries, ok = value.(map[string]any)
	if !ok {
		t.Report(name, Wanted("a table", value), fmt.Sprintf("write [%s]", child.Key))
	}
	return child
}

// Children are the tables within t, as they stand in the file.
func (t *Table) Children() (list []*Table) {
	for name := range t.entries {
		list = append(list, t.Child(name))
	}
	slices.SortFunc(list, func(a, b *Table) int { return cmp.Compare(t.at[a.Key], t.at[b.Key]) })
	return list
}

// Get reads a key by a rule: fallback when the table has none, and when the rule refuses
// the value, which is reported.
func Get[T any](t *Table, name string, fallback T, r Rule[T]) T {
	value, ok := t.lookup(name)
	if !ok {
		return fallback
	}
	parsed, err := r.Parse(value)
	if err == nil {
		return parsed
	}
	var within innerErrors
	if !errors.As(err, &within) {
		t.Report(name, err, "write "+name+" = "+Literal(r.suggest(value, fallback)))
	}
	for _, f := range within {
		t.File.Report(under(t.Key, name)+f.key, f.error, f.hint)
	}
	return fallback
}
