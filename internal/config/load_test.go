package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// least is a file with nothing that has a default. A test's additions begin in line 6, in the
// table category.code.
const least = `fleet = "bob"
state = "/var/lib/stint/bob"
[agent.claude]
command = ["claude", "-p"]
[category.code]
`

// write puts a file into a folder of its own.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), config.FileName)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func load(t testing.TB, text string) *config.Config {
	t.Helper()
	c, err := config.Load(write(t, text), config.Options{})
	if err != nil {
		t.Fatalf("load: %v\n%s", err, text)
	}
	if err := inEditor(t, text); err != nil {
		t.Errorf("the schema refuses what is accepted: %v\n%s", err, text)
	}
	return c
}

// environment stands for the process's own.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

var plain = cmpopts.IgnoreUnexported(config.Config{}, config.Agent{})

func TestLoadFillsInDefaults(t *testing.T) {
	t.Parallel()
	got := load(t, least)
	folder := filepath.Dir(got.Path)
	want := &config.Config{
		Path:      filepath.Join(folder, "stint.toml"),
		Fleet:     "bob",
		Workspace: folder,
		State:     "/var/lib/stint/bob",
		StoreText: "sqlite",
		Store:     config.Store{Kind: config.SQLite},
		Fanout:    config.Fanout{Workers: 3, Slots: 6, Allow: []fleet.Category{"code"}},
		Pools:     map[string]config.Pool{"autonomous": {Workers: 3, Slots: 6}},
		Notice:    noNotice(),
		Review: config.Review{
			Limit: 50, MaxAge: 14 * 24 * time.Hour,
			Method: config.MethodRebase,
		},
		Keep:     config.Keep{Files: 30 * 24 * time.Hour},
		Command:  config.Command{Timeout: time.Minute, PassEnvironment: []string{"PATH", "HOME", "LANG"}},
		Tasks:    config.Tasks{Dir: filepath.Join(folder, "tasks"), Format: fleet.FormatStint, DefaultCategory: "code"},
		Lessons:  config.Lessons{Dir: filepath.Join(folder, "lessons")},
		Selector: config.Selector{Floor: 0.5, Cap: 1.8},
		Agents: map[string]config.Agent{"claude": {
			Preset:          "command",
			Box:             fleet.BoxWorkspace,
			Command:         []string{"claude", "-p"},
			Prompt:          fleet.PromptStdin,
			PassEnvironment: []string{"PATH", "HOME", "LANG"},
		}},
		Categories: map[fleet.Category]config.Category{"code": {
			Pool: "autonomous", Share: 1, Agents: []string{"claude"}, Lanes: 1,
			TTL: time.Hour, Timeout: 50 * time.Minute, Cooldown: 3 * time.Minute, Review: true, WIP: noWIP(),
			Respawn: 0.65, MaxChain: 1,
		}},
	}
	must.Equal(t, "defaults", got, want, plain)
}

// full says something other than the default everywhere.
const full = `fleet = "bob"
workspace = "work"
state = "/srv/../var/bob"
store = 'sqlite'

[fanout]
workers = 2
slots = 2
allow = ["cleanup", "code"]

[tasks]
dir = "/srv/tasks"
default_category = "code"
tags = { docs = "code", "a b" = "cleanup" }

[commands]
timeout = "1m30s"
pass_environment = ["PATH"]

[selector]
command = ["rank", "--fast"]
floor = 0.25
cap = 0

[agent.claude]
command = ["claude", "-p", "$HOME %n \u00e9\n"]
prompt = "argument"
environment.MODEL = "big \"one\"\\\u0007"
pass_environment = []
box = "strict"
read = ["/srv/data"]
write = ["/srv/cache/"]
network = [443, 8080]
[agent]
codex.network = "none"
codex.command = ["codex"]
codex.slots = 2
codex.trust = true
[category.cleanup]
agents = ["claude"]

[category.code]
share = 0.25
agents = ["codex", "claude"]
lanes = 3
ttl = "2h"
timeout = "90m"
cooldown = "90s"
self_directed = true
prompt = "prompts/code.md"
check = ["make", "test"]
grader = ["judge", "claude"]
respawn = 0.8
max_chain = 3
budget = { runs = 10, tokens = 1_000_000, usd = 2.5 }
[category.code.unit]
MemoryMax = "4G"
CPUWeight = 50
CPUQuota = 1.0
NoNewPrivileges = true
LoadCredential = ["a", "b"]

[lessons]
dir = "notes"

[budget]
runs = 100
[agent.claude.budget]
usd = 1
[price."gpt-5*"]
input = 1.25
cached_input = 0.125
output = 10
`

