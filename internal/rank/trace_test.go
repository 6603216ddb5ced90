package rank

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// world is a fleet in miniature: categories whose sessions are picked, end late, in any
// order or without a grade.
type world struct {
	Settings
	seed    uint64
	fire    fleet.FireID
	names   []fleet.Category
	shares  []float64
	arms    []*Arm
	running []session
	log     []round // what each fire did
}

type session struct {
	arm  int
	at   fleet.Round
	load float64
}

type round struct {
	Awake, Picks []int
	Parts        []Components
	Due          []float64
}

func newWorld(s Settings, seed uint64, shares []float64) *world {
	w := &world{Settings: s, seed: seed, shares: shares}
	for i := range shares {
		w.names, w.arms = append(w.names, fleet.Category(rune('a'+i))), append(w.arms, &Arm{})
	}
	return w
}

// turn is one fire: what runs already is unavailable, and so is what sleeps.
func (w *world) turn(out []bool, workers int) round {
	w.fire++
	at(fleet.Round(w.fire), w.arms)
	var (
		r      round
		shares []float64
		score  = make([]float64, len(w.arms))
	)
	look := NewScorer(w.Settings, w.seed, w.fire, w.arms)
	look.Turn = Turn{float64(w.fire%5) / 5}
	for i, a := range w.arms {
		parts := look.Score(w.names[i], a, 0, 0)
		r.Parts, score[i] = append(r.Parts, parts), parts.Score()
		busy := slices.ContainsFunc(w.running, func(s session) bool { return s.arm == i })
		if !out[i] && !busy && !a.Asleep(a.Round, time.Time{}) {
			r.Awake, shares = append(r.Awake, i), append(shares, w.shares[i])
		}
	}
	n := min(workers, len(r.Awake))
	r.Due = Entitlement(shares, n)
	for j, i := range r.Awake {
		w.arms[i].Entitle(w.Settings, r.Due[j])
	}
	r.Picks = slices.SortedFunc(slices.Values(r.Awake), func(i, j int) int { return cmp.Compare(score[j], score[i]) })[:n]
	for _, i := range r.Picks {
		w.claim(i)
	}
	w.log = append(w.log, r)
	return r
}

func (w *world) claim(i int) {
	w.running = append(w.running, session{i, w.arms[i].Round, w.arms[i].Debit(w.arms[i].Round)})
}

// end ends a session: with a grade from 0 to 1, with none (above 1), or as one that did
// nothing (below 0).
func (w *world) end(k int, grade float64) session {
	x := w.running[k]
	w.running = slices.Delete(w.running, k, k+1)
	switch {
	case grade < 0:
		w.arms[x.arm].Sleep(w.arms[x.arm].Round, noon())
	case grade <= 1:
		w.Learn(w.arms[x.arm], w.Prior(w.arms), Graded{Round: x.at, Load: x.load, Turn: Turn{float64(x.at%5) / 5}, Grade: grade})
	}
	return x
}

// event is what may happen to a world. The number of a session or category is taken modulo how
// many there are.
type event struct {
	Kind    int // 0: a fire, 1: a session ends, 2: somebody else starts one
	Out     []bool
	Workers int
	Who     int
	Grade   float64
}

func drawEvents(t *rapid.T, categories int) []event {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
		return event{
			Kind:    rapid.SampledFrom([]int{0, 0, 0, 1, 1, 1, 2}).Draw(t, "kind"),
			Out:     rapid.SliceOfN(rapid.Bool(), categories, categories).Draw(t, "out"),
			Workers: rapid.IntRange(0, categories+1).Draw(t, "workers"),
			Who:     rapid.IntRange(0, 99).Draw(t, "who"),
			Grade:   rapid.OneOf(rapid.Just(-1.0), rapid.Just(2.0), rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(0, 1)).Draw(t, "grade"),
		}
	}), 1, 60).Draw(t, "events")
}

func (w *world) play(e event) {
	switch {
	case e.Kind == 0:
		w.turn(e.Out, e.Workers)
	case e.Kind == 1 && len(w.running) > 0:
		w.end(e.Who%len(w.running), e.Grade)
	case e.Kind == 2:
		w.claim(e.Who % len(w.arms))
	}
}

// restart writes everything that is remembered down and reads it again.
func (w *world) restart(t *rapid.T) {
	data := must.Get(json.Marshal(w.arms))(t)
	w.arms = nil
	must.Do(t, json.Unmarshal(data, &w.arms))
}

func drawWorld(t *rapid.T) *world {
	shares := rapid.SliceOfN(rapid.OneOf(rapid.Just(1.0), rapid.Float64Range(0.01, 5)), 1, 6).Draw(t, "shares")
	return newWorld(drawSettings(t), rapid.Uint64().Draw(t, "seed"), shares)
}

