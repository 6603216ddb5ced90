package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/testkit/must"
)

// history is a fleet in small: it fires, debits and entitles as a store does.
type history struct {
	arms  map[fleet.Category]*bandit.Arm
	share map[fleet.Category]float64
	Record
}

func newHistory(names ...fleet.Category) *history {
	h := &history{arms: map[fleet.Category]*bandit.Arm{}, share: map[fleet.Category]float64{}}
	for _, c := range names {
		h.arms[c], h.share[c] = &bandit.Arm{}, 1/float64(len(names))
	}
	return h
}

func (h *history) input(workers int) selector.Input {
	id := fleet.FireID(len(h.Fires) + 1)
	in := selector.Input{
		Settings: bandit.Defaults(), Seed: uint64(id) * 7, Fire: id, At: time.Unix(int64(id)*1800, 0).UTC(), Workers: workers, Free: 9,
	}
	for c, arm := range h.arms {
		arm.Round = fleet.Round(id)
		in.Candidates = append(in.Candidates, selector.Candidate{Category: c, Share: h.share[c], Arm: *arm})
	}
	return in
}

// fire records a fire; during may debit sessions while it decides.
func (h *history) fire(t rapid.TB, in selector.Input, payload []byte, during func()) fleet.Fire {
	t.Helper()
	f := record(t, in, payload)
	during()
	if s := selector.Rank(in); s.Picks > 0 {
		for _, c := range s.Ranked() {
			h.arms[c.Category].Entitle(in.Settings, c.Due)
		}
	}
	for i := range f.Choices {
		if c := &f.Choices[i]; c.Decision == fleet.Spawn {
			c.Run = fleet.RunID(fmt.Sprintf("%d-%s", f.ID, c.Category))
		}
	}
	h.Fires = append(h.Fires, f)
	return f
}

// learn ends the sessions of a fire with these grades.
func (h *history) learn(f fleet.Fire, grade func(fleet.Category) float64) {
	var arms []*bandit.Arm
	for _, a := range h.arms {
		arms = append(arms, a)
	}
	settings := bandit.Defaults()
	for _, c := range f.Choices {
		if c.Decision != fleet.Spawn {
			continue
		}
		arm, g := h.arms[c.Category], grade(c.Category)
		load := arm.Debit(arm.Round)
		settings.Learn(arm, settings.Prior(arms), bandit.Graded{Round: arm.Round, Load: load, Grade: g})
		h.Runs = append(h.Runs, fleet.Run{ID: c.Run, Verdict: fleet.Verdict{Grade: &g}})
	}
}

// TestLedgerKeepsWhatDidNotChange carries accounts on through any history under its own
// settings: they are the recorded ones, to the last bit.
func TestLedgerKeepsWhatDidNotChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := []fleet.Category{"a", "b", "c"}
		h, l := newHistory(names...), ledger{}
		debit := func(what string) {
			for range rapid.IntRange(0, 2).Draw(t, what) {
				arm := h.arms[rapid.SampledFrom(names).Draw(t, "category")]
				arm.Debit(arm.Round)
			}
		}
		for range rapid.IntRange(2, 12).Draw(t, "fires") {
			in := h.input(rapid.IntRange(0, 3).Draw(t, "workers"))
			for i := range in.Candidates {
				in.Candidates[i].Out = rapid.SampledFrom([]string{"", "", "out"}).Draw(t, "out")
			}
			carried := in
			carried.Candidates = append([]selector.Candidate(nil), in.Candidates...)
			l.carry(&carried)
			if diff := cmp.Diff(carried, in); diff != "" {
				t.Fatalf("inputs of fire %d (-carried +recorded):\n%s", in.Fire, diff)
			}
			f := h.fire(t, in, nil, func() { debit("while the fire decides") })
			l.note(in, selector.Rank(carried), started(f), started(f))
			debit("after the fire")
		}
	})
}

// played is a history of so many fires in which a is clearly better than b, and b than c.
func played(t *testing.T, fires int) Record {
	t.Helper()
	h := newHistory("a", "b", "c")
	rng := rand.New(rand.NewPCG(3, 4))
	for range fires {
		f := h.fire(t, h.input(1), nil, func() {})
		h.learn(f, func(c fleet.Category) float64 {
			return math.Round(map[fleet.Category]float64{"a": 0.8, "b": 0.5, "c": 0.4}[c] - 0.5 + rng.Float64())
		})
	}
	return h.Record
}

