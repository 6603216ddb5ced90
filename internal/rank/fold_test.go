package rank

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// story is a random history: two pools, three hosts or fires by hand, sessions that overlap, late grades,
// what becomes of work long after, wakes, and sessions without work.
type story struct {
	*rand.Rand
	State
	at     time.Time
	events []Event
	rows   map[fleet.RunID]Mark
	final  map[fleet.RunID]float64
}

type flight struct {
	run   fleet.RunID
	c     fleet.Category
	due   int // at this fire
	grade float64
	began time.Time
}

func newStory(seed uint64, s Settings) *story {
	return &story{
		Rand: rand.New(rand.NewPCG(seed, 1)), State: State{Settings: s}, at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		rows: map[fleet.RunID]Mark{}, final: map[fleet.RunID]float64{},
	}
}

// agentOf is one of three: of the last nobody knows the name.
func agentOf(run fleet.RunID) string { return []string{"codex", "claude", ""}[int(run[len(run)-1])%3] }

// put has the next event happen, as a store would.
func (h *story) put(e Event) {
	e.Seq, e.At = h.Seq+1, h.at
	if e.Kind == Ended || e.Kind == Corrected {
		e.Mark = h.rows[e.Run]
		h.final[e.Run] = e.Grade
	}
	m := h.Fold(e)
	if e.Kind == Began {
		m.Turn = TurnAt(h.at)
	}
	if e.Run != "" {
		h.rows[e.Run] = m
	}
	h.events = append(h.events, e)
}

// play makes so many fires. With fates, half of the grades are corrected later, some of them twice.
func (h *story) play(fires int, fates, shift bool) *story {
	mean := map[fleet.Category]float64{"a": .7, "b": .5, "c": .4, "d": .6, "e": .3}
	hosts := []string{"", "one", "two", "three"}
	var open, later []flight
	for f := range fires {
		h.at = h.at.Add(30 * time.Minute)
		if shift && f == fires/2 {
			mean["a"], mean["e"] = .2, .8
		}
		open = slices.DeleteFunc(open, func(o flight) bool {
			if o.due > f {
				return false
			}
			use := Amounts{h.Float64() * 9, float64(h.IntN(3)-1) * 1e6, h.at.Sub(o.began).Hours()}
			h.put(Event{Kind: Used, Category: o.c, Agent: agentOf(o.run), Use: use, Assumed: h.IntN(9) == 0})
			switch x := h.Float64(); {
			case x < .1:
				h.put(Event{Kind: Empty, Category: o.c, Run: o.run, Task: fleet.TaskID(fmt.Sprint("t", h.IntN(3))), Last: h.IntN(2) == 0})
			case x < .15:
				h.put(Event{Kind: Slept, Category: o.c, Run: o.run})
			default:
				h.put(Event{Kind: Ended, Category: o.c, Run: o.run, Agent: agentOf(o.run), Grade: o.grade})
				for range h.IntN(3) {
					later = append(later, flight{o.run, o.c, f + h.IntN(1+199*h.IntN(2)), []float64{0, 1, o.grade / 2}[h.IntN(3)], o.began})
				}
			}
			return true
		})
		later = slices.DeleteFunc(later, func(o flight) bool {
			if o.due > f && f < fires-1 || !fates {
				return !fates
			}
			h.put(Event{Kind: Corrected, Category: o.c, Run: o.run, Agent: agentOf(o.run), Was: h.final[o.run], Grade: o.grade})
			return true
		})
		if h.IntN(20) == 0 {
			h.put(Event{Kind: Woken, Task: fleet.TaskID(fmt.Sprint("t", h.IntN(3)))})
		}
		if h.IntN(200) == 0 {
			h.put(Event{Kind: Woken, Category: "b"})
		}
		pool := [][]fleet.Category{{"a", "b", "c"}, {"d", "e"}}[f%2]
		fire := Event{Kind: Fired, Host: hosts[h.IntN(4)], Moves: pool, Due: map[fleet.Category]float64{}, Floor: .5, Cap: 1.8, Pool: string(pool[0]), Full: h.IntN(3) == 0, Extra: h.IntN(4) == 0}
		if f > fires/4 {
			fire.Budget = Amounts{USD: 99, Tokens: float64(h.IntN(2)) * 4e6}
		}
		for _, c := range pool {
			if h.IntN(5) > 0 {
				fire.Due[c] = h.Float64()
			}
		}
		h.put(fire)
		for _, c := range []fleet.Category{"a", "b", "c", "d", "e"} {
			if h.Float64() < .5 {
				run := fleet.RunID(fmt.Sprint("r", len(h.events)))
				h.put(Event{Kind: Began, Category: c, Run: run})
				open = append(open, flight{run, c, f + 1 + h.IntN(4), min(1, max(0, mean[c]+float64(.2*normal(h.Rand)))), h.at})
			}
		}
	}
	return h
}