func TestLoadReadsEveryKey(t *testing.T) {
	t.Parallel()
	got := load(t, full)
	folder := filepath.Dir(got.Path)
	want := &config.Config{
		Path: got.Path, Fleet: "bob", StoreText: "sqlite", Store: config.Store{Kind: config.SQLite},
		Workspace: filepath.Join(folder, "work"),
		State:     "/var/bob",
		Fanout:    config.Fanout{Workers: 2, Slots: 2, Allow: []fleet.Category{"cleanup", "code"}},
		Pools:     map[string]config.Pool{"autonomous": {Workers: 2, Slots: 2}},
		Notice:    noNotice(),
		Review: config.Review{
			Limit: 50, MaxAge: 14 * 24 * time.Hour,
			Method: config.MethodRebase,
		},
		Keep:    config.Keep{Files: 30 * 24 * time.Hour},
		Command: config.Command{Timeout: 90 * time.Second, PassEnvironment: []string{"PATH"}},
		Tasks: config.Tasks{
			Dir: "/srv/tasks", Format: fleet.FormatStint, DefaultCategory: "code",
			Tags: map[string]fleet.Category{"docs": "code", "a b": "cleanup"},
		},
		Lessons: config.Lessons{Dir: filepath.Join(folder, "work", "notes")},
		Budget:  config.Budget{Runs: 100},
		Prices:  config.Prices{"gpt-5*": {Input: 1.25, CachedInput: 0.125, CacheWrite: 1.25, Output: 10}},
		Selector: config.Selector{
			Command: []string{"rank", "--fast"},
			Floor:   0.25,
		},
		Agents: map[string]config.Agent{
			"claude": {
				Preset: "command",
				Box:    fleet.BoxStrict, Read: []string{"/srv/data"}, Write: []string{"/srv/cache"}, Network: &[]int{443, 8080},
				Command: []string{"claude", "-p", "$HOME %n é\n"}, Prompt: fleet.PromptArgument,
				Environment: map[string]string{"MODEL": "big \"one\"\\\a"},
				Budget:      config.Budget{USD: 1},
			},
			"codex": {
				Preset: "command", Box: fleet.BoxWorkspace, Network: &[]int{},
				Command: []string{"codex"}, Prompt: fleet.PromptStdin,
				Slots:           2,
				Trust:           true,
				PassEnvironment: []string{"PATH", "HOME", "LANG"},
			},
		},
		Categories: map[fleet.Category]config.Category{
			"cleanup": {
				Pool: "autonomous", Share: 0.75, Agents: []string{"claude"}, Lanes: 1,
				TTL: time.Hour, Timeout: 50 * time.Minute, Cooldown: 3 * time.Minute, Review: true, WIP: noWIP(),
				Respawn: 0.65, MaxChain: 1,
			},
			"code": {
				Pool: "autonomous", Share: 0.25, Agents: []string{"codex", "claude"}, Lanes: 3,
				TTL: 2 * time.Hour, Timeout: 90 * time.Minute, Cooldown: 90 * time.Second,
				SelfDirected: true, Prompt: filepath.Join(folder, "prompts/code.md"),
				Check:  []string{"make", "test"},
				Grader: []string{"judge", "claude"}, Review: true, WIP: noWIP(),
				Respawn: 0.8, MaxChain: 3, Budget: config.Budget{Runs: 10, Tokens: 1_000_000, USD: 2.5},
				Unit: map[string]any{
					"MemoryMax": "4G", "CPUWeight": int64(50), "CPUQuota": 1.0,
					"NoNewPrivileges": true, "LoadCredential": []any{"a", "b"},
				},
			},
		},
	}
	must.Equal(t, "config", got, want, plain)
	must.Equal(t, "category names", got.CategoryNames(), []fleet.Category{"cleanup", "code"})
}

func TestLoadTakesOtherEditorsFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"byte order mark": "\ufeff" + least,
		"CRLF":            strings.ReplaceAll(least, "\n", "\r\n"),
		"no last newline": strings.TrimSpace(least),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := load(t, text).State, "/var/lib/stint/bob"; got != want {
				t.Errorf("state: got %q, want %q", got, want)
			}
		})
	}
}

