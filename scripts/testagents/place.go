package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// place is the home folder of an operator, with a workspace in it that "stint init" makes
// into a fleet. Its state is where init puts it.
type place struct {
	home          string   // a folder that no agent may write in, so none below /tmp
	stint, agents string   // the program under test, and the folder of the agents' programs
	through       []string // the command that starts it; none: it is started itself
	url           string   // of the model server, with the behaviour
	accounts      []account
}

func (p place) workspace() string { return filepath.Join(p.home, "workspace") }

// remote is the repository that the workspace pushes to.
func (p place) remote() string { return filepath.Join(p.home, "remote.git") }

// runFiles is the folder of a run, as init's own choice of a state folder has it.
func (p place) runFiles(run string) string {
	return filepath.Join(p.home, ".local/state/stint/workspace/runs", run)
}

// environment is that of the operator who types the command. The agents get of it what
// their presets pass on.
func (p place) environment() []string {
	env := []string{
		"PATH=" + p.agents + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + p.home, "OPERATORS_OWN=1", "LANG=C.UTF-8", "TZ=" + os.Getenv("TZ"),
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1",
		"ANTHROPIC_BASE_URL=" + p.url,
	}
	for _, a := range p.accounts {
		switch a {
		case claudeKey:
			env = append(env, "ANTHROPIC_API_KEY=stub")
		case claudePlan:
			env = append(env, "CLAUDE_CODE_OAUTH_TOKEN=stub")
		case codexKey:
			env = append(env, "OPENAI_API_KEY=stub", "CODEX_HOME="+filepath.Join(p.home, "codex"))
		case anyProgram:
		}
		o, _, _ := a.other()
		for _, pair := range o.environment {
			env = append(env, strings.ReplaceAll(pair, "{url}", p.url))
		}
	}
	return env
}

// build makes the workspace: these files in it, a first commit, and what init writes, as
// edit has changed its configuration.
func (p place) build(ctx context.Context, files map[string]string, edit func(config string) string) error {
	all := map[string]string{
		filepath.Join(p.home, ".gitconfig"):           "[user]\n\tname = tester\n\temail = tester@example.org\n",
		filepath.Join(p.home, "codex", "config.toml"): p.codexConfig(),
	}
	for _, a := range p.accounts {
		o, _, _ := a.other()
		maps.Copy(all, o.home(p.home, p.url))
	}
	for name, text := range files {
		all[filepath.Join(p.workspace(), name)] = text
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(all[path]), 0o600); err != nil {
			return err
		}
	}
	if err := p.git(ctx, "init", "--quiet", "--initial-branch=main"); err != nil {
		return err
	}
	if _, err := p.command(ctx, "init"); err != nil {
		return err
	}
	file := filepath.Join(p.workspace(), "stint.toml")
	config, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(edit(strings.Replace(string(config), "[category.work]", "[category.code]", 1))), 0o600); err != nil {
		return err
	}
	if err := p.git(ctx, "add", "."); err != nil {
		return err
	}
	return p.git(ctx, "commit", "--quiet", "--message=start")
}

func (p place) codexConfig() string {
	return fmt.Sprintf(`model = "gpt-stub"
model_provider = "stub"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = %q
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 1
`, p.url+"/v1")
}

// set gives a key of a table of init's configuration a value, in the line that has it or
// shows its default.
func set(config, table, key, value string) string {
	before, rest, found := strings.Cut(config, "["+table+"]\n")
	if !found {
		panic("init writes no table [" + table + "]")
	}
	body, after := rest, ""
	if end := regexp.MustCompile(`(?m)^(# )?\[`).FindStringIndex(rest); end != nil {
		body, after = rest[:end[0]], rest[end[0]:]
	}
	line := regexp.MustCompile(`(?m)^(# )?` + key + ` = .*$`)
	if line.MatchString(body) {
		body = line.ReplaceAllLiteralString(body, key+" = "+value)
	} else {
		body = key + " = " + value + "\n" + body
	}
	return before + "[" + table + "]\n" + body + after
}

// quiet keeps Claude Code off the network, and from waiting for it.
func quiet() []string {
	return []string{
		"CLAUDE_CODE_MAX_RETRIES=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
	}
}

// environ sets these variables for an agent, and the PATH that init wrote for it.
func environ(config, agent string, pairs []string) string {
	var list []string
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		list = append(list, fmt.Sprintf("%s = %q", name, value))
	}
	if path := regexp.MustCompile(`(?m)^environment = \{ (PATH = ".*") \}$`).FindStringSubmatch(config); path != nil {
		list = append(list, path[1])
	}
	return set(config, "agent."+agent, "environment", "{ "+strings.Join(list, ", ")+" }")
}

// command runs stint in the workspace, and returns what it printed. An exit status other than 0
// is an error, unless the output is JSON.
func (p place) command(ctx context.Context, args ...string) ([]byte, error) {
	line := slices.Concat(p.through, []string{p.stint}, args)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Env = p.workspace(), p.environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && !json.Valid(out) {
		return nil, fmt.Errorf("stint %s: %w\n%s%s", args[0], err, out, stderr.Bytes())
	}
	return out, nil
}

// git runs git in the workspace.
func (p place) git(ctx context.Context, args ...string) error {
	_, err := p.ask(ctx, args...)
	return err
}

// ask returns git's answer in the workspace.
func (p place) ask(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = p.workspace(), p.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