// refold folds events anew in pieces, each from what a store keeps of the state.
func refold(t *testing.T, s Settings, events []Event, piece func() int) State {
	t.Helper()
	st := State{Settings: s}
	for len(events) > 0 {
		n := min(len(events), piece())
		for _, e := range events[:n] {
			text, err := json.Marshal(e)
			back := Event{Seq: e.Seq}
			must.Do(t, err, json.Unmarshal(text, &back))
			st.Fold(back)
		}
		events = events[n:]
		text, err := json.Marshal(st)
		back := State{Seq: st.Seq}
		must.Do(t, err, json.Unmarshal(text, &back))
		st = back
	}
	return st
}

// TestFoldSplits folds random histories event by event, in pieces of any size, and at once, with storage between the
// pieces: the states are equal to the last bit.
func TestFoldSplits(t *testing.T) {
	t.Parallel()
	alarms, prices := 0, 0
	for seed := range uint64(12) {
		h := newStory(seed, Defaults()).play(200, true, seed%2 == 0)
		for name, piece := range map[string]func() int{
			"at once": func() int { return len(h.events) }, "one by one": func() int { return 1 }, "in pieces": func() int { return 1 + h.IntN(40) },
		} {
			got := refold(t, Defaults(), h.events, piece)
			if off := got.Differs(&h.State); len(off) > 0 || !reflect.DeepEqual(got, h.State) {
				t.Fatalf("seed %d, %s: %+v", seed, name, off)
			}
		}
		for _, a := range h.Arms {
			alarms += a.Alarms
		}
		for _, r := range h.Prices.Rates("a") {
			if r.Pressure > 0 {
				prices++
			}
		}
	}
	if alarms < 5 || prices < 5 {
		t.Errorf("got %d alarms and %d prices, want that this is a test", alarms, prices)
	}
}

