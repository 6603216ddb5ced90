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
	"stint/internal/tomlfile"
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
as_of = "2026-01-01"
[pool.extra]
[host.this]
state = "/state"
workers = 1
slots = 1
labels = ["big"]
pools = ["extra"]
agents = ["own"]
[agent.own]
command = ["/bin/true"]
[category.code]
`

// TestConfigTopic compares the lists of keys in the topic with those of the program: each with
// its default and its meaning.
func TestConfigTopic(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("stint.toml", []byte(everyTable), config.Options{Getenv: func(string) string { return "" }, Host: func(string) string { return "this" }})
	must.Do(t, err)
	lists := map[string]string{}
	for _, v := range c.Values() {
		path := pathOf(v.Key)
		section, key := "Top level", path[len(path)-1]
		if len(path) > 1 {
			section = "[" + strings.Join(path[:len(path)-1], ".") + "]"
		}
		item := "- " + key
		schema, required := schemaOf(t, path)
		switch standard := schema["default"]; {
		case required:
			item += " (required)"
		case standard != nil:
			item += " = " + tomlfile.Literal(standard)
		case section == "[agent.NAME]" && v.Origin == "default":
			item += " = " + v.Value // of the preset "command"
		}
		item += ": " + strings.Join(strings.Fields(schema["description"].(string)), " ")
		if !strings.Contains(lists[section], item+"\n") && !strings.HasPrefix(v.Key, "pool.autonomous.") {
			lists[section] += item + "\n"
		}
	}
	want := topicText(t, "config.md")
	for section, items := range lists {
		at := strings.Index(want, "\n## "+section)
		if at < 0 && !strings.Contains(want, section+" and") && !strings.Contains(want, "and "+section) {
			t.Errorf("config.md has no section %s", section)
		}
		if at >= 0 {
			want = want[:at] + withList(want[at:], items)
		}
	}
	if *update {
		must.Do(t, os.WriteFile("topics/config.md", []byte(want), 0o600))
		return
	}
	if topicText(t, "config.md") != want {
		t.Error("topics/config.md is not what the keys say: go test ./internal/cli -run TestConfigTopic -update")
	}
}

// pathOf are the parts of a dotted key, with NAME for those that a person chooses.
func pathOf(dotted string) []string {
	dotted = strings.NewReplacer(
		"agent.own.", "agent.NAME.", "category.code.", "category.NAME.", "pool.extra.", "pool.NAME.", "pool.autonomous.", "pool.NAME.",
		"host.this.", "host.NAME.", "tasks.source.src.", "tasks.source.NAME.", "price.MODEL.", `price."MODEL".`,
	).Replace(dotted)
	return strings.Split(regexp.MustCompile(`\.(fields|states|priorities)\..*`).ReplaceAllString(dotted, ".$1"), ".")
}

// schemaOf is what the schema for editors says of a key, and whether it must be there.
func schemaOf(t *testing.T, path []string) (schema tomlfile.Schema, required bool) {
	t.Helper()
	schema = config.Schema()
	for _, part := range path {
		names, _ := schema["required"].([]string)
		required = slices.Contains(names, part)
		properties, ok := schema["properties"].(tomlfile.Schema)
		if !ok {
			schema = schema["additionalProperties"].(tomlfile.Schema)
			continue
		}
		schema = properties[part].(tomlfile.Schema)
	}
	return schema, required
}

// withList puts a list in place of the first one, or the first table, of a section.
func withList(section, items string) string {
	var b strings.Builder
	state := 0 // of the old list: before, within, behind
	for line := range strings.Lines(section) {
		old := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "|")
		switch {
		case state == 0 && old:
			state = 1
			for item := range strings.Lines(items) {
				b.WriteString(filled(item))
			}
		case state == 1 && !old:
			state = 2
			b.WriteString(line)
		case state != 1:
			b.WriteString(line)
		}
	}
	return b.String()
}

// filled breaks an item between words, so that it fits.
func filled(item string) string {
	var b strings.Builder
	line := ""
	for word := range strings.FieldsSeq(item) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > 96:
			b.WriteString(line + "\n")
			line = "  " + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
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
