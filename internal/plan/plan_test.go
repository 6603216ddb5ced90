package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/testkit/must"
)

func named(source fleet.Source, names ...string) (list []selector.Named) {
	for _, n := range names {
		list = append(list, selector.Named{Category: n, Source: source})
	}
	return list
}

// scored is what a ranking says of a category, which is in unless it has a reason to be out.
func scored(c fleet.Category, out string, score float64) selector.Score {
	return selector.Score{
		Candidate:  &selector.Candidate{Category: c, Out: out},
		Components: bandit.Components{Beta: bandit.Beta{A: 1, B: 1}, TS: score}, In: out == "", Value: score,
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	known := []fleet.Category{"cleanup", "code", "docs", "triage"}
	allowed := []fleet.Category{"code", "docs", "triage"}
	scores := []selector.Score{
		scored("docs", "", 0.9), scored("code", "", 0.4),
		scored("cleanup", selector.ReasonNotAllowed, 0.95), scored("triage", selector.ReasonNoTask, 0),
	}
	odds := map[fleet.Category]float64{"docs": 0.75, "code": 0.25}
	likely, unlikely := 0.75, 0.25
	ofOps := selector.Obstacle{Kind: fleet.HinderedByPool, Reason: selector.OfPool("ops")}
	notHere := selector.Obstacle{Kind: fleet.HinderedByHost, Reason: selector.NotHere("its hosts are gpu-*, and this is big")}
	const (
		selected = fleet.FromSelected
		others   = fleet.FromDiversity
		net      = fleet.FromAllowList
	)
	tests := []struct {
		name string
		in   Input
		want []fleet.Choice
		net  bool
	}{
		{
			"own ranking",
			Input{Request: selector.Request{Categories: append(named(selected, "docs"), named(others, "code")...)}, Scores: scores, Odds: odds, Workers: 3, Free: 6},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: selected, Rank: 1, Score: 0.9, Odds: &likely},
				{Category: "code", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: others, Rank: 2, Score: 0.4, Odds: &unlikely},
				{Category: "cleanup", Decision: fleet.Skip, Reason: selector.ReasonNotAllowed},
				{Category: "triage", Decision: fleet.Skip, Reason: selector.ReasonNoTask},
			},
			false,
		},
		{
			"own ranking, empty",
			Input{Scores: scores[2:], Workers: 3, Free: 6},
			[]fleet.Choice{
				{Category: "cleanup", Decision: fleet.Skip, Reason: selector.ReasonNotAllowed},
				{Category: "triage", Decision: fleet.Skip, Reason: selector.ReasonNoTask},
			},
			false,
		},
		{
			"beyond the workers",
			Input{Request: selector.Request{Categories: named(others, "docs", "code")}, Scores: scores[:2], Workers: 1, Free: 6},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: others, Rank: 1, Score: 0.9},
				{Category: "code", Decision: fleet.Skip, Reason: "ranked by chance, as it has no grades yet; beyond this fire's limit of 1", Refusal: "beyond this fire's limit of 1", By: fleet.HinderedByWorkers, Source: others, Rank: 2, Score: 0.4},
			},
			false,
		},
		{
			"no slot",
			Input{Request: selector.Request{Categories: named(others, "docs", "code")}, Scores: scores[:2], Workers: 3, Free: 1},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Spawn, Reason: "ranked by chance, as it has no grades yet", Source: others, Rank: 1, Score: 0.9},
				{Category: "code", Decision: fleet.Skip, Reason: "ranked by chance, as it has no grades yet; no slot free: 1 left when the fire began", Refusal: "no slot free: 1 left when the fire began", By: fleet.HinderedBySlots, Source: others, Rank: 2, Score: 0.4},
			},
			false,
		},
		{
			"foreign, some unusable",
			Input{Request: selector.Request{Foreign: true, Categories: named(selected, "No\nSuch", "cleanup", "code")}, Workers: 1, Free: 6},
			[]fleet.Choice{
				{Category: "No\nSuch", Decision: fleet.Skip, Reason: ReasonUnknown, By: fleet.HinderedByUnknown, Source: selected, Rank: 1},
				{Category: "cleanup", Decision: fleet.Skip, Reason: ReasonNotAllowed, By: fleet.HinderedByList, Source: selected, Rank: 2},
				{Category: "code", Decision: fleet.Spawn, Reason: ReasonStart, Source: selected, Rank: 3},
			},
			false,
		},
		{
			"foreign, none usable",
			Input{Request: selector.Request{Foreign: true, Categories: named(selected, "cleanup")}, Workers: 2, Free: 6},
			[]fleet.Choice{
				{Category: "cleanup", Decision: fleet.Skip, Reason: ReasonNotAllowed, By: fleet.HinderedByList, Source: selected, Rank: 1},
				{Category: "code", Decision: fleet.Spawn, Reason: ReasonSafetyNet, Source: net, Rank: 2},
				{Category: "docs", Decision: fleet.Spawn, Reason: ReasonSafetyNet, Source: net, Rank: 3},
				{Category: "triage", Decision: fleet.Skip, Reason: "beyond this fire's limit of 2", By: fleet.HinderedByWorkers, Source: net, Rank: 4},
			},
			true,
		},
		{
			"foreign, of another pool",
			Input{
				Request: selector.Request{Foreign: true, Categories: named(selected, "docs", "code")},
				Barred:  map[fleet.Category]selector.Obstacle{"docs": ofOps}, Workers: 2, Free: 6,
			},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Skip, Reason: "of pool ops", By: fleet.HinderedByPool, Source: selected, Rank: 1},
				{Category: "code", Decision: fleet.Spawn, Reason: ReasonStart, Source: selected, Rank: 2},
			},
			false,
		},
		{
			"foreign, of another host",
			Input{
				Request: selector.Request{Foreign: true, Categories: named(selected, "docs", "code")},
				Barred:  map[fleet.Category]selector.Obstacle{"docs": notHere}, Workers: 2, Free: 6,
			},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Skip, Reason: "not for this host: its hosts are gpu-*, and this is big", By: fleet.HinderedByHost, Source: selected, Rank: 1},
				{Category: "code", Decision: fleet.Spawn, Reason: ReasonStart, Source: selected, Rank: 2},
			},
			false,
		},
		{
			"foreign, all of another pool",
			Input{
				Request: selector.Request{Foreign: true, Categories: named(selected, "docs")},
				Barred:  map[fleet.Category]selector.Obstacle{"docs": ofOps, "triage": ofOps}, Workers: 2, Free: 6,
			},
			[]fleet.Choice{
				{Category: "docs", Decision: fleet.Skip, Reason: "of pool ops", By: fleet.HinderedByPool, Source: selected, Rank: 1},
				{Category: "code", Decision: fleet.Spawn, Reason: ReasonSafetyNet, Source: net, Rank: 2},
			},
			true,
		},
		{
			"foreign, usable, but no slot",
			Input{Request: selector.Request{Foreign: true, Categories: named(selected, "code")}, Workers: 2},
			[]fleet.Choice{
				{Category: "code", Decision: fleet.Skip, Reason: "no slot free: 0 left when the fire began", By: fleet.HinderedBySlots, Source: selected, Rank: 1},
			},
			false,
		},
		{
			"no workers",
			Input{Request: selector.Request{Categories: named(others, "code")}, Free: 6},
			[]fleet.Choice{
				{Category: "code", Decision: fleet.Skip, Reason: "beyond this fire's limit of 0", By: fleet.HinderedByWorkers, Source: others, Rank: 1},
			},
			false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.in.Known, tt.in.Allowed = known, allowed
			must.Equal(t, "plan", Decide(tt.in), Plan{Choices: tt.want, Net: tt.net})
		})
	}
}

