package book_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
)

// firing is a fire that starts a session of each category by the agent claude, and owes each
// category one.
func firing(own bool, categories ...fleet.Category) store.Firing {
	f := store.Firing{Fire: fleet.Fire{Own: own, Due: map[fleet.Category]float64{"idle": 0.5}, Moves: categories}}
	for i, c := range categories {
		id := fleet.RunID(fmt.Sprint("0own", i))
		f.Runs = append(f.Runs, fleet.Run{ID: id, Category: c, Agent: "claude"})
		f.Fire.Choices = append(f.Fire.Choices, fleet.Choice{Category: c, Decision: fleet.Spawn, Reason: "drew 0.9", Agent: "claude", Unit: "u", Run: id})
		f.Fire.Due[c] = 1 - 0.5/float64(len(categories))
	}
	return f
}

func unpaused(fleet.Category) string { return "" }

func TestArbitrate(t *testing.T) {
	t.Parallel()
	const rival = fleet.RunID("0rival")
	other := []fleet.Run{{ID: rival, Category: "code", Agent: "claude"}}
	lanes := func(n int) store.Bounds { return store.Bounds{Lanes: map[fleet.Category]int{"code": n}} }
	seen := func(b store.Bounds, lives bool) store.Bounds {
		b.Seen = map[fleet.RunID]bool{rival: lives}
		return b
	}
	all := store.Bounds{Slots: []store.Slots{{Most: 2}}}
	tests := []struct {
		name   string
		bounds store.Bounds
		open   []fleet.Run
		want   []string // of code and docs: why not; empty: started
		due    map[fleet.Category]float64
	}{
		{"nobody else", lanes(1), nil, []string{"", ""}, map[fleet.Category]float64{"code": 0.75, "docs": 0.75, "idle": 0.5}},
		{
			"the lane", lanes(1), other,
			[]string{"lane code.1 was taken since: run 0rival", ""},
			map[fleet.Category]float64{"docs": 0.6, "idle": 0.4},
		},
		{"one of two lanes", lanes(2), other, []string{"", ""}, map[fleet.Category]float64{"code": 0.75, "docs": 0.75, "idle": 0.5}},
		{"one that was seen", seen(lanes(1), true), other, []string{"", ""}, map[fleet.Category]float64{"code": 0.75, "docs": 0.75, "idle": 0.5}},
		{"one that was found dead", seen(all, false), other, []string{"", ""}, map[fleet.Category]float64{"code": 0.75, "docs": 0.75, "idle": 0.5}},
		{
			"a slot", all, other,
			[]string{"", "the last slot was taken since: run 0rival"},
			map[fleet.Category]float64{"code": 0.6, "idle": 0.4},
		},
		{
			"a slot of its pool",
			store.Bounds{Slots: []store.Slots{{Most: 9}, {Most: 1, Of: []fleet.Category{"code"}}}},
			other,
			[]string{"the last slot was taken since: run 0rival", ""},
			map[fleet.Category]float64{"docs": 0.6, "idle": 0.4},
		},
		{
			"the slots of the agent",
			store.Bounds{Agents: map[string]int{"claude": 1}},
			other,
			[]string{"the last slot of agent claude was taken since: run 0rival", "the last slot of agent claude was taken since: run 0rival"},
			nil,
		},
		{"no bounds", store.Bounds{}, other, []string{"", ""}, map[fleet.Category]float64{"code": 0.75, "docs": 0.75, "idle": 0.5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := firing(true, "code", "docs")
			f.Bounds = tt.bounds
			fire, runs := book.Arbitrate(f, tt.open, unpaused)
			want, starts := firing(true, "code", "docs").Fire, 0
			for i, why := range tt.want {
				if why == "" {
					starts++
					continue
				}
				c := &want.Choices[i]
				c.Decision, c.By, c.Refusal, c.Reason = fleet.Skip, fleet.HinderedByRival, why, "drew 0.9; "+why
				c.Agent, c.Unit, c.Run = "", "", ""
			}
			if want.Due = tt.due; starts == 0 {
				want.Moves = nil
			}
			must.Equal(t, "fire", fire, want, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }))
			if len(runs) != starts {
				t.Errorf("got %d runs, want %d", len(runs), starts)
			}
		})
	}
	f := firing(false, "code")
	f.Bounds = lanes(1)
	if fire, _ := book.Arbitrate(f, other, unpaused); fire.Choices[0].Reason != "lane code.1 was taken since: run 0rival" || fire.Choices[0].Refusal != "" {
		t.Errorf("another selector's choice: got %+v, want the reason alone", fire.Choices[0])
	}
}

