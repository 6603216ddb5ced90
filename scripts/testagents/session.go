package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/agent/transcript"
)

// session is a trial in a home folder of its own.
type session struct {
	trial
	place
	model  *stub
	record string
}

// play runs the trial, and says what of it is not as it should be.
func (s session) play(ctx context.Context) ([]string, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if s.behaviour == escapes {
		shut, err := s.openDoors()
		defer shut()
		if err != nil {
			return nil, err
		}
	}
	if s.behaviour == limits || s.behaviour == leaves {
		return s.resumes(ctx)
	}
	run, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	var faults []string
	if run.Outcome != s.outcome {
		faults = append(faults, fmt.Sprintf("outcome: got %s (%s), want %s", run.Outcome, run.Reason, s.outcome))
	}
	log, err := os.ReadFile(filepath.Join(s.runFiles(run.Run), "log"))
	if err != nil {
		return nil, err
	}
	faults = append(faults, s.told(run)...)
	more, err := s.compare(log)
	faults = append(faults, more...)
	if err == nil && s.works() {
		more, err = s.witness(ctx, run)
		faults = append(faults, more...)
	}
	if err == nil && s.behaviour == escapes {
		more, err = s.escaped(ctx, run.Run)
		faults = append(faults, more...)
	}
	if err == nil && s.behaviour == plants {
		more, err = s.planted()
		faults = append(faults, more...)
	}
	return faults, errors.Join(err, s.keep(log, run.Run), s.keepOwn(run.Run))
}

// witness looks for the traces of a session that worked: a commit that the run names, its caches, and a result
// file that was read.
func (s session) witness(ctx context.Context, run result) (faults []string, err error) {
	out := filepath.Join(s.runFiles(run.Run), "out")
	made, err := s.ask(ctx, "log", "--all", "--format=%H", "--grep=^Work$")
	if err != nil {
		return nil, err
	}
	if who, _ := s.ask(ctx, "log", "--all", "--format=%ae %ce", "--grep=^Work$"); who != "tester@example.org tester@example.org" {
		faults = append(faults, fmt.Sprintf("author and committer: got %q", who))
	}
	if made == "" || !slices.Equal(run.Commits, []string{made}) {
		faults = append(faults, fmt.Sprintf("commits: got %v, want the one that was made: %q", run.Commits, made))
	}
	if text, err := os.ReadFile(filepath.Join(out, "result.json")); strings.TrimSpace(string(text)) != workResult {
		faults = append(faults, fmt.Sprintf("result file: got %q, %v", text, err))
	}
	if run.Reason != "the stub says so" {
		faults = append(faults, fmt.Sprintf("reason: got %q, want that of the result file", run.Reason))
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(s.runFiles(run.Run))), "cache/project/log")); err != nil {
		faults = append(faults, fmt.Sprintf("cache of the tests: %v", err))
	}
	if pushed, err := s.ask(ctx, "ls-remote", "origin", "refs/heads/pushed"); !strings.HasPrefix(pushed, made) {
		faults = append(faults, fmt.Sprintf("pushed: got %q, %v, want %s", pushed, err, made))
	}
	o, _, _ := s.account.other()
	if asked, err := os.ReadFile(filepath.Join(out, "asked")); !o.noHooks && !bytes.Contains(asked, []byte(`"stint/claim@1"`)) {
		faults = append(faults, fmt.Sprintf("hook before the push: got %q, %v", asked, err))
	}
	return faults, nil
}

// result is as much of stint/run@1 as is looked at.
type result struct {
	Run     string   `json:"run"`
	Outcome string   `json:"outcome"`
	Grade   *float64 `json:"grade"`
	Reason  string   `json:"reason"`
	Commits []string `json:"commits"`
}

func (s session) run(ctx context.Context) (r result, err error) {
	if s.refused {
		s.through = []string{self(), unspaced, "namespaces"}
	}
	// Its exit status says how the session ended, which its output says as well.
	out, err := s.command(ctx, "run", "--category", "code", "--json")
	if err != nil {
		return result{}, err
	}
	return r, json.Unmarshal(out, &r)
}

// prepare builds a workspace, and edits of its configuration what a session without a
// task needs.
func (s session) prepare(ctx context.Context) error {
	err := s.build(ctx, map[string]string{
		"prompt.md":       "Do what there is to do.\n",
		"tasks/one.md":    "---\nstate: todo\n---\n",
		"prompts/code.md": "Do.\n", "bin/rank": "#!/bin/sh\n", "src.sh": "", "rules": "", ".real": "",
		// A project's tests write a cache, and files for a while.
		"Makefile": "test:\n\tmkdir -p $${XDG_CACHE_HOME:-$$HOME/.cache}/project\n" +
			"\techo tested >$${XDG_CACHE_HOME:-$$HOME/.cache}/project/log\n\tcat $$(mktemp)\n\techo passed\n",
	}, s.edit)
	switch {
	case err != nil:
		return err
	case s.behaviour == escapes:
		return s.prepareEscapes(ctx)
	case !s.works():
		return nil
	}
	hook := fmt.Sprintf("#!/bin/sh\n%s claim verify --json >\"$STINT_RUN_DIR/asked\"\n", s.stint)
	return errors.Join(
		s.git(ctx, "init", "--quiet", "--bare", s.remote()), s.git(ctx, "remote", "add", "origin", s.remote()),
		os.WriteFile(filepath.Join(s.workspace(), ".git/hooks/pre-push"), []byte(hook), 0o700),
	)
}

