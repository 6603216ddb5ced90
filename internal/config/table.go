package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"stint/internal/fleet"
)

// table is one table of the file while it is read. A key that no method was asked
// for by the time of [table.close] is unknown: the reading functions are the only
// list of keys there is.
type table struct {
	*reader
	key     string // dotted; empty for the file itself
	entries map[string]any
	known   []string
}

func (t *table) lookup(name string) (any, bool) {
	t.known = append(t.known, name)
	value, ok := t.entries[name]
	return value, ok
}

func (t *table) has(name string) bool {
	_, ok := t.entries[name]
	return ok
}

// close reports the keys that nobody asked for.
func (t *table) close() {
	for name := range t.entries {
		if !slices.Contains(t.known, name) {
			t.report(under(t.key, name), errors.New("unknown key"), meant(name, t.known))
		}
	}
}

// missing reports, at the table, a key that it must have. A value that is no table has been
// reported as such.
func (t *table) missing(name, hint string) {
	if t.entries == nil {
		return
	}
	t.reportAt(t.source.at[t.key], under(t.key, name), errors.New("missing"), hint)
}

// get reads the key name by the rule: fallback when the file has none, and when the
// rule refuses it, which is reported.
func get[T any](t *table, name string, fallback T, r rule[T]) T {
	value, ok := t.lookup(name)
	if !ok {
		return fallback
	}
	parsed, err := r.parse(value)
	if err != nil {
		t.report(under(t.key, name), err, fmt.Sprintf("write %s = %s", name, r.example))
		return fallback
	}
	return parsed
}

// list reads a list of at least so many strings, each of which check accepts. It
// is nil when the file has none.
func (t *table) list(name string, least int, check func(string) error) []string {
	value, ok := t.lookup(name)
	if !ok {
		return nil
	}
	key := under(t.key, name)
	items, ok := value.([]any)
	switch {
	case !ok:
		t.report(key, wanted("a list of strings", value), fmt.Sprintf(`write %s = ["…", "…"]`, name))
	case len(items) < least:
		t.report(key, errors.New("want at least one, not an empty list"), fmt.Sprintf(`write %s = ["…"]`, name))
	}
	var words []string
	for i, item := range items {
		word, err := text().parse(item)
		if err == nil {
			err = check(word)
		}
		if err != nil {
			t.report(element(key, i), err, `write "…"`)
		}
		words = append(words, word)
	}
	return words
}

// variables reads the names of the environment variables that a command gets.
func (t *table) variables(fallback []string) []string {
	if names := t.list("pass_environment", 0, distinct(checkVariable)); t.has("pass_environment") {
		return names
	}
	return slices.Clone(fallback)
}

// command reads a program and its arguments.
func (t *table) command(least int) []string {
	words := t.list("command", least, func(string) error { return nil })
	if items, _ := t.entries["command"].([]any); len(items) > 0 && items[0] == any("") {
		t.report(element(under(t.key, "command"), 0), errors.New("want a program, not an empty string"),
			`write the program and its arguments, such as command = ["my-program", "--flag"]`)
	}
	return words
}

// pairs reads a table of strings, of which check accepts each key and value. It is
// nil when empty.
func (t *table) pairs(name string, check func(key, value string) error) map[string]string {
	child := t.child(name)
	if len(child.entries) == 0 {
		return nil
	}
	words := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(child.entries)) {
		word, err := text().parse(child.entries[key])
		if err == nil {
			err = check(key, word)
		}
		if err != nil && SecretName(key) {
			err = errors.New("want a string") // and not a word of what stands there
		}
		if err != nil {
			t.report(under(child.key, key), err, fmt.Sprintf(`write %s = "…"`, under("", key)))
		}
		words[key] = word
	}
	return words
}

// child is the table name within t, without entries when the file has none.
func (t *table) child(name string) *table {
	child := &table{reader: t.reader, key: under(t.key, name)}
	value, ok := t.lookup(name)
	if !ok {
		return child
	}
	child.entries, ok = value.(map[string]any)
	if !ok {
		t.report(child.key, wanted("a table", value), fmt.Sprintf("write [%s]", child.key))
	}
	return child
}

// children are the tables within t, by name.
func (t *table) children() map[string]*table {
	tables := map[string]*table{}
	for name := range t.entries {
		tables[name] = t.child(name)
	}
	return tables
}

// distinct refuses a word that it has accepted before.
func distinct(check func(string) error) func(string) error {
	seen := map[string]bool{}
	return func(word string) error {
		if seen[word] {
			return fleet.WithHint(fmt.Errorf("%s is listed twice", describe(word)), "remove one")
		}
		seen[word] = true
		return check(word)
	}
}
