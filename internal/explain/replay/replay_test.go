package replay

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/testkit/must"
)

const testRedraws = 20

// record fires on an input as an engine does, and stores what it stores.
func record(t rapid.TB, in rank.Input, payload []byte) fleet.Fire {
	t.Helper()
	f := fleet.Fire{ID: in.Fire, At: in.At, Seed: in.Seed, Workers: in.Workers, Inputs: marshal(t, in), Selection: payload}
	s := rank.Rank(in)
	own := s.Payload()
	decision := rank.PlanInput{Input: in, Order: s.ByDraws()}
	for _, c := range in.Candidates {
		if c.Out != rank.ReasonNotAllowed {
			decision.Allowed = append(decision.Allowed, c.Category)
		}
	}
	slices.Reverse(decision.Allowed) // no order that the inputs would give
	f.Own, f.Allowed = payload == nil, decision.Allowed
	if payload == nil {
		f.Selection = marshal(t, own)
		decision.Request, decision.Scores, decision.Odds = own.Request(), s.Scores, s.Odds(testRedraws)
	} else {
		var err error
		if decision.Request, err = rank.ParsePayload(payload); err != nil {
			t.Fatal(err)
		}
	}
	f.Choices = rank.Decide(decision).Choices
	for i := range f.Choices {
		if f.Choices[i].Decision == fleet.Spawn {
			f.Choices[i].Run = fleet.RunID(string(f.Choices[i].Category) + "-run")
		}
	}
	return f
}

func marshal(t rapid.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFireIsIdentical replays whatever a fire may have recorded.
func TestFireIsIdentical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		f := record(t, in, nil)
		back := must.Get(Read(f))(t)
		must.Equal(t, "inputs", back, in, cmpopts.EquateEmpty())
		if got, want := marshal(t, back), f.Inputs; string(got) != string(want) {
			t.Errorf("got the inputs\n%s, want\n%s", got, want)
		}
		r := must.Get(Fire(f, testRedraws))(t)
		if len(r.Differences) != 0 || !r.Followed {
			t.Errorf("got followed=%v and %+v, want stint's own and identical", r.Followed, r.Differences)
		}
	})
}

// TestFireOfAnotherSelector replays the decisions about a payload that was handed in,
// also one that stint wrote.
func TestFireOfAnotherSelector(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		payload := rapid.SampledFrom([]string{
			`{}`, `{"schema":"stint/selection@1"}`, `{"selected":{"category":"no such"}}`,
			`{"selected":{"category":"a"},"all_scores":{"b":1,"c":0}}`,
			string(marshal(t, rank.Rank(drawInput(t)).Payload())),
		}).Draw(t, "payload")
		f := record(t, in, []byte(payload))
		r := must.Get(Fire(f, testRedraws))(t)
		if len(r.Differences) != 0 || r.Followed {
			t.Errorf("got followed=%v and %+v, want another's and identical", r.Followed, r.Differences)
		}
	})
}

func TestFireTellsDifferences(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*fleet.Fire)
		want   []string // fields
	}{
		{"nothing", func(*fleet.Fire) {}, nil},
		{"failed start", func(f *fleet.Fire) { f.Choices[0].Decision, f.Choices[0].Reason = fleet.StartFailed, "no unit" }, nil},
		{"paused since", func(f *fleet.Fire) {
			c := &f.Choices[0]
			c.Decision, c.By, c.Run, c.Refusal, c.Reason = fleet.Skip, fleet.HinderedByPause, "", "paused: lunch", c.Reason+"; paused: lunch"
		}, nil},
		{"seed", func(f *fleet.Fire) { f.Seed++ }, []string{"seed"}},
		{"workers", func(f *fleet.Fire) { f.Workers++ }, []string{"workers"}},
		{"payload's bytes", func(f *fleet.Fire) { f.Selection = append(f.Selection, '\n') }, []string{"selection, from byte"}},
		{"payload's field", replaced(`"tier":3`, `"tier":2`), []string{"selection.tier"}},
		{"payload's digits", replaced(`"share":0.5,`, `"share":0.50,`), []string{"selection.explain.a.share"}},
		{"payload's missing field", replaced(`"tier":3,`, ``), []string{"selection.tier"}},
		{"payload's list", replaced(`"blocked_tasks":[]`, `"blocked_tasks":[1]`), []string{"selection.blocked_tasks.0"}},
		{"no payload", func(f *fleet.Fire) { f.Selection = nil }, []string{"selection, from byte 0"}},
		{"reason", func(f *fleet.Fire) { f.Choices[1].Reason = "another" }, []string{"choices[1] (b).reason"}},
		{"score", func(f *fleet.Fire) { f.Choices[0].Score = math.Nextafter(f.Choices[0].Score, 2) }, []string{"choices[0] (a).score"}},
		{"odds", func(f *fleet.Fire) { f.Choices[1].Odds = nil }, []string{"choices[1] (b).odds"}},
		{"choice missing", func(f *fleet.Fire) { f.Choices = f.Choices[:1] }, []string{"choices[1]"}},
		{"choice too many", func(f *fleet.Fire) { f.Choices = append(f.Choices, fleet.Choice{Category: "c"}) }, []string{"choices[2]"}},
		{"another category", func(f *fleet.Fire) { f.Choices[0].Category = "c" }, []string{"choices[0]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := record(t, plainInput(1), nil)
			tt.change(&f)
			r := must.Get(Fire(f, testRedraws))(t)
			var got []string
			for _, d := range r.Differences {
				got = append(got, d.Field)
			}
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("got differences in %q, want %q", got, tt.want)
			}
		})
	}
}

