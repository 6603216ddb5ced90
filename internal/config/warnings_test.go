package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/config"
	"stint/internal/testkit/must"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		want       []config.Problem
	}{
		{"none", least, nil},
		{"in the file's order", least + "[fanout]\nallow = []\n[category.docs]\nself_directed = true\n", []config.Problem{
			{Pos: ":7:1", Text: "fanout.allow: no category is allowed: a fire starts nothing"},
			{Pos: ":9:1", Text: "category.docs.self_directed: without a prompt its sessions have nothing to go by"},
		}},
		{"neither a box nor a sandbox", strings.Replace(least, `["claude", "-p"]`, `["codex", "--sandbox", "danger-full-access"]`+"\npreset = \"codex\"\nbox = \"open\"", 1), []config.Problem{
			{Pos: ":6:1", Text: "agent.claude.box: nothing holds this agent, neither a box nor its own sandbox, which its command turns off: leave command out, or change it"},
		}},
		{"a sandbox in the box", strings.Replace(least, `["claude", "-p"]`, `["codex", "--sandbox", "workspace-write"]`+"\npreset = \"codex\"", 1), []config.Problem{
			{Pos: ":4:1", Text: "agent.claude.command: in its box the agent cannot make the sandbox that its command asks for: leave command out"},
		}},
		{"more workers than slots", least + "[fanout]\nworkers = 7\n", []config.Problem{
			{Pos: ":7:1", Text: "fanout.workers: workers (7) is above slots (6): a fire starts no more than there are slots"},
		}},
		{"fewer slots than workers", least + "[fanout]\nslots = 2\n", []config.Problem{
			{Pos: ":7:1", Text: "fanout.slots: workers (3) is above slots (2): a fire starts no more than there are slots"},
		}},
		{"nothing allowed", least + "[fanout]\nallow = []\n", []config.Problem{
			{Pos: ":7:1", Text: "fanout.allow: no category is allowed: a fire starts nothing"},
		}},
		{"shares above 1", least + "share = 0.7\n[category.docs]\nshare = 0.6\n", []config.Problem{
			{Pos: ":8:1", Text: "category.docs.share: the shares that are given sum to 1.3, which is more than 1"},
		}},
		{"shares above 1, and one without", least + "[category.docs]\nshare = 0.7\n[category.a]\nshare = 0.6\n", []config.Problem{
			{Pos: ":9:1", Text: "category.a.share: the shares that are given sum to 1.3, which is more than 1: nothing is left for the categories without one (1)"},
		}},
		{"no share left", least + "share = 0.7\n[category.a]\nshare = 0.2\n[category.b]\nshare = 0.1\n[category.docs]\n[category.ops]\n", []config.Problem{
			{Pos: ":10:1", Text: "category.b.share: the shares that are given sum to 1: nothing is left for the categories without one (2)"},
		}},
		{"all shares given", least + "share = 0.7\n[category.a]\nshare = 0.2\n[category.b]\nshare = 0.1\n", nil},
		{"shares below 1", least + "share = 0.7\n[category.a]\n", nil},
		{"a claim shorter than a session, on several machines", "store = \"postgres\"\n" + least + "ttl = \"50m\"\n", []config.Problem{
			{Pos: ":7:1", Text: "category.code.ttl: ttl is not longer than timeout: the task of a session that loses its supervisor is given to another machine while it works"},
		}},
		{"a session longer than a claim, on several machines", "store = \"postgres\"\n" + least + "timeout = \"1h\"\n", []config.Problem{
			{Pos: ":7:1", Text: "category.code.timeout: ttl is not longer than timeout: the task of a session that loses its supervisor is given to another machine while it works"},
		}},
		{"a claim shorter than a session, on one machine", least + "ttl = \"5m\"\n", nil},
		{"no prompt", least + "self_directed = true\n", []config.Problem{
			{Pos: ":6:1", Text: "category.code.self_directed: without a prompt its sessions have nothing to go by"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := load(t, test.file)
			for i := range test.want {
				test.want[i].Pos = c.Path + test.want[i].Pos
			}
			must.Equal(t, "warnings", c.Warnings(), test.want, cmpopts.EquateEmpty())
		})
	}
}
