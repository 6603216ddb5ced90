package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"stint/internal/config"
	"stint/internal/testkit/must"
)

// schema is the one that editors are given, read back from what is written for them.
var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := json.Marshal(config.SchemaOf(""))
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource("file:///stint.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("file:///stint.json")
})

// inEditor returns the fault that an editor finds in a file by the schema.
func inEditor(t testing.TB, text string) error {
	t.Helper()
	s := must.Get(schema())(t)
	var entries map[string]any
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &entries); err != nil {
		return err
	}
	// As taplo does: a date is a string, and what JSON has no word for is nothing.
	data := must.Get(json.Marshal(inJSON(entries)))(t)
	value := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(data)))(t)
	return s.Validate(value)
}

func inJSON(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = inJSON(v[key])
		}
	case []any:
		for i := range v {
			v[i] = inJSON(v[i])
		}
	case float64:
		if _, err := json.Marshal(v); err != nil {
			return nil
		}
	case time.Time:
		return v.Format(time.RFC3339)
	case toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		return "a date or time"
	}
	return value
}

// byItself is a fault that a value has whatever else the file says.
var byItself = regexp.MustCompile(`: want |unknown key|unknown field|is listed twice|: missing$|'s name is `)

// schemaRefuses holds the schema to a fault that loading finds.
func schemaRefuses(t *testing.T, test unfit) {
	t.Helper()
	notThere := []string{ // of which a schema knows nothing, or no more than that
		"category.code.agents: missing", // as there are several
		"agent.claude.command: missing", // as the preset has none
		"state: missing",                // as the environment does not say
		"a duration of at most",         // how long a time is
		"9999999T",                      // nor how much that is
		"unit.Weight",                   // which properties there are, and what they take
	}
	known := byItself.MatchString(test.text) && !slices.ContainsFunc(notThere, func(s string) bool { return strings.Contains(test.text, s) })
	if err := inEditor(t, test.file); known && err == nil {
		t.Errorf("the schema accepts what loading refuses: %s", test.text)
	} else if known && !errors.As(err, new(*jsonschema.ValidationError)) {
		t.Errorf("not by the schema: %v", err)
	}
}

func TestSchemaTakesOurOwnFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"sample":          string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/s"})),
		"sample, all set": shown.ReplaceAllString(string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/s"})), "$1"),
		"values of full":  asFile(load(t, full)),
		"values of hosts": asFile(load(t, hosts)),
		"values of gates": asFile(load(t, gates)),
		"values, sources": asFile(load(t, sources)),
	}
	placeholders := strings.NewReplacer("@FLEET@", "bob", "@WORK@", "/work", "@UNIT@", "bob")
	for _, root := range []string{"../../testdata", "../../scripts", "testdata"} {
		must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != config.FileName {
				return err
			}
			text, err := os.ReadFile(path)
			files[path] = placeholders.Replace(string(text))
			return err
		}))
	}
	for name, text := range scripted(t) {
		files[name] = placeholders.Replace(text)
	}
	accepted := 0
	for name, text := range files {
		if _, err := config.Parse("/work/stint.toml", []byte(text), config.Options{Getenv: environment("HOME", "/home/me")}); err != nil {
			continue // a script about a file that is refused
		}
		accepted++
		if err := inEditor(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if accepted < 100 {
		t.Errorf("got %d files, want those of the scripts", accepted)
	}
}

// TestSchemaWantsSomebody refuses a table of agents, or of categories, in which there is none.
func TestSchemaWantsSomebody(t *testing.T) {
	t.Parallel()
	for at, text := range map[string]string{
		"/agent":    strings.Replace(least, "[agent.claude]\ncommand = [\"claude\", \"-p\"]", "[agent]", 1),
		"/category": strings.Replace(least, "[category.code]", "[category]", 1),
	} {
		if err := inEditor(t, text); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: got %v, want a fault at %s", text, err, at)
		}
	}
}

// scripted are the TOML files within the test scripts.
func scripted(t *testing.T) map[string]string {
	t.Helper()
	scripts := must.Get(filepath.Glob("../../testdata/script/*.txtar"))(t)
	files, header := map[string]string{}, regexp.MustCompile(`(?m)^-- (\S+) --\n`)
	for _, script := range scripts {
		text := must.Get(os.ReadFile(script))(t)
		places := header.FindAllSubmatchIndex(text, -1)
		for i, at := range places {
			end := len(text)
			if i+1 < len(places) {
				end = places[i+1][0]
			}
			if name := string(text[at[2]:at[3]]); filepath.Ext(name) == ".toml" {
				whole := string(text[at[1]:end])
				if !strings.HasPrefix(whole, "fleet = ") { // the script's own, see cmd/stint
					whole = "fleet = \"@FLEET@\"\nstate = \"@WORK@/state\"\n" + whole
				}
				files[filepath.Base(script)+": "+name] = whole
			}
		}
	}
	return files
}
