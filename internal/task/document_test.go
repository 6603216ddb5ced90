package task

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/testkit/must"
)

func TestParseTakesApart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, bom, front, rest, body string }{
		{"least", "---\n---\n", "", "---\n", "---\n", ""},
		{"no end of line", "---\n---", "", "---\n", "---", ""},
		{"body", "---\na: 1\n---\nb\n---\n", "", "---\na: 1\n", "---\nb\n---\n", "b\n---\n"},
		{"other editors", "\ufeff---\r\na: 1\r\n--- \r\nb", "\ufeff", "---\r\na: 1\r\n", "--- \r\nb", "b"},
	} {
		d, err := newDocument("recipe", "a.md", []byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := []string{d.bom, d.front, d.rest, d.body}
		if diff := cmp.Diff(got, []string{test.bom, test.front, test.rest, test.body}); diff != "" {
			t.Errorf("%s: parts (-got +want):\n%s", test.name, diff)
		}
		if d.bom+d.front+d.rest != test.text || !hasFrontMatter([]byte(test.text)) {
			t.Errorf("%s: the parts are not the file", test.name)
		}
	}
}

func TestParseNamesItsKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("x", 1<<20+1): "a.md: larger than 1 MiB: keep the recipe short and link to the rest",
		"---\n\x00\n---\n":           "a.md:2: a NUL byte: a recipe is plain text",
		"text\n":                     "a.md:1: no front matter: the first line must be ---",
		"---\n- a\n---\n":            "a.md:2: the front matter must be lines of `field: value`",
	} {
		_, err := newDocument("recipe", "a.md", []byte(text))
		var problem *fileError
		if !errors.As(err, &problem) || problem.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFieldsWithin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		front string
		list  []string
		err   string
	}{
		{"", nil, ""},
		{"in:\n", nil, ""},
		{"in: {}\n", nil, ""},
		{"in: {list: [a, ~, b, a]}\nlist: [c]\n", []string{"a", "b"}, ""},
		{"in: &i {list: a}\n", []string{"a"}, ""},
		{"x: &i {list: a}\nin: *i\n", []string{"a"}, ""},
		{"in: [a]\n", nil, "a.md:2: in: want lines of `field: value`"},
		{"in:\n  list: {a: b}\n", nil, "a.md:3: in.list: want a list of text"},
		{"in:\n  list: a\n  list: b\n", []string{"a"}, "a.md:4: list is given twice, first on line 3: remove one"},
		{"in:\n  list: {}\nlast: []\n", nil, "a.md:3: in.list: want a list of text"},
	} {
		d := must.Get(newDocument("recipe", "a.md", []byte("---\n"+test.front+"---\n")))(t)
		f := d.fields()
		list := f.within("in").list("list")
		_ = f.text("last")
		if diff := cmp.Diff(list, test.list); diff != "" {
			t.Errorf("%q: list (-got +want):\n%s", test.front, diff)
		}
		if got := message(f.err()); got != test.err {
			t.Errorf("%q: got %s, want %s", test.front, got, test.err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, size := range map[string]int{"small": 3, "large": 3 << 20} {
		must.Do(t, os.WriteFile(path(name), []byte(strings.Repeat("x", size)), 0o600))
	}
	must.Do(t, syscall.Mkfifo(path("fifo"), 0o600))
	for name, want := range map[string]int{"small": 3, "large": 1<<20 + 1} {
		data, info, err := (Folder{}).readFile(path(name))
		if err != nil || len(data) != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(data), err, want)
		}
	}
	if _, _, err := (Folder{}).readFile(path("absent")); !errors.Is(err, errAbsent) {
		t.Errorf("got %v, want %v", err, errAbsent)
	}
	if _, _, err := (Folder{}).readFile(dir); !errors.Is(err, errIgnored) {
		t.Errorf("got %v, want %v", err, errIgnored)
	}
	_, _, err := (Folder{}).readFile(path("fifo"))
	if got, want := message(err), path("fifo")+": not a regular file: move it out of the folder"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
