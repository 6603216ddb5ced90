package rank

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/testkit/must"
)

// TestDecideSeats has a fire run out of slots of one agent, and go on with the next.
func TestDecideSeats(t *testing.T) {
	t.Parallel()
	const full = "agent claude: all of its 2 slots are in use or taken by this fire"
	in := PlanInput{
		Request: request(named(fleet.FromSelected, "cleanup", "code", "docs", "triage")...),
		Input: Input{
			Candidates: []Candidate{
				{Category: "cleanup", Agents: []string{"claude"}},
				{Category: "code", Agents: []string{"claude"}},
				{Category: "docs", Agents: []string{"claude", "codex"}},
				{Category: "triage", Agents: []string{"any"}},
			},
			Seats: Seats{"claude": {All: 2, Free: 1}, "codex": {All: 1, Free: 1}}, Workers: 9, Free: 9,
		},
	}
	in.Order = configured(in)
	want := []fleet.Choice{
		{Category: "cleanup", Decision: fleet.Spawn, Reason: "chosen by the selector, rank 1", Agent: "claude"},
		{Category: "code", Decision: fleet.Skip, Reason: full, By: fleet.HinderedBySeats},
		{Category: "docs", Decision: fleet.Spawn, Reason: "chosen by the selector, rank 3; by agent codex, for " + full, Agent: "codex"},
		{Category: "triage", Decision: fleet.Spawn, Reason: "chosen by the selector, rank 4", Agent: "any"}, // has no limit
	}
	for i := range want {
		want[i].Source, want[i].Rank = fleet.FromSelected, i+1
	}
	must.Equal(t, "plan", Decide(in).Choices, want)
}

// TestNoFireExceedsSlots draws agents, their slots and the categories' agents: no agent is
// given more than it has left, and no category is skipped for slots while one of its agents
// has one left.
func TestNoFireExceedsSlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlanInput(t)
		in.Workers, in.Free = 9, 9
		in.Seats = Seats{}
		agents := []string{"x", "y", "z"}
		for _, a := range agents {
			if all := rapid.IntRange(0, 3).Draw(t, "slots"); all > 0 {
				in.Seats[a] = Slot{All: all, Free: rapid.IntRange(0, all).Draw(t, "free")}
			}
		}
		agentsOf := map[fleet.Category][]string{}
		for i, c := range in.Candidates {
			agentsOf[c.Category] = rapid.SliceOfNDistinct(rapid.SampledFrom(agents), 1, 3, rapid.ID[string]).Draw(t, "agents")
			in.Candidates[i].Agents = agentsOf[c.Category]
		}
		in.Order = configured(in)
		left := maps.Clone(in.Seats)
		for _, c := range Decide(in).Choices {
			full := func(a string) bool { seat, limited := left[a]; return limited && seat.Free == 0 }
			if c.Decision == fleet.Spawn {
				if at := slices.Index(agentsOf[c.Category], c.Agent); at < 0 || !isFull(agentsOf[c.Category][:at], full) {
					t.Errorf("%s: got agent %q of %v, want the first with a slot of %v", c.Category, c.Agent, agentsOf[c.Category], left)
				}
				if seat, limited := left[c.Agent]; limited {
					seat.Free--
					left[c.Agent] = seat
				}
			} else if in.Blocker(c.Category, 0).Kind == "" && c.Rank > 0 && !isFull(agentsOf[c.Category], full) {
				t.Errorf("%s: got it skipped (%s) with %v left of %v", c.Category, c.Reason, left, agentsOf[c.Category])
			}
		}
		for a, seat := range left {
			if seat.Free < 0 {
				t.Errorf("got %d more sessions of %s than it has slots", -seat.Free, a)
			}
		}
	})
}

// configured has agents stand as their categories name them.
func configured(in PlanInput) map[fleet.Category][]AgentDraw {
	order := map[fleet.Category][]AgentDraw{}
	for _, c := range in.Candidates {
		order[c.Category] = plain.Each(c.Agents, func(agent string) AgentDraw { return AgentDraw{Agent: agent} })
	}
	return order
}

func isFull(agents []string, full func(string) bool) bool {
	return !slices.ContainsFunc(agents, func(a string) bool { return !full(a) })
}