func (s session) edit(config string) string {
	timeout, workspace, agent, prompt, alone := `"60s"`, `"shared"`, "claude", `"prompt.md"`, "true"
	if s.behaviour == limits || s.behaviour == leaves {
		alone = "false"
	}
	if s.stalls() || s.behaviour == stalls {
		timeout = `"10s"`
	}
	_, manner, other := s.account.other()
	switch { // they begin slowly
	case other && s.troubled() && !s.wrong:
		timeout = `"40s"`
	case other:
		timeout = `"150s"`
	}
	if s.clone {
		workspace = `"clone"`
	}
	if s.behaviour == escapes {
		prompt = `"prompts/code.md"`
		config += "\n[selector]\ncommand = [\"./bin/rank\", \"src.sh\", \"--rules=rules\"]\n" // init writes no such table
	}
	switch s.account {
	case claudeKey, claudePlan:
	case codexKey:
		agent = "codex"
	case anyProgram:
		agent = "one"
		config = strings.Replace(config, "[category.code]\n", s.program()+"[category.code]\n", 1)
	}
	switch {
	case other && manner.command != nil:
		agent = "one"
		config = strings.Replace(config, "[category.code]\n", manner.config()+"[category.code]\n", 1)
	case other:
		agent = string(s.account)
	}
	if s.refused {
		config = set(config, "agent."+agent, "box", `"landlock"`)
	}
	for _, key := range [][2]string{
		{"timeout", timeout},
		{"workspace", workspace},
		{"self_directed", alone},
		{"prompt", prompt},
		{"agents", fmt.Sprintf("[%q]", agent)},
	} {
		config = set(config, "category.code", key[0], key[1])
	}
	if s.behaviour == escapes { // the program that tries them is nobody's tool
		config = set(config, "agent."+agent, "read", fmt.Sprintf("[%q]", self()))
	}
	if s.works() {
		config = set(config, "agent."+agent, "write", fmt.Sprintf("[%q]", s.remote()))
	}
	if !strings.Contains(config, "[agent.claude]\n") { // it is not installed
		return config
	}
	return environ(config, "claude", quiet())
}

// program is an agent of which nothing is known.
func (s session) program() string {
	if s.behaviour == walled {
		return fmt.Sprintf(`[agent.one]
command = ["sh", "-c", "cat >&2; echo limit reached, back at %d; exit 1"]
cli.faults = ['quota: ^limit reached, back at (?P<reset>\d+)$']
`, s.model.resetAt.Unix())
	}
	return "[agent.one]\ncommand = [\"sh\", \"-c\", \"echo done >done.txt && git add done.txt && git commit --quiet --message=done\"]\n"
}

// compare reads the log as the preset says, and names what is not as wanted.
func (s session) compare(log []byte) ([]string, error) {
	cli := s.account.cli()
	if s.account == anyProgram {
		cli.Faults = []string{`quota: ^limit reached, back at (?P<reset>\d+)$`}
	}
	got, err := transcript.Read(cli, bytes.NewReader(log), time.Now())
	if err != nil {
		return nil, err
	}
	var faults []string
	if _, _, other := s.account.other(); other {
		got.Turns = 0     // what one is differs
		if s.troubled() { // what else they tell differs, and some take one limit for the other
			got = transcript.Summary{SessionID: "any", Events: 1, Success: s.want.Success, Quota: got.Quota, Fault: got.Fault}
			s.costs, s.wrong = false, false
			if got.Quota != nil && s.behaviour == throttled {
				got.Quota.Kind = transcript.Throttled
			}
		}
	}
	if known := got.SessionID != "" && got.Events > 0; known != (s.account != anyProgram) {
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
	if s.behaviour == declines && got.Turns == 2 { // from 2.1.332 on, Claude Code asks once more
		got.Turns, got.Tokens = 1, tokens(s.account, 1)
	}
	got.SessionID, got.Events, got.CostUSD, got.Err, got.Retries, got.Answered, got.Models = "", 0, nil, "", 0, false, nil
	got.Thread, got.Alone = false, 0
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

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// keep writes the log where it was asked to, without paths, names and numbers that are
// different each time.
func (s session) keep(log []byte, run string) error {
	_, _, other := s.account.other()
	if s.record == "" || s.account == anyProgram || s.behaviour == plants || other && !s.clone || !other && (s.clone || s.works() || s.behaviour == escapes) {
		return nil
	}
	return s.write("log", run, string(log))
}

// write writes a recording.
func (s session) write(kind, run, text string) error {
	text = strings.NewReplacer(
		strings.ReplaceAll(s.workspace(), "/", "-"), "-workspace",
		s.workspace(), "/workspace", filepath.Dir(filepath.Dir(s.agents)), "/agents", s.home, "/home/bob", run, "run",
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
