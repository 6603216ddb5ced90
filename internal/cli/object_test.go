package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"stint/internal/testkit/must"
)

// schemas are those that "--json --help" of a command describes.
func schemas(c *cobra.Command) (list []string) {
	for _, o := range new(app).objects(wordsOf(c)) {
		list = append(list, o.Rows()[0].About)
	}
	return list
}

// TestObjectsAreDescribed finds every object that a script looks at described by the command that printed it, and every
// object that the program makes by some command.
func TestObjectsAreDescribed(t *testing.T) {
	t.Parallel()
	root := newRoot(&app{Surroundings: Process()}, nil)
	described := schemas(root)
	eachCommand(root, func(c *cobra.Command) { described = append(described, schemas(c)...) })
	printed := regexp.MustCompile(`(?m)^exits 0 stint (.*--json.*)\n(?:(?:fields|!|stdout).*\n)*json stdout schema (stint/[a-z-]+@\d+)$`)
	made := regexp.MustCompile(`(?:Schema\[\S+\]|List)\("(stint/[^"]+)"`)
	found, objects := 0, 0
	for _, path := range slices.Concat(must.Get(filepath.Glob("../../testdata/script/*.txtar"))(t), must.Get(filepath.Glob("../*/*.go"))(t)) {
		text := string(must.Get(os.ReadFile(path))(t))
		for _, m := range printed.FindAllStringSubmatch(text, -1) {
			c, _, err := root.Find(strings.Fields(m[1]))
			must.Do(t, err)
			found++
			if !slices.Contains(schemas(c), m[2]) {
				t.Errorf("%s: %s prints %s, and --json --help describes %s", filepath.Base(path), c.CommandPath(), m[2], schemas(c))
			}
		}
		for _, m := range made.FindAllStringSubmatch(text, -1) {
			if objects++; !slices.Contains(described, m[1]) {
				t.Errorf("%s: no command describes %s", path, m[1])
			}
		}
	}
	if found < 15 || objects < 40 {
		t.Errorf("read only %d objects in the scripts and %d in the program", found, objects)
	}
}

// TestDescriptionsFit holds of each description: it fits a terminal, and says what each field holds.
func TestDescriptionsFit(t *testing.T) {
	t.Parallel()
	eachCommand(newRoot(&app{}, nil), func(c *cobra.Command) {
		var out bytes.Buffer
		c.SetOut(&out)
		new(app).printObjects(c)
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns {
				t.Errorf("%s: a line of more than %d columns: %s", c.CommandPath(), columns, line)
			}
		}
		for _, o := range new(app).objects(wordsOf(c)) {
			for _, r := range o.Rows() {
				if !strings.HasSuffix(r.Name, "…") && (strings.TrimSpace(r.Name) == "" || r.Kind == "") {
					t.Errorf("%s: a field without a name or a kind: %+v", c.CommandPath(), r)
				}
			}
		}
	})
}

// TestDescriptionsListWords finds the words of each enumeration in the description of the fields that hold one.
func TestDescriptionsListWords(t *testing.T) {
	t.Parallel()
	words := map[string][]string{} // by package and type
	for _, path := range must.Get(filepath.Glob("../*/*.go"))(t) {
		text := string(must.Get(os.ReadFile(path))(t))
		for _, m := range regexp.MustCompile(`(?m)^\t\w+ +([A-Z]\w+) += "([^"]+)"`).FindAllStringSubmatch(text, -1) {
			name := filepath.Base(filepath.Dir(path)) + "." + m[1]
			words[name] = append(words[name], m[2])
		}
	}
	found := 0
	for _, path := range slices.Concat(must.Get(filepath.Glob("../view/*.go"))(t), []string{"object.go"}) {
		text := string(must.Get(os.ReadFile(path))(t))
		for _, m := range regexp.MustCompile("Word\\(\"(\\w+)\", \"[^\"]*\", [\"`]([^()]*?)[\"`],\\s+func\\(.*\\) ([a-z]+\\.[A-Z]\\w+) \\{").FindAllStringSubmatch(text, -1) {
			for _, word := range words[m[3]] {
				if found++; !strings.Contains(m[2], word) {
					t.Errorf("%s: %s is of %s, and its description lacks %q", filepath.Base(path), m[1], m[3], word)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("found only %d words", found)
	}
}
