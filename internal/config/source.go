package config

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"

	"stint/internal/plain"
)

// source is the text of a configuration file and where things stand in it.
type source struct {
	kind kind
	path string
	data []byte
	at   map[string]int // the offset of a dotted key's last part; of a list's elements as key[0]
	nuls []int          // the offsets of keys and strings that hold a NUL
}

// index finds out where things stand in the data, which must be TOML without faults.
func (s *source) index() {
	s.at = map[string]int{}
	var parser unstable.Parser
	parser.Reset(s.data)
	header := place{}
	for parser.NextExpression() {
		node := parser.Expression()
		if node.Kind == unstable.KeyValue {
			s.pair(header, node)
			continue
		}
		header = s.mark(place{}, node.Key())
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
func (s *source) mark(at place, key unstable.Iterator) place {
	for key.Next() {
		part := key.Node()
		s.noteNUL(part)
		at.depth++
		if at.depth > maxDepth {
			continue
		}
		at.key = under(at.key, string(part.Data))
		s.note(at.key, part)
	}
	return at
}

func (s *source) pair(at place, node *unstable.Node) {
	s.value(s.mark(at, node.Key()), node.Value())
}

func (s *source) value(at place, node *unstable.Node) {
	switch {
	case node.Kind == unstable.String:
		s.noteNUL(node)
	case node.Kind == unstable.InlineTable:
		for pairs := node.Children(); pairs.Next(); {
			s.pair(at, pairs.Node())
		}
	case node.Kind == unstable.Array:
		s.elements(at, node)
	}
}

func (s *source) elements(at place, array *unstable.Node) {
	i := 0
	for items := array.Children(); items.Next(); i++ {
		item := place{depth: at.depth + 1}
		if item.depth <= maxDepth {
			item.key = element(at.key, i)
			s.noteElement(at.key, item.key, items.Node())
		}
		s.value(item, items.Node())
	}
}

// note records where key first stands.
func (s *source) note(key string, node *unstable.Node) {
	if !s.has(key) {
		s.at[key] = int(node.Raw.Offset)
	}
}

// noteElement takes the list's own place for an element that is a list, to which
// the parser gives none.
func (s *source) noteElement(list, key string, node *unstable.Node) {
	if node.Kind == unstable.Array {
		s.at[key] = s.at[list]
		return
	}
	s.note(key, node)
}

func (s *source) noteNUL(node *unstable.Node) {
	if bytes.IndexByte(node.Data, 0) >= 0 {
		s.nuls = append(s.nuls, int(node.Raw.Offset))
	}
}

func (s *source) has(key string) bool {
	_, ok := s.at[key]
	return ok
}

// line counts from 1, as does the column, which is in bytes.
func (s *source) line(offset int) (line, column int) { return plain.Position(s.data, offset) }

func (s *source) position(offset int) string {
	line, column := s.line(offset)
	return fmt.Sprintf("%s:%d:%d", s.path, line, column)
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
