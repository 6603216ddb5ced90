package rank

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func named(source fleet.Source, names ...string) (list []Named) {
	for _, n := range names {
		list = append(list, Named{Category: n, Source: source})
	}
	return list
}

func request(names ...Named) Request { return Request{Categories: names} }

// scored returns a category's score, which is in unless it has a reason to be out.
func scored(c fleet.Category, out string, score float64) Score {
	return Score{
		Candidate:  &Candidate{Category: c, Out: out},
		Components: Components{Beta: Beta{A: 1, B: 1}, TS: score}, In: out == "", Value: score,
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	allowed := []fleet.Category{"code", "docs", "triage"}
	scores := []Score{
		scored("docs", "", 0.9), scored("code", "", 0.4),
		scored("cleanup", ReasonNotAllowed, 0.95), scored("triage", ReasonNoTask, 0),
	}
	odds := map[fleet.Category]float64{"docs": 0.75, "code": 0.25}
	likely, unlikely := 0.75, 0.25
	const (
		selected = fleet.FromSelected
		others   = fleet.FromDiversity
		net      = fleet.FromAllowList
		ofOps    = "of pool ops"
	)
	// fire may start what has no reason to be out, and has no task, no lane and no money to look at.
	fire := func(workers, free int, out map[fleet.Category]Obstacle) Input {
		in := Input{Workers: workers, Free: free}
		for _, c := range []fleet.Category{"cleanup", "code", "docs", "triage"} {
			o := out[c]
			if c == "cleanup" {
				o = Obstacle{Kind: fleet.HinderedByList, Reason: ReasonNotAllowed}
			}
			in.Candidates = append(in.Candidates, Candidate{Category: c, Out: o.Reason, By: o.Kind})
		}
		return in
	}
	blocked := func(c fleet.Category, by fleet.Hindrance, reason string) map[fleet.Category]Obstacle {
		return map[fleet.Category]Obstacle{c: {Kind: by, Reason: reason}}
	}
	forced := fire(1, 6, nil)
	forced.Forced = []fleet.Category{"triage", "cleanup", "triage"}
	offered := func(refused string) Input {
		in := fire(2, 6, nil)
		in.Offer = &Offer{Task: "fix", Category: "docs", Refused: refused}
		return in
	}
	tests := []struct {
		name string
		in   PlanInput
		want []fleet.Choice
		net  bool
	}{
		{
			"own ranking",
			PlanInput{Input: fire(3, 6, nil), Request: request(append(named(selected, "docs"), named(others, "code")...)...), Scores: scores, Odds: odds},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: selected, Rank: 1, Score: 0.9, Odds: &likely},
				{Category: "code", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: others, Rank: 2, Score: 0.4, Odds: &unlikely},
				{Category: "cleanup", Decision: fleet.Skip, Reason: ReasonNotAllowed},
				{Category: "triage", Decision: fleet.Skip, Reason: ReasonNoTask},
			},
			false,
		},
		{
			"own ranking, empty",
			PlanInput{Input: fire(3, 6, nil), Scores: scores[2:]},
			[]fleet.Choice{
				{Category: "cleanup", Decision: fleet.Skip, Reason: ReasonNotAllowed},
				{Category: "triage", Decision: fleet.Skip, Reason: ReasonNoTask},
			},
			false,
		},
		{
			"own ranking, and one forced that it left out",
			PlanInput{Input: forced, Request: request(named(selected, "docs")...), Scores: scores},
			[]fleet.Choice{
				{Category: "triage", Decision: fleet.Spawn, Reason: ReasonForced, Source: fleet.FromHand, Rank: 1},
				{Category: "cleanup", Decision: fleet.Skip, Reason: ReasonForced + "; " + ReasonNotAllowed, Refusal: ReasonNotAllowed, By: fleet.HinderedByList, Source: fleet.FromHand, Rank: 2, Score: 0.95},
				{Category: "docs", Decision: fleet.Skip, Reason: "ranked by chance, as it has no grades yet; beyond this fire's limit of 1", Refusal: "beyond this fire's limit of 1", By: fleet.HinderedByWorkers, Source: selected, Rank: 3, Score: 0.9},
			},
			false,
		},
		{
			"beyond the workers",
			PlanInput{Input: fire(1, 6, nil), Request: request(named(others, "docs", "code")...), Scores: scores[:2]},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: others, Rank: 1, Score: 0.9},
				{Category: "code", Decision: fleet.Skip, Reason: "ranked by chance, as it has no grades yet; beyond this fire's limit of 1", Refusal: "beyond this fire's limit of 1", By: fleet.HinderedByWorkers, Source: others, Rank: 2, Score: 0.4},
			},
			false,
		},
		{
			"no slot left",
			PlanInput{Input: fire(3, 1, nil), Request: request(named(others, "docs", "code")...), Scores: scores[:2]},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: others, Rank: 1, Score: 0.9},
				{Category: "code", Decision: fleet.Skip, Reason: "ranked by chance, as it has no grades yet; no slot free: 1 left when the fire began", Refusal: "no slot free: 1 left when the fire began", By: fleet.HinderedBySlots, Source: others, Rank: 2, Score: 0.4},
			},
			false,
		},
		{
			"a payload, some of it unusable",
			PlanInput{Input: fire(1, 6, nil), Request: request(named(selected, "No\nSuch", "cleanup", "code")...)},
			[]fleet.Choice{
				{Category: "No\nSuch", Decision: fleet.Skip, Reason: ReasonUnknown, By: fleet.HinderedByUnknown, Source: selected, Rank: 1},
				{Category: "cleanup", Decision: fleet.Skip, Reason: ReasonNotAllowed, By: fleet.HinderedByList, Source: selected, Rank: 2},
				{Category: "code", Decision: fleet.Spawn, Reason: "chosen by the selector, rank 3", Source: selected, Rank: 3},
			},
			false,
		},
		{
			"a payload that is answered by nothing else",
			PlanInput{Input: fire(2, 6, nil), Request: request(named(selected, "cleanup")...), Allowed: allowed},
			[]fleet.Choice{
				{Category: "cleanup", Decision: fleet.Skip, Reason: ReasonNotAllowed, By: fleet.HinderedByList, Source: selected, Rank: 1},
			},
			false,
		},
		{"a payload that names nothing", PlanInput{Input: fire(2, 6, nil), Allowed: allowed}, nil, false},
		{
			"no ranking at all",
			PlanInput{Input: fire(1, 6, blocked("code", fleet.HinderedByPause, "paused: lunch")), Request: Request{Unread: true}, Allowed: allowed},
			[]fleet.Choice{
				{Category: "code", Decision: fleet.Skip, Reason: "paused: lunch", By: fleet.HinderedByPause, Source: net, Rank: 1},
				{Category: "docs", Decision: fleet.Spawn, Reason: ReasonSafetyNet, Source: net, Rank: 2},
				{Category: "triage", Decision: fleet.Skip, Reason: "beyond this fire's limit of 1", By: fleet.HinderedByWorkers, Source: net, Rank: 3},
			},
			true,
		},
		{
			"no ranking at all, beside another pool",
			PlanInput{Input: fire(3, 6, blocked("code", fleet.HinderedByPool, ofOps)), Request: Request{Unread: true}, Allowed: allowed},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: ReasonSafetyNet, Source: net, Rank: 1},
				{Category: "triage", Decision: fleet.Spawn, Reason: ReasonSafetyNet, Source: net, Rank: 2},
			},
			true,
		},
		{
			"a payload, one of another pool",
			PlanInput{Input: fire(2, 6, blocked("docs", fleet.HinderedByPool, ofOps)), Request: request(named(selected, "docs", "code")...)},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Skip, Reason: ofOps, By: fleet.HinderedByPool, Source: selected, Rank: 1},
				{Category: "code", Decision: fleet.Spawn, Reason: "chosen by the selector, rank 2", Source: selected, Rank: 2},
			},
			false,
		},
		{
			"a payload, but no slot",
			PlanInput{Input: fire(2, 0, nil), Request: request(named(selected, "code")...)},
			[]fleet.Choice{
				{Category: "code", Decision: fleet.Skip, Reason: "no slot free", By: fleet.HinderedBySlots, Source: selected, Rank: 1},
			},
			false,
		},
		{
			"a payload with a task",
			PlanInput{Input: offered(""), Request: request(named(selected, "docs", "code")...)},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: `chosen by the selector, rank 1; with task "fix", which it chose`, Source: selected, Rank: 1, Task: "fix"},
				{Category: "code", Decision: fleet.Spawn, Reason: "chosen by the selector, rank 2", Source: selected, Rank: 2},
			},
			false,
		},
		{
			"a payload with a task that is taken",
			PlanInput{Input: offered("claimed by ann until noon"), Request: request(named(selected, "docs")...)},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: `chosen by the selector, rank 1; not with task "fix": claimed by ann until noon`, Source: selected, Rank: 1},
			},
			false,
		},
		{
			"no workers",
			PlanInput{Input: fire(0, 6, nil), Request: request(named(others, "code")...)},
			[]fleet.Choice{
				{Category: "code", Decision: fleet.Skip, Reason: "beyond this fire's limit of 0", By: fleet.HinderedByWorkers, Source: others, Rank: 1},
			},
			false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			must.Equal(t, "plan", Decide(tt.in), Plan{Choices: tt.want, Net: tt.net})
		})
	}
}

