package why_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/selector"
	"stint/internal/why"
)

// TestChange asks what changed between fires of every sort, and works each number out again
// from what the two recorded: the payload's own words on a category, and the probabilities.
func TestChange(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	said := map[string]int{}
	for range 150 {
		then, last := drawnRanking(r, 10), drawnRanking(r, 40)
		if r.IntN(5) == 0 { // one with more tasks, of which the ranking knows nothing
			in := then.Selection.Input
			in.Candidates = slices.Clone(in.Candidates)
			for i := range min(r.IntN(2), len(in.Candidates)) {
				in.Candidates[i].Tasks++
			}
			s := selector.Rank(in)
			last = why.Ranked{ID: 40, At: noon(), Selection: s, Odds: s.Odds(100)}
		}
		a := why.Change{Now: noon(), Since: ago(24 * time.Hour), Pools: []why.PoolChange{{Pool: "autonomous", Then: then, Last: last}}}.Answer()
		for _, p := range a.Parts {
			for _, text := range p.Sentences {
				said[checkChange(t, p.Title, text, then, last)]++
			}
		}
		if changed := len(a.Parts) > 0; changed != (a.Verdict == "changed" || then.Selection.Workers != last.Selection.Workers) {
			t.Errorf("verdict %q with %d parts", a.Verdict, len(a.Parts))
		}
	}
	for _, kind := range changeKinds() {
		if said[kind.pattern] == 0 {
			t.Errorf("nothing was said like %s", kind.pattern)
		}
	}
}

// drawnRanking is a fire that chance has made.
func drawnRanking(r *rand.Rand, id fleet.FireID) why.Ranked {
	in := selector.Input{Settings: bandit.Defaults(), Seed: r.Uint64(), Fire: id, At: ago(time.Duration(40-id) * time.Hour), Workers: 1 + r.IntN(2), Free: 3}
	for _, name := range []fleet.Category{"code", "docs", "triage"} {
		if r.IntN(12) == 0 {
			continue
		}
		n := r.IntN(20)
		w := float64(n)
		c := selector.Candidate{Category: name, Share: float64(1+r.IntN(3)) / 4, Tasks: r.IntN(3), LOO: 0.1 * float64(r.IntN(2))}
		c.Arm.Graded, c.Arm.Sessions, c.Arm.Entitled = n, n, w+1
		c.Arm.Fast = bandit.Sums{W: w, S: w * r.Float64(), G2: w / 3}
		c.Arm.Slow = c.Arm.Fast
		c.Arm.Deficit = float64(r.IntN(3))
		if r.IntN(4) == 0 {
			c.Out = []string{"cools down", "no workable task"}[r.IntN(2)]
		}
		in.Candidates = append(in.Candidates, c)
	}
	s := selector.Rank(in)
	return why.Ranked{ID: id, At: in.At, Selection: s, Odds: s.Odds(100)}
}

// witness is what a recorded fire says of a category.
type witness struct {
	explain   selector.Explain
	candidate selector.Candidate
	odds      float64
	workers   int
}

func witnessOf(f why.Ranked, name string) (w witness) {
	w.explain = f.Selection.Payload().Explain[name]
	for _, c := range f.Selection.Input.Candidates {
		if string(c.Category) == name {
			w.candidate = c
		}
	}
	w.odds, w.workers = f.Selection.Odds(100)[fleet.Category(name)], f.Selection.Workers
	return w
}

type changeKind struct {
	pattern string
	numbers func(then, last witness) []float64 // in the order in which the answer has them
}

func changeKinds() []changeKind {
	both := func(of func(witness) float64) func(then, last witness) []float64 {
		return func(then, last witness) []float64 { return []float64{of(last), of(then)} }
	}
	odds := func(w witness) float64 { return w.odds }
	mean := func(w witness) float64 { return w.explain.Mean }
	none := func(witness, witness) []float64 { return nil }
	return []changeKind{
		{`^A fire starts (\d) at most, and started (\d)\.$`, both(func(w witness) float64 { return float64(w.workers) })},
		{`^A fire starts it with a probability of (\S+), and did with (\S+)\.$`, both(odds)},
		{`^It can be started, with a probability of (\S+)\.$`, func(_, last witness) []float64 { return []float64{last.odds} }},
		{`^It could, with a probability of (\S+)\.$`, func(then, _ witness) []float64 { return []float64{then.odds} }},
		{`^Its share is (\S+), and was (\S+)\.$`, both(func(w witness) float64 { return w.candidate.Share })},
		{`^(\d+) tasks? can be worked on, and (\d+) could\.$`, both(func(w witness) float64 { return float64(w.candidate.Tasks) })},
		{`^Its mean grade is believed to be (\S+), and was to be ([^,]+)\.$`, both(mean)},
		{`^Its mean grade is believed to be (\S+), and was to be (\S+), after (\d+) graded sessions? more\.$`, func(then, last witness) []float64 {
			return append(both(mean)(then, last), float64(last.candidate.Arm.Graded-then.candidate.Arm.Graded))
		}},
		{`^Its debt or surplus counts (\S+) in its score, and counted (\S+)\.$`, both(func(w witness) float64 { return w.explain.Div })},
		{`^The effect of its lessons counts (\S+) in its score, and counted (\S+)\.$`, both(func(w witness) float64 { return w.explain.LOO })},
		{`^It cannot be started: (?:cools down|no workable task)\.$`, none},
		{`^It could not(?: before)?: (?:cools down|no workable task)\.$`, none},
		{`^It was not in the configuration\.$`, none},
		{`^It is not in the configuration any more\.$`, none},
		{`^(?:code|docs|triage)(?: and (?:code|docs|triage))?\.$`, none}, // as before
	}
}

// checkChange works the numbers of a sentence out again, and returns what sort it is of.
func checkChange(t *testing.T, category, text string, then, last why.Ranked) string {
	t.Helper()
	for _, kind := range changeKinds() {
		found := regexp.MustCompile(kind.pattern).FindStringSubmatch(text)
		if found == nil {
			continue
		}
		var want []string
		for i, x := range kind.numbers(witnessOf(then, category), witnessOf(last, category)) {
			format := "%.2f"
			if _, err := strconv.Atoi(found[1+i]); err == nil {
				format = "%.0f"
			} else if found[1+i][0] == '+' || found[1+i][0] == '-' {
				format = "%+.2f"
			}
			want = append(want, fmt.Sprintf(format, x))
		}
		if !slices.Equal(found[1:], want) {
			t.Errorf("%s: %q; worked out again: %v", category, text, want)
		}
		return kind.pattern
	}
	t.Errorf("%s: a sentence of no known sort: %q", category, text)
	return ""
}