// TestFoldIsForever compares what a history comes to with what it came to when this was written, as "make test-arch" does with
// other processors' instructions.
func TestFoldIsForever(t *testing.T) {
	t.Parallel()
	const want = "23f6c435e22cb2be7b12f87ed2ee570960f3e2f466ba3c79600747cb58a3dfc2"
	h := newStory(1, Defaults()).play(300, true, true)
	if got := fmt.Sprintf("%x", sha256.Sum256(must.Get(json.Marshal(h.State))(t))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCorrectionAcrossAnAlarm corrects a grade from before an alarm, of which its agent's new record holds nothing, and one from after.
func TestCorrectionAcrossAnAlarm(t *testing.T) {
	t.Parallel()
	h := newStory(1, Defaults())
	end := func(n int, grade float64) fleet.RunID {
		run := fleet.RunID(fmt.Sprintf("r%d0", n)) // of codex
		h.put(Event{Kind: Began, Category: "a", Run: run})
		h.put(Event{Kind: Ended, Category: "a", Run: run, Agent: "codex", Grade: grade})
		return run
	}
	pair := func() Sums { return h.Pairs["a"]["codex"].Sums }
	correct := func(run fleet.RunID) (by float64) {
		before := pair()
		h.put(Event{Kind: Corrected, Category: "a", Run: run, Agent: "codex", Was: h.final[run], Grade: h.final[run] + 0.25})
		return pair().S - before.S
	}
	first := end(0, 0.5)
	for n := range 40 {
		end(n+1, 0.5+0.1*float64(n%2*2-1))
	}
	if by := correct(first); math.Abs(by-0.25) > near {
		t.Errorf("before the alarm: the agent's grades rise by %v, want 0.25", by)
	}
	for n := 50; h.Arms["a"].Alarms == 0; n++ {
		end(n, 0)
	}
	last := end(99, 0.5)
	if pair().W != 1 {
		t.Fatalf("after the alarm: got %+v, want the one grade since", pair())
	}
	if old, since := correct(first), correct(last); old != 0 || math.Abs(since-0.25) > near {
		t.Errorf("after the alarm: the agent's grades rise by %v and %v, want 0 and 0.25", old, since)
	}
}

// TestFiresOfARound has three hosts fire: one begins a round, and the others take part in it, unless they fired in it before. What all
// of them entitle a category to adds up. A fire between those of a timer begins none, and is none of its host's.
func TestFiresOfARound(t *testing.T) {
	t.Parallel()
	h := newStory(1, Defaults())
	for i, tt := range []struct {
		host  string
		extra bool
		round fleet.Round
		due   float64 // of the round
	}{
		{"one", false, 1, 0.5},
		{"two", false, 1, 1},
		{"three", true, 1, 1.5},
		{"three", false, 1, 2},
		{"two", true, 1, 2.5},
		{"two", false, 2, 0.5},
		{"one", false, 2, 1},
		{"", false, 3, 0.5},
		{"", false, 4, 0.5},
	} {
		h.put(Event{Kind: Fired, Host: tt.host, Extra: tt.extra, Moves: []fleet.Category{"a"}, Due: map[fleet.Category]float64{"a": 0.5}})
		if a := h.Arms["a"]; a.Round != tt.round || a.Due != tt.due || a.Entitled != 0.5*float64(i+1) || a.Fires != i+1 {
			t.Errorf("fire %d, of host %q: got round %d, due %v of %v, want round %d and due %v", i+1, tt.host, a.Round, a.Due, a.Entitled, tt.round, tt.due)
		}
	}
}

// TestSumsStayInRange corrects grades once and again, before alarms, between them and after: no sum of grades is below
// 0, or above the weight of its sessions.
func TestSumsStayInRange(t *testing.T) {
	t.Parallel()
	looks := 0
	for seed := range uint64(30) {
		s := Defaults()
		if seed%2 == 0 { // evidence comes and goes
			s.HalfLife, s.SlowHalfLife, s.Alarm = 3, 30, 3
		}
		h := newStory(seed, s).play(400, true, true)
		st := State{Settings: s}
		for _, e := range h.events {
			st.Fold(e)
			for c, a := range st.Arms {
				for name, s := range map[string]Sums{"fast": a.Fast, "slow": a.Slow, "up": a.Up.Since, "down": a.Down.Since} {
					if looks++; s.S < -1e-9 || s.S > s.W+1e-9 || s.G2 < -1e-9 || s.G2 > s.S+1e-9 {
						t.Fatalf("seed %d, event %d: the %s sums of %s are %+v", seed, e.Seq, name, c, s)
					}
				}
			}
		}
	}
	if looks < 1e5 {
		t.Errorf("got %d looks, want that this is a test", looks)
	}
}

// TestLateGradesAreThoseKnownAtOnce corrects grades late: without an alarm a belief is within 1e-9 that of a fleet
// that knew the final grades when its sessions ended.
func TestLateGradesAreThoseKnownAtOnce(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.Alarm = 0
	worst, corrected := 0.0, 0
	for seed := range uint64(30) {
		h := newStory(seed, s).play(400, true, seed%2 == 0)
		once := State{Settings: s}
		for _, e := range h.events {
			switch e.Kind { //nolint:exhaustive // the others stay as they are
			case Corrected:
				corrected++
				e = Event{Seq: e.Seq, Kind: Slept, Category: "z"} // nothing happens then
			case Ended:
				e.Grade = h.final[e.Run]
			}
			once.Fold(e)
		}
		delete(once.Arms, "z")
		for c, a := range h.Arms {
			late, known := s.Belief(a, h.prior()), s.Belief(once.Arms[c], once.prior())
			worst = max(worst, math.Abs(late.Mean()-known.Mean()), math.Abs(late.SD()-known.SD()))
		}
	}
	if worst > 1e-9 || corrected < 1000 {
		t.Errorf("beliefs are off by %g after %d corrections, want at most 1e-9", worst, corrected)
	}
}

// TestUnreviewedSuccessCounts has two categories whose work waits for a reviewer who never comes. Their mean grades are at least
// 0.15 apart. From the tenth grade of each on, the better one is believed to be better, though sessions fail.
func TestUnreviewedSuccessCounts(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range uint64(200) {
		h := newStory(seed, Defaults())
		mean, failing := [2]float64{.3 + .6*h.Float64(), .1 + .3*h.Float64()}, .3*h.Float64()
		var sum [2]float64
		for n := 1; n <= 40; n++ {
			h.put(Event{Kind: Fired, Moves: []fleet.Category{"a", "b"}, Due: map[fleet.Category]float64{"a": 1, "b": 1}, Floor: .5, Cap: 1.8})
			for i, c := range []fleet.Category{"a", "b"} {
				run := fleet.RunID(fmt.Sprint(c, n))
				h.put(Event{Kind: Began, Category: c, Run: run})
				grade := min(1, max(0, mean[i]+.1*h.NormFloat64()))
				if h.Float64() < failing {
					grade = 0
				}
				sum[i] += grade
				h.put(Event{Kind: Ended, Category: c, Run: run, Grade: grade})
			}
			gap := (sum[0] - sum[1]) / float64(n)
			if n < 10 || math.Abs(gap) < .15 || h.Arms["a"].Alarms+h.Arms["b"].Alarms > 0 {
				continue
			}
			compared++
			p := h.prior()
			if a, b := h.Settings.Belief(h.Arms["a"], p).Mean(), h.Settings.Belief(h.Arms["b"], p).Mean(); (a > b) != (gap > 0) {
				t.Errorf("seed %d, after %d grades each: believed %.3f and %.3f, with means %.3f apart", seed, n, a, b, gap)
			}
		}
	}
	if compared < 3000 {
		t.Errorf("compared %d beliefs, want that this is a test", compared)
	}
}

// TestRecountFindsNothing recounts a history that is whole, and ones whose beginning is forgotten.
func TestRecountFindsNothing(t *testing.T) {
	t.Parallel()
	h := newStory(1, Defaults()).play(300, true, true)
	middle := refold(t, Defaults(), h.events[:len(h.events)/2], func() int { return 1 << 20 })
	for name, tt := range map[string]struct {
		stored []State
		events []Event
	}{
		"from nothing": {[]State{middle, h.State}, h.events},
		"from a state": {[]State{middle, h.State}, h.events[len(h.events)/2:]},
		"from the end": {[]State{h.State}, nil},
	} {
		r := NewRecounter(tt.stored)
		for _, e := range tt.events {
			r.Take(e)
		}
		got := r.End()
		if len(got.Off) > 0 {
			t.Errorf("%s: got %+v, want that all adds up", name, got.Off)
		}
		for run, s := range got.Sessions {
			if final, graded := h.final[run]; graded && s.Final != nil && *s.Final != final {
				t.Errorf("%s: run %s has a final grade of %v, want %v", name, run, *s.Final, final)
			}
		}
	}
}

// TestRecountOfAnOldBeginning has a session that began before the base end with nothing: no mark of it is known.
func TestRecountOfAnOldBeginning(t *testing.T) {
	t.Parallel()
	var st State
	st.Fold(Event{Seq: 1, Kind: Began, Category: "code", Run: "0r1"})
	r := NewRecounter([]State{*st.Clone()})
	r.Take(Event{Seq: 2, Kind: Empty, Category: "code", Run: "0r1"})
	if got := r.End(); len(got.Sessions) > 0 || len(got.Off) > 0 {
		t.Errorf("got %+v and %v, want nothing of the session", got.Sessions["0r1"], got.Off)
	}
}