// TestDecideKeepsItsPromises holds any plan against what a fire relies on.
func TestDecideKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlanInput(t)
		before := fmt.Sprintf("%+v", in)
		p := Decide(in)
		if after := fmt.Sprintf("%+v", in); after != before {
			t.Errorf("got the input changed to %s, want it as it was: %s", after, before)
		}
		started, seen := 0, map[fleet.Category]int{}
		for i, c := range p.Choices {
			seen[c.Category]++
			if c.Reason == "" {
				t.Errorf("got %+v, want a reason", c)
			}
			if c.Rank != 0 && c.Rank != i+1 {
				t.Errorf("got rank %d at place %d, want them equal", c.Rank, i+1)
			}
			if c.Decision != fleet.Spawn {
				continue
			}
			if of := in.Of(c.Category); of == nil || of.Out != "" {
				t.Errorf("got %s started, want only what is known and in", c.Category)
			}
			started++
		}
		if limit := max(0, min(in.Workers, in.Free)); started > limit {
			t.Errorf("got %d started, want at most %d", started, limit)
		}
		if p.Net != in.Request.Unread {
			t.Errorf("got the allow-list %t, want it for a payload that is no ranking alone", p.Net)
		}
		for i, n := range in.Request.Categories {
			if got := p.Choices[i]; string(got.Category) != n.Category || got.Source != n.Source {
				t.Errorf("got %+v at %d, want %+v", got, i, n)
			}
		}
		for _, c := range wanted(in) {
			if seen[c] != 1 {
				t.Errorf("got %d choices for %s, want 1", seen[c], c)
			}
		}
	})
}

