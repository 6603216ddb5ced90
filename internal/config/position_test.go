package config_test

import (
	"testing"

	"stint/internal/config"
	"stint/internal/testkit/must"
)

func TestPosition(t *testing.T) {
	t.Parallel()
	c := must.Get(config.Load(write(t, full), config.Options{}))(t)
	for _, test := range []struct{ key, want string }{
		{"fleet", ":1:1"},
		{"fanout", ":6:2"},
		{"fanout.allow", ":9:1"},
		{"fanout.allow[1]", ":9:21"},
		{"tasks.tags", ":14:1"},
		{"tasks.tags.docs", ":14:10"},
		{`tasks.tags."a b"`, ":14:25"},
		{"agent.claude.environment.MODEL", ":28:13"},
		{"agent.codex", ":35:1"},
		{"agent.codex.command", ":36:7"},
		{"category.code.unit", ":56:16"},
		{"category.code.unit.CPUWeight", ":58:1"},
		{"category.cleanup.ttl", ""},
		{"category.none", ""},
		{"", ""},
	} {
		if got, want := c.Position(test.key), c.Path+test.want; got != want {
			t.Errorf("position of %s: got %s, want %s", test.key, got, want)
		}
	}
}

func TestPositionCountsBytesAndAllLineEnds(t *testing.T) {
	t.Parallel()
	c := load(t, "\ufefffleet = \"bob\"\r\nstate = \"\"\"/var\\\r\n/s\"\"\"\r\n"+`[agent.claude]
command = ["é"]
environment = { A = "é", B = "" }
[category.code]
`)
	for _, test := range []struct{ key, want string }{
		{"fleet", ":1:1"},
		{"agent.claude", ":4:8"},
		{"agent.claude.environment.B", ":6:27"},
	} {
		if got, want := c.Position(test.key), c.Path+test.want; got != want {
			t.Errorf("position of %s: got %s, want %s", test.key, got, want)
		}
	}
}