func TestLoadChooses(t *testing.T) {
	t.Parallel()
	c := load(t, `fleet = "bob"
state = "/s"
[agent.a]
command = ["a"]
[category.zeta.unit]
[category.alpha]
share = 0.5
[category.serial]
`)
	if got, want := c.Tasks.DefaultCategory, fleet.Category("zeta"); got != want {
		t.Errorf("default category: got %q, want the first in the file, %q", got, want)
	}
	must.Equal(t, "allowed: want all, sorted", c.Fanout.Allow, []fleet.Category{"alpha", "serial", "zeta"})
	shares := map[fleet.Category]float64{}
	for name, category := range c.Categories {
		shares[name] = category.Share
	}
	want := map[fleet.Category]float64{"alpha": 0.5, "serial": 0.25, "zeta": 0.25}
	must.Equal(t, "shares: want equal parts of the rest", shares, want)
}

func TestLoadFindsTheStateFolder(t *testing.T) {
	t.Parallel()
	text := strings.Replace(least, "state = \"/var/lib/stint/bob\"\n", "", 1)
	for _, test := range []struct {
		name   string
		getenv func(string) string
		want   string
	}{
		{"XDG", environment("XDG_STATE_HOME", "/xdg", "HOME", "/home/me"), "/xdg/stint/bob"},
		{"home", environment("HOME", "/home/me"), "/home/me/.local/state/stint/bob"},
		{"relative XDG does not count", environment("XDG_STATE_HOME", "xdg", "HOME", "/home/me"), "/home/me/.local/state/stint/bob"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := must.Get(config.Load(write(t, text), config.Options{Getenv: test.getenv}))(t)
			if got := c.State; got != test.want {
				t.Errorf("state: got %q, want %q", got, test.want)
			}
		})
	}
	for name, getenv := range map[string]func(string) string{"empty": environment(), "none": nil} {
		t.Run(name+" environment", func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(write(t, text), config.Options{Getenv: getenv})
			wantError(t, err, "1:1: state: missing",
				`write state = "/var/lib/stint/bob", as neither $XDG_STATE_HOME nor $HOME is set`)
		})
	}
}

// wantError wants a usage error whose text, without the path, and hint are these.
func wantError(t *testing.T, err error, text, hint string) {
	t.Helper()
	if !errors.Is(err, fleet.ErrUsage) {
		t.Fatalf("got error %v, want a usage error", err)
	}
	got := err.Error()
	if _, after, ok := strings.Cut(got, config.FileName+":"); ok {
		got = after
	}
	if got != text {
		t.Errorf("error: got %q, want %q", got, text)
	}
	if got := fleet.Hint(err); got != hint {
		t.Errorf("hint: got %q, want %q", got, hint)
	}
}

const syntaxHint = "correct the TOML of this line: strings are quoted, each key stands once, each table has one header"

// unfit is a file with one fault, how it is reported, and the advice.
type unfit struct{ name, file, text, hint string }

func TestLoadRefusesTOML(t *testing.T) {
	t.Parallel()
	refuses(t, []unfit{
		{"empty file", "", "1:1: the file is empty", "remove it, then write one with: stint init"},
		{"blank file", "\ufeff\n \n", "1:1: the file is empty", "remove it, then write one with: stint init"},
		{"syntax", "fleet = bob\n", "1:9: unexpected character U+0062 'b' at start of value", syntaxHint},
		{"twice", least + "lanes = 1\nlanes = 2\n", "7:1: key lanes is already defined", syntaxHint},
		{"table twice", least + "[agent.claude]\n", "6:2: table claude already exists", syntaxHint},
		{"not UTF-8", "fleet = \"bob\"\n# caf\xe9\n", "2:6: byte 0xe9 is not UTF-8", "save the file as UTF-8"},
		{"UTF-16", "\xff\xfef\x00", "1:1: byte 0xff is not UTF-8", "save the file as UTF-8"},
		{"NUL", least + `prompt = "a\u0000b"`, "6:10: a string holds a NUL character", `remove the \u0000`},
		{
			"NUL in a list",
			strings.Replace(least, `"-p"`, `"\u0000"`, 1),
			"4:22: a string holds a NUL character", `remove the \u0000`,
		},
		{
			"NUL deep in a unit",
			least + `unit.a.b.c.d.e = [[{ f = "\u0000" }]]`,
			"6:26: a string holds a NUL character", `remove the \u0000`,
		},
	})
}

