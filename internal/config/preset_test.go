package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/preset"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestPresetGivesEveryKeyADefault(t *testing.T) {
	t.Parallel()
	for _, name := range preset.Names() {
		if name == preset.Any || name == preset.ACP {
			continue
		}
		c := load(t, strings.Replace(least, `command = ["claude", "-p"]`, `preset = "`+name+`"`, 1))
		got, want := c.Agents["claude"], config.Preset(name)
		must.Equal(t, name, got, want, plain)
		if len(got.Command) == 0 || got.Command[0] != name {
			t.Errorf("%s: got command %q", name, got.Command)
		}
		for _, variable := range []string{"PATH", "HOME", "LANG"} {
			if !slices.Contains(got.PassEnvironment, variable) {
				t.Errorf("%s: %s is not passed on", name, variable)
			}
		}
	}
}

// TestPresetsAsShipped has the commands word by word: they say what an agent may do.
func TestPresetsAsShipped(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"claude": {
			"claude", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits",
			"--allowedTools", "Bash", "--disallowedTools", "ScheduleWakeup",
			"--settings", `{"sandbox":{"enabled":false}}`, "--add-dir", "{run_dir}", "{cache_dir}",
		},
		"codex":    {"codex", "exec", "--json", "--sandbox", "danger-full-access", "-c", "allow_login_shell=false", "-"},
		"copilot":  {"copilot", "--allow-all", "--output-format", "json", "-p"},
		"gemini":   {"gemini", "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json"},
		"gptme":    {"gptme", "--non-interactive", "--output-format", "json"},
		"kimi":     {"kimi", "--output-format", "stream-json", "-p"},
		"opencode": {"opencode", "run", "--format", "json", "--auto"},
		"pi":       {"pi", "-p", "--mode", "json"},
		"qwen":     {"qwen", "-y", "-o", "stream-json"},
		"command":  nil,
		"acp":      nil,
	}
	for _, name := range preset.Names() {
		agent := config.Preset(name)
		if diff := cmp.Diff(agent.Command, want[name]); diff != "" {
			t.Errorf("%s: command (-got +want):\n%s", name, diff)
		}
		if len(agent.Command) == 0 {
			continue
		}
		if diff := cmp.Diff(agent.Programs(), []string{name}); diff != "" {
			t.Errorf("%s: programs (-got +want):\n%s", name, diff)
		}
	}
}

// TestPresetsWithASandboxOfTheirOwn have the commands by which claude and codex close themselves
// in where no box does.
func TestPresetsWithASandboxOfTheirOwn(t *testing.T) {
	t.Parallel()
	const open = `box = "open"`
	claude := []string{
		"claude", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits",
		"--allowedTools", "Bash", "--disallowedTools", "ScheduleWakeup",
		"--settings", `{"sandbox":{"enabled":true,"failIfUnavailable":true,"allowUnsandboxedCommands":false}}`,
		"--add-dir", "{run_dir}", "{cache_dir}",
	}
	gptme := []string{"gptme", "--non-interactive", "--output-format", "json"}
	for _, test := range []struct {
		preset   string
		command  []string
		programs []string
	}{
		{"claude", claude, []string{"claude", "bwrap", "socat"}},
		{"codex", []string{
			"codex", "exec", "--json", "--sandbox", "workspace-write", "--add-dir", "{git_dir}", "--add-dir", "{git_common_dir}",
			"--add-dir", "{run_dir}", "--add-dir", "{cache_dir}", "-c", "allow_login_shell=false", "-",
		}, []string{"codex"}},
		{"gptme", gptme, []string{"gptme"}},
	} {
		text := strings.Replace(least, `command = ["claude", "-p"]`, fmt.Sprintf("preset = %q\n%s", test.preset, open), 1)
		agent := load(t, text).Agents["claude"]
		if diff := cmp.Diff(agent.Command, test.command); diff != "" {
			t.Errorf("%s: command (-got +want):\n%s", test.preset, diff)
		}
		if diff := cmp.Diff(agent.Programs(), test.programs); diff != "" {
			t.Errorf("%s: programs (-got +want):\n%s", test.preset, diff)
		}
	}
}

func TestPresetKeysOverride(t *testing.T) {
	t.Parallel()
	text := strings.Replace(least, `command = ["claude", "-p"]`, `preset = "claude"
command = ["/opt/claude", "-p"]
prompt = "file"
pass_environment = ["PATH"]
cli.faults = ['quota: gone until (?P<reset>\S+)']`, 1)
	got := load(t, text).Agents["claude"]
	want := config.Preset("claude")
	want.Command, want.Prompt, want.PassEnvironment = []string{"/opt/claude", "-p"}, fleet.PromptFile, []string{"PATH"}
	want.CLI.Faults = []string{`quota: gone until (?P<reset>\S+)`}
	want.Table = got.Table
	must.Equal(t, "agent", got, want, plain)
}

