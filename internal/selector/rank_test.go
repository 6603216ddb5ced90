package selector

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/bandit"
	"stint/internal/fleet"
)

func candidate(c fleet.Category, edits ...func(*Candidate)) Candidate {
	k := Candidate{Category: c, Allowed: true, Lanes: 1}
	for _, edit := range edits {
		edit(&k)
	}
	return k
}

func selfDirected(c *Candidate) { c.SelfDirected = true }

func forbidden(c *Candidate) { c.Allowed = false }

func inFlight(runs ...fleet.RunID) func(*Candidate) { return func(c *Candidate) { c.InFlight = runs } }

func lanes(n int) func(*Candidate) { return func(c *Candidate) { c.Lanes = n } }

// TestRankReasons asks for the reason of the first candidate; "in" stands for what
// it drew.
func TestRankReasons(t *testing.T) {
	t.Parallel()
	task := testTask("a")
	blocked := testTask("b", requires("gone"))
	tests := []struct {
		name      string
		candidate Candidate
		tasks     []fleet.Task
		held      []fleet.Claim
		only      fleet.Category
		want      string
	}{
		{"a task", candidate("code"), []fleet.Task{task}, nil, "", "in"},
		{"no task", candidate("code"), nil, nil, "", ReasonNoTask},
		{"a blocked task", candidate("code"), []fleet.Task{blocked}, nil, "", ReasonNoTask},
		{"a claimed task", candidate("code"), []fleet.Task{task, blocked}, heldBy("bob", "a"), "", ReasonAllClaimed},
		{"another's task", candidate("docs"), []fleet.Task{task}, heldBy("bob", "a"), "", ReasonNoTask},
		{"not allowed", candidate("code", forbidden), []fleet.Task{task}, nil, "", ReasonNotAllowed},
		{"not allowed, asked for", candidate("code", forbidden), []fleet.Task{task}, nil, "code", "in"},
		{"not asked for", candidate("code"), []fleet.Task{task}, nil, "docs", ReasonFiltered},
		{"lane busy", candidate("code", inFlight("0r1")), []fleet.Task{task}, nil, "", "lane busy: run 0r1"},
		{"lane busy, asked for", candidate("code", inFlight("0r1")), []fleet.Task{task}, nil, "code", "lane busy: run 0r1"},
		{"one lane of two busy", candidate("code", lanes(2), inFlight("0r1")), []fleet.Task{task}, nil, "", "in"},
		{"two lanes of two busy", candidate("code", lanes(2), inFlight("0r1", "0r2")), []fleet.Task{task}, nil, "", "lane busy: run 0r1"},
		{"self-directed", candidate("code", selfDirected), nil, nil, "", "in"},
		{"self-directed, lane claimed", candidate("code", selfDirected), nil, heldBy("run:0r0", "category:code:1"), "", ClaimBlocked},
		{"self-directed, lane claimed, a task", candidate("code", selfDirected), []fleet.Task{task}, heldBy("run:0r0", "category:code:1"), "", "in"},
		{"self-directed, one lane of two claimed", candidate("code", selfDirected, lanes(2)), nil, heldBy("run:0r0", "category:code:1"), "", "in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Rank(Input{Seed: 1, Fire: 1, At: noon(), Candidates: []Candidate{tt.candidate}, Tasks: tt.tasks, Held: tt.held, Only: tt.only})
			got := s.Scores[0]
			if in := tt.want == "in"; got.In != in || len(s.Ranked()) == 1 != in {
				t.Errorf("got in: %v, want %v", got.In, in)
			}
			if got.In && strings.HasPrefix(got.Reason, "drew 0.") {
				got.Reason = "in"
			}
			if got.Reason != tt.want {
				t.Errorf("got %q, want %q", got.Reason, tt.want)
			}
		})
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	all := []Candidate{candidate("code"), candidate("docs"), candidate("novelty", selfDirected)}
	begun := testTask("begun", inState(fleet.StateActive))
	tests := []struct {
		name       string
		candidates []Candidate
		tasks      []fleet.Task
		want       Tier
		first      string // "" when any may be
	}{
		{"an active task", all, []fleet.Task{begun, testTask("doc", inCategory("docs"))}, TierActive, "code"},
		{"an active task, its lane busy", []Candidate{candidate("code", inFlight("0r1")), candidate("docs")}, []fleet.Task{begun, testTask("doc", inCategory("docs"))}, TierReady, "docs"},
		{"a task to begin", all[:2], []fleet.Task{testTask("a")}, TierReady, "code"},
		{"no task", all, nil, TierCategories, "novelty"},
		{"nothing at all", nil, nil, TierCategories, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				s := Rank(Input{Seed: seed, Fire: 1, At: noon(), Candidates: tt.candidates, Tasks: tt.tasks})
				if s.Tier != tt.want {
					t.Fatalf("seed %d: got tier %d, want %d", seed, s.Tier, tt.want)
				}
				if tt.first != "" && string(s.Ranked()[0].Category) != tt.first {
					t.Fatalf("seed %d: got %s first, want %s", seed, s.Ranked()[0].Category, tt.first)
				}
			}
		})
	}
}