func TestLoadRefusesKeys(t *testing.T) {
	t.Parallel()
	const categoryKeys = "want one of: agents, budget, check, cooldown, grader, hosts, lanes, max_chain, pool, prompt, respawn, review, self_directed, share, sync, timeout, ttl, unit, wip, workspace"
	refuses(t, []unfit{
		{"misspelt", least + "[fanout]\nworker = 3\n", "7:1: fanout.worker: unknown key", "did you mean workers?"},
		{"letter case", least + "TTL = \"1h\"\n", "6:1: category.code.TTL: unknown key", "did you mean ttl?"},
		{"shortened", strings.Replace(least, "[category", "env = {}\n[category", 1), "5:1: agent.claude.env: unknown key", "did you mean environment?"},
		{"plural", least + "[categories.x]\n", "6:2: categories: unknown key", "did you mean category?"},
		{"foreign table", least + "[x]\ny = 1\n", "6:2: x: unknown key", "want one of: agent, budget, category, commands, credentials, fanout, fleet, host, keep, lessons, notice, pool, price, review, selector, state, store, tasks, workspace"},
		{"dotted", "fanout.wrkers = 1\n" + least, "1:8: fanout.wrkers: unknown key", "did you mean workers?"},
		{"inline table", "fanout = { slots = 2,\n x = 1 }\n" + least, "2:2: fanout.x: unknown key", "want one of: allow, slots, workers"},
		{"quoted", least + "\"a b\" = 1\n", `6:1: category.code."a b": unknown key`, categoryKeys},
		{"in the wrong table", least + "workers = 1\n", "6:1: category.code.workers: unknown key", categoryKeys},
		{"a field that no file has", least + "[tasks.fields]\nur1 = \"x\"\n", "7:1: tasks.fields.ur1: unknown field", "want one of: assigned_to, category, created, family, next_action, paths, priority, requires, state, success_criterion, tags, title, wait, waiting_for"},
		{"no fleet", strings.Replace(least, `fleet = "bob"`, "", 1), "1:1: fleet: missing", `write fleet = "bob" in the first line`},
		{
			"no agent", "fleet = \"bob\"\nstate = \"/s\"\n[category.code]\n",
			"1:1: agent: missing", `write [agent.claude] and in it preset = "claude"`,
		},
		{
			"network", strings.Replace(least, "[category", "network = 443\n[category", 1),
			`5:1: agent.claude.network: want "any", "none" or a list of TCP ports, not 443`, `write network = "none"`,
		},
		{
			"port", strings.Replace(least, "[category", "network = [0]\n[category", 1),
			"5:1: agent.claude.network: want a whole number from 1 to 65535, not 0", `write network = "none"`,
		},
		{
			"box", strings.Replace(least, "[category", `box = "closed"`+"\n[category", 1),
			`5:1: agent.claude.box: want "workspace", "strict", "landlock" or "open", not "closed"`, `write box = "workspace"`,
		},
		{"no category", strings.Replace(least, "[category.code]\n", "", 1), "1:1: category: missing", "write [category.code]"},
		{"no command", strings.Replace(least, "command", "#", 1), "3:8: agent.claude.command: missing", `write preset = "claude", or the command of your own: command = ["my-agent"]`},
		{
			"two agents to choose from", least + "[agent.codex]\ncommand = [\"codex\"]\n",
			"5:11: category.code.agents: missing",
			`say which of the agents may work on it: write agents = ["claude", "codex"]`,
		},
	})
}

func TestLoadRefusesTypes(t *testing.T) {
	t.Parallel()
	refuses(t, []unfit{
		{"number for a string", "fleet = 1\n" + after("fleet"), "1:1: fleet: want a string, not 1", `write fleet = "bob"`},
		{"string for a number", least + `lanes = "2"`, `6:1: category.code.lanes: want a whole number from 1 to 99, not "2"`, "write lanes = 2"},
		{"string with a word for a number", least + `lanes = "two"`, `6:1: category.code.lanes: want a whole number from 1 to 99, not "two"`, "write lanes = 1"},
		{"string for an amount", least + "[agent.claude.budget]\nusd = \"3\"", `7:1: agent.claude.budget.usd: want a number from 0 to 1000000000, not "3"`, "write usd = 3.0"},
		{"fraction for a whole", least + `lanes = 1.5`, `6:1: category.code.lanes: want a whole number from 1 to 99, not 1.5`, "write lanes = 1"},
		{"string for a switch", least + `sync = "no"`, `6:1: category.code.sync: want true or false, not "no"`, "write sync = false"},
		{"number for a duration", least + `ttl = 60`, `6:1: category.code.ttl: want a duration above zero, such as "90s", "50m" or "1h30m", not 60`, `write ttl = "1h"`},
		{"date for a duration", least + `ttl = 2026-01-01`, `6:1: category.code.ttl: want a duration above zero, such as "90s", "50m" or "1h30m", not a date or time`, `write ttl = "1h"`},
		{"string for a list", least + `agents = "claude"`, `6:1: category.code.agents: want a list of strings, not "claude"`, `write agents = ["claude"]`},
		{"string for a command", least + `check = "make test"`, `6:1: category.code.check: want a list of strings, not "make test"`, `write check = ["make", "test"]`},
		{
			"line of a shell for a command", least + `check = "make test && make lint"`,
			`6:1: category.code.check: want a list of strings, not "make test && make lint"`, `write check = ["sh", "-c", "make test && make lint"]`,
		},
		{"number in a list", least + `agents = ["claude", 1]`, `6:21: category.code.agents[1]: want a string, not 1`, `write "1"`},
		{"list in a list", least + `agents = ["claude", []]`, `6:1: category.code.agents[1]: want a string, not a list`, `write "…"`},
		{"value for a table", least + "agents = [\"claude\"]\n[agent]\ncodex = 1\n", "8:1: agent.codex: want a table, not 1", "write [agent.codex]"},
		{"list of tables", least + "[[fanout]]\n[[fanout]]\n", "6:3: fanout: want a table, not a list", "write [fanout]"},
		{"table for a value", least + "[category.code.share]\n", "6:16: category.code.share: want a number from 0 to 1, not a table", "write share = 0.5"},
		{"number in the environment", least + "[agent.claude.environment]\nN = 1", `7:1: agent.claude.environment.N: want a string, not 1`, `write N = "1"`},
		{"long string", least + `share = "` + strings.Repeat("é", 50) + `"`, `6:1: category.code.share: want a number from 0 to 1, not "` + strings.Repeat("é", 40) + `…"`, "write share = 0.5"},
	})
}

