package task

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxFileBytes is far above what a person writes and an agent can be
	// prompted with.
	maxFileBytes = 1 << 20
	// maxFrontBytes bounds the parser's time: the worst YAML of that size takes
	// 20 ms, and finding its faulty line as much again a dozen times.
	maxFrontBytes = 64 << 10

	fence = "---"
	bom   = "\ufeff"
)

// document is a task file taken apart. The file is bom, front and rest, without
// a gap, so that an edit of front leaves every other byte.
type document struct {
	path  string
	bom   string     // empty, or the byte order mark
	front string     // the opening fence and the front matter, up to the closing fence
	rest  string     // the closing fence and the body
	body  string     // the end of rest
	root  *yaml.Node // the front matter's mapping; nil when it is empty
}

// newDocument takes a file apart; its errors are problems.
//
// YAML is read into nodes and never expanded, so that aliases of aliases cost
// what they take to write. The opening fence is read with it: it is a document
// marker, and it makes the parser's lines those of the file.
func newDocument(path string, data []byte) (*document, error) {
	if err := checkBytes(path, data); err != nil {
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
	return d, d.checkKeys()
}

func checkBytes(path string, data []byte) error {
	if len(data) > maxFileBytes {
		return newProblem(path, 0, "larger than 1 MiB: keep the task short and link to the rest")
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return newProblem(path, lineAt(string(data), at), "a NUL byte: a task is plain text")
	}
	if at := invalidUTF8(string(data)); at >= 0 {
		return newProblem(path, lineAt(string(data), at), "not valid UTF-8: save the file as UTF-8")
	}
	return nil
}

func (d *document) split(text string) error {
	at := 0
	for line := range strings.Lines(text) {
		switch {
		case at == 0 && !isFence(line):
			return newProblem(d.path, 1, "no front matter: the first line must be %s", fence)
		case at > maxFrontBytes:
			return newProblem(d.path, 1, "more than 64 KiB of front matter: end it with %s, or move text below it", fence)
		case at > 0 && isFence(line):
			d.front, d.rest, d.body = text[:at], text[at:], text[at+len(line):]
			return nil
		}
		at += len(line)
	}
	return newProblem(d.path, 1, "the front matter does not end: add a line with %s", fence)
}

func (d *document) parse() error {
	node, err := parseYAML(d.front)
	if err != nil {
		return newProblem(d.path, errorLine(d.front, err), "%s: mend the YAML, most often by quoting the value", reason(err))
	}
	switch root := node.Content[0]; {
	case root.Kind == yaml.MappingNode:
		d.root = root
	case !isNull(root):
		return d.problem(root, "the front matter must be lines of `field: value`")
	}
	return nil
}

// checkKeys refuses what a reader could not know the meaning of: a field given
// twice, and the merge key, whose fields would have to be looked up elsewhere.
func (d *document) checkKeys() error {
	seen := make(map[string]*yaml.Node)
	for key := range d.fields() {
		name := resolve(key)
		if name.Kind != yaml.ScalarNode {
			continue
		}
		if name.ShortTag() == "!!merge" {
			return d.problem(key, "merge keys are not read: write the fields out")
		}
		if first, ok := seen[name.Value]; ok {
			return d.problem(key, "%s is given twice, first on line %d: remove one", name.Value, d.line(first))
		}
		seen[name.Value] = key
	}
	return nil
}

// fields iterates over the front matter's keys and values, as written.
func (d *document) fields() func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if d.root == nil {
			return
		}
		for i := 0; i+1 < len(d.root.Content); i += 2 {
			if !yield(d.root.Content[i], d.root.Content[i+1]) {
				return
			}
		}
	}
}

// field is the value of a field as written, or nil.
func (d *document) field(name string) *yaml.Node {
	for key, value := range d.fields() {
		if k := resolve(key); k.Kind == yaml.ScalarNode && k.Value == name {
			return value
		}
	}
	return nil
}

func (d *document) problem(at *yaml.Node, format string, args ...any) *problem {
	return newProblem(d.path, d.line(at), format, args...)
}

// line is the line of the file that an editor shows a node on.
func (d *document) line(n *yaml.Node) int { return lineAt(d.front, d.offset(n)) }

var yamlBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// offset is where in front a node begins. The parser counts in characters, and
// more of them end its lines than end an editor's.
func (d *document) offset(n *yaml.Node) int {
	at := 0
	for _, end := range yamlBreak.FindAllStringIndex(d.front, n.Line-1) {
		at = end[1]
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(d.front[at:])
		at += size
	}
	return at
}

func hasFrontMatter(data []byte) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(data), bom), "\n")
	return isFence(first)
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r\n") == fence }

func lineAt(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

// invalidUTF8 is where the text stops being UTF-8, or -1.
func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for at, r := range text {
		if _, size := utf8.DecodeRuneInString(text[at:]); r == utf8.RuneError && size == 1 {
			return at
		}
	}
	return -1
}
