package config

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"stint/internal/fleet"
)

// A setting is a field of a struct, written down once. Its tags are:
//
//	toml      its key
//	default   its value where the file has none, in TOML. "-": other keys decide. No tag: that of start, or zero
//	required  the hint for a file without the key
//	form      what its strings must be, or how its value is written: see scalarOf and formOf
//	known     the names that its strings are among: see decoder.names
//	names     the form of the keys of a table whose keys are the author's own
//	min, max  the bounds of a number or a time, and the fewest items of a list. No tag: 0, and none
//	zero      0, or the empty string, is allowed too, and means none
//	words     the two words for false and true
//	example   the value that a hint shows
//	varies    the defaults in its tables depend on their other keys
//
// What a key means, the topic "config" says: see [Schema].
//
// go-toml only parses. Its own decoder matches keys in any letter case and stops at the first wrong type.

// starter is a table with defaults that one of its keys chooses.
type starter interface{ start(table map[string]any) }

// decoder puts what a file says into structs, and reports what is wrong at its place.
type decoder struct {
	*file
	defaults map[string]any // by their text
}

// settings are the fields that have a key.
func settings(t reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for f := range t.Fields() {
			if f.Tag.Get("toml") != "" && !yield(f) {
				return
			}
		}
	}
}

// table decodes a table into a struct; nil is one that the file does not have.
func (d *decoder) table(at string, v reflect.Value, table map[string]any) {
	if s, is := v.Addr().Interface().(starter); is {
		s.start(table)
	}
	var known []string
	for f := range settings(v.Type()) {
		name := f.Tag.Get("toml")
		known = append(known, name)
		field, key := v.FieldByIndex(f.Index), under(at, name)
		if text, has := f.Tag.Lookup("default"); has && text != "-" {
			d.value(key, name+" = ", field, d.standard(text), f.Tag)
		}
		raw, given := table[name]
		switch {
		case given:
			d.value(key, name+" = ", field, raw, f.Tag)
		case field.Kind() == reflect.Struct:
			d.table(key, field, nil)
		}
		inner, isTable := raw.(map[string]any)
		if hint := f.Tag.Get("required"); hint != "" && table != nil && (!given || isTable && len(inner) == 0) {
			d.missing(at, key, hint)
		}
	}
	for name := range table {
		if key := under(at, name); !slices.Contains(known, name) {
			d.Report(key, errors.New("unknown key"), meant(name, known))
		}
	}
}

// standard is a default. Each text is parsed once: a file may have hundreds of categories.
func (d *decoder) standard(text string) any {
	value, parsed := d.defaults[text]
	if !parsed {
		var pair struct{ X any }
		if err := toml.Unmarshal([]byte("X = "+text), &pair); err != nil {
			panic("default " + text + ": " + err.Error())
		}
		value = pair.X
		d.defaults[text] = value
	}
	return value
}

// value decodes a value, and leaves the default where it is refused. Hints write lead before a value.
func (d *decoder) value(key, lead string, v reflect.Value, raw any, tag reflect.StructTag) (sound bool) {
	table, isTable := raw.(map[string]any)
	switch kind := v.Kind(); {
	case kind == reflect.Struct || kind == reflect.Map && v.Type().Elem().Kind() == reflect.Struct:
		if !isTable {
			d.Report(key, wanted("a table", raw), fmt.Sprintf("write [%s]", key))
		}
		if kind == reflect.Struct {
			d.table(key, v, table)
		} else {
			d.entries(key, v, table, tag)
		}
		return isTable
	case kind == reflect.Map:
		if !isTable {
			d.Report(key, wanted("a table", raw), "write "+lead+"{}")
		}
		return d.entries(key, v, table, tag)
	case kind == reflect.Slice:
		return d.list(key, lead, v, raw, tag)
	}
	r := scalarOf(v.Type(), tag)
	parsed, err := r.parse(raw)
	if err == nil {
		err = d.knows(tag, parsed)
	}
	if err != nil {
		d.Report(key, err, "write "+lead+Literal(r.suggested(raw, v, tag)))
		return false
	}
	if parsed != nil {
		v.Set(reflect.ValueOf(parsed).Convert(v.Type()))
	}
	return true
}