// after is least without its line for the key.
func after(key string) string {
	var lines []string
	for line := range strings.Lines(least) {
		if !strings.HasPrefix(line, key) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestLoadRefusesValues(t *testing.T) {
	t.Parallel()
	const durationWant = `want a duration above zero, such as "90s", "50m" or "1h30m", not `
	refuses(t, []unfit{
		{"no worker", least + "[fanout]\nworkers = 0", "7:1: fanout.workers: want a whole number of 1 or more, not 0", "write workers = 1"},
		{"fewer slots than none", least + "[fanout]\nslots = -1", "7:1: fanout.slots: want a whole number of 1 or more, not -1", "write slots = 1"},
		{"no lane", least + "lanes = 0", "6:1: category.code.lanes: want a whole number from 1 to 99, not 0", "write lanes = 1"},
		{"too many lanes", least + "lanes = 100", "6:1: category.code.lanes: want a whole number from 1 to 99, not 100", "write lanes = 99"},
		{"negative slots", least + "agents = [\"b\"]\n[agent.b]\ncommand = [\"b\"]\nslots = -1", "9:1: agent.b.slots: want a whole number of 0 or more, not -1", "write slots = 0"},
		{"budget of less than nothing", least + "[budget]\nruns = -1", "7:1: budget.runs: want a whole number of 0 or more, not -1", "write runs = 0"},
		{"part of a token", least + "budget = { tokens = 1.5 }", "6:12: category.code.budget.tokens: want a whole number of 0 or more, not 1.5", "write tokens = 1"},
		{"debts", least + "[agent.claude.budget]\nusd = -0.5", "7:1: agent.claude.budget.usd: want a number from 0 to 1000000000, not -0.5", "write usd = 0.0"},
		{"no grade", least + "respawn = 1.5", "6:1: category.code.respawn: want a number from 0 to 1, not 1.5", "write respawn = 1.0"},
		{"endless chain", least + "max_chain = 10", "6:1: category.code.max_chain: want a whole number from 0 to 9, not 10", "write max_chain = 9"},
		{"zero duration", least + `timeout = "0s"`, `6:1: category.code.timeout: ` + durationWant + `"0s"`, `write timeout = "50m"`},
		{"grader without a program", least + `grader = [""]`, `6:11: category.code.grader[0]: want a program, not an empty string`, `write a program and its arguments, such as ["my-program", "--flag"]`},
		{"a check without a program", least + `check = [""]`, "6:10: category.code.check[0]: want a program, not an empty string", `write a program and its arguments, such as ["my-program", "--flag"]`},
		{"longer than the longest", least + "[commands]\ntimeout = \"2m1ms\"", `7:1: commands.timeout: want a duration of at most "2m", not "2m1ms"`, `write timeout = "1m"`},
		{"no word of a command deep down", least + "[category.code.wip]\ncommand = [\"a\", 1]", `7:17: category.code.wip.command[1]: want a string, not 1`, "write \"1\""},
		{"days without a unit", least + "[keep]\nfiles = \"30\"", `7:1: keep.files: want days, such as "400d", or "" for no bound, not "30"`, `write files = "30d"`},
		{"negative duration", least + `cooldown = "-1s"`, `6:1: category.code.cooldown: want a duration, such as "0s", "90s" or "1h30m", not "-1s"`, `write cooldown = "3m"`},
		{"a time-out of a lifetime", least + `timeout = "999999h"`, `6:1: category.code.timeout: want a duration of at most "8760h", not "999999h"`, `write timeout = "50m"`},
		{"a claim of centuries", least + `ttl = "2562047h"`, `6:1: category.code.ttl: want a duration of at most "8760h", not "2562047h"`, `write ttl = "1h"`},
		{"more than a year", least + `cooldown = "8760h1ns"`, `6:1: category.code.cooldown: want a duration of at most "8760h", not "8760h1ns"`, `write cooldown = "3m"`},
		{"days", least + "ttl = \"1d\"", `6:1: category.code.ttl: ` + durationWant + `"1d"`, `write ttl = "1h"`},
		{"share above one", least + "share = 1.01", "6:1: category.code.share: want a number from 0 to 1, not 1.01", "write share = 1.0"},
		{"share below zero", least + "share = -1", "6:1: category.code.share: want a number from 0 to 1, not -1", "write share = 0.0"},
		{"share no number", least + "share = nan", "6:1: category.code.share: want a number from 0 to 1, not nan", "write share = 0.5"},
		{"fleet's name", "fleet = \"a-b\"\n" + after("fleet"), `1:1: fleet: fleet name "a-b": want 1 to 32 of a-z, 0-9 and _`, `write fleet = "bob"`},
		{
			"category's name", least + "[category.\"A b\"]",
			`6:11: category."A b": category "A b": want 1 to 32 of a-z, 0-9, _ and -, not starting with _ or -`,
			"rename it, as in [category.code]",
		},
		{
			"agent's name", least + "agents = [\"claude\"]\n[agent.\"a b\"]\ncommand = [\"x\"]",
			`7:8: agent."a b": an agent's name is 1 to 32 of a-z, A-Z, 0-9, _ and -, not starting with _ or -`,
			"rename it, as in [agent.claude]",
		},
		{"relative state", "state = \"s\"\n" + after("state"), `1:1: state: want an absolute path, not "s"`, `write state = "/var/lib/stint/bob"`},
		{"home", "state = \"~/s\"\n" + after("state"), `1:1: state: "~/s": ~ is not expanded`, "write the home folder's own path"},
		{"no workspace", "workspace = \"\"\n" + least, `1:1: workspace: want a path, not ""`, `write workspace = "."`},
		{"prompt in the home folder", least + `prompt = "~/p.md"`, `6:1: category.code.prompt: "~/p.md": ~ is not expanded`, "write the home folder's own path"},
		{
			"store", "store = \"mysql\"\n" + least,
			`1:1: store: want "sqlite", "postgres", "postgres:service=NAME" or "postgres://HOST/DATABASE", not "mysql"`, `write store = "sqlite"`,
		},
		{
			"password of a store", "\n\n  store = \"postgres://me:secret@db/stint\"\n" + least,
			`3:3: store: a password in this file can be read by every session`, `write it into ~/.pgpass, or the file that PGPASSFILE or the service file's passfile names, or with passfile=credential:NAME a unit's LoadCredential=; a client certificate needs none`,
		},
		{"way of prompting", strings.Replace(least, "[category", "prompt = \"tty\"\n[category", 1), `5:1: agent.claude.prompt: want "stdin", "argument", "file" or "acp", not "tty"`, `write prompt = "stdin"`},
		{"a floor above all", least + "[selector]\nfloor = 1.5", `7:1: selector.floor: want a number from 0 to 1, not 1.5`, `write floor = 1.0`},
		{"a cap below the part", least + "[selector]\ncap = 0.5", `7:1: selector.cap: want a number from 1 to 1000, not 0.5; or 0 for none`, `write cap = 1.0`},
		{"a part that is none", least + "[selector]\nfloor = nan", `7:1: selector.floor: want a number from 0 to 1, not nan`, `write floor = 0.5`},
		{"empty command", least + "[selector]\ncommand = [\"\"]", `7:12: selector.command[0]: want a program, not an empty string`, `write a program and its arguments, such as ["my-program", "--flag"]`},
		{"no agents", least + "agents = []", "6:1: category.code.agents: want at least one, not an empty list", `write agents = ["…"]`},
		{"unknown agent", least + "agents = [\"gpt\"]", `6:11: category.code.agents[0]: there is no agent "gpt"`, "want one of: claude"},
		{"unknown category allowed", least + "[fanout]\nallow = [\"code\", \"coed\"]", `7:18: fanout.allow[1]: there is no category "coed"`, "did you mean code?"},
		{"category allowed twice", least + "[fanout]\nallow = [\"code\", \"code\"]", `7:18: fanout.allow[1]: "code" is listed twice`, "remove one"},
		{"unknown default", least + "[tasks]\ndefault_category = \"x\"", `7:1: tasks.default_category: there is no category "x"`, "want one of: code"},
		{"unknown category of a tag", least + "[tasks]\ntags = { a = \"code\", b = \"x\" }", `7:22: tasks.tags.b: there is no category "x"`, "want one of: code"},
		{"variable's name", least + "[agent.claude.environment]\n\"A-B\" = \"\"", `7:1: agent.claude.environment.A-B: "A-B" is no name of a variable`, "want letters, digits and _, not starting with a digit"},
		{"reserved variable", least + "[agent.claude.environment]\nSTINT_EPOCH = \"1\"", `7:1: agent.claude.environment.STINT_EPOCH: "STINT_EPOCH": names that start with STINT_ are reserved`, "rename or remove it"},
		{"reserved variable passed", strings.Replace(least, "[category", "pass_environment = [\"STINT_X\"]\n[category", 1), `5:21: agent.claude.pass_environment[0]: "STINT_X": names that start with STINT_ are reserved`, "rename or remove it"},
		{"variable passed twice", strings.Replace(least, "[category", "pass_environment = [\"A\", \"A\"]\n[category", 1), `5:26: agent.claude.pass_environment[1]: "A" is listed twice`, "remove one"},
		{"unit, with a hint", least + "unit = { Memory = 1 }", "6:10: category.code.unit.Memory: unknown property", "did you mean MemoryMax?"},
		{"unit", least + "[category.code.unit]\nWeight = 0", "7:1: category.code.unit.Weight: want 1 to 10000, not 0", "see man systemd.resource-control"},
	})
}

func refuses(t *testing.T, tests []unfit) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(write(t, test.file), config.Options{CheckUnit: checkUnit})
			wantError(t, err, test.text, test.hint)
			schemaRefuses(t, test)
		})
	}
}