// TestEveryTraceKeepsThePromises plays any order of fires, ends and foreign sessions and
// holds each fire against what is promised of one: the entitlements, floor and cap, which
// are picked, that a score is its sum, and that no grade means no change.
func TestEveryTraceKeepsThePromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		sessions, entitled := make([]float64, len(w.arms)), make([]float64, len(w.arms))
		for _, e := range drawEvents(t, len(w.arms)) {
			before := make([]Arm, len(w.arms))
			busy := map[int]bool{}
			for i, a := range w.arms {
				before[i] = *a
			}
			for _, s := range w.running {
				busy[s.arm] = true
			}
			fires, running := len(w.log), slices.Clone(w.running)
			w.play(e)
			switch {
			case len(w.log) > fires:
				r := w.log[fires]
				checkRound(t, w, r, e.Workers, busy)
				for j, i := range r.Awake {
					entitled[i] += r.Due[j]
				}
				for _, i := range r.Picks {
					sessions[i]++
				}
				for i, a := range w.arms {
					before[i].Round = a.Round
					if !slices.Contains(r.Awake, i) && *a != before[i] {
						t.Errorf("%s: got %+v after a fire it was out of, want %+v", w.names[i], *a, before[i])
					}
				}
			case e.Kind == 2:
				sessions[e.Who%len(w.arms)]++
			case len(running) > 0 && (e.Grade < 0 || e.Grade > 1):
				i := running[e.Who%len(running)].arm
				if w.arms[i].Evidence != before[i].Evidence || w.arms[i].Account != before[i].Account {
					t.Errorf("%s: got %+v from a session without a grade, want %+v", w.names[i], *w.arms[i], before[i])
				}
				if e.Grade > 1 && *w.arms[i] != before[i] {
					t.Errorf("%s: got %+v from an ungraded session, want %+v", w.names[i], *w.arms[i], before[i])
				}
			}
			for i, a := range w.arms {
				now := a.Account
				now.Entitle(w.Settings, 0) // settles it
				low, high := w.Floor*entitled[i]-now.Deficit, w.Cap*entitled[i]+now.Surplus+now.Forgiven
				if sessions[i] < low-near || w.Cap > 0 && sessions[i] > high+near {
					t.Errorf("%s: got %v sessions, want %v to %v", w.names[i], sessions[i], low, high)
				}
			}
		}
	})
}

func checkRound(t *rapid.T, w *world, r round, workers int, busy map[int]bool) {
	sum := 0.0
	for _, d := range r.Due {
		sum += d
	}
	n := min(workers, len(r.Awake))
	if math.Abs(sum-float64(n)) > near || len(r.Picks) != n {
		t.Errorf("got %v sessions due and %v picked, want %d", sum, r.Picks, n)
	}
	for _, i := range r.Picks {
		if busy[i] {
			t.Errorf("got %s picked, want nothing that runs already", w.names[i])
		}
	}
	for i, c := range r.Parts {
		if sum := c.TS + c.LOO + c.Season + c.Plateau + c.Div + c.Price(); math.Abs(c.Score()-sum) > 1e-12 || math.IsNaN(sum) {
			t.Errorf("%s: got score %v, want the sum %v of %+v", w.names[i], c.Score(), sum, c)
		}
		if !(0 <= c.TS && c.TS <= 1) {
			t.Errorf("%s: got %v drawn, want 0 to 1", w.names[i], c.TS)
		}
	}
}

// TestRestartChangesNothing writes the memory down and reads it again before every event:
// picks and components are the same to the last bit.
func TestRestartChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		again := newWorld(w.Settings, w.seed, w.shares)
		for _, e := range drawEvents(t, len(w.arms)) {
			w.play(e)
			again.restart(t)
			again.play(e)
		}
		must.Equal(t, "restarted throughout", again.log, w.log)
	})
}

// TestANewCategoryLeavesDrawsAlone adds a category without a record, and shuffles: neither
// changes a draw.
func TestANewCategoryLeavesDrawsAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, e := range drawEvents(t, len(w.arms)) {
			w.play(e)
		}
		look := NewScorer(w.Settings, w.seed, w.fire+1, at(fleet.Round(w.fire+1), w.arms))
		wider := NewScorer(w.Settings, w.seed, w.fire+1, append([]*Arm{{}}, w.arms...))
		for i, a := range w.arms {
			if got, want := wider.Score(w.names[i], a, 0, 0), look.Score(w.names[i], a, 0, 0); got != want {
				t.Errorf("%s: got %+v beside a new category, want %+v", w.names[i], got, want)
			}
		}
	})
}

