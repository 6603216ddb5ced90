package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stint/internal/transcript"
)

// session is a trial in a folder of its own.
type session struct {
	trial
	stint, agents string // the program under test, and the folder of the agents' programs
	model         *stub
	dir           string
	record        string
}

func (s session) workspace() string { return filepath.Join(s.dir, "workspace") }
func (s session) home() string      { return filepath.Join(s.dir, "home") }

// play runs the trial, and says what of it is not as it should be.
func (s session) play(ctx context.Context) ([]string, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	run, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	var faults []string
	if run.Outcome != s.outcome {
		faults = append(faults, fmt.Sprintf("outcome: got %s (%s), want %s", run.Outcome, run.Reason, s.outcome))
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "state/runs", run.Run, "log"))
	if err != nil {
		return nil, err
	}
	faults = append(faults, s.told(run)...)
	more, err := s.compare(log)
	return append(faults, more...), errors.Join(err, s.keep(log, run.Run), s.keepOwn(run.Run))
}

// result is as much of stint/run@1 as is looked at.
type result struct {
	Run     string   `json:"run"`
	Outcome string   `json:"outcome"`
	Grade   *float64 `json:"grade"`
	Reason  string   `json:"reason"`
}

func (s session) run(ctx context.Context) (result, error) {
	cmd := exec.CommandContext(ctx, s.stint, "run", "--category", "code", "--json")
	cmd.Dir, cmd.Env = s.workspace(), s.environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// Its exit status says how the session ended, which its output says as well.
	out, err := cmd.Output()
	var r result
	if json.Unmarshal(out, &r) != nil {
		return result{}, fmt.Errorf("stint run: %w\n%s", err, stderr.Bytes())
	}
	return r, nil
}

// environment is that of the operator who types the command. The agents get of it what
// their presets pass on.
func (s session) environment() []string {
	env := []string{
		"PATH=" + s.agents + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + s.home(), "LANG=C.UTF-8", "TZ=" + os.Getenv("TZ"),
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1",
	}
	switch s.account {
	case claudeKey:
		env = append(env, "ANTHROPIC_API_KEY=stub")
	case claudePlan:
		env = append(env, "CLAUDE_CODE_OAUTH_TOKEN=stub")
	case codexKey:
		env = append(env, "OPENAI_API_KEY=stub", "CODEX_HOME="+filepath.Join(s.home(), "codex"))
	case anyProgram:
	}
	return append(env, "ANTHROPIC_BASE_URL="+s.url())
}

func (s session) url() string {
	if s.behaviour == unreachable {
		return nobody + "/" + string(s.behaviour)
	}
	return s.model.URL + "/" + string(s.behaviour)
}

// prepare writes a workspace with one category, whose sessions need no task.
func (s session) prepare(ctx context.Context) error {
	for path, text := range map[string]string{
		filepath.Join(s.workspace(), "stint.toml"):      s.config(),
		filepath.Join(s.workspace(), "prompt.md"):       "Do what there is to do.\n",
		filepath.Join(s.home(), ".gitconfig"):           "[user]\n\tname = tester\n\temail = tester@example.org\n",
		filepath.Join(s.home(), "codex", "config.toml"): s.codexConfig(),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "."},
		{"commit", "--quiet", "--message=start"},
	} {
		if err := git(ctx, s.workspace(), s.environment(), args...); err != nil {
			return err
		}
	}
	return nil
}

func (s session) config() string {
	timeout := "60s"
	if s.stalls() || s.behaviour == stalls {
		timeout = "10s"
	}
	workspace := "shared"
	if s.worktree {
		workspace = "worktree"
	}
	return fmt.Sprintf(`fleet = "agents"
state = %q
[agent.one]
%s
[category.code]
timeout = %q
workspace = %q
self_directed = true
prompt = "prompt.md"
`, filepath.Join(s.dir, "state"), s.agentConfig(), timeout, workspace)
}