// TestRankLeadsWithTheBestBegun has two begun tasks: the better category leads, the
// rest keeps its order.
func TestRankLeadsWithTheBestBegun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Only, in.Held = "", nil
		for i := range in.Candidates {
			in.Candidates[i].Allowed, in.Candidates[i].SelfDirected, in.Candidates[i].InFlight = true, true, nil
		}
		ranked := Rank(in).Ranked()
		byDraw := slices.SortedFunc(slices.Values(ranked), func(a, b Score) int { return compareScores(a, b) })
		lead := slices.IndexFunc(byDraw, func(s Score) bool { return s.Next != nil && s.Next.State == fleet.StateActive })
		if lead < 0 {
			lead = 0
		}
		var want []fleet.Category
		for i, s := range byDraw {
			if i == lead {
				want = slices.Insert(want, 0, s.Category)
			} else {
				want = append(want, s.Category)
			}
		}
		var got []fleet.Category
		for _, s := range ranked {
			got = append(got, s.Category)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("ranking (-got +want):\n%s", diff)
		}
	})
}

// TestRankKeepsItsPromises holds any ranking against what callers rely on.
func TestRankKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		s := Rank(in)
		if diff := cmp.Diff(Rank(in), s); diff != "" {
			t.Fatalf("ranked twice (-got +want):\n%s", diff)
		}
		if len(s.Scores) != len(in.Candidates) {
			t.Errorf("got %d scores, want one for each of %d candidates", len(s.Scores), len(in.Candidates))
		}
		for i, c := range s.Scores {
			if c.Reason == "" {
				t.Errorf("%s: got no reason, want one", c.Category)
			}
			if i > 0 && c.In && !s.Scores[i-1].In {
				t.Errorf("%s: got it in after one that is out, want all that are in first", c.Category)
			}
			if c.Tasks > 0 != (c.Next != nil) {
				t.Errorf("%s: got %d tasks and next %v, want both or neither", c.Category, c.Tasks, c.Next)
			}
			if want := c.Beta.Draw(bandit.Generator(in.Seed, in.Fire, c.Category)); c.TS != want {
				t.Errorf("%s: got draw %v, want %v", c.Category, c.TS, want)
			}
		}
		shuffled := in
		shuffled.Candidates = rapid.Permutation(in.Candidates).Draw(t, "candidates")
		shuffled.Tasks = rapid.Permutation(in.Tasks).Draw(t, "tasks")
		shuffled.Held = rapid.Permutation(in.Held).Draw(t, "held")
		if diff := cmp.Diff(Rank(shuffled).Scores, s.Scores); diff != "" {
			t.Errorf("in another order (-got +want):\n%s", diff)
		}
	})
}

// TestRankAlone shows that a category's draw does not depend on which others are
// there.
func TestRankAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		for _, s := range Rank(in).Scores {
			alone := in
			i := slices.IndexFunc(in.Candidates, func(c Candidate) bool { return c.Category == s.Category })
			alone.Candidates = in.Candidates[i : i+1]
			if got := Rank(alone).Scores[0]; got.TS != s.TS || got.In != s.In {
				t.Errorf("%s: got %v, %v alone, want %v, %v as among all", s.Category, got.TS, got.In, s.TS, s.In)
			}
		}
	})
}

func drawInput(t *rapid.T) Input {
	names := []fleet.Category{"code", "docs", "novelty", "triage"}
	states := []fleet.TaskState{fleet.StateActive, fleet.StateTodo, fleet.StateBacklog, fleet.StateDone}
	in := Input{
		Seed: rapid.Uint64().Draw(t, "seed"), Fire: fleet.FireID(rapid.Int64Range(1, 9).Draw(t, "fire")), At: noon(),
		Only: rapid.SampledFrom([]fleet.Category{"", "", "", "code"}).Draw(t, "only"),
	}
	for _, name := range names {
		graded := rapid.IntRange(0, 20).Draw(t, "graded")
		in.Candidates = append(in.Candidates, Candidate{
			Category: name, Allowed: rapid.Bool().Draw(t, "allowed"), SelfDirected: rapid.Bool().Draw(t, "self-directed"),
			Lanes: rapid.IntRange(1, 2).Draw(t, "lanes"), InFlight: rapid.SliceOfN(rapid.Just[fleet.RunID]("0r1"), 0, 2).Draw(t, "in flight"),
			Posterior: fleet.Posterior{Graded: graded, GradeSum: rapid.Float64Range(0, float64(graded)).Draw(t, "grades")},
		})
	}
	for _, id := range rapid.SliceOfDistinct(rapid.StringMatching(`[a-h]`), rapid.ID[string]).Draw(t, "tasks") {
		in.Tasks = append(in.Tasks, testTask(fleet.TaskID(id),
			inCategory(rapid.SampledFrom(names).Draw(t, "category")), inState(rapid.SampledFrom(states).Draw(t, "state")),
			requires(rapid.SliceOfN(rapid.StringMatching(`[a-h]`), 0, 1).Draw(t, "requires")...)))
		if rapid.Bool().Draw(t, "claimed") {
			in.Held = append(in.Held, heldBy("bob", fleet.Key(id))...)
		}
	}
	return in
}