func checkUnit(name string, value any) error {
	switch {
	case name == "Memory":
		return fleet.WithHint(errors.New("unknown property"), "did you mean MemoryMax?")
	case name == "Weight":
		return fmt.Errorf("want 1 to 10000, not %v", value)
	}
	return nil
}

func TestLoadRefusesFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	huge := write(t, "#"+strings.Repeat("x", 256<<10))
	pipe := filepath.Join(folder, "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	none := filepath.Join(folder, "none.toml")
	loop := filepath.Join(folder, "loop")
	must.Do(t, os.Symlink(loop, loop))
	for _, test := range []struct{ name, path, text, hint string }{
		{"none", none, "read config: stat " + none + ": no such file or directory", "--config or $STINT_CONFIG names it; without them: stint init"},
		{"folder", folder, "read config: " + folder + " is a folder", "name the file: " + folder + "/stint.toml"},
		{"pipe", pipe, "read config: " + pipe + " is not a regular file", "name a file: it is read more than once"},
		{"huge", huge, "read config: " + huge + " has more than 262144 bytes", "name a stint.toml"},
		{"loop", loop, "read config: stat " + loop + ": too many levels of symbolic links", "check the permissions of the folders above it"},
		{"disk", "/proc/self/mem", "read config: read /proc/self/mem: input/output error", "see for yourself: cat /proc/self/mem"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(test.path, config.Options{})
			wantError(t, err, test.text, test.hint)
		})
	}
}