func (s session) agentConfig() string {
	switch s.account {
	case claudeKey, claudePlan:
		return `preset = "claude"
environment = { CLAUDE_CODE_MAX_RETRIES = "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1", DISABLE_TELEMETRY = "1", DISABLE_AUTOUPDATER = "1" }`
	case codexKey:
		return `preset = "codex"`
	case anyProgram:
	}
	if s.behaviour == walled {
		return fmt.Sprintf(`command = ["sh", "-c", "cat >&2; echo limit reached, back at %d; exit 1"]
quota = ['^limit reached, back at (?P<reset>\d+)$']`, s.model.resetAt.Unix())
	}
	return `command = ["git", "commit", "--quiet", "--allow-empty", "--message=done"]`
}

func (s session) codexConfig() string {
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
`, s.url()+"/v1")
}

// compare reads the log as the preset says, and names what is not as wanted.
func (s session) compare(log []byte) ([]string, error) {
	format, limits := transcript.Text, transcript.Limits{}
	switch s.account {
	case claudeKey, claudePlan:
		format = transcript.Claude
	case codexKey:
		format = transcript.Codex
	case anyProgram:
		var err error
		if limits, err = transcript.ParseLimits([]string{`^limit reached, back at (?P<reset>\d+)$`}, nil); err != nil {
			return nil, err
		}
	}
	got, err := transcript.Read(format, bytes.NewReader(log), transcript.Options{Now: time.Now(), Limits: limits})
	if err != nil {
		return nil, err
	}
	var faults []string
	if known := got.SessionID != "" && got.Events > 0; known != (format != transcript.Text) {
		faults = append(faults, fmt.Sprintf("session: got %q of %d events", got.SessionID, got.Events))
	}
	if (got.CostUSD != nil) != s.costs {
		faults = append(faults, fmt.Sprintf("cost: got %v", got.CostUSD))
	}
	if (got.Err != "") != s.wrong {
		faults = append(faults, fmt.Sprintf("error: got %q", got.Err))
	}
	if known := got.Models.Total(); len(got.Models) > 0 && known != got.Tokens {
		faults = append(faults, fmt.Sprintf("tokens by model: got %v, want %v", got.Models, got.Tokens))
	}
	got.SessionID, got.Events, got.CostUSD, got.Err, got.Retries, got.Answered, got.Models = "", 0, nil, "", 0, false, nil
	if got.Fault != nil {
		got.Fault.Text = ""
	}
	if got.Quota != nil {
		got.Quota.Text, got.Quota.RetryAfter = "", 0
	}
	if !reflect.DeepEqual(got, s.want) {
		faults = append(faults, fmt.Sprintf("read of its output:\n      got  %s\n      want %s", asJSON(got), asJSON(s.want)))
	}
	if len(faults) > 0 {
		faults = append(faults, "it printed:\n"+string(log[:min(len(log), 8<<10)]))
	}
	return faults, nil
}

func asJSON(s transcript.Summary) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// keep writes the log where it was asked to, without paths, names and numbers that are
// different each time.
func (s session) keep(log []byte, run string) error {
	if s.record == "" || s.account == anyProgram || s.worktree {
		return nil
	}
	return s.write("log", run, string(log))
}

// write writes a recording.
func (s session) write(kind, run, text string) error {
	text = strings.NewReplacer(
		strings.ReplaceAll(s.workspace(), "/", "-"), "-workspace",
		s.workspace(), "/workspace", s.home(), "/home/bob", s.dir, "/bob", run, "run",
		strings.TrimPrefix(s.model.URL, "http://"), "127.0.0.1:1",
	).Replace(text)
	seen := map[string]string{}
	text = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("00000000-0000-4000-8000-%012s", strconv.Itoa(len(seen)+1))
		}
		return seen[id]
	})
	return os.WriteFile(filepath.Join(s.record, fmt.Sprintf("%s-%s.%s", s.account, s.behaviour, kind)), []byte(text), 0o644)
}