func replaced(old, by string) func(*fleet.Fire) {
	return func(f *fleet.Fire) { f.Selection = []byte(strings.Replace(string(f.Selection), old, by, 1)) }
}

// plainInput has two categories, a well ahead of b, and one worker.
func plainInput(fire fleet.FireID) rank.Input {
	good := rank.Evidence{Fast: rank.Sums{W: 50, S: 45, G2: 45}, Slow: rank.Sums{W: 50, S: 45, G2: 45}}
	bad := rank.Evidence{Fast: rank.Sums{W: 50, S: 5, G2: 5}, Slow: rank.Sums{W: 50, S: 5, G2: 5}}
	return rank.Input{
		Settings: rank.Defaults(), Seed: uint64(fire), Fire: fire, At: time.Unix(1_800_000_000, 0).UTC(), Workers: 1, Free: 6,
		Candidates: []rank.Candidate{
			{Category: "a", Share: 0.5, Arm: rank.Arm{Evidence: good}},
			{Category: "b", Share: 0.5, Arm: rank.Arm{Evidence: bad}},
		},
	}
}

func TestReadRefusesOtherFormats(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "{}", "[]", `{"posteriors":{"code":{"a":1,"b":1}}}`, `{"settings":{"v":0}}`, `{"settings":{"v":1},"new":1}`} {
		if _, err := Read(fleet.Fire{ID: 3, Inputs: []byte(text)}); err == nil || !strings.Contains(err.Error(), "fire 3") {
			t.Errorf("got %v for %s, want an error that names the fire", err, text)
		}
	}
}

// TestFloatsSurviveJSON holds the format in which inputs are stored against every finite
// number that a sum may be: also the smallest, and the zero below zero.
func TestFloatsSurviveJSON(t *testing.T) {
	t.Parallel()
	survives := func(t rapid.TB, x float64) {
		t.Helper()
		var back rank.Arm
		if err := json.Unmarshal(marshal(t, rank.Arm{Evidence: rank.Evidence{Fast: rank.Sums{S: x}}}), &back); err != nil {
			t.Fatal(err)
		}
		if got := back.Fast.S; math.Float64bits(got) != math.Float64bits(x) {
			t.Errorf("got %x, want %x", math.Float64bits(got), math.Float64bits(x))
		}
	}
	for _, x := range []float64{
		0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64,
		0x1p-1022, math.Nextafter(0x1p-1022, 0), 0.1, 1.0 / 3, 1e21, 1e-7, math.Nextafter(1, 2),
	} {
		survives(t, x)
	}
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint64().Draw(t, "bits")
		if rapid.Bool().Draw(t, "denormal") {
			bits &^= 0x7ff << 52
		}
		if x := math.Float64frombits(bits); !math.IsNaN(x) && !math.IsInf(x, 0) {
			survives(t, x)
		}
	})
}

