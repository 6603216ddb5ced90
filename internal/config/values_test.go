package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/config"
)

func TestValuesOfFull(t *testing.T) {
	t.Parallel()
	c := load(t, full)
	var b strings.Builder
	for _, v := range c.Values() {
		b.WriteString(v.Key + " = " + strings.ReplaceAll(v.Value, strings.TrimSuffix(c.Path, "/stint.toml"), "FOLDER") + "  # " + v.Origin + "\n")
	}
	want := `fleet = "bob"  # stint.toml:1
workspace = "FOLDER/work"  # stint.toml:2
state = "/var/bob"  # stint.toml:3
store = "sqlite"  # stint.toml:4
fanout.workers = 2  # stint.toml:7
fanout.slots = 2  # stint.toml:8
fanout.max_pivots = 5  # stint.toml:9
fanout.allow = ["cleanup", "code"]  # stint.toml:10
fanout.max_load = 0.0  # default
fanout.max_memory_pressure = 20.0  # default
fanout.min_memory = "1G"  # default
pool.autonomous.workers = 2  # default
pool.autonomous.slots = 2  # default
tasks.dir = "/srv/tasks"  # stint.toml:13
tasks.format = "stint"  # default
tasks.fields = {}  # default
tasks.states = {}  # default
tasks.priorities = {}  # default
tasks.default_category = "code"  # stint.toml:14
tasks.tags."a b" = "cleanup"  # stint.toml:15
tasks.tags.docs = "code"  # stint.toml:15
tasks.after = "ready_for_review"  # default
tasks.raise_after = "168h"  # default
tasks.most_sessions = 8  # default
tasks.resolve_url = []  # default
tasks.pass_environment = ["PATH", "HOME", "LANG"]  # default
lessons.dir = "FOLDER/work/notes"  # stint.toml:67
lessons.withhold = 0.0  # stint.toml:68
selector.command = ["rank", "--fast"]  # stint.toml:18
selector.timeout = "1m30s"  # stint.toml:19
selector.pass_environment = ["PATH"]  # stint.toml:20
selector.v = 5.0  # stint.toml:21
selector.floor = 0.25  # stint.toml:22
selector.cap = 0.0  # stint.toml:23
selector.half_life = 100.0  # stint.toml:24
selector.slow_half_life = 1000.0  # stint.toml:25
selector.alarm = 12.5  # stint.toml:26
notice.command = []  # default
notice.webhook = ""  # default
notice.events = ["failed", "waiting_for_person", "quota", "unavailable", "budget", "noop_streak", "wip_full", "lane_overdue", "grades_changed", "source_failed"]  # default
notice.every = "1h"  # default
notice.timeout = "10s"  # default
notice.pass_environment = ["PATH", "HOME", "LANG"]  # default
budget.runs = 100  # stint.toml:71
budget.tokens = 0  # default
budget.usd = 0.0  # default
budget.session_tokens = 0  # default
budget.session_usd = 0.0  # default
price."gpt-5*".input = 1.25  # stint.toml:75
price."gpt-5*".cached_input = 0.125  # stint.toml:76
price."gpt-5*".cache_write = 1.25  # default
price."gpt-5*".output = 10.0  # stint.toml:77
price."gpt-5*".as_of = "2026-11-01"  # stint.toml:78
worktrees.keep = 20  # default
worktrees.max_age = "168h"  # default
runs.keep = 1000  # default
runs.max_age = "720h"  # default
runs.out = "16M"  # default
agent.claude.preset = "command"  # default
agent.claude.command = ["claude", "-p", "$HOME %n é\n"]  # stint.toml:29
agent.claude.prompt = "argument"  # stint.toml:30
agent.claude.environment.MODEL = "big \"one\"\\\u0007"  # stint.toml:31
agent.claude.pass_environment = []  # stint.toml:32
agent.claude.slots = 0  # default
agent.claude.silence = "0s"  # default
agent.claude.trust = false  # default
agent.claude.transcript = "text"  # default
agent.claude.quota = []  # default
agent.claude.throttle = []  # default
agent.claude.reports_cost = true  # stint.toml:33
agent.claude.session_log = ""  # default
agent.claude.budget.runs = 0  # default
agent.claude.budget.tokens = 0  # default
agent.claude.budget.usd = 1.0  # stint.toml:73
agent.claude.budget.session_tokens = 0  # default
agent.claude.budget.session_usd = 0.0  # default
agent.codex.preset = "command"  # default
agent.codex.command = ["codex"]  # stint.toml:35
agent.codex.prompt = "stdin"  # default
agent.codex.environment = {}  # default
agent.codex.pass_environment = ["PATH", "HOME", "LANG"]  # default
agent.codex.slots = 2  # stint.toml:36
agent.codex.silence = "0s"  # default
agent.codex.trust = true  # stint.toml:37
agent.codex.transcript = "text"  # default
agent.codex.quota = []  # default
agent.codex.throttle = []  # default
agent.codex.reports_cost = true  # stint.toml:38
agent.codex.session_log = ""  # default
agent.codex.budget.runs = 0  # default
agent.codex.budget.tokens = 0  # default
agent.codex.budget.usd = 0.0  # default
agent.codex.budget.session_tokens = 0  # default
agent.codex.budget.session_usd = 0.0  # default
category.cleanup.pool = "autonomous"  # default
category.cleanup.share = 0.75  # default
category.cleanup.agents = ["claude"]  # stint.toml:40
category.cleanup.lanes = 1  # default
category.cleanup.ttl = "1h"  # default
category.cleanup.timeout = "50m"  # default
category.cleanup.cooldown = "3m"  # default
category.cleanup.self_directed = false  # default
category.cleanup.parallel = false  # stint.toml:41
category.cleanup.prompt = ""  # default
category.cleanup.check = []  # default
category.cleanup.check_timeout = "5m"  # default
category.cleanup.grader = []  # default
category.cleanup.grader_timeout = "3m"  # default
category.cleanup.workspace = "shared"  # default
category.cleanup.sync = false  # default
category.cleanup.respawn = 0.65  # default
category.cleanup.max_chain = 1  # default
category.cleanup.budget.runs = 0  # default
category.cleanup.budget.tokens = 0  # default
category.cleanup.budget.usd = 0.0  # default
category.cleanup.budget.session_tokens = 0  # default
category.cleanup.budget.session_usd = 0.0  # default
category.cleanup.wip.command = []  # default
category.cleanup.wip.limit = 5  # default
category.cleanup.wip.timeout = "20s"  # default
category.cleanup.wip.pass_environment = ["PATH", "HOME", "LANG"]  # default
category.cleanup.unit = {}  # default
category.code.pool = "autonomous"  # default
category.code.share = 0.25  # stint.toml:44
category.code.agents = ["codex", "claude"]  # stint.toml:45
category.code.lanes = 3  # stint.toml:46
category.code.ttl = "2h"  # stint.toml:47
category.code.timeout = "1h30m"  # stint.toml:48
category.code.cooldown = "1m30s"  # stint.toml:49
category.code.self_directed = true  # stint.toml:50
category.code.parallel = true  # default
category.code.prompt = "FOLDER/prompts/code.md"  # stint.toml:51
category.code.check = ["make", "test"]  # stint.toml:52
category.code.check_timeout = "1m30s"  # stint.toml:53
category.code.grader = ["judge", "claude"]  # stint.toml:54
category.code.grader_timeout = "1m"  # stint.toml:55
category.code.workspace = "shared"  # default
category.code.sync = false  # default
category.code.respawn = 0.8  # stint.toml:56
category.code.max_chain = 3  # stint.toml:57
category.code.budget.runs = 10  # stint.toml:58
category.code.budget.tokens = 1000000  # stint.toml:58
category.code.budget.usd = 2.5  # stint.toml:58
category.code.budget.session_tokens = 0  # default
category.code.budget.session_usd = 0.0  # default
category.code.wip.command = []  # default
category.code.wip.limit = 5  # default
category.code.wip.timeout = "20s"  # default
category.code.wip.pass_environment = ["PATH", "HOME", "LANG"]  # default
category.code.unit.CPUQuota = 1.0  # stint.toml:62
category.code.unit.CPUWeight = 50  # stint.toml:61
category.code.unit.LoadCredential = ["a", "b"]  # stint.toml:64
category.code.unit.MemoryMax = "4G"  # stint.toml:60
category.code.unit.NoNewPrivileges = true  # stint.toml:63
`
	if diff := cmp.Diff(b.String(), want); diff != "" {
		t.Errorf("values (-got +want):\n%s", diff)
	}
}

// asFile is the configuration that the values of c make.
func asFile(c *config.Config) string {
	var b strings.Builder
	for _, v := range c.Values() {
		b.WriteString(v.Key + " = " + v.Value + "\n")
	}
	return b.String()
}

func TestValuesAreTheWholeConfig(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"least": least,
		"full":  full,
		"units": least + `unit = { A = [[1], { b = 2.5e300, "c d" = [] }], T = 2026-01-02T03:04:05.5+02:00, D = 2026-01-02, H = 03:04:05, L = 2026-01-02T03:04:05, I = -inf, S = "\t\r\u007f" }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := load(t, text)
			if err := os.WriteFile(want.Path, []byte(asFile(want)), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := config.Load(want.Path, config.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, asFile(want))
			}
			if diff := cmp.Diff(got, want, plain); diff != "" {
				t.Errorf("read back (-got +want):\n%s", diff)
			}
		})
	}
}