// TestDecideKeepsItsPromises holds any plan against what a fire relies on.
func TestDecideKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
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
			if started++; !slices.Contains(in.Known, c.Category) || !slices.Contains(in.Allowed, c.Category) {
				t.Errorf("got %s started, want only what is known and allowed", c.Category)
			}
		}
		if limit := max(0, min(in.Workers, in.Free)); started > limit {
			t.Errorf("got %d started, want at most %d", started, limit)
		}
		if p.Net && !in.Request.Foreign {
			t.Error("got the allow-list under an own ranking, want none started")
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
func wanted(in Input) (list []fleet.Category) {
	for _, n := range in.Request.Categories {
		list = append(list, fleet.Category(n.Category))
	}
	for _, s := range in.Scores {
		list = append(list, s.Category)
	}
	return list
}

// drawInput makes a foreign request without scores, or an own one that agrees with
// its scores, as fires have them.
func drawInput(t *rapid.T) Input {
	in := Input{
		Known: []fleet.Category{"a", "b", "c", "d"}, Workers: rapid.IntRange(-1, 5).Draw(t, "workers"), Free: rapid.IntRange(0, 5).Draw(t, "free"),
	}
	in.Allowed = rapid.SliceOfDistinct(rapid.SampledFrom(in.Known), rapid.ID[fleet.Category]).Draw(t, "allowed")
	names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "F \n"}), rapid.ID[string]).Draw(t, "names")
	in.Request.Foreign = rapid.Bool().Draw(t, "foreign")
	if in.Request.Foreign {
		in.Request.Categories = named(fleet.FromAlternatives, names...)
		return in
	}
	for i, c := range in.Known {
		s := scored(c, rapid.SampledFrom([]string{"", "a reason"}).Draw(t, "out"), float64(i))
		if in.Scores = append(in.Scores, s); s.In {
			in.Request.Categories = append(in.Request.Categories, named(fleet.FromDiversity, string(c))...)
		}
	}
	return in
}