// TestPlainIsThompsonSampling leaves out the additions: on grades 0 and 1 the picks are those of multiple-play Thompson sampling, which
// counts successes and failures.
func TestPlainIsThompsonSampling(t *testing.T) {
	t.Parallel()
	means := []float64{0.7, 0.6, 0.5, 0.4, 0.3}
	for seed := range uint64(5) {
		w := newWorld(Settings{V: 10}, seed, []float64{1, 1, 1, 1, 1})
		successes, failures := make([]float64, len(means)), make([]float64, len(means))
		nature := Generator(seed, 0, "nature")
		for fire := range fleet.FireID(400) {
			draws := make([]float64, len(means))
			for i := range draws {
				b := Beta{1 + successes[i], 1 + failures[i]}
				draws[i] = b.Draw(Generator(seed, fire+1, w.names[i]))
			}
			want := []int{0, 1, 2, 3, 4}
			slices.SortFunc(want, func(i, j int) int { return cmp.Compare(draws[j], draws[i]) })
			got := w.turn(make([]bool, len(means)), 2).Picks
			if !slices.Equal(got, want[:2]) {
				t.Fatalf("seed %d, fire %d: got %v, want %v", seed, fire+1, got, want[:2])
			}
			for len(w.running) > 0 {
				if i := w.running[0].arm; nature.Float64() < means[i] {
					successes[i]++
					w.end(0, 1)
				} else {
					failures[i]++
					w.end(0, 0)
				}
			}
		}
	}
}

// fairness is what became of twelve categories in a thousand fires, in the worst of
// them.
type fairness struct {
	minRatio, maxRatio, windowMax, deficit, gap, reward float64
}

// twelve runs the published problem of twelve categories with targets, three sessions a
// fire, and grades that scatter as Beta variates of concentration 4.
func twelve(s Settings, seed uint64) fairness {
	const fires, window = 1000, 200
	means := []float64{0.71, 0.695, 0.61, 0.60, 0.58, 0.566, 0.55, 0.52, 0.50, 0.46, 0.45, 0.43}
	shares := []float64{0.083, 0.08, 0.20, 0.087, 0.10, 0.04, 0.06, 0.05, 0.12, 0.03, 0.08, 0.07}
	w := newWorld(s, seed, shares)
	nature := Generator(seed, 0, "nature")
	counts, dues := [fires + 1][12]float64{}, [fires + 1][12]float64{}
	f := fairness{minRatio: math.Inf(1)}
	var since [12]float64
	for fire := range fires {
		r := w.turn(make([]bool, len(means)), 3)
		counts[fire+1], dues[fire+1] = counts[fire], dues[fire]
		for j, i := range r.Awake {
			dues[fire+1][i] += r.Due[j]
			since[i] += r.Due[j]
			f.gap = max(f.gap, since[i])
		}
		for _, i := range r.Picks {
			counts[fire+1][i]++
			since[i] = 0
		}
		for len(w.running) > 0 {
			mean := means[w.running[0].arm]
			grade := Beta{4 * mean, 4 * (1 - mean)}.Draw(nature)
			f.reward += grade / fires
			w.end(0, grade)
		}
		for i, a := range w.arms {
			deficit, _ := a.Settled(s)
			f.deficit = max(f.deficit, deficit)
			if start := fire + 1 - window; start >= 0 {
				f.windowMax = max(f.windowMax, (counts[fire+1][i]-counts[start][i])/(dues[fire+1][i]-dues[start][i]))
			}
		}
	}
	for i := range means {
		ratio := counts[fires][i] / dues[fires][i]
		f.minRatio, f.maxRatio = min(f.minRatio, ratio), max(f.maxRatio, ratio)
	}
	return f
}

// TestTwelveCategoriesAreServed holds ten seeds against what is published for the
// problem: reward 1.801 ± 0.001, ratio 0.505 to 1.79, 1.82 in the worst window, 4.6
// entitled sessions without one.
func TestTwelveCategoriesAreServed(t *testing.T) {
	t.Parallel()
	const seeds = 10
	s, reward, gap, least := Defaults(), 0.0, 0.0, 0.0
	for seed := range uint64(seeds) {
		f := twelve(s, 1000+seed)
		reward, gap, least = reward+f.reward/seeds, gap+f.gap/seeds, least+f.minRatio/seeds
		if f.maxRatio > s.Cap+0.02 || f.windowMax >= 2 {
			t.Errorf("seed %d: got ratios up to %v, %v within 200 fires, want 1.82 and 2 at most", seed, f.maxRatio, f.windowMax)
		}
		if smallest := 1000 * 3 * 0.03; f.minRatio < s.Floor-f.deficit/smallest {
			t.Errorf("seed %d: got a ratio of %v, want at least the floor less the largest deficit, %v", seed, f.minRatio, f.deficit)
		}
		if limit := (s.V + 1 + math.Log(12)) / s.Floor; f.gap > limit {
			t.Errorf("seed %d: got %v entitled sessions without one, want at most %v", seed, f.gap, limit)
		}
	}
	if reward < 1.79 || gap > 6.5 || least < 0.48 {
		t.Errorf("got reward %v, gap %v, least ratio %v on average, want 1.80, 4.6, 0.50", reward, gap, least)
	}
	t.Logf("reward %v, gap %v, least ratio %v", reward, gap, least)
}
