package simulate

import (
	"stint/internal/fleet"
	"stint/internal/rank"
)

// Lesson is given to the sessions that it matches, unless chance withholds it.
type Lesson struct {
	Name        string
	Category    fleet.Category // that it can match; empty: all
	First, Last int            // fires in which it can
	Effect      float64        // on the mean grade of a session that gets it
	Withhold    float64        // probability, in [0,1]
}

// next is the probability with which the next session of a category gets it.
func (l Lesson) next(c fleet.Category, fire int) float64 {
	if fire < l.First || fire > l.Last || l.Category != "" && l.Category != c {
		return 0
	}
	return 1 - l.Withhold
}

// teach decides which lessons a session gets of those that match, and by how much that makes
// it better than could be expected.
func (w *world) teach(fire int, c fleet.Category) (given map[int]bool, better float64) {
	for i, l := range w.scenario.Lessons {
		next := l.next(c, fire)
		if next == 0 {
			continue
		}
		if given == nil {
			given = map[int]bool{}
		}
		if given[i] = w.chance.Float64() >= l.Withhold; given[i] {
			better += l.Effect
		}
		better -= l.Effect * next
	}
	return given, better
}

// known has the trials of one lesson in one category.
type known struct {
	trial    rank.Trial
	exposure float64 // mean, of the sessions behind what is believed
}

// compareLessons sets what today's lessons change of each category's grade, as real fires do.
func (r *ranked) compareLessons(round int) {
	var all []rank.Trial
	trials := make([][]rank.Trial, len(r.lessons))
	for l, of := range r.lessons {
		for c, k := range of {
			trials[l] = append(trials[l], r.settings.Faded(k.trial, r.arm(c).Round))
		}
		all = append(all, trials[l]...)
	}
	noise := rank.Noise(all)
	for at := range r.candidates {
		c, list := &r.candidates[at], []rank.Exposure(nil)
		for l, of := range r.lessons {
			list = append(list, rank.Exposure{
				Effect: rank.EffectOf(trials[l], noise).Mean, Next: r.scenario.Lessons[l].next(c.Category, round), Behind: of[r.index[at]].exposure,
			})
		}
		c.LOO = rank.LOO(list)
	}
}

// learnLessons counts a grade for the lessons that matched its session.
func (r *ranked) learnLessons(e flight, x rank.Graded) {
	arm := r.arm(e.category)
	for l := range r.lessons {
		k := &r.lessons[l][e.category]
		injected, matched := e.lessons[l]
		if matched {
			r.settings.Try(&k.trial, injected, arm.Round, x)
		}
		k.exposure = rank.Expose(k.exposure, injected, arm.Fast.W)
	}
}
