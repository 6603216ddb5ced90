package tomlfile

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// Key is one key that a table may have: a value ([Of], [Derived], [Path]), a table of keys
// ([Group]), or such tables by name ([Family], [Sections]). It is bound to the field
// that has its value.
type Key interface {
	head() *about
	read(t *Table)
	again(t *Table, holds bool) // of a value: reads it in a section
	value() any                 // what the field has, as TOML has it
	standard() any              // the default, likewise
	tables() []named            // of a table: it, or each by its name
	blank() []Key               // of a table: its keys, or those that each has
	schema() Schema
}

// about is what holds for any kind of key.
type about struct {
	name, doc string
	missing   string // the hint where the file must have it and has not
	derived   bool   // the default depends on other keys
	from      string // the dotted key of the section that holds, which says it; empty: none does
}

func (a *about) head() *about       { return a }
func (a *about) again(*Table, bool) {}
func (a *about) tables() []named    { return nil }
func (a *about) blank() []Key       { return nil }

// named is one of the tables of a key.
type named struct {
	name string // empty where it is the only one
	key  string // dotted, below the table that the key is in
	keys []Key
}

// Option is something that holds for few keys.
type Option func(*about)

// Required keys must be in the file; the hint says what to write.
func Required(hint string) Option { return func(a *about) { a.missing = hint } }

// with gives a key what holds for few.
func with[K Key](k K, options []Option) Key {
	for _, o := range options {
		o(k.head())
	}
	return k
}

// Read sets the fields of all keys from a table, and reports the keys that are not among them.
func Read(t *Table, keys []Key) {
	t.known = make([]string, 0, len(keys))
	for _, k := range keys {
		k.read(t)
		if a := k.head(); a.missing != "" && !t.Has(a.name) {
			t.Missing(a.name, a.missing)
		}
	}
	t.Close()
}

// scalar is a key with one value.
type scalar[T any] struct {
	about
	field  *T
	def    T
	derive func() T // the default, where other keys make it
	rule   Rule[T]
	parse  bool // the default goes by the rule, too
}

// Of is a key with a default of its own.
func Of[T any](name string, field *T, def T, rule Rule[T], doc string, options ...Option) Key {
	return with(&scalar[T]{about: about{name: name, doc: doc}, field: field, def: def, rule: rule}, options)
}

// Derived is a key with a default that other keys make, those before it in the file's list.
func Derived[T any](name string, field *T, def func() T, rule Rule[T], doc string, options ...Option) Key {
	return with(&scalar[T]{about: about{name: name, doc: doc, derived: true}, field: field, derive: def, rule: rule}, options)
}

// Path is a key with a path, absolute or relative to the folder base, which keys before it
// may set. Its default is such a path, too; where that is empty, the empty path is allowed.
func Path(name string, field *string, def string, base *string, doc string) Key {
	return &scalar[string]{about: about{name: name, doc: doc}, field: field, def: def, rule: path(base, def), parse: true}
}

func (k *scalar[T]) read(t *Table) {
	fallback := k.fallback()
	if k.parse {
		fallback, _ = k.rule.Parse(fallback)
	}
	*k.field = Get(t, k.name, fallback, k.rule)
}

func (k *scalar[T]) fallback() T {
	if k.derive != nil {
		return k.derive()
	}
	return k.def
}

func (k *scalar[T]) value() any     { return k.rule.write(*k.field) }
func (k *scalar[T]) standard() any  { return k.rule.write(k.fallback()) }
func (k *scalar[T]) schema() Schema { return k.rule.schema() }

// group is a key with a table.
type group struct {
	about
	keys []Key
}

// Group is a table.
func Group(name, doc string, keys []Key) Key {
	return &group{about: about{name: name, doc: doc}, keys: keys}
}

