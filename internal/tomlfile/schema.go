package tomlfile

import "time"

// Schema is a JSON Schema of draft 7, as editors of TOML take it.
type Schema map[string]any

// SchemaOf is the schema of a whole file. It says what can be said of each value by itself: what
// depends on other keys only reading the file finds out.
func SchemaOf(title, doc string, keys []Key) Schema {
	s := object(keys, false)
	s["$schema"], s["title"], s["description"] = "http://json-schema.org/draft-07/schema#", title, doc
	return s
}

// object is the schema of a table. Where the defaults of its keys depend on others, it
// names none, and requires nothing.
func object(keys []Key, varies bool) Schema {
	properties, required := Schema{}, []string{}
	for _, k := range keys {
		a, s := k.head(), k.schema()
		s["description"] = a.doc
		if k.blank() == nil && a.missing == "" && !a.derived && !varies {
			s["default"] = inJSON(k.standard())
		}
		if a.missing != "" && !varies {
			required = append(required, a.name)
		}
		properties[a.name] = s
	}
	s := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// inJSON is a value as an editor's reader of TOML hands it to a schema.
func inJSON(value any) any {
	if d, ok := value.(time.Duration); ok {
		return brief(d)
	}
	return value
}
