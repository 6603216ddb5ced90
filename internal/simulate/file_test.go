package simulate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/simulate"
	"stint/internal/testkit/must"
)

const everything = `fires = 300
workers = 2
[grades]
noise = "beta"
concentration = 4
missing = 0.1
nothing = 0.2
[change]
kind = "walk"
sd = 0.02
low = 0.2
high = 0.8
swing = 0.1
[availability]
wake = 0.1
sleep = 0.2
[sessions]
median = 3
sigma = 0.5
slots = 9
lock = false
[depletion]
amount = 0.2
half_life = 4
[fates]
first = 0.5
sd = 0.1
correlation = 0.4
after = 2
until = 30
[respawn]
from = 0.7
max_chain = 2
[outage.night]
first = 40
last = 60
agent = "codex"
rest = true
[outage.broken]
category = "alpha"
outcome = "failed"
[pool.quick]
per_fire = 3
workers = 2
[lesson.style]
effect = -0.2
withhold = 0.5
category = "zulu"
last = 90
[policy.stint]
v = 30
half_life = inf
cap = 0
[policy.mine]
base = "stint"
learns = "never"
core = true
season = true
floor = 0.4
[policy.additive]
gamma = 1
[policy.sliding-ts]
window = 50
fairness = true
floor = 0.3
[category.zulu]
mean = 0.61
share = 0.2
supply_wake = 0.02
[category.alpha]
mean = 1
witness = "none"
report = 0.9
by_hand = 30
[category.bravo]
mean = 0
pool = "quick"
agent = "codex"
`