func TestNewWindowUnderItsOwnSettings(t *testing.T) {
	t.Parallel()
	r := played(t, 120)
	w := NewWindow(r, Changes{}, testRedraws)
	if w.Fires != 120 || len(w.Changed) != 0 || w.Foreign != 0 || w.Unreadable != 0 {
		t.Errorf("got %d fires, %d changed, %d foreign, %d unreadable, want 120, 0, 0, 0", w.Fires, len(w.Changed), w.Foreign, w.Unreadable)
	}
	if w.Other != w.Mean || w.OtherSE != w.MeanSE || w.Effective != 120 || w.Clipped != 0 || w.Sessions != 120 {
		t.Errorf("got %+v, want the logged mean of 120 sessions", w.Estimate)
	}
	for _, p := range w.Categories {
		if p.Then != p.Now || p.Then == 0 {
			t.Errorf("got %+v, want as many picks then as now", p)
		}
	}
}

func TestNewWindowUnderOtherSettings(t *testing.T) {
	t.Parallel()
	r := played(t, 200)
	tests := []struct {
		name string
		set  []string
		want func(a, b, c Picks, w Window) bool
	}{
		{"a larger share", []string{"category.c.share=0.6", "category.a.share=0.2", "category.b.share=0.2"}, func(_, _, c Picks, _ Window) bool {
			// Its floor is 60. If what it now gets were not debited, it would get nearly all.
			return c.Now >= 55 && c.Now <= 90 && c.Then < 50
		}},
		{"another worker", []string{"fanout.workers=2"}, func(a, b, c Picks, w Window) bool {
			return a.Now+b.Now+c.Now == 400 && a.Then+b.Then+c.Then == 200 && len(w.Changed) == 200
		}},
		{"no slots but one", []string{"fanout.workers=3", "fanout.slots=1"}, func(_, _, _ Picks, w Window) bool { return len(w.Changed) == 0 }},
		{"the last of one key counts", []string{"fanout.workers=3", "fanout.workers=1"}, func(_, _, _ Picks, w Window) bool { return len(w.Changed) == 0 }},
		{"no fairness", []string{"selector.floor=0", "selector.cap=0"}, func(a, b, c Picks, _ Window) bool {
			return a.Now+b.Now+c.Now == 200 && max(a.Now, b.Now, c.Now) > max(a.Then, b.Then, c.Then)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var c Changes
			for _, text := range tt.set {
				must.Do(t, c.Add(text))
			}
			w := NewWindow(r, c, testRedraws)
			if p := w.Categories; len(p) != 3 || !tt.want(p[0], p[1], p[2], w) {
				t.Errorf("got %+v and %d changed", p, len(w.Changed))
			}
			if w.Other < 0 || w.Other > 1 || w.Effective <= 0 || w.Effective > 200 || w.Uncovered < 0 || w.Uncovered > 1 {
				t.Errorf("got %+v, want an estimate", w.Estimate)
			}
		})
	}
}

// TestNewWindowLeavesOut counts what cannot be ranked again or was not stint's choice.
func TestNewWindowLeavesOut(t *testing.T) {
	t.Parallel()
	h := newHistory("a", "b")
	h.fire(t, h.input(1), []byte(`{"selected":{"category":"a"}}`), func() {})
	h.fire(t, h.input(1), nil, func() {})
	f := h.fire(t, h.input(1), nil, func() {})
	h.Fires[1].Inputs = []byte(`{"posteriors":{}}`)
	w := NewWindow(h.Record, Changes{}, testRedraws)
	if w.Fires != 1 || w.Foreign != 1 || w.Unreadable != 1 || len(w.Changed) != 0 || w.Sessions != 0 {
		t.Errorf("got %+v, want one fire of each kind and no session", w)
	}
	h.Runs = []fleet.Run{{ID: f.Choices[0].Run, Verdict: fleet.Verdict{Outcome: fleet.Noop}}}
	if w := NewWindow(h.Record, Changes{}, testRedraws); w.Sessions != 0 {
		t.Errorf("got %d graded sessions, want none", w.Sessions)
	}
}

