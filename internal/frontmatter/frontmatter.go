// Package frontmatter reads files of YAML front matter and a Markdown body, as
// tasks and lessons are kept in.
//
// It owns how such a file is opened, taken apart and reported when it is not one,
// and knows no field. It reads only. Files are hostile until read: their size, the
// parser's time and what aliases expand to are bounded, and a FIFO is refused and
// not waited for. Each fault names its file and line, and what to do.
package frontmatter

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"stint/internal/plain"
)

// Fence is the line before the front matter and the line after it.
const Fence = "---"

const (
	// maxFileBytes is far above what a person writes and an agent can be
	// prompted with.
	maxFileBytes = 1 << 20
	// maxFrontBytes bounds the parser's time: the worst YAML of that size takes
	// 50 ms, and finding its faulty line as much again a dozen times.
	maxFrontBytes = 64 << 10

	bom = "\ufeff"
)

// Kind is what a file is, in the words of its problems: "task".
type Kind string

// Document is a file taken apart. The file is BOM, Front and Rest, without a gap, so
// that an edit of Front leaves every other byte.
type Document struct {
	Path  string
	BOM   string // empty, or the byte order mark
	Front string // the opening fence and the front matter, up to the closing fence
	Rest  string // the closing fence and the body
	Body  string // the end of Rest

	mapping
}

// Parse takes a file apart; its errors are of type *[FileError].
//
// YAML is read into nodes and never expanded, so that aliases of aliases cost
// what they take to write. The opening fence is read with it: it is a document
// marker, and it makes the parser's lines those of the file.
func (k Kind) Parse(path string, data []byte) (*Document, error) {
	if err := k.checkBytes(path, data); err != nil {
		return nil, err
	}
	d := &Document{Path: path}
	text := string(data)
	if strings.HasPrefix(text, bom) {
		d.BOM, text = text[:len(bom)], text[len(bom):]
	}
	if err := d.split(text); err != nil {
		return nil, err
	}
	if err := d.parse(); err != nil {
		return nil, err
	}
	return d, d.checkKeys(d.mapping)
}

func (k Kind) checkBytes(path string, data []byte) error {
	if len(data) > maxFileBytes {
		return NewError(path, 0, "larger than 1 MiB: keep the %s short and link to the rest", k)
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return NewError(path, LineAt(string(data), at), "a NUL byte: a %s is plain text", k)
	}
	if at := plain.Invalid(data); at >= 0 {
		return NewError(path, LineAt(string(data), at), "not valid UTF-8: save the file as UTF-8")
	}
	return nil
}

func (d *Document) split(text string) error {
	at := 0
	for line := range strings.Lines(text) {
		switch {
		case at == 0 && !isFence(line):
			return NewError(d.Path, 1, "no front matter: the first line must be %s", Fence)
		case at > maxFrontBytes:
			return NewError(d.Path, 1, "more than 64 KiB of front matter: end it with %s, or move text below it", Fence)
		case at > 0 && isFence(line):
			d.Front, d.Rest, d.Body = text[:at], text[at:], text[at+len(line):]
			return nil
		}
		at += len(line)
	}
	return NewError(d.Path, 1, "the front matter does not end: add a line with %s", Fence)
}

func (d *Document) parse() error {
	node, err := parseYAML(d.Front)
	if err != nil {
		return NewError(d.Path, errorLine(d.Front, err), "%s: fix the YAML, most often by quoting the value", reason(err))
	}
	switch root := node.Content[0]; {
	case root.Kind == yaml.MappingNode:
		d.node = root
	case !isNull(root):
		return d.NewError(root, "the front matter must be lines of `field: value`")
	}
	return nil
}

// checkKeys refuses what a reader could not know the meaning of: a field given
// twice, and the merge key, whose fields would have to be looked up elsewhere.
func (d *Document) checkKeys(m mapping) error {
	seen := make(map[string]*yaml.Node)
	for key := range m.All() {
		name := resolve(key)
		if name.Kind != yaml.ScalarNode {
			continue
		}
		if name.ShortTag() == "!!merge" {
			return d.NewError(key, "merge keys are not read: write the fields out")
		}
		if first, ok := seen[name.Value]; ok {
			return d.NewError(key, "%s is given twice, first on line %d: remove one", name.Value, d.Line(first))
		}
		seen[name.Value] = key
	}
	return nil
}

// NewError is the error of what stands at a node.
func (d *Document) NewError(at *yaml.Node, format string, args ...any) *FileError {
	return NewError(d.Path, d.Line(at), format, args...)
}

// Line is the line of the file that an editor shows a node on.
func (d *Document) Line(n *yaml.Node) int { return LineAt(d.Front, d.Offset(n)) }

// Offset is where in Front a node begins. The parser counts in characters, and
// more of them end its lines than end an editor's.
func (d *Document) Offset(n *yaml.Node) int {
	at := 0
	lineBreak := regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]") // not at every start of the program
	for _, end := range lineBreak.FindAllStringIndex(d.Front, n.Line-1) {
		at = end[1]
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(d.Front[at:])
		at += size
	}
	return at
}

// Begins reports whether the data begins as a file with front matter does.
func Begins(data []byte) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(data), bom), "\n")
	return isFence(first)
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r\n") == Fence }

// LineAt is the line of the text that the byte at offset is on.
func LineAt(text string, offset int) int {
	line, _ := plain.Position(text, offset)
	return line
}
