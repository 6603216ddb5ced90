package config

import (
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Schema is a JSON Schema of draft 7, as editors of TOML take it.
type Schema map[string]any

// SchemaOf is the schema of a file, for editors. It says what can be said of each value by itself: what depends
// on other keys only reading the file finds out. What a key means is in the text of the topic on the
// configuration, which has a list of keys for each table.
func SchemaOf(topic string) Schema {
	s := object(reflect.TypeFor[Config](), "", meanings(topic), false)
	s["$schema"], s["title"] = "http://json-schema.org/draft-07/schema#", FileName
	s["description"] = "The work of one fleet of agent sessions, and its limits."
	return s
}

// meanings returns a topic's text on each dotted key, with NAME for the names that are the author's own.
func meanings(topic string) map[string]string {
	all, tables := map[string]string{}, []string{}
	item := regexp.MustCompile(`(?s)^([a-z_]+)(?: = .*?| \(required\))?:\s(.*)$`)
	for section := range strings.SplitSeq(topic, "\n## ") {
		heading, text, _ := strings.Cut(section, "\n")
		tables = tables[:0]
		for _, m := range regexp.MustCompile(`\[([^]]+)\]`).FindAllStringSubmatch(heading, -1) {
			tables = append(tables, strings.ReplaceAll(m[1], `"MODEL"`, "NAME"))
		}
		if heading == "Top level" {
			tables = append(tables, "")
		}
		for entry := range strings.SplitSeq(text, "\n- ") {
			entry, _, _ = strings.Cut(entry, "\n\n")
			if m := item.FindStringSubmatch(entry); m != nil {
				for _, table := range tables {
					all[strings.TrimPrefix(table+"."+m[1], ".")] = strings.Join(strings.Fields(m[2]), " ")
				}
			}
		}
	}
	return all
}

// object is the schema of a table. Where the defaults of its keys depend on others, it
// names none, and requires nothing.
func object(t reflect.Type, at string, meaning map[string]string, varies bool) Schema {
	standard := reflect.New(t).Elem()
	(&decoder{&file{}, map[string]any{}}).table("", standard, nil)
	properties, required := Schema{}, []string{}
	for f := range settings(t) {
		name := f.Tag.Get("toml")
		key, needed := under(at, name), f.Tag.Get("required") != ""
		s := schemaOf(f.Type, f.Tag, key, meaning)
		if text := meaning[key]; text != "" {
			s["description"] = text
		}
		isTable := f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct
		if !isTable && !needed && !varies && f.Tag.Get("default") != "-" {
			s["default"] = inJSON(written(standard.FieldByIndex(f.Index), f.Tag))
		}
		if needed && !varies {
			required = append(required, name)
		}
		properties[name] = s
	}
	s := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func schemaOf(t reflect.Type, tag reflect.StructTag, at string, meaning map[string]string) Schema {
	switch t.Kind() { //nolint:exhaustive // the others are scalars
	case reflect.Struct:
		return object(t, at, meaning, false)
	case reflect.Map:
		s := Schema{"type": "object"}
		if t.Elem().Kind() == reflect.Struct {
			s["additionalProperties"] = object(t.Elem(), under(at, "NAME"), meaning, tag.Get("varies") != "")
		} else {
			s["additionalProperties"] = schemaOf(t.Elem(), tag, at, meaning)
		}
		if names := tag.Get("names"); names != "" {
			s["propertyNames"] = formOf(names).schema()
		}
		if tag.Get("required") != "" {
			s["minProperties"] = 1
		}
		return s
	case reflect.Slice:
		s := Schema{"type": "array", "items": schemaOf(t.Elem(), tag, at, meaning), "uniqueItems": true}
		if tag.Get("form") == "command" {
			s = Schema{"type": "array", "items": []Schema{{"type": "string", "minLength": 1}}, "additionalItems": Schema{"type": "string"}}
		}
		if tag.Get("min") != "" {
			s["minItems"] = 1
		}
		return s
	}
	return scalarOf(t, tag).schema()
}

// inJSON is a value as an editor's reader of TOML hands it to a schema.
func inJSON(value any) any {
	if d, ok := value.(time.Duration); ok {
		return brief(d)
	}
	return value
}
