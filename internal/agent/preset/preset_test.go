package preset_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func parsed(t *testing.T, name string) preset.CLI {
	t.Helper()
	return must.Get(preset.Parse(preset.Named(name).Table))(t)
}

func environment(pairs ...string) func(string) string {
	values := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		values[pair[0]] = pair[1]
	}
	return func(name string) string { return values[name] }
}

// TestTables reads all tables: each names a program that can be called, and says what its output means. A variable that is
// not passed on cannot log an agent in, nor move its folder.
func TestTables(t *testing.T) {
	t.Parallel()
	own := []string{"quota: ^mine$"}
	if list := must.Get(preset.ParseFaults(preset.AndAny(own)))(t); len(list) < 8 || list[0].String() != "(?m)^mine$" {
		t.Errorf("got errors %v, want those of any program after its own", list)
	}
	for _, name := range preset.Names() {
		p, c := preset.Named(name), parsed(t, name)
		if name == preset.Any {
			continue
		}
		if name == preset.ACP {
			p.Command, c.Folders, c.Version = []string{name}, []preset.Folder{{}}, []string{""} // those of the program
		}
		if len(p.Command) == 0 || p.Command[0] != name || len(c.Output) == 0 || len(c.Folders) == 0 || len(c.Version) == 0 {
			t.Errorf("%s: its table is not complete", name)
		}
		variables := slices.Clone(c.Login.Variables)
		for _, f := range c.Folders {
			if f.Variable != "" {
				variables = append(variables, f.Variable)
			}
		}
		for _, v := range variables {
			if !slices.Contains(p.Environment, v) {
				t.Errorf("%s: %s is not passed on", name, v)
			}
		}
	}
}

func TestSessionGlob(t *testing.T) {
	t.Parallel()
	claude := parsed(t, "claude")
	for _, test := range []struct {
		sessions, session string
		environment       []string
		want              string
	}{
		{claude.Sessions, "a-1", []string{"HOME", "/home/bob/"}, "/home/bob/.claude/projects/*/a-1.jsonl"},
		{claude.Sessions, "a-1", []string{"HOME", "/home/bob", "CLAUDE_CONFIG_DIR", "/own/"}, "/own/projects/*/a-1.jsonl"},
		{"/var/{session}/{session}", "a.b", nil, "/var/a.b/a.b"},
		{"/var/log", "", nil, "/var/log"},
		{"", "a", []string{"HOME", "/home/bob"}, ""},
		{"~/{session}", "", []string{"HOME", "/home/bob"}, ""},
		{"~/{session}", "../../etc/passwd", []string{"HOME", "/home/bob"}, ""},
		{"~/{session}", "..", []string{"HOME", "/home/bob"}, ""},
		{"~/{session}", "*", []string{"HOME", "/home/bob"}, ""},
		{"~/{session}", "a", nil, ""},
	} {
		c := claude
		c.Sessions = test.sessions
		if got := c.SessionGlob(environment(test.environment...), test.session); got != test.want {
			t.Errorf("%q, %q: got %q, want %q", test.sessions, test.session, got, test.want)
		}
	}
}

func TestResuming(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program       string
		command, want []string
		id            string
	}{
		{"claude", []string{"claude", "-p", "--add-dir", "x"}, []string{"claude", "-p", "--add-dir", "x", "--resume", "a-1"}, "a-1"},
		{"claude", []string{"claude"}, []string{"claude", "--resume", "a-1"}, "a-1"},
		{"codex", []string{"codex", "exec", "--json", "-"}, []string{"codex", "exec", "--json", "resume", "a-1", "-"}, "a-1"},
		{"kimi", []string{"kimi", "-p"}, []string{"kimi", "-S", "a-1", "-p"}, "a-1"},
		{"copilot", []string{"copilot", "-p"}, []string{"copilot", "-r", "a-1", "-p"}, "a-1"},
		{"claude", []string{"claude"}, nil, "--dangerously-skip-permissions"},
		{"claude", []string{"claude"}, nil, "../../other"},
		{"claude", []string{"claude"}, nil, ""},
		{"gptme", []string{"gptme"}, nil, "a-1"},
	} {
		got := parsed(t, tt.program).Resuming(tt.command, tt.id)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: got %q, want %q", tt.program, tt.id, got, tt.want)
		}
	}
	if _, err := preset.Parse(map[string]any{"resume": []any{"--continue"}}); err == nil || !strings.Contains(err.Error(), "no argument is {session}") {
		t.Errorf("without a session: got %v, want an error", err)
	}
}

func TestHelperGlob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ program, file, want string }{
		{"claude", "/home/bob/.claude/projects/-w/s1.jsonl", "/home/bob/.claude/projects/-w/s1/subagents/*.jsonl"},
		{"claude", "/home/bob/[x]/s1.jsonl", ""},
		{"claude", "/home/bob/s1", ""},
		{"codex", "/home/bob/s1.jsonl", ""},
	} {
		if got := parsed(t, tt.program).HelperGlob(tt.file); got != tt.want {
			t.Errorf("%s, %s: got %q, want %q", tt.program, tt.file, got, tt.want)
		}
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	const dir = "/var/s/clones/a_1"
	got := parsed(t, "claude").Own(environment("HOME", "/home/bob"), dir)
	if !slices.Contains(got.Fixed, "/home/bob/.claude/hooks") {
		t.Errorf("got %q fixed, want the hooks among it", got.Fixed)
	}
	got.Fixed = nil
	must.Equal(t, "claude", got, fleet.Own{
		Private: []string{"/home/bob/.claude"}, Copied: []string{"/home/bob/.claude.json"},
		Shared: []string{"/home/bob/.claude/projects/-var-s-clones-a-1", "/home/bob/.claude/.credentials.json"},
	})
	got = parsed(t, "claude").Own(environment("HOME", "/home/bob", "CLAUDE_CONFIG_DIR", "/own"), dir)
	must.Equal(t, "named", got.Copied, []string{"/own/.claude.json"})
	got = parsed(t, "gptme").Own(environment("HOME", "/home/bob", "XDG_CONFIG_HOME", "/etc/bob"), dir)
	must.Equal(t, "in a folder of many", got.Private, []string{"/etc/bob/gptme", "/home/bob/.local/share/gptme"})
	got = parsed(t, "gemini").Own(environment("HOME", "/home/bob"), "/home/bob/My.App (2)")
	must.Equal(t, "by its name", got.Shared, []string{"/home/bob/.gemini/tmp/my-app-2/chats", "/home/bob/.gemini/oauth_creds.json"})
	if got = parsed(t, "codex").Own(environment(), dir); got.All() != nil {
		t.Errorf("got %+v of nobody's home", got)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for want, table := range map[string]map[string]any{
		`unknown field "outptu"`: {"outptu": []any{}},
		`fault "gone": no kind`:  {"faults": []any{"gone"}},
		"missing closing )":      {"faults": []any{"quota: limit ("}},
		`silence: time: invalid`: {"silence": "soon"},
		`a line cannot be "joy"`: {"output": []any{map[string]any{"on": "a", "is": "joy"}}},
		"cut: error parsing":     {"output": []any{map[string]any{"on": "a", "cut": "("}}},
	} {
		both := maps.Clone(preset.Named("claude").Table)
		maps.Copy(both, table)
		if _, err := preset.Parse(both); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}
