package task

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"stint/internal/plain"
)

// fields reads fields of a document, or of a mapping within it. A null is a field
// not given. The first wrong field is kept, for [fields.err], and a wrong field reads as not
// given.
type fields struct {
	mapping
	document *document
	prefix   string // what the names of the fields begin with in errors: "match."
	wrong    *error // shared with what is within
}

// fields reads the document's fields.
func (d *document) fields() fields {
	return fields{mapping: d.mapping, document: d, wrong: new(error)}
}

// err is the first wrong field's: nil, or a *[fileError].
func (f fields) err() error { return *f.wrong }

// within reads the fields of the mapping under the name.
func (f fields) within(name string) fields {
	inner := fields{document: f.document, prefix: f.prefix + name + ".", wrong: f.wrong}
	at := f.field(name)
	switch {
	case at == nil || isNull(resolve(at)):
	case resolve(at).Kind != yaml.MappingNode:
		f.fail(at, "%s: want lines of `field: value`", f.prefix+name)
	default:
		inner.node = resolve(at)
		if err := f.document.checkKeys(inner.mapping); err != nil && *f.wrong == nil {
			*f.wrong = err
		}
	}
	return inner
}

// has reports whether the field is given.
func (f fields) has(name string) bool {
	n := f.field(name)
	return n != nil && !isNull(resolve(n))
}

// text is the scalar under the first of the names that has one, as written.
func (f fields) text(names ...string) string {
	for _, name := range names {
		if f.has(name) {
			return f.scalar(f.field(name), name, "text")
		}
	}
	return ""
}

// maxProse bounds how many nodes of a structure are read: a line that a person wants to
// read is shorter, and aliases of aliases expand without end.
const maxProse = 60

// prose is [fields.text] where a list or a mapping may stand for text: it is written in
// one line.
func (f fields) prose(names ...string) string {
	for _, name := range names {
		if !f.has(name) {
			continue
		}
		at := f.field(name)
		if resolve(at).Kind == yaml.ScalarNode {
			return f.scalar(at, name, "text")
		}
		var line strings.Builder
		left := maxProse
		writeProse(&line, at, &left)
		text := strings.TrimSpace(line.String())
		if strings.ContainsFunc(text, unicode.IsControl) {
			f.fail(at, "%s: control characters are not allowed", f.prefix+name)
			return ""
		}
		return text
	}
	return ""
}

// writeProse writes a list as "a, b" and a mapping as "k: v, l: w", of so many nodes as are
// left.
func writeProse(line *strings.Builder, at *yaml.Node, left *int) {
	if *left--; *left == 0 {
		line.WriteString("…")
	}
	n := resolve(at)
	if *left <= 0 || isNull(n) {
		return
	}
	line.WriteString(n.Value)
	for i, child := range n.Content {
		switch {
		case *left <= 0:
			return
		case n.Kind == yaml.MappingNode && i%2 == 1:
			line.WriteString(": ")
		case i > 0:
			line.WriteString(", ")
		}
		writeProse(line, child, left)
	}
}

// element is one text of a list, and where it is written.
type element struct {
	text string
	at   *yaml.Node
}

// list joins what is under all of the names, each a list or one scalar. Nulls
// and empty elements are left out, later mentions of one element too.
func (f fields) list(names ...string) []string {
	return plain.Each(f.elements(names...), func(e element) string { return e.text })
}

// elements is [fields.list], with the places.
func (f fields) elements(names ...string) []element {
	var list []element
	seen := make(map[string]bool)
	for _, name := range names {
		for _, n := range elements(f.field(name)) {
			if s := f.scalar(n, name, "a list of text"); s != "" && !seen[s] {
				seen[s] = true
				list = append(list, element{s, n})
			}
		}
	}
	return list
}

func elements(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case resolve(n).Kind == yaml.SequenceNode:
		return resolve(n).Content
	}
	return []*yaml.Node{n}
}

// scalar is a node's text. Numbers, dates and booleans are the text they are
// written as. Control characters are refused, for the text will be shown on
// terminals and put into an environment.
func (f fields) scalar(at *yaml.Node, name, want string) string {
	switch n := resolve(at); {
	case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!binary":
		f.fail(at, "%s: want %s", f.prefix+name, want)
	case isNull(n):
	case strings.ContainsFunc(n.Value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		f.fail(at, "%s %q: control characters are not allowed", f.prefix+name, n.Value)
	default:
		return n.Value
	}
	return ""
}

// fail keeps a problem about what stands at a node, unless there is one already.
func (f fields) fail(at *yaml.Node, format string, args ...any) {
	if *f.wrong == nil {
		*f.wrong = f.document.newError(at, format, args...)
	}
}