// TestNewWindowGoesOnAfterAGap: accounts start anew after a fire that cannot be read.
func TestNewWindowGoesOnAfterAGap(t *testing.T) {
	t.Parallel()
	r := played(t, 200)
	for i := 3; i < len(r.Fires); i += 7 {
		r.Fires[i].Inputs = nil
	}
	if w := NewWindow(r, Changes{}, testRedraws); len(w.Changed) != 0 || w.Fires+w.Unreadable != 200 || w.Unreadable == 0 {
		t.Errorf("got %d changed of %d fires and %d unreadable, want none changed of all", len(w.Changed), w.Fires, w.Unreadable)
	}
}

// TestNewWindowCountsOddsOfNothing: a session that none of the redraws started weighs as
// one more redraw of each, and the answer names those that had no chance.
func TestNewWindowCountsOddsOfNothing(t *testing.T) {
	t.Parallel()
	h := newHistory("a", "b")
	f := h.fire(t, h.input(1), nil, func() {})
	grade, none := 0.5, 0.0
	started := f.Choices[0]
	h.Fires[0].Choices[0].Odds = &none
	h.Runs = []fleet.Run{{ID: started.Run, Verdict: fleet.Verdict{Grade: &grade}}}
	w := NewWindow(h.Record, Changes{}, testRedraws)
	if w.Sessions != 1 || w.Other != 0.5 || w.Clipped != 1 || w.Uncovered != *started.Odds {
		t.Errorf("got %+v, want one clipped session and %v uncovered", w, *started.Odds)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	in := plainInput(1)
	in.Candidates[0].Pending = 2
	tests := []struct {
		text string
		want func(*selector.Input) // nil: refused
		err  string
	}{
		{text: "fanout.workers=6", want: func(in *selector.Input) { in.Workers = 6 }},
		{text: "fanout.slots=5", want: func(in *selector.Input) { in.Free = 3 }},
		{text: "fanout.slots=1", want: func(in *selector.Input) { in.Free = 0 }},
		{text: "selector.v=3", want: func(in *selector.Input) { in.Settings.V = 3 }},
		{text: "selector.floor=0", want: func(in *selector.Input) { in.Settings.Floor = 0 }},
		{text: "selector.cap=0", want: func(in *selector.Input) { in.Settings.Cap = 0 }},
		{text: "selector.cap=2.5", want: func(in *selector.Input) { in.Settings.Cap = 2.5 }},
		{text: "selector.half_life=10", want: func(in *selector.Input) { in.Settings.HalfLife = 10 }},
		{text: "selector.slow_half_life=0", want: func(in *selector.Input) { in.Settings.SlowHalfLife = 0 }},
		{text: "category.b.share=0.9", want: func(in *selector.Input) { in.Candidates[1].Share = 0.9 }},
		{text: "category.c.share=0.9", want: func(*selector.Input) {}},
		{text: "", err: "KEY=VALUE"},
		{text: "selector.v", err: "KEY=VALUE"},
		{text: "selector.x=1", err: Keys},
		{text: "category.b.lanes=1", err: Keys},
		{text: "category..share=1", err: Keys},
		{text: "b.share=1", err: Keys},
		{text: "selector.alarm=3", err: "were made under it"},
		{text: "selector.v=0", err: "from 0.1 to 1000"},
		{text: "selector.floor=nan", err: "from 0 to 1"},
		{text: "selector.cap=0.5", err: "or 0 for none"},
		{text: "category.b.share=2", err: "from 0 to 1"},
		{text: "fanout.slots=0", err: "1 or more"},
		{text: "fanout.workers=1.5", err: "1 or more"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			var c Changes
			if err := c.Add(tt.text); tt.want == nil {
				if err == nil || !strings.Contains(err.Error(), tt.err) || len(c.apply) != 0 {
					t.Errorf("got %v and %d changes, want an error with %q", err, len(c.apply), tt.err)
				}
				return
			} else if err != nil {
				t.Fatal(err)
			}
			got, want := in, in
			got.Candidates, want.Candidates = append([]selector.Candidate(nil), in.Candidates...), append([]selector.Candidate(nil), in.Candidates...)
			c.apply[0](&got)
			tt.want(&want)
			must.Equal(t, "input", got, want)
		})
	}
}
