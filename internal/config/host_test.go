package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/config"
	"stint/internal/testkit/must"
)

// hosts has a section for a machine with little, and one for a machine with more.
const hosts = `fleet = "bob"
state = "/var/bob"
[agent.claude]
command = ["claude"]
[agent.codex]
command = ["codex"]
[category.code]
agents = ["codex", "claude"]
[category.heavy]
agents = ["claude"]
hosts = ["gpu-?", "label:big"]
[category.mail]
agents = ["codex"]
hosts = ["cpu-1"]
pool = "night"
[category.watch]
agents = ["claude"]
pool = "monitoring"
[pool.monitoring]
[pool.night]
[fanout]
workers = 2
[host.cpu-1]
workers = 1
pools = ["autonomous", "night"]
agents = ["claude"]
[host."big.example.org"]
slots = 40
labels = ["big", "new"]
`

// on loads a file as a machine with that hostname does. Its state folders have identities by the
// names in named.
func on(t *testing.T, text, hostname string, named map[string]string) (*config.Config, error) {
	t.Helper()
	return config.Load(write(t, text), config.Options{Host: func(state string) string {
		if name := named[state]; name != "" {
			return name
		}
		return hostname
	}})
}

func TestHostSections(t *testing.T) {
	t.Parallel()
	own := func(c *config.Config) map[string]any {
		misplaced := map[string]string{}
		for _, name := range c.CategoryNames() {
			if why := c.NotForHost(name) + c.Unfired(c.Categories[name].Pool); why != "" {
				misplaced[string(name)] = why
			}
		}
		return map[string]any{
			"state": c.State, "workers": c.Pools[config.DefaultPool].Workers, "slots": c.Fanout.Slots, "agents": c.Categories["code"].Agents,
			"timers": c.FiredPools(), "out": misplaced,
		}
	}
	all, both := []string{"autonomous", "monitoring", "night"}, []string{"codex", "claude"}
	for _, test := range []struct {
		name, hostname string
		named          map[string]string
		want           map[string]any
	}{
		{"no section", "gpu-2", nil, map[string]any{
			"state": "/var/bob", "workers": 2, "slots": 6, "agents": both, "timers": all,
			"out": map[string]string{"mail": "its hosts are cpu-1, and this is gpu-2"},
		}},
		{"own section", "cpu-1", nil, map[string]any{
			"state": "/var/bob", "workers": 1, "slots": 6, "agents": []string{"claude"}, "timers": []string{"autonomous", "night"},
			"out": map[string]string{
				"heavy": "its hosts are gpu-? and label:big, and this is cpu-1",
				"mail":  "cpu-1 has none of its agents: codex",
				"watch": "cpu-1 does not fire pool monitoring",
			},
		}},
		{"by a label", "big.example.org", nil, map[string]any{
			"state": "/var/bob", "workers": 2, "slots": 40, "agents": both, "timers": all,
			"out": map[string]string{"mail": "its hosts are cpu-1, and this is big.example.org"},
		}},
		{"by its identity", "renamed", map[string]string{"/var/bob": "cpu-1"}, map[string]any{
			"state": "/var/bob", "workers": 1, "slots": 6, "agents": []string{"claude"}, "timers": []string{"autonomous", "night"},
			"out": map[string]string{
				"heavy": "its hosts are gpu-? and label:big, and this is cpu-1",
				"mail":  "cpu-1 has none of its agents: codex",
				"watch": "cpu-1 does not fire pool monitoring",
			},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := must.Get(on(t, hosts, test.hostname, test.named))(t)
			if diff := cmp.Diff(own(c), test.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
			if got := c.Warnings(); len(got) != 0 {
				t.Errorf("got warnings %v, want none", got)
			}
		})
	}
}

// TestHostHasThePool has the fire of the default pool start what the host says, though the pool
// has a number of its own.
func TestHostHasThePool(t *testing.T) {
	t.Parallel()
	c := must.Get(on(t, hosts+"[pool.autonomous]\nworkers = 7\nslots = 9\n", "cpu-1", nil))(t)
	if got, want := c.Pools[config.DefaultPool], (config.Pool{Workers: 1, Slots: 9}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c = must.Get(on(t, hosts+"[host.gpu-3]\nworkers = 50\n", "gpu-3", nil))(t)
	if w := c.Warnings(); len(w) != 1 || !strings.HasSuffix(w[0].Pos, ":31:1") || !strings.Contains(w[0].Text, "workers (50) is above slots (6)") {
		t.Errorf("got warnings %v", w)
	}
}

// TestHostValues shows what holds, and where it comes from.
func TestHostValues(t *testing.T) {
	t.Parallel()
	want := must.Get(on(t, hosts, "big.example.org", nil))(t)
	var lines []string
	for _, v := range want.Values() {
		if strings.Contains(v.Key, "host.") || v.Key == "state" || strings.HasSuffix(v.Key, ".slots") || v.Key == "fanout.workers" {
			lines = append(lines, v.Key+" = "+v.Value+"  # "+v.Origin)
		}
	}
	if diff := cmp.Diff(lines, []string{
		`state = "/var/bob"  # stint.toml:2`,
		`agent.claude.slots = 0  # default`,
		`agent.codex.slots = 0  # default`,
		`fanout.workers = 2  # stint.toml:22`,
		`fanout.slots = 40  # stint.toml:28`,
		`host."big.example.org".slots = 40  # stint.toml:28`,
		`host."big.example.org".labels = ["big", "new"]  # stint.toml:29`,
		`pool.autonomous.slots = 40  # default`,
		`pool.monitoring.slots = 2  # default`,
		`pool.night.slots = 2  # default`,
	}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	must.Do(t, os.WriteFile(want.Path, []byte(asFile(want)), 0o600))
	got := must.Get(config.Load(want.Path, config.Options{Host: func(string) string { return "big.example.org" }}))(t)
	must.Equal(t, "read back", got, want, plain, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(config.Config{}, "Hosts"))
}

func TestLoadRefusesHosts(t *testing.T) {
	t.Parallel()
	const section, name = least + "[host.far]\n", "1 to 64 of a-z, A-Z, 0-9, ., _ and -, not starting with ., _ or -"
	refuses(t, []unfit{ // though it is another host's section
		{"unknown key", section + "worker = 1", "7:1: host.far.worker: unknown key", "did you mean workers?"},
		{"key of another table", section + "allow = 1", "7:1: host.far.allow: unknown key", "want one of: agents, labels, pools, slots, workers"},
		{"no worker", section + "workers = 0", "7:1: host.far.workers: want a whole number of 1 or more, not 0", "write workers = 1"},
		{"unknown pool", section + "pools = [\"night\"]\n[pool.nigh]", `7:10: host.far.pools[0]: there is no pool "night"`, "did you mean nigh?"},
		{"no pool", section + "pools = []", "7:1: host.far.pools: want at least one, not an empty list", `write pools = ["…"]`},
		{"unknown agent", section + `agents = ["cloude"]`, `7:11: host.far.agents[0]: there is no agent "cloude"`, "did you mean claude?"},
		{"label", section + `labels = ["a b"]`, `7:11: host.far.labels[0]: a label is ` + name, `write it like "big"`},
		{"name", least + "[host.\"a b\"]", `6:7: host."a b": a host's name is ` + name, "rename it, as in [host.gpu-1]"},
		{"no table", least + "[host]\nfar = 1", "7:1: host.far: want a table, not 1", "write [host.far]"},
		{"pattern", least + `hosts = ["gpu-["]`, "6:10: category.code.hosts[0]: that is no pattern of hosts' names", `write it like "gpu-*", or "label:big"`},
		{"label of a category", least + `hosts = ["label:"]`, "6:10: category.code.hosts[0]: a label is " + name, `write it like "label:big"`},
	})
}

func TestLabelThatNoHostHas(t *testing.T) {
	t.Parallel()
	c := load(t, strings.Replace(hosts, `"label:big"`, `"label:bog"`, 1))
	var got []string
	for _, p := range c.Warnings() {
		got = append(got, strings.TrimPrefix(p.Pos, filepath.Dir(c.Path)+"/")+": "+p.Text)
	}
	must.Equal(t, "warnings", got, []string{"stint.toml:11:19: category.heavy.hosts[1]: no host has the label bog"})
}
