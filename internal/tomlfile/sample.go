package tomlfile

import (
	"cmp"
	"slices"
	"strings"
)

// Sample is the file written for a newcomer, to be read from top to bottom: every key with its
// meaning, and those that the file does not have as a comment that shows the default. Tables by
// name stand as in the file, and the first of them is explained.
func (f *File) Sample(keys []Key) string {
	s := sample{f: f}
	s.table("", f.entries, keys, false)
	return s.String()
}

type sample struct {
	strings.Builder
	f *File
}

func (s *sample) table(at string, entries map[string]any, keys []Key, brief bool) {
	for _, k := range keys {
		a := k.head()
		value, set := entries[a.name]
		if isTable(k) || brief && !set {
			continue
		}
		if !brief {
			s.comment(a.doc)
		}
		if !set {
			s.WriteString("# ")
			value = cmp.Or(a.example, k.standard())
		}
		s.WriteString(under("", a.name) + " = " + Literal(value) + "\n")
	}
	for _, k := range keys {
		below, _ := entries[k.head().name].(map[string]any)
		if _, single := k.(*group); isTable(k) && !(single && brief && below == nil) {
			s.tables(at, below, k, single, brief)
		}
	}
}

// isTable reports whether a key has a header of its own.
func isTable(k Key) bool {
	g, isGroup := k.(*group)
	return k.blank() != nil && !(isGroup && g.inline)
}

func (s *sample) tables(at string, entries map[string]any, k Key, single, brief bool) {
	tables := k.tables()
	slices.SortStableFunc(tables, func(a, b named) int { return cmp.Compare(s.f.at[join(at, a.key)], s.f.at[join(at, b.key)]) })
	s.WriteString("\n")
	if !brief {
		s.comment(k.head().doc)
	}
	for i, t := range tables {
		if i > 0 {
			s.WriteString("\n")
		}
		below := entries
		if !single {
			below, _ = entries[t.name].(map[string]any)
		}
		s.WriteString("[" + join(at, t.key) + "]\n")
		s.table(join(at, t.key), below, t.keys, brief || i > 0)
	}
}

// comment breaks a text between words.
func (s *sample) comment(text string) {
	const width = 96
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			s.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	s.WriteString(line + "\n")
}
