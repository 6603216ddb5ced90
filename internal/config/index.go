package config

import (
	"bytes"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// index finds out where things stand in the data, which must be TOML without faults.
func (f *file) index() {
	f.at = map[string]int{}
	var parser unstable.Parser
	parser.Reset(f.data)
	header := place{}
	for parser.NextExpression() {
		node := parser.Expression()
		if node.Kind == unstable.KeyValue {
			f.pair(header, node)
			continue
		}
		header = f.mark(place{}, node.Key())
	}
}

// place is a dotted key on the way down to a value, and how many parts it has.
type place struct {
	key   string
	depth int
}

// maxDepth is one part more than the deepest key there is, category.NAME.unit.KEY.
// Deeper ones are not indexed: their names would add up to the square of the file.
const maxDepth = 5

// mark records each part of a key below at, and returns the place of the whole.
func (f *file) mark(at place, key unstable.Iterator) place {
	for key.Next() {
		part := key.Node()
		f.noteNUL(part)
		at.depth++
		if at.depth > maxDepth {
			continue
		}
		at.key = under(at.key, string(part.Data))
		f.note(at.key, part)
	}
	return at
}

func (f *file) pair(at place, node *unstable.Node) {
	f.value(f.mark(at, node.Key()), node.Value())
}

func (f *file) value(at place, node *unstable.Node) {
	switch {
	case node.Kind == unstable.String:
		f.noteNUL(node)
	case node.Kind == unstable.InlineTable:
		for pairs := node.Children(); pairs.Next(); {
			f.pair(at, pairs.Node())
		}
	case node.Kind == unstable.Array:
		f.elements(at, node)
	}
}

func (f *file) elements(at place, array *unstable.Node) {
	i := 0
	for items := array.Children(); items.Next(); i++ {
		item := place{depth: at.depth + 1}
		if item.depth <= maxDepth {
			item.key = element(at.key, i)
			f.noteElement(at.key, item.key, items.Node())
		}
		f.value(item, items.Node())
	}
}

// note records where key first stands.
func (f *file) note(key string, node *unstable.Node) {
	if !f.Has(key) {
		f.at[key] = int(node.Raw.Offset)
	}
}

// noteElement takes the list's own place for an element that is a list, to which
// the parser gives none.
func (f *file) noteElement(list, key string, node *unstable.Node) {
	if node.Kind == unstable.Array {
		f.at[key] = f.at[list]
		return
	}
	f.note(key, node)
}

func (f *file) noteNUL(node *unstable.Node) {
	if bytes.IndexByte(node.Data, 0) >= 0 {
		f.nuls = append(f.nuls, int(node.Raw.Offset))
	}
}

// under is the dotted key of part in the table key, which is empty for the file.
func under(key, part string) string {
	if !isBare(part) {
		part = quote(part)
	}
	if key == "" {
		return part
	}
	return key + "." + part
}

// dotted is the dotted key of a path of names.
func dotted(parts ...string) string {
	key := ""
	for _, part := range parts {
		key = under(key, part)
	}
	return key
}

func element(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// isBare reports whether TOML takes a key without quotes.
func isBare(part string) bool {
	for i := range len(part) {
		switch c := part[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return part != ""
}