func TestLoadRefusesUnreadableFile(t *testing.T) {
	t.Parallel()
	path := write(t, least)
	must.Do(t, os.Chmod(path, 0))
	_, err := config.Load(path, config.Options{})
	if os.Geteuid() == 0 {
		if err != nil {
			t.Errorf("load as root, who reads every file: %v", err)
		}
		return
	}
	wantError(t, err, " permission denied", "see for yourself: cat "+path)
}

func TestLoadNamesAllFaultsInOrder(t *testing.T) {
	t.Parallel()
	path := write(t, `fleet = "Bob"
workspace = 5
[category.code]
ttl = "an hour"
agents = ["claude", "cluade", "claude"]
colour = "red"
[agent.claude]
command = []
`)
	_, err := config.Load(path, config.Options{Getenv: environment("HOME", "/home/me")})
	if !errors.Is(err, fleet.ErrUsage) {
		t.Fatalf("got error %v, want a usage error", err)
	}
	want := strings.Join([]string{
		`:1:1: fleet: fleet name "Bob": want 1 to 32 of a-z, 0-9 and _ (write fleet = "bob")`,
		`:2:1: workspace: want a string, not 5 (write workspace = ".")`,
		`:4:1: category.code.ttl: want a duration above zero, such as "90s", "50m" or "1h30m", not "an hour" (write ttl = "1h")`,
		`:5:21: category.code.agents[1]: there is no agent "cluade" (did you mean claude?)`,
		`:5:31: category.code.agents[2]: "claude" is listed twice (remove one)`,
		`:6:1: category.code.colour: unknown key (want one of: agents, budget, check, cooldown, grader, hosts, lanes, max_chain, pool, prompt, respawn, review, self_directed, share, sync, timeout, ttl, unit, wip, workspace)`,
		`:8:1: agent.claude.command: want at least one, not an empty list (write command = ["…"])`,
	}, "\n")
	must.Equal(t, "faults", strings.ReplaceAll(err.Error(), path, ""), want)
	if got, want := fleet.Hint(err), "correct these 7 places, then: stint config check"; got != want {
		t.Errorf("hint: got %q, want %q", got, want)
	}
}

