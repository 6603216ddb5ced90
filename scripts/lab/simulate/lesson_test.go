package simulate

import (
	"math"
	"testing"

	"stint/internal/rank"
)

// TestLessonsThatCannotMatch has a lesson that raises the grades of one category by 0.3, until
// the fire from which nothing matches it. Before, the belief knows of it; from then on the
// ranking takes back at once what the belief cannot have again.
func TestLessonsThatCannotMatch(t *testing.T) {
	t.Parallel()
	const last = 400
	s := &Scenario{
		Fires: last, Workers: 1, Grades: Grades{Noise: Graded, Concentration: 20},
		Categories: []Category{{Name: "code", Mean: 0.5, Share: 0.5}, {Name: "docs", Mean: 0.5, Share: 0.5}},
		Lessons: []Lesson{
			{Name: "style", Category: "code", First: 1, Last: last, Effect: 0.3, Withhold: 0.2},
			{Name: "never", Category: "docs", First: last + 9, Last: last + 9, Effect: 0.3, Withhold: 0.2},
		},
	}
	p := newPlay(s, Policy{Kind: Ranked, Settings: rank.Defaults()}, 1, 0)
	p.run(func() bool { return false })
	r, ok := p.player.(*ranked)
	if !ok {
		t.Fatal("another policy plays")
	}
	shift := func(category int) float64 { return r.candidates[r.at[category]].LOO }
	if got := shift(0); math.Abs(got) > 0.05 {
		t.Errorf("got a shift of %v while the lesson matches as it did, want about 0", got)
	}
	r.compareLessons(last + 1)
	if got := shift(0); got > -0.15 || got < -0.2 {
		t.Errorf("got a shift of %v after it, want the bound of -0.2, or nearly", got)
	}
	if got := shift(1); got != 0 {
		t.Errorf("got a shift of %v by a lesson that never matched, want 0", got)
	}
	if mean := r.belief(0).Mean(); math.Abs(mean-0.74) > 0.08 {
		t.Errorf("got a belief of %v, want about 0.5 and 0.8 times 0.3", mean)
	}
}