func TestLoadScenarioReadsEveryKey(t *testing.T) {
	t.Parallel()
	got := must.Get(simulate.Parse("/s.toml", []byte(everything)))(t)
	stint, mine := bandit.Defaults(), bandit.Defaults().Core()
	mine.Season = true
	sliding := bandit.Defaults()
	sliding.Floor = 0.3
	stint.V, stint.HalfLife, stint.Cap, mine.Floor = 30, 0, 0, 0.4
	want := &simulate.Scenario{
		Fires: 300, Workers: 2, Hosts: 1,
		Grades:       simulate.Grades{Noise: simulate.Graded, Concentration: 4, Missing: 0.1, Nothing: 0.2},
		Change:       simulate.Change{Kind: simulate.Walk, Every: 500, SD: 0.02, Low: 0.2, High: 0.8, Swing: 0.1},
		Availability: &simulate.Chain{Wake: 0.1, Sleep: 0.2},
		Sessions:     &simulate.Sessions{Median: 3, Sigma: 0.5, Slots: 9},
		Depletion:    &simulate.Depletion{Amount: 0.2, HalfLife: 4},
		Respawn:      &simulate.Respawn{From: 0.7, Most: 2},
		Fates:        &simulate.Fates{First: 0.5, SD: 0.1, Correlation: 0.4, After: 2, Until: 30},
		Outages: []simulate.Outage{
			{First: 40, Last: 60, Agent: "codex", Outcome: fleet.Unavailable, Rest: true},
			{First: 1, Last: 10_000_000, Category: "alpha", Outcome: fleet.Failed},
		},
		Lessons: []simulate.Lesson{{Name: "style", Category: "zulu", First: 1, Last: 90, Effect: -0.2, Withhold: 0.5}},
		Pools:   []simulate.Pool{{Name: "quick", PerFire: 3, Workers: 2}},
		Categories: []simulate.Category{
			{Name: "zulu", Mean: 0.61, Share: 0.2, Supply: &simulate.Chain{Wake: 0.02, Sleep: 0.05}, Witness: simulate.Grader},
			{Name: "alpha", Mean: 1, Share: 0.4, Witness: simulate.NoWitness, Report: new(0.9), ByHand: 30},
			{Name: "bravo", Mean: 0, Share: 0.4, Pool: "quick", Agent: "codex", Witness: simulate.Grader},
		},
		Policies: []simulate.Policy{
			{Name: "stint", Kind: simulate.Ranked, Settings: stint, Learns: simulate.Later},
			{Name: "mine", Kind: simulate.Ranked, Settings: mine, Learns: simulate.Never},
			{Name: "additive", Kind: simulate.Additive, Gamma: 1},
			{Name: "sliding-ts", Kind: simulate.SlidingTS, Settings: sliding, Fair: true, Gamma: 1, Window: 50},
		},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestLoadScenarioFillsInDefaults(t *testing.T) {
	t.Parallel()
	got := must.Get(simulate.Parse("/s.toml", []byte("[category.a]\nmean = 0.5\n")))(t)
	want := &simulate.Scenario{
		Fires: 2000, Workers: 3, Hosts: 1,
		Grades:     simulate.Grades{Noise: simulate.Bernoulli, Concentration: 8},
		Change:     simulate.Change{Kind: simulate.Still, Every: 500, SD: 0.01, Low: 0.15, High: 0.85, Swing: 0.2},
		Categories: []simulate.Category{{Name: "a", Mean: 0.5, Share: 1, Witness: simulate.Grader}},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestLoadScenarioRefuses(t *testing.T) {
	t.Parallel()
	const least = "[category.a]\nmean = 0.5\n"
	for _, test := range []struct{ name, text, want, hint string }{
		{"empty", " \n", "/s.toml:1:1: the file is empty", "stint simulate --help"},
		{"no TOML", "fires = = 1", "/s.toml:1:9: ", "correct the TOML"},
		{"no category", "fires = 1\n", "category: missing", "write [category.code]"},
		{"no mean", "[category.a]\n", "/s.toml:1:11: category.a.mean: missing", "write mean = 0.5"},
		{"mean above one", "[category.a]\nmean = 1.5\n", "/s.toml:2:1: category.a.mean: want a number from 0 to 1, not 1.5", "write mean = 1.0"},
		{"mean no number", "[category.a]\nmean = nan\n", "want a number from 0 to 1, not nan", "write mean"},
		{"name", "[category.A]\nmean = 0\n", `category "A": want 1 to 32`, "rename it"},
		{"misspelt", "worker = 3\n" + least, "/s.toml:1:1: worker: unknown key", "did you mean workers?"},
		{"no fires", "fires = 0\n" + least, "fires: want a whole number from 1 to 10000000, not 0", "write fires = 1"},
		{"so many fires", "fires = 9223372036854775807\n" + least, "fires: want a whole number", "write fires"},
		{"noise", least + "[grades]\nnoise = \"normal\"\n", `grades.noise: want "bernoulli" or "beta", not "normal"`, "write noise"},
		{"no table", "grades = 3\n" + least, "grades: want a table, not 3", "write [grades]"},
		{"bounds", least + "[change]\nkind = \"walk\"\nlow = 0.9\n", "change: low = 0.9 is not below high = 0.85", "write low"},
		{"never permutes", least + "[change]\nkind = \"permute\"\nevery = 0\n", "change.every: want a whole number", "write every = 1"},
		{"half-life", least + "[depletion]\nhalf_life = 0\n", "depletion.half_life: want a number from 0.001", "write half_life"},
		{"base", least + "[policy.mine]\nv = 3\n", "policy.mine.base: missing", `write base = "stint"`},
		{"unknown base", least + "[policy.mine]\nbase = \"mine\"\n", `policy.mine.base: want "stint" or`, "write base"},
		{"policy's key", least + "[policy.random]\nv = 3\n", "policy.random.v: unknown key", "remove it"},
		{"cap", least + "[policy.stint]\ncap = 0.5\n", "policy.stint.cap: want a number from 1 to 1e+09, not 0.5; or 0 for none", "write cap"},
		{"v", least + "[policy.stint]\nv = 0\n", "policy.stint.v: want a number from 0.001", "write v"},
		{"gamma", least + "[policy.additive]\ngamma = 1.1\n", "policy.additive.gamma: want a number from 0.001 to 1, not 1.1", "write gamma"},
		{"window", least + "[policy.sliding-ts]\nwindow = 0\n", "policy.sliding-ts.window: want a whole number", "write window = 1"},
		{"floor of one without", least + "[policy.ucb1]\nfloor = 0.3\n", "/s.toml:4:1: policy.ucb1.floor: unknown key", "want one of: fairness"},
		{"unknown pool", least + "pool = \"quick\"\n", "/s.toml:3:1: category.a.pool: there is no pool \"quick\"", "write [pool.quick]"},
		{"no default pool", least + "pool = \"q\"\n[pool.q]\n", "category: none is of the default pool", "leave out pool"},
		{"fires of a pool", least + "[pool.q]\nper_fire = 0\n", "/s.toml:4:1: pool.q.per_fire: want a whole number from 1", "write per_fire = 1"},
		{"end of an outage", least + "[outage.o]\nfirst = 9\nlast = 8\n", "/s.toml:5:1: outage.o.last: 8 is before first = 9", "write last = 9"},
		{"agent of an outage", least + "[outage.o]\nagent = \"codex\"\n", "/s.toml:4:1: outage.o.agent: no category has agent \"codex\"", "write agent = \"codex\" at one"},
		{"category of an outage", least + "[outage.o]\ncategory = \"b\"\n", "/s.toml:4:1: outage.o.category: there is no category \"b\"", "name one"},
		{"outcome of an outage", least + "[outage.o]\noutcome = \"noop\"\n", "/s.toml:4:1: outage.o.outcome: want \"unavailable\" or \"failed\", not \"noop\"", "write outcome"},
		{"effect of a lesson", least + "[lesson.l]\neffect = -2\n", "/s.toml:4:1: lesson.l.effect: want a number from -1 to 1, not -2", "write effect = "},
		{"end of a lesson", least + "[lesson.l]\nlast = 0\n", "/s.toml:4:1: lesson.l.last: want a whole number from 1", "write last = 1"},
		{"witness", least + "witness = \"me\"\n", "/s.toml:3:1: category.a.witness: want \"grader\" or \"none\" or \"changes\" or \"trust\", not \"me\"", "write witness"},
		{"report", least + "report = 2\n", "/s.toml:3:1: category.a.report: want a number from 0 to 1, not 2", "write report"},
		{"by hand", least + "by_hand = -1\n", "/s.toml:3:1: category.a.by_hand: want a whole number from 0", "write by_hand = 0"},
		{"nothing", "[grades]\nnothing = 1.5\n" + least, "/s.toml:2:1: grades.nothing: want a number from 0 to 1, not 1.5", "write nothing"},
		{"fates", "[fates]\nafter = 9\nuntil = 8\n" + least, "/s.toml:3:1: fates.until: 8 is before after = 9", "write until = 9"},
		{"respawn", "[respawn]\nmax_chain = 0\n" + least, "/s.toml:2:1: respawn.max_chain: want a whole number from 1", "write max_chain = 1"},
		{"policy's name", least + "[policy.\"<b>\"]\nbase = \"stint\"\n", "a policy's name is", "rename it"},
		{"both", "fires = 0\nworkers = 0\n" + least, "/s.toml:2:1: workers: want a whole number from 1 to 1000, not 0", "correct these 2 places, then: stint simulate /s.toml"},
		{"not UTF-8", least + "# \xff", "byte 0xff is not UTF-8", "save the file as UTF-8"},
		{"a thousand and one", manyCategories(1001), "category: want at most 1000, not 1001", "remove some"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := simulate.Parse("/s.toml", []byte(test.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if !errors.Is(err, fleet.ErrUsage) {
				t.Errorf("not a usage error: %v", err)
			}
			if got := err.Error(); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
			if got := fleet.Hint(err); !strings.Contains(got, test.hint) {
				t.Errorf("got hint %q, want %q in it", got, test.hint)
			}
		})
	}
}

func manyCategories(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[category.c%d]\nmean = 0.5\n", i)
	}
	return b.String()
}

func TestLoadScenarioOfOddFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.toml")
	must.Do(t, os.WriteFile(large, make([]byte, 1<<20+1), 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "none.toml"): "no such file",
		dir:                             "is a folder",
		large:                           "more than",
	} {
		if _, err := simulate.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", path, err, want)
		}
	}
}

// TestScenariosAreWhole reads those that this module ships.
func TestScenariosAreWhole(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../testdata/scenarios/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range paths {
		if _, err := simulate.Load(path); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte("[category.a]\nmean = 0.5\n[change]\nkind = \"walk\"\nsd = 1\nlow = 0.5\nhigh = 0.5000001\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := simulate.Parse("/s.toml", text)
		if err != nil || len(s.Categories) > 20 {
			return
		}
		s.Fires = min(s.Fires, 20)
		if _, err := simulate.Run(t.Context(), s, simulate.Options{Policies: s.AllPolicies(), Runs: 1, Parallel: 1}); err != nil {
			t.Error(err)
		}
	})
}
