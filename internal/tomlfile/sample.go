package tomlfile

import "strings"

// Sample is a file to read from top to bottom: every key with what it means, those with a
// fitting default as a comment that shows it. Of tables by name only the first is
// explained; the others have what is set.
func Sample(keys []Key) []byte {
	var s sample
	s.table("", keys, false)
	return []byte(s.String())
}

type sample struct{ strings.Builder }

func (s *sample) table(at string, keys []Key, brief bool) {
	for _, k := range keys {
		a, line, set := k.head(), "", false
		if isTable(k) {
			continue
		}
		if line, set = assignment(k); brief && set {
			s.WriteString(line)
		}
		if brief {
			continue
		}
		s.comment(a.doc)
		if !set {
			line = "# " + line
		}
		s.WriteString(line)
	}
	for _, k := range keys {
		if isTable(k) {
			s.tables(at, k, brief)
		}
	}
}

// isTable reports whether a key has a header of its own.
func isTable(k Key) bool {
	g, isGroup := k.(*group)
	return k.blank() != nil && !(isGroup && g.inline)
}

// tables leaves out, where it is brief, a table in which nothing is set.
func (s *sample) tables(at string, k Key, brief bool) {
	_, single := k.(*group)
	for i, t := range k.tables() {
		var inner sample
		inner.table(join(at, t.key), t.keys, brief || i > 0)
		if brief && single && inner.Len() == 0 {
			continue
		}
		s.WriteString("\n")
		if !brief && i == 0 {
			s.comment(k.head().doc)
		}
		s.WriteString("[" + join(at, t.key) + "]\n" + inner.String())
	}
	if !brief && len(k.tables()) == 0 {
		s.WriteString("\n")
		s.comment(k.head().doc)
	}
}

// assignment is a key's line, and whether it says something other than the default.
func assignment(k Key) (line string, set bool) {
	a, value := k.head(), k.value()
	standard := k.standard()
	set = a.always || a.missing != "" || !a.derived && Literal(value) != Literal(standard)
	switch {
	case set:
	case a.example != nil:
		value = a.example
	default:
		value = standard
	}
	return under("", a.name) + " = " + Literal(value) + "\n", set
}

// comment breaks a text between words.
func (s *sample) comment(text string) {
	const width = 96
	column := 0
	for _, word := range strings.Fields(text) {
		switch length := len([]rune(word)); {
		case column == 0:
			s.WriteString("# " + word)
			column = 2 + length
		case column+1+length > width:
			s.WriteString("\n# " + word)
			column = 2 + length
		default:
			s.WriteString(" " + word)
			column += 1 + length
		}
	}
	if column > 0 {
		s.WriteString("\n")
	}
}
