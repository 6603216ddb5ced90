package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// pools has a category of each pool, and room for the second in the fleet's slots.
const pools = least + `[category.watch]
pool = "monitoring"
[pool.monitoring]
slots = 2
workers = 1
[pool.autonomous]
slots = 4
`

func TestPools(t *testing.T) {
	t.Parallel()
	c := load(t, pools)
	want := map[string]config.Pool{"autonomous": {Workers: 3, Slots: 4}, "monitoring": {Workers: 1, Slots: 2}}
	must.Equal(t, "pools", c.Pools, want)
	for category, pool := range map[fleet.Category]string{"code": config.DefaultPool, "watch": "monitoring"} {
		if got := c.Categories[category].Pool; got != pool {
			t.Errorf("%s: got pool %q, want %q", category, got, pool)
		}
	}
	if got := c.Warnings(); len(got) != 0 {
		t.Errorf("got warnings %v, want none", got)
	}
	if _, err := c.Pool("monitorin"); !errors.Is(err, fleet.ErrUsage) || fleet.Hint(err) != "the pools are autonomous, monitoring" {
		t.Errorf("a pool that is not there: got %v, hint %q", err, fleet.Hint(err))
	}
}

func TestPoolDefaults(t *testing.T) {
	t.Parallel()
	c := load(t, least+"[pool.ops]\n[fanout]\nworkers = 5\nslots = 9\n")
	want := map[string]config.Pool{"autonomous": {Workers: 5, Slots: 9}, "ops": {Workers: 1, Slots: 2}}
	must.Equal(t, "pools", c.Pools, want)
}

// TestPoolNames has the pool first that fires start by default: a view that shows one timer
// shows that one's.
func TestPoolNames(t *testing.T) {
	t.Parallel()
	c := load(t, least+"[pool.ops]\n[pool.archive]\n")
	must.Equal(t, "names", c.PoolNames(), []string{"autonomous", "archive", "ops"})
}

func TestPoolsAreTheWholeConfig(t *testing.T) {
	t.Parallel()
	want := load(t, pools)
	got := load(t, strings.ReplaceAll(asFile(want), want.Workspace, "/work"))
	ignored := cmpopts.IgnoreFields(config.Config{}, "Path", "Workspace", "Tasks.Dir", "Lessons.Dir")
	must.Equal(t, "read back", got, want, plain, ignored, cmpopts.EquateEmpty())
}

func TestLoadRefusesPools(t *testing.T) {
	t.Parallel()
	const rename = "rename it, as in [pool.monitoring]"
	const name = "a pool's name is 1 to 32 of a-z, 0-9, _ and -, not starting with _ or -"
	refuses(t, []unfit{
		{"unknown pool", pools + "[category.docs]\npool = \"monitorin\"", `14:1: category.docs.pool: there is no pool "monitorin"`, "did you mean monitoring?"},
		{"no pool", least + "pool = \"\"", `6:1: category.code.pool: there is no pool ""`, "want one of: autonomous"},
		{"pool of another type", least + "pool = 1", "6:1: category.code.pool: want a string, not 1", `write pool = "autonomous"`},
		{"upper case", least + "[pool.Ops]", "6:7: pool.Ops: " + name, rename},
		{"unit's words", least + "[pool.\"a b\"]", `6:7: pool."a b": ` + name, rename},
		{"dash first", least + "[pool.-a]", "6:7: pool.-a: " + name, rename},
		{"no slots", least + "[pool.ops]\nslots = 0", "7:1: pool.ops.slots: want a whole number of 1 or more, not 0", "write slots = 1"},
		{"unknown key", least + "[pool.ops]\nworker = 1", "7:1: pool.ops.worker: unknown key", "did you mean workers?"},
		{"no table", least + "[pool]\nops = 1", "7:1: pool.ops: want a table, not 1", "write [pool.ops]"},
	})
}

func TestPoolWarnings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		least + "[pool.ops]":          "pool.ops: no category is of it: its fires start nothing",
		pools + "workers = 5":         "pool.autonomous.workers: workers (5) is above slots (4): a fire starts no more than there are slots",
		pools + "[fanout]\nslots = 3": "pool.autonomous.slots: slots (4) is above those of the fleet (3), which bound it",
	} {
		got := ""
		for _, p := range load(t, text).Warnings() {
			got += p.Text
		}
		if got != want {
			t.Errorf("%s\ngot %q, want %q", text, got, want)
		}
	}
}