// TestPresetOfAProtocol has an agent whose output the protocol explains, and the rest of it the table of its program.
func TestPresetOfAProtocol(t *testing.T) {
	t.Parallel()
	agent := func(lines string) config.Agent {
		return load(t, strings.Replace(least, `command = ["claude", "-p"]`, "preset = \"acp\"\n"+lines, 1)).Agents["claude"]
	}
	acp, kimi := preset.Named(preset.ACP), preset.Named("kimi")
	for program, known := range map[string]bool{"/opt/bin/kimi": true, "kimi-acp": true, "kimiko": false, "command": false, "acp": false} {
		got := agent(fmt.Sprintf("command = [%q, \"acp\"]", program))
		want := config.Agent{
			Preset: preset.ACP, Box: fleet.BoxWorkspace, Prompt: fleet.PromptACP, Command: []string{program, "acp"}, PassEnvironment: acp.Environment,
			CLI: acp.CLI, Table: got.Table,
		}
		if known {
			want.PassEnvironment, want.CLI = kimi.Environment, kimi.CLI
			want.CLI.Resume, want.CLI.Output, want.CLI.Kept = acp.CLI.Resume, acp.CLI.Output, kimi.CLI.Output
		}
		must.Equal(t, program, got, want, plain)
		must.Equal(t, "resuming", got.Resuming("c1"), got.Command)
	}
	got := agent("command = [\"claude-agent-acp\"]\nbox = \"open\"\ncli.silence = \"1h\"\ncli.resume = []")
	if got.CLI.Silence != "1h" || got.Sandboxed() || got.Resuming("c1") != nil || len(got.Programs()) != 1 || len(got.CLI.Kept) == 0 || got.CLI.Sessions != preset.Named("claude").CLI.Sessions {
		t.Errorf("got %+v", got.CLI)
	}
}

func TestPresetRefuses(t *testing.T) {
	t.Parallel()
	in := func(line string) string { return strings.Replace(least, "[category", line+"\n[category", 1) }
	refuses(t, []unfit{
		{"preset", in(`preset = "cluade"`), `5:1: agent.claude.preset: want "acp", "claude", "codex", "command", "copilot", "gemini", "gptme", "kimi", "opencode", "pi" or "qwen", not "cluade"`, `write preset = "claude"`},
		{
			"pattern", in(`cli.faults = ["quota: limit ("]`),
			"5:1: agent.claude.cli: fault \"quota: limit (\": error parsing regexp: missing closing ): `(?m)limit (`",
			"want a regular expression as in https://pkg.go.dev/regexp/syntax",
		},
		{
			"command of a command", strings.Replace(least, `command = ["claude", "-p"]`, `preset = "command"`, 1),
			"3:8: agent.claude.command: missing", `write preset = "claude", or the command of your own: command = ["my-agent"]`,
		},
		{
			"command of a protocol", strings.Replace(least, `command = ["claude", "-p"]`, `preset = "acp"`, 1),
			"3:8: agent.claude.command: missing", `write preset = "claude", or the command of your own: command = ["my-agent"]`,
		},
	})
}

func TestSampleOfAPreset(t *testing.T) {
	t.Parallel()
	text := string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/var/bob", Agents: []config.SampleAgent{
		{Name: "claude", Preset: "claude", Command: append([]string{"/opt/claude"}, config.Preset("claude").Command[1:]...)},
	}}))
	want := config.Preset("claude")
	want.Command[0] = "/opt/claude"
	must.Equal(t, "agent", load(t, text).Agents["claude"], want, plain)
}

// TestTableIsAConfiguration has the table that is printed to be copied say what the preset says.
func TestTableIsAConfiguration(t *testing.T) {
	t.Parallel()
	for _, name := range preset.Names() {
		if table := preset.Table(name); table != "" {
			want := config.Preset(name)
			if name == preset.ACP { // which program speaks it, a person says
				table, want.Command = strings.Replace(table, "prompt =", "command = [\"mine\"]\nprompt =", 1), []string{"mine"}
			}
			got := load(t, "fleet = \"bob\"\nstate = \"/var/bob\"\n"+table+"[category.code]\n").Agents[name]
			must.Equal(t, name, got, want, plain)
		}
	}
}