// drawInput draws what a fire may find, plausible or not.
func drawInput(t *rapid.T) rank.Input {
	in := rank.Input{
		Settings: rank.Settings{
			V: rapid.Float64Range(0.1, 1000).Draw(t, "v"), Floor: rapid.Float64Range(0, 1).Draw(t, "floor"),
			Cap:          rapid.SampledFrom([]float64{0, 1, 1.8, 1000}).Draw(t, "cap"),
			HalfLife:     rapid.SampledFrom([]float64{0, 1, 300}).Draw(t, "half_life"),
			SlowHalfLife: rapid.SampledFrom([]float64{0, 3000.5, 1e6}).Draw(t, "slow_half_life"),
			Depletion:    rapid.Bool().Draw(t, "depletion"), Anchor: rapid.Bool().Draw(t, "anchor"), Dispersion: rapid.Bool().Draw(t, "dispersion"),
		},
		Seed: rapid.Uint64().Draw(t, "seed"), Fire: fleet.FireID(rapid.Int64Range(1, 1e6).Draw(t, "fire")),
		At:      time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
		Workers: rapid.IntRange(0, 5).Draw(t, "workers"), Free: rapid.IntRange(0, 5).Draw(t, "free"),
	}
	for _, name := range []fleet.Category{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "categories")] {
		in.Candidates = append(in.Candidates, drawCandidate(t, name))
	}
	if rapid.Bool().Draw(t, "blocked") {
		until := in.At.Add(time.Hour)
		in.Blocked = []rank.BlockedTask{
			{ID: fleet.TaskID(drawText(t)), Category: "a", Reason: drawText(t), Holder: "h", ExpiresAt: &until},
			{ID: "other", Category: "no such", Reason: drawText(t)},
		}
	}
	return in
}

func drawCandidate(t *rapid.T, name fleet.Category) rank.Candidate {
	round := fleet.Round(rapid.Int64Range(1, 1e6).Draw(t, "round"))
	c := rank.Candidate{
		Category: name, Out: rapid.SampledFrom([]string{"", "", "", rank.ReasonNotAllowed, "paused: <&>"}).Draw(t, "out"),
		Share: rapid.Float64Range(0, 1).Draw(t, "share"), Pending: rapid.IntRange(0, 3).Draw(t, "pending"),
		Tasks: rapid.IntRange(0, 9).Draw(t, "tasks"), LOO: rapid.Float64Range(-0.2, 0.2).Draw(t, "loo"),
		Arm: rank.Arm{
			Round: round,
			Evidence: rank.Evidence{
				At: round - fleet.Round(rapid.Int64Range(0, 500).Draw(t, "age")), Fast: drawSums(t), Slow: drawSums(t),
				Graded: rapid.IntRange(0, 99).Draw(t, "graded"),
			},
			Account: rank.Account{
				Sessions: rapid.IntRange(0, 99).Draw(t, "sessions"), Entitled: rapid.Float64Range(0, 99).Draw(t, "entitled"),
				Deficit: rapid.Float64Range(0, 9).Draw(t, "deficit"), Surplus: rapid.Float64Range(0, 9).Draw(t, "surplus"),
				Due: rapid.Float64Range(0, 1).Draw(t, "due"), Since: rapid.IntRange(0, 3).Draw(t, "since"),
				Load: rapid.Float64Range(0, 1).Draw(t, "load"), LoadAt: round,
			},
		},
	}
	if l := c.Arm.Fast; rapid.Bool().Draw(t, "slope") {
		c.Arm.Slope = rank.Regression{N: l.W, X: l.W / 3, G: l.S, XX: l.W / 5, XG: l.S / 4}
	}
	if rapid.Bool().Draw(t, "pairs") {
		c.Agents, c.Pairs = []string{"x", "y", "z"}, rank.Pairs{"y": {At: round, Sums: drawSums(t)}, "z": {Sums: drawSums(t)}}
	}
	if rapid.Bool().Draw(t, "asleep") {
		c.Arm.Sleep(round, time.Unix(1, 1).UTC())
	}
	if rapid.Bool().Draw(t, "next") {
		states := []fleet.TaskState{fleet.StateActive, fleet.StateTodo}
		c.Next = &rank.Next{ID: fleet.TaskID(drawText(t)), State: rapid.SampledFrom(states).Draw(t, "state"), NextAction: drawText(t)}
	}
	return c
}

// drawSums are of grades in [0,1], also so faded that next to nothing is left.
func drawSums(t *rapid.T) rank.Sums {
	w := rapid.Float64Range(0, 1e4).Draw(t, "w") * rapid.SampledFrom([]float64{1, 1e-9, 1e-300, 0}).Draw(t, "faded")
	s := w * rapid.Float64Range(0, 1).Draw(t, "mean")
	return rank.Sums{W: w, S: s, G2: s * rapid.Float64Range(0, 1).Draw(t, "square")}
}

func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"fix", "<b>&\u2028", "naïve \"quotes\"", "日本語", "\ufffd", "tab\there"}).Draw(t, "text")
}