// wanted are the categories that were named or ranked.
func wanted(in PlanInput) (list []fleet.Category) {
	for _, n := range in.Request.Categories {
		list = append(list, fleet.Category(n.Category))
	}
	for _, s := range in.Scores {
		list = append(list, s.Category)
	}
	return list
}

// drawInput makes a payload's request without scores, or an own one that agrees with its scores,
// as fires have them.
func drawPlanInput(t *rapid.T) PlanInput {
	in := PlanInput{Input: Input{Workers: rapid.IntRange(-1, 5).Draw(t, "workers"), Free: rapid.IntRange(0, 5).Draw(t, "free")}}
	names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "F \n"}), rapid.ID[string]).Draw(t, "names")
	for i, c := range []fleet.Category{"a", "b", "c", "d"} {
		s := scored(c, rapid.SampledFrom([]string{"", "a reason"}).Draw(t, "out"), float64(i))
		if in.Allowed = append(in.Allowed, c); !s.In {
			s.By = fleet.HinderedByPause
		}
		in.Candidates = append(in.Candidates, *s.Candidate)
		in.Scores = append(in.Scores, s)
	}
	if rapid.Bool().Draw(t, "payload") {
		in.Scores, in.Request.Categories = nil, named(fleet.FromAlternatives, names...)
		in.Request.Unread = len(names) == 0
		return in
	}
	for _, s := range in.Scores {
		if s.In {
			in.Request.Categories = append(in.Request.Categories, named(fleet.FromDiversity, string(s.Category))...)
		}
	}
	return in
}