func TestLoadNamesNoMoreFaultsThanAnyoneReads(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(least)
	for i := range 50 {
		fmt.Fprintf(&text, "unknown%d = 1\n", i)
	}
	_, err := config.Load(write(t, text.String()), config.Options{})
	if !errors.Is(err, fleet.ErrUsage) {
		t.Fatalf("got error %v, want a usage error", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if got, want := len(lines), 21; got != want {
		t.Fatalf("got %d lines, want %d", got, want)
	}
	if got, want := lines[20], "and 30 more"; got != want {
		t.Errorf("last line: got %q, want %q", got, want)
	}
	if got, want := fleet.Hint(err), "correct these 50 places, then: stint config check"; got != want {
		t.Errorf("hint: got %q, want %q", got, want)
	}
}

func TestLoadRefusesFileOfComments(t *testing.T) {
	t.Parallel()
	path := write(t, "# fleet = \"bob\"\n")
	_, err := config.Load(path, config.Options{Getenv: environment("HOME", "/home/me")})
	if !errors.Is(err, fleet.ErrUsage) {
		t.Fatalf("got error %v, want a usage error", err)
	}
	want := `:1:1: fleet: missing (write fleet = "bob" in the first line)
:1:1: agent: missing (write [agent.claude] and in it preset = "claude")
:1:1: category: missing (write [category.code])`
	must.Equal(t, "faults", strings.ReplaceAll(err.Error(), path, ""), want)
}

func BenchmarkLoad(b *testing.B) {
	path := write(b, full)
	for b.Loop() {
		must.Get(config.Load(path, config.Options{}))(b)
	}
}

// TestGradingTime adds up what is waited for once an agent has ended.
func TestGradingTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"":                   0,
		`check = ["make"]`:   50 * time.Minute,
		`grader = ["judge"]`: 50 * time.Minute,
		"check = [\"make\"]\ntimeout = \"1m\"\ngrader = [\"judge\"]": 2 * time.Minute,
	} {
		if got := load(t, least+text).Categories["code"].GradingTime(); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestLoadTakesTheMost has values that are as large as they may be.
func TestLoadTakesTheMost(t *testing.T) {
	t.Parallel()
	c := load(t, least+"lanes = 99\nmax_chain = 9\nshare = 1\n[commands]\ntimeout = \"2m\"\n[review]\nlimit = 0\n")
	if got := c.Command.Timeout; got != 2*time.Minute {
		t.Errorf("got %v, want 2m", got)
	}
}

// TestHomeOfAnAgent has what it may reach begin with "~/": its own home folder, or else the user's.
func TestHomeOfAnAgent(t *testing.T) {
	t.Parallel()
	text := strings.Replace(least, "[category", "read = [\"~/data/\"]\nwrite = [\"~/.tool\", \"/srv\"]\n[category", 1)
	for home, own := range map[string]string{"/home/bob": "", "/own": "environment.HOME = \"/own\"\n"} {
		path := write(t, strings.Replace(text, "[category", own+"[category", 1))
		a := must.Get(config.Load(path, config.Options{Getenv: environment("HOME", "/home/bob")}))(t).Agents["claude"]
		must.Equal(t, home, append(a.Read, a.Write...), []string{home + "/data", home + "/.tool", "/srv"})
	}
	if _, err := config.Load(write(t, text), config.Options{}); err == nil || !strings.Contains(err.Error(), "~/data: the home folder is not known") {
		t.Errorf("got %v, want that nobody's home is not known", err)
	}
}