// TestArbitrateToTheLastBit has a fire withdraw what sums up to another last bit in another order.
func TestArbitrateToTheLastBit(t *testing.T) {
	t.Parallel()
	f := firing(true, "code", "docs")
	f.Bounds = store.Bounds{Lanes: map[fleet.Category]int{"code": 1}}
	for i, due := range []float64{1. / 3, 0.1, 2. / 7, 0.7, 1. / 11, 0.9} {
		f.Fire.Due[fleet.Category(fmt.Sprint("c", i))] = due
	}
	other := []fleet.Run{{ID: "0rival", Category: "code", Agent: "claude"}}
	want, _ := book.Arbitrate(f, other, unpaused)
	for range 2000 {
		if got, _ := book.Arbitrate(f, other, unpaused); !maps.Equal(got.Due, want.Due) {
			t.Fatalf("got %v, and %v before", got.Due, want.Due)
		}
	}
}

// TestFiresAtOnce has any number of fires that looked at the same moment: however they are
// recorded, no lane and no slot is exceeded, nothing is refused without need, and no more sessions
// are owed than start.
func TestFiresAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := []fleet.Category{"a", "b", "c"}
		bounds := store.Bounds{Lanes: map[fleet.Category]int{}, Slots: []store.Slots{{Most: rapid.IntRange(1, 5).Draw(rt, "slots")}}}
		for _, c := range names {
			bounds.Lanes[c] = rapid.IntRange(1, 3).Draw(rt, "lanes")
		}
		var open []fleet.Run
		for fire := range rapid.IntRange(1, 5).Draw(rt, "fires") {
			f := firing(true, rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, min(3, bounds.Slots[0].Most), rapid.ID).Draw(rt, "choices")...)
			f.Bounds = bounds
			for i := range f.Runs {
				id := fleet.RunID(fmt.Sprintf("0f%dr%d", fire, i))
				f.Runs[i].ID, f.Fire.Choices[i].Run = id, id
			}
			before := len(open)
			recorded, runs := book.Arbitrate(f, open, unpaused)
			open = append(open, runs...)
			due := 0.0
			for _, d := range recorded.Due {
				due += d
			}
			if due > float64(len(runs))+1e-9 {
				rt.Fatalf("%v sessions owed by a fire that starts %d", due, len(runs))
			}
			if recorded.Count(fleet.Spawn) != len(runs) || before == 0 && len(runs) != len(f.Runs) {
				rt.Fatalf("%d of %d start, %d are recorded as started", len(runs), len(f.Runs), recorded.Count(fleet.Spawn))
			}
			in := map[fleet.Category]int{}
			for _, r := range open {
				in[r.Category]++
			}
			for _, c := range recorded.Choices {
				if room := in[c.Category] < bounds.Lanes[c.Category] && len(open) < bounds.Slots[0].Most; c.Decision == fleet.Skip && room {
					rt.Fatalf("%+v, and there is room: %v of %v", c, in, bounds)
				}
				if in[c.Category] > bounds.Lanes[c.Category] || len(open) > bounds.Slots[0].Most {
					rt.Fatalf("%v and %d sessions: more than %+v", in, len(open), bounds)
				}
			}
		}
	})
}
