package frontmatter

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"stint/internal/plain"
)

// Fields reads fields of a document, or of a mapping within it. A null is a field
// not given. The first wrong field is kept, for [Fields.Err], and a wrong field reads as not
// given.
type Fields struct {
	mapping
	document *Document
	within   string // what the names of the fields begin with in errors: "match."
	err      *error // shared with what is within
}

// Fields reads the document's fields.
func (d *Document) Fields() Fields {
	return Fields{mapping: d.mapping, document: d, err: new(error)}
}

// Err is the first wrong field's: nil, or a *[FileError].
func (f Fields) Err() error { return *f.err }

// Within reads the fields of the mapping under the name.
func (f Fields) Within(name string) Fields {
	inner := Fields{document: f.document, within: f.within + name + ".", err: f.err}
	at := f.Field(name)
	switch {
	case at == nil || isNull(resolve(at)):
	case resolve(at).Kind != yaml.MappingNode:
		f.Fail(at, "%s: want lines of `field: value`", f.within+name)
	default:
		inner.node = resolve(at)
		if err := f.document.checkKeys(inner.mapping); err != nil && *f.err == nil {
			*f.err = err
		}
	}
	return inner
}

// Has reports whether the field is given.
func (f Fields) Has(name string) bool {
	n := f.Field(name)
	return n != nil && !isNull(resolve(n))
}

// Parsed reads a field's text by parse, which is given, and must accept, "" for an absent
// field.
func Parsed[T any](f Fields, name string, parse func(string) (T, error)) T {
	value, err := parse(f.Text(name))
	if err != nil {
		f.Fail(f.Field(name), "%s: %v", f.within+name, err)
	}
	return value
}

// Text is the scalar under the first of the names that has one, as written.
func (f Fields) Text(names ...string) string {
	for _, name := range names {
		if f.Has(name) {
			return f.scalar(f.Field(name), name, "text")
		}
	}
	return ""
}

// maxProse bounds how many nodes of a structure are read: a line that a person wants to
// read is shorter, and aliases of aliases expand without end.
const maxProse = 60

// Prose is [Fields.Text] where a list or a mapping may stand for text: it is written in
// one line.
func (f Fields) Prose(names ...string) string {
	for _, name := range names {
		if !f.Has(name) {
			continue
		}
		at := f.Field(name)
		if resolve(at).Kind == yaml.ScalarNode {
			return f.scalar(at, name, "text")
		}
		var line strings.Builder
		left := maxProse
		flatten(&line, at, &left)
		text := strings.TrimSpace(line.String())
		if strings.ContainsFunc(text, unicode.IsControl) {
			f.Fail(at, "%s: control characters are not allowed", f.within+name)
			return ""
		}
		return text
	}
	return ""
}

// flatten writes a list as "a, b" and a mapping as "k: v, l: w", of so many nodes as are
// left.
func flatten(line *strings.Builder, at *yaml.Node, left *int) {
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
		flatten(line, child, left)
	}
}

// Element is one text of a list, and where it is written.
type Element struct {
	Text string
	At   *yaml.Node
}

// List joins what is under all of the names, each a list or one scalar. Nulls
// and empty elements are left out, later mentions of one element too.
func (f Fields) List(names ...string) []string {
	return plain.Each(f.Elements(names...), func(e Element) string { return e.Text })
}

// Elements is [Fields.List], with the places.
func (f Fields) Elements(names ...string) []Element {
	var list []Element
	seen := make(map[string]bool)
	for _, name := range names {
		for _, n := range elements(f.Field(name)) {
			if s := f.scalar(n, name, "a list of text"); s != "" && !seen[s] {
				seen[s] = true
				list = append(list, Element{s, n})
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
func (f Fields) scalar(at *yaml.Node, name, want string) string {
	switch n := resolve(at); {
	case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!binary":
		f.Fail(at, "%s: want %s", f.within+name, want)
	case isNull(n):
	case strings.ContainsFunc(n.Value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		f.Fail(at, "%s %q: control characters are not allowed", f.within+name, n.Value)
	default:
		return n.Value
	}
	return ""
}

// Fail keeps a problem about what stands at a node, unless there is one already.
func (f Fields) Fail(at *yaml.Node, format string, args ...any) {
	if *f.err == nil {
		*f.err = f.document.NewError(at, format, args...)
	}
}