// entries decodes a table whose keys are the author's own. They are added to those that a default has.
func (d *decoder) entries(key string, v reflect.Value, table map[string]any, tag reflect.StructTag) (sound bool) {
	if len(table) == 0 {
		return true
	}
	all, names := reflect.MakeMap(v.Type()), formOf(tag.Get("names"))
	for k, e := range v.Seq2() {
		all.SetMapIndex(k, e)
	}
	sound = true
	for _, name := range slices.Sorted(maps.Keys(table)) {
		at, lead := under(key, name), under("", name)+" = "
		if _, err := names.parsed(name); err != nil {
			d.Report(at, err, "write "+lead+`"…"`)
			sound = false
		}
		if _, isText := table[name].(string); !isText && hidden(tag, name) {
			d.Report(at, errors.New("want a string"), "write "+lead+`"…"`) // and not a word of what stands there
			sound = false
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		sound = d.value(at, lead, e, table[name], tag) && sound
		all.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), e)
	}
	if sound || v.Type().Elem().Kind() == reflect.Struct {
		v.Set(all)
	}
	return sound
}

// list decodes a list of strings: a program and its arguments, or words of which each stands once.
func (d *decoder) list(key, lead string, v reflect.Value, raw any, tag reflect.StructTag) (sound bool) {
	items, isList := raw.([]any)
	command := tag.Get("form") == "command"
	switch {
	case !isList:
		d.Report(key, wanted("a list of strings", raw), "write "+lead+Literal(suggestedList(raw, command)))
		return false
	case len(items) == 0 && tag.Get("min") != "":
		d.Report(key, errors.New("want at least one, not an empty list"), "write "+lead+`["…"]`)
		return false
	}
	words := reflect.Zero(v.Type())
	sound = true
	for i, item := range items {
		at, word := element(key, i), reflect.New(v.Type().Elem()).Elem()
		read := d.value(at, "", word, item, tag)
		switch {
		case !read:
		case command && i == 0 && word.String() == "":
			read = false
			d.Report(at, errors.New("want a program, not an empty string"), `write a program and its arguments, such as ["my-program", "--flag"]`)
		case !command && slices.ContainsFunc(items[:i], func(before any) bool { return before == any(word.String()) }):
			read = false
			d.Report(at, fmt.Errorf("%s is listed twice", describe(word.String())), "remove one")
		}
		sound = sound && read
		words = reflect.Append(words, word)
	}
	if sound {
		v.Set(words)
	}
	return sound
}

// suggestedList guesses the list that the author of another value may have meant.
func suggestedList(raw any, command bool) []string {
	line, _ := raw.(string)
	switch words := strings.Fields(line); {
	case line == "":
		return []string{"…"}
	case !command || len(words) == 0:
		return []string{line}
	case strings.ContainsAny(line, "'\"`\\|&;<>$*"): // words of a shell
		return []string{"sh", "-c", line}
	default:
		return words
	}
}

// knows refuses a name that is not among those that the tag says.
func (d *decoder) knows(tag reflect.StructTag, value any) error {
	what, word := tag.Get("known"), fmt.Sprint(value)
	if what == "" || word == "" && tag.Get("zero") != "" {
		return nil
	}
	if names := d.names(what); !slices.Contains(names, word) {
		return fleet.WithHint(fmt.Errorf("there is no %s %s", what, describe(word)), meant(word, names))
	}
	return nil
}

// names are those of a kind: of the tables in the file, or of events.
func (d *decoder) names(what string) []string {
	if what == "event" {
		return texts(fleet.Events())
	}
	table, _ := d.tree[what].(map[string]any)
	names := slices.Sorted(maps.Keys(table))
	if what == "pool" && !slices.Contains(names, DefaultPool) {
		names = append(names, DefaultPool)
	}
	return names
}
