package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2/unstable"

	"stint/internal/testkit/must"
)

// everyNode has every kind of node that TOML has, and keys in every spelling.
const everyNode = `# a comment
bare = "text"
"quo\u0074ed" = 'literal'
a.b . "c d" = 1
list = [ 1, "two", [3], { four = 4 }, 2026-01-02 ]
inline = { x = 1, y.z = "\u0000", n = { m = true } }
multi = """
line"""
[head]
k = 1.5
[head.sub."a.b"]
"\u0000" = 07:00:00
[[many]]
t = 2026-01-02T03:04:05Z
[[many]]
u = 2026-01-02T03:04:05
`

// TestParserKeepsItsPromises has what [File.index] takes from the parser of go-toml, whose API is
// called unstable: the kinds of nodes, the decoded text of keys and strings, and where
// each begins. If an upgrade changes one of these, positions in messages are wrong, and this
// test says which.
func TestParserKeepsItsPromises(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	var show func(indent string, n *unstable.Node)
	show = func(indent string, n *unstable.Node) {
		// The parser gives no place to lists, tables and pairs, of which none is asked.
		fmt.Fprintf(&got, "%s%v %q %d\n", indent, n.Kind, n.Data, n.Raw.Offset)
		for children := n.Children(); children.Next(); {
			show(indent+"  ", children.Node())
		}
	}
	var parser unstable.Parser
	parser.Reset([]byte(everyNode))
	for parser.NextExpression() {
		node := parser.Expression()
		if key, value := node.Key(), node; node.Kind == unstable.KeyValue {
			var parts []string
			for key.Next() {
				parts = append(parts, string(key.Node().Data))
			}
			fmt.Fprintf(&got, "%q = %v\n", parts, value.Value().Kind)
		}
		show("", node)
	}
	must.Do(t, parser.Error())
	want := must.Get(os.ReadFile(filepath.Join("testdata", "nodes.txt")))(t)
	must.Equal(t, "go-toml/unstable is not what index.go relies on", got.String(), string(want))
}

// TestIndex has the place of every key and element, and of every NUL.
func TestIndex(t *testing.T) {
	t.Parallel()
	f := must.Get(newFile("/f.toml", []byte(everyNode)))(t)
	var got []string
	for key, offset := range f.at {
		line, column := f.line(offset)
		got = append(got, fmt.Sprintf("%02d:%02d %s", line, column, key))
	}
	slices.Sort(got)
	want := []string{
		"02:01 bare", "03:01 quoted",
		"04:01 a", "04:03 a.b", `04:07 a.b."c d"`,
		"05:01 list", "05:01 list[2]", "05:10 list[0]", "05:13 list[1]", "05:21 list[2][0]", "05:25 list[3]", "05:27 list[3].four", "05:39 list[4]",
		"06:01 inline", "06:12 inline.x", "06:19 inline.y", "06:21 inline.y.z", "06:35 inline.n", "06:41 inline.n.m",
		"07:01 multi", "09:02 head", "10:01 head.k",
		"11:07 head.sub", `11:11 head.sub."a.b"`, `12:01 head.sub."a.b"."\u0000"`,
		"13:03 many", "14:01 many.t", "16:01 many.u",
	}
	must.Equal(t, "places", got, want)
	if got, want := f.Err().Error(), "/f.toml:6:25: a string holds a NUL character\n/f.toml:12:1: a string holds a NUL character"; !strings.HasPrefix(strings.ReplaceAll(got, " (remove the \\u0000)", ""), want) {
		t.Errorf("got %s", got)
	}
}

// TestOneFileKnowsTheParser keeps the unstable API behind index.go.
func TestOneFileKnowsTheParser(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob("*.go"))(t)
	var users []string
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		if strings.Contains(string(text), "go-toml/v2/unstable\"") && !strings.HasSuffix(file, "_test.go") {
			users = append(users, file)
		}
	}
	must.Equal(t, "files that import go-toml/v2/unstable", users, []string{"index.go"})
}
