package view

import (
	"reflect"
	"strings"
	"time"
)

// Row is a line of an object's description: a field, its type, and its meaning.
type Row struct{ Name, Kind, About string }

// Rows describes the object. The fields of a nested object follow its own; an object with a schema is described once.
func (v View[T]) Rows() []Row { return v.rows(map[string]bool{}) }

func (v View[T]) rows(seen map[string]bool) (list []Row) {
	if name := v.schema(); seen[name] {
		return []Row{{"…", "", "all fields of " + name + " as above"}}
	}
	told := "" // the schema just described
	for _, f := range v {
		switch {
		case f.Key == "" || f.from != "" && f.from == told:
		case seen[f.from]:
			told = f.from
			list = append(list, Row{"…", "", "all fields of " + told + " as above"})
		default:
			r := Row{f.Key, f.kind.json, f.Doc}
			if f.null {
				r.Kind += " or null"
			}
			if f.absent {
				r.Kind += ", may be absent"
			}
			list = append(list, r)
			if f.inner != nil {
				list = append(list, indented(f.inner(seen))...)
			}
		}
	}
	for _, f := range v {
		if f.Key == "schema" {
			seen[f.Doc] = true
		}
	}
	return list
}

func indented(rows []Row) []Row {
	for i := range rows {
		rows[i].Name = "  " + rows[i].Name
	}
	return rows
}

// Tagged is an object that another package encodes. The json and doc tags of its type describe it.
type Tagged struct{ Of any }

// Rows describes the object.
func (t Tagged) Rows() []Row { return tagged(reflect.TypeOf(t.Of)) }

func tagged(t reflect.Type) (list []Row) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind, inner := kindOf(f.Type)
		switch {
		case name == "-":
			continue
		case f.Anonymous:
			list = append(list, tagged(inner)...)
			continue
		}
		if strings.Contains(options, "omit") {
			kind += ", may be absent"
		}
		list = append(list, Row{name, kind, f.Tag.Get("doc")})
		if inner != nil {
			list = append(list, indented(tagged(inner))...)
		}
	}
	return list
}

// kindOf returns a type in words, and the struct whose fields need a description, if any.
func kindOf(t reflect.Type) (kind string, inner reflect.Type) {
	switch t.Kind() { //nolint:exhaustive // no object has others
	case reflect.Pointer:
		kind, inner = kindOf(t.Elem())
		return kind + " or null", inner
	case reflect.Slice:
		kind, inner = kindOf(t.Elem())
		return "list: " + kind, inner
	case reflect.Map:
		kind, inner = kindOf(t.Elem())
		return "by name: " + kind, inner
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return "time", nil
		}
		return "object", t
	case reflect.String:
		return "text", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Float64:
		return "number", nil
	}
	return "integer", nil
}

// schema returns the name of the objects, or "".
func (v View[T]) schema() string {
	if len(v) > 0 && v[0].Key == "schema" && v[0].from == "" {
		return v[0].Doc
	}
	return ""
}
