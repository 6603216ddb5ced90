package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stint/internal/config"
	"stint/internal/testkit/must"
)

// everyTable is a configuration with each table that may be there, so that its values are all
// the keys there are.
const everyTable = `fleet = "f"
state = "/state"
[tasks.source.src]
command = ["list"]
[price."MODEL"]
input = 1.0
output = 1.0
[pool.extra]
[host.this]
workers = 1
slots = 1
labels = ["big"]
pools = ["extra"]
agents = ["own"]
[agent.own]
command = ["/bin/true"]
[category.code]
`

// TestConfigTopic compares the lists of keys in the topic with those of the program: each table has its keys, in
// their order and with their defaults, and editors are told what each means.
func TestConfigTopic(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("stint.toml", []byte(everyTable), config.Options{Getenv: func(string) string { return "" }, Host: func(string) string { return "this" }})
	must.Do(t, err)
	want := map[string][]string{}
	for _, v := range c.Values() {
		path := pathOf(v.Key)
		section, item := "", path[len(path)-1]
		if len(path) > 1 {
			section = strings.Join(path[:len(path)-1], ".")
		}
		schema, required := schemaOf(t, path)
		switch standard := schema["default"]; {
		case required:
			item += " (required)"
		case standard != nil:
			item += " = " + config.Literal(standard)
		case section == "agent.NAME" && v.Origin == "default":
			item += " = " + v.Value // of the preset "command"
		}
		if !slices.Contains(want[section], item) && !strings.HasPrefix(v.Key, "pool.autonomous.") {
			want[section] = append(want[section], item)
		}
		if meaning, _ := schema["description"].(string); meaning == "" {
			t.Errorf("%s: no word of what it means", v.Key)
		}
	}
	got := map[string][]string{}
	for part := range strings.SplitSeq(topicText(t, "config.md"), "\n## ") {
		heading, text, _ := strings.Cut(part, "\n")
		tables := regexp.MustCompile(`\[([^]]+)\]`).FindAllStringSubmatch(heading, -1)
		if heading == "Top level" {
			tables = [][]string{{"", ""}}
		}
		for _, m := range regexp.MustCompile(`(?m)^- ((?:[^:]|:[^ ])+): `).FindAllStringSubmatch(strings.ReplaceAll(text, "\n  ", " "), -1) {
			for _, table := range tables {
				got[table[1]] = append(got[table[1]], m[1])
			}
		}
	}
	must.Equal(t, "keys in topics/config.md", got, want)
}

// pathOf are the parts of a dotted key, with NAME for those that a person chooses.
func pathOf(dotted string) []string {
	dotted = strings.NewReplacer(
		"agent.own.", "agent.NAME.", "category.code.", "category.NAME.", "pool.extra.", "pool.NAME.", "pool.autonomous.", "pool.NAME.",
		"host.this.", "host.NAME.", "tasks.source.src.", "tasks.source.NAME.", "price.MODEL.", `price."MODEL".`,
	).Replace(dotted)
	return strings.Split(regexp.MustCompile(`\.(fields|states|priorities)\..*`).ReplaceAllString(dotted, ".$1"), ".")
}

// schemaOf returns the editors' schema of a key, and whether it must be there.
func schemaOf(t *testing.T, path []string) (schema config.Schema, required bool) {
	t.Helper()
	schema = configSchema()
	for _, part := range path {
		names, _ := schema["required"].([]string)
		required = slices.Contains(names, part)
		properties, ok := schema["properties"].(config.Schema)
		if !ok {
			schema = schema["additionalProperties"].(config.Schema)
			continue
		}
		schema = properties[part].(config.Schema)
	}
	return schema, required
}

// TestExamplesOfConfiguration reads every piece of a stint.toml in the topics and in the README.
func TestExamplesOfConfiguration(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range documents(t) {
		text := must.Get(os.ReadFile(path))(t)
		for _, m := range regexp.MustCompile("(?m)(?:^\n    \\[.*\n(?:    .*\n|\n    )*|^```toml\n(?:[^`]|\n)*```)").FindAllString(string(text), -1) {
			found++
			piece := strings.Trim(strings.ReplaceAll("\n"+m, "\n    ", "\n"), "\n")
			piece = strings.TrimSuffix(strings.TrimPrefix(piece, "```toml\n"), "```")
			whole := "fleet = \"f\"\nstate = \"/state\"\n" + piece + "\n[category.research]\n"
			if !strings.Contains(piece, "[agent.") || strings.Contains(piece, "[agent.claude.budget]") {
				whole += "[agent.claude]\npreset = \"claude\"\n"
			}
			options := config.Options{Getenv: func(string) string { return "" }}
			if _, err := config.Parse("stint.toml", []byte(whole), options); err != nil {
				t.Errorf("%s: %v in\n%s", filepath.Base(path), err, whole)
			}
		}
	}
	if found < 8 {
		t.Errorf("found only %d pieces", found)
	}
}