func (k *group) read(t *Table)   { Read(t.Child(k.name), k.keys) }
func (k *group) blank() []Key    { return k.keys }
func (k *group) tables() []named { return []named{{"", under("", k.name), k.keys}} }
func (k *group) value() any      { return nil }
func (k *group) schema() Schema  { return object(k.keys, false) }

func (k *group) standard() any { return nil }

// Each is what the tables of a [Family] have in common.
type Each[T any] struct {
	Name   Rule[string]     // of the names
	Start  func(t *Table) T // what the fields have that no key sets; nil: nothing
	Keys   func(name string, v *T) []Key
	Varies bool // the defaults of its keys depend on its other keys
}

// family is a key with tables by names that the file's author chooses.
type family[K ~string, T any] struct {
	about
	all  *map[K]T
	each Each[T]
}

// Family is a table of tables, by names that the file's author chooses.
func Family[K ~string, T any](name string, all *map[K]T, each Each[T], doc string, options ...Option) Key {
	return with(&family[K, T]{about: about{name: name, doc: doc}, all: all, each: each}, options)
}

func (k *family[K, T]) read(t *Table) {
	family := t.Child(k.name)
	for _, child := range family.Children() {
		name := child.Name
		if _, err := k.each.Name.Parse(name); err != nil {
			family.Report(name, err, "")
		}
		v := k.start(child)
		Read(child, k.each.Keys(name, &v))
		if *k.all == nil {
			*k.all = map[K]T{}
		}
		(*k.all)[K(name)] = v
	}
	if k.missing != "" && t.Has(k.name) && len(family.entries) == 0 {
		t.Missing(k.name, k.missing)
	}
}

func (k *family[K, T]) value() any    { return nil }
func (k *family[K, T]) standard() any { return nil }

func (k *family[K, T]) blank() []Key {
	v := k.start(new(Table))
	return k.each.Keys("NAME", &v)
}

func (k *family[K, T]) start(t *Table) (v T) {
	if k.each.Start != nil {
		v = k.each.Start(t)
	}
	return v
}

func (k *family[K, T]) tables() (list []named) {
	for _, name := range slices.Sorted(maps.Keys(*k.all)) {
		v := (*k.all)[name]
		list = append(list, named{string(name), Dotted(k.name, string(name)), k.each.Keys(string(name), &v)})
	}
	return list
}

func (k *family[K, T]) schema() Schema {
	s := Schema{
		"type": "object", "propertyNames": k.each.Name.schema(), "additionalProperties": object(k.blank(), k.each.Varies),
	}
	if k.missing != "" {
		s["minProperties"] = 1
	}
	return s
}

// Value is one value in effect. Key and Value are TOML: the lines "Key = Value" of all
// values are a file that says the same.
type Value struct {
	Key    string // dotted: category.code.ttl
	Value  string
	Origin string // "stint.toml:31", or "default"
}

// Values are those of all keys, which were read, with where each comes from.
func (f *File) Values(keys []Key) (list []Value) {
	add := func(key, at string, value any) {
		origin := "default"
		if offset, ok := f.at[at]; ok {
			line, _ := f.line(offset)
			origin = fmt.Sprintf("%s:%d", filepath.Base(f.Path), line)
		}
		list = append(list, Value{key, Literal(value), origin})
	}
	walk("", keys, func(key string, k Key) {
		at := cmp.Or(k.head().from, key)
		entries, ok := k.value().(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			add(under(key, name), under(at, name), entries[name])
		}
		switch {
		case !ok:
			add(key, at, k.value())
		case len(entries) == 0:
			add(key, at, entries)
		}
	})
	return list
}

// walk visits the keys that have values, in tables also by their names.
func walk(at string, keys []Key, visit func(key string, k Key)) {
	for _, k := range keys {
		if k.blank() == nil {
			visit(under(at, k.head().name), k)
		}
		for _, t := range k.tables() {
			walk(join(at, t.key), t.keys, visit)
		}
	}
}

// join is a dotted key below a table, which is empty for the file.
func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
