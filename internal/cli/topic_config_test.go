package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stint/internal/config"
	"stint/internal/fleet"
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
[agent.own]
command = ["/bin/true"]
[category.code]
`

// computed are the defaults that depend on other keys, in the words of the topic.
func computed() map[string]string {
	return map[string]string{
		"[fanout] allow": "all", "[tasks] default_category": "first", "[notice] events": "all",
		"[category.NAME] share": "equal part", "[category.NAME] agents": "only agent",
		`[price."MODEL"] cached_input`: "as input", `[price."MODEL"] cache_write`: "as input",
	}
}

// TestConfigTopic compares the keys and defaults of the topic with those of the program.
func TestConfigTopic(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("stint.toml", []byte(everyTable), config.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	documented := documentedKeys(topicText(t, "config.md"))
	seen := map[string]bool{}
	for _, v := range c.Values() {
		section, key := sectionOf(v.Key)
		name := section + " " + key
		got, ok := documented[name]
		want := v.Value
		switch {
		case v.Origin != "default":
			want = "required"
		case computed()[name] != "":
			want = computed()[name]
		case want == `["PATH", "HOME", "LANG"]`:
			want = "see above"
		case strings.HasPrefix(section, "[tasks.source.") && (key == "fields" || key == "states" || key == "priorities"):
			want = "of bd"
		}
		if name == "[agent.NAME] command" {
			want = "preset's"
		}
		if section == "[pool.NAME]" && strings.HasPrefix(v.Key, "pool.autonomous.") {
			continue // the topic says that it starts from [fanout]
		}
		if !ok || got != want {
			t.Errorf("config.md, %s: default %q, want %q", name, got, want)
		}
		seen[name] = true
	}
	for name := range documented {
		if !seen[name] {
			t.Errorf("config.md, %s: there is no such key", name)
		}
	}
	for _, e := range fleet.Events() {
		if !regexp.MustCompile(`\b` + string(e) + `\b`).MatchString(topicText(t, "config.md")) {
			t.Errorf("config.md does not name the event %s", e)
		}
	}
}

// sectionOf is the heading below which the topic has a key, and its name there.
func sectionOf(dotted string) (section, key string) {
	dotted = strings.NewReplacer(
		"agent.own.", "agent.NAME.", "category.code.", "category.NAME.", "pool.extra.", "pool.NAME.", "pool.autonomous.", "pool.NAME.",
		"tasks.source.src.", "tasks.source.NAME.", "price.MODEL.", `price."MODEL".`,
	).Replace(dotted)
	dotted = regexp.MustCompile(`\.(fields|states|priorities)\..*`).ReplaceAllString(dotted, ".$1")
	at := strings.LastIndex(dotted, ".")
	if at < 0 {
		return "Top level", dotted
	}
	return "[" + dotted[:at] + "]", dotted[at+1:]
}

// documentedKeys are the keys in the topic's tables, with the defaults that stand there.
func documentedKeys(text string) map[string]string {
	found := map[string]string{}
	var sections []string
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			if sections = regexp.MustCompile(`\[[^]]+\]`).FindAllString(title, -1); sections == nil {
				sections = []string{title}
			}
		}
		cells := strings.Split(line, " | ")
		if key := strings.TrimPrefix(cells[0], "| "); len(cells) == 3 && strings.TrimSpace(key) != "key" {
			for _, section := range sections {
				found[section+" "+strings.TrimSpace(key)] = strings.TrimSpace(cells[1])
			}
		}
	}
	return found
}

// TestExamplesOfConfiguration reads every piece of a stint.toml in the topics and in the README.
func TestExamplesOfConfiguration(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)(?:^    \\[.*\n(?:    .*\n|\n    )*|^```toml\n(?:[^`]|\n)*```)").FindAllString(string(text), -1) {
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
