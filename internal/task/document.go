package task

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"stint/internal/plain"
)

// fence is the line before the front matter and the line after it.
const fence = "---"

const (
	// maxFileBytes is far above what a person writes and an agent can be
	// prompted with.
	maxFileBytes = 1 << 20
	// maxFrontBytes bounds the parser's time: the worst YAML of that size takes
	// 50 ms, and finding its faulty line as much again a dozen times.
	maxFrontBytes = 64 << 10

	bom = "\ufeff"
)

// document is a file of YAML front matter and a Markdown body, taken apart. The file is bom, front
// and rest, without a gap, so that an edit of front leaves every other byte.
type document struct {
	path  string
	bom   string // empty, or the byte order mark
	front string // the opening fence and the front matter, up to the closing fence
	rest  string // the closing fence and the body
	body  string // the end of rest

	mapping
}

// newDocument takes a file apart; its errors are of type *[fileError]. Its kind, "task" or "lesson",
// stands in them.
//
// YAML is read into nodes and never expanded, so that aliases of aliases cost
// what they take to write. The opening fence is read with it: it is a document
// marker, and it makes the parser's lines those of the file.
func newDocument(kind, path string, data []byte) (*document, error) {
	if err := checkBytes(kind, path, data); err != nil {
		return nil, err
	}
	d := &document{path: path}
	text := string(data)
	if strings.HasPrefix(text, bom) {
		d.bom, text = text[:len(bom)], text[len(bom):]
	}
	if err := d.split(text); err != nil {
		return nil, err
	}
	if err := d.parse(); err != nil {
		return nil, err
	}
	return d, d.checkKeys(d.mapping)
}

func checkBytes(kind, path string, data []byte) error {
	if len(data) > maxFileBytes {
		return newError(path, 0, "larger than 1 MiB: keep the %s short and link to the rest", kind)
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return newError(path, lineAt(string(data), at), "a NUL byte: a %s is plain text", kind)
	}
	if at := plain.Invalid(data); at >= 0 {
		return newError(path, lineAt(string(data), at), "not valid UTF-8: save the file as UTF-8")
	}
	return nil
}

func (d *document) split(text string) error {
	at := 0
	for line := range strings.Lines(text) {
		switch {
		case at == 0 && !isFence(line):
			return newError(d.path, 1, "no front matter: the first line must be %s", fence)
		case at > maxFrontBytes:
			return newError(d.path, 1, "more than 64 KiB of front matter: end it with %s, or move text below it", fence)
		case at > 0 && isFence(line):
			d.front, d.rest, d.body = text[:at], text[at:], text[at+len(line):]
			return nil
		}
		at += len(line)
	}
	return newError(d.path, 1, "the front matter does not end: add a line with %s", fence)
}

func (d *document) parse() error {
	node, err := parseYAML(d.front)
	if err != nil {
		return newError(d.path, errorLine(d.front, err), "%s: fix the YAML, most often by quoting the value", reason(err))
	}
	switch root := node.Content[0]; {
	case root.Kind == yaml.MappingNode:
		d.node = root
	case !isNull(root):
		return d.newError(root, "the front matter must be lines of `field: value`")
	}
	return nil
}

// checkKeys refuses what a reader could not know the meaning of: a field given
// twice, and the merge key, whose fields would have to be looked up elsewhere.
func (d *document) checkKeys(m mapping) error {
	seen := make(map[string]*yaml.Node)
	for key := range m.all() {
		name := resolve(key)
		if name.Kind != yaml.ScalarNode {
			continue
		}
		if name.ShortTag() == "!!merge" {
			return d.newError(key, "merge keys are not read: write the fields out")
		}
		if first, ok := seen[name.Value]; ok {
			return d.newError(key, "%s is given twice, first on line %d: remove one", name.Value, d.line(first))
		}
		seen[name.Value] = key
	}
	return nil
}

// newError is the error of what stands at a node.
func (d *document) newError(at *yaml.Node, format string, args ...any) *fileError {
	return newError(d.path, d.line(at), format, args...)
}

// line is the line of the file that an editor shows a node on.
func (d *document) line(n *yaml.Node) int { return lineAt(d.front, d.offset(n)) }

// offset returns the place in front at which a node begins. The parser counts in characters, and
// more of them end its lines than end an editor's.
func (d *document) offset(n *yaml.Node) int {
	at := 0
	lineBreak := regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]") // not at every start of the program
	for _, end := range lineBreak.FindAllStringIndex(d.front, n.Line-1) {
		at = end[1]
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(d.front[at:])
		at += size
	}
	return at
}

// hasFrontMatter reports whether the data begins as a file with front matter does.
func hasFrontMatter(data []byte) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(data), bom), "\n")
	return isFence(first)
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r\n") == fence }

// lineAt is the line of the text that the byte at offset is on.
func lineAt(text string, offset int) int {
	line, _ := plain.Position(text, offset)
	return line
}
