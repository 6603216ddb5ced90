package rank

import (
	"math"

	"stint/internal/fleet"
)

const (
	// effectSpread is the typical size of a lesson's effect, in units of grade: the
	// standard deviation of the prior, which expects none.
	effectSpread = 0.10
	// maxLOO bounds what lessons can do to a score, in units of grade.
	maxLOO = 0.2
	// noisePrior is the variance of a grade that is expected before there are any, and
	// noiseWeight how many sessions it is worth.
	noisePrior, noiseWeight = 0.0625, 10
)

// Trial has the results of the sessions of one category that a lesson matched: with it
// and, by chance, without it. Its sums are kept as of the round At of the category, see [Evidence].
type Trial struct {
	At      fleet.Round `json:"at"`
	With    Tried       `json:"with"`
	Without Tried       `json:"without"`
}

// Tried is one arm of a trial. Its sums fade with the slow half-life: an effect that is
// worth knowing takes hundreds of sessions to show. A session without a grade is in no sum,
// so that a lesson under which sessions do nothing rather than fail would look good by its
// grades alone: the numbers show it.
type Tried struct {
	Sums   `json:"sums"`
	Graded int `json:"graded"` // sessions that brought a grade
	Empty  int `json:"empty"`  // that ended without work
	Failed int `json:"failed"` // that failed, graded or not
}

// Of is the arm of the sessions that got the lesson, or of those that did not.
func (t *Trial) Of(injected bool) *Tried {
	if injected {
		return &t.With
	}
	return &t.Without
}

// Try counts a graded session.
func (s Settings) Try(t *Trial, injected bool, now fleet.Round, x Graded) {
	*t = s.Faded(*t, now)
	a := t.Of(injected)
	a.Graded++
	a.add(fade(float64(t.At-x.Round), s.SlowHalfLife), x.Grade)
}

// Correct has a session that was tried count with another grade than it had.
func (s Settings) Correct(t *Trial, injected bool, now fleet.Round, x Graded, was float64) {
	*t = s.Faded(*t, now)
	t.Of(injected).revise(fade(float64(t.At-x.Round), s.SlowHalfLife), was, x.Grade)
}

// Faded brings a trial to the round now, never back.
func (s Settings) Faded(t Trial, now fleet.Round) Trial {
	now = max(now, t.At)
	f := fade(float64(now-t.At), s.SlowHalfLife)
	t.With.Sums, t.Without.Sums, t.At = t.With.times(f), t.Without.times(f), now
	return t
}

// Effect estimates the effect of a lesson on a grade, in units of grade.
type Effect struct {
	Raw  float64 `json:"raw"`  // the difference as observed, controlled by category
	Mean float64 `json:"mean"` // drawn towards no effect by how little is known
	SD   float64 `json:"sd"`   // of Mean
}

// Interval is the central 95 % credible interval.
func (e Effect) Interval() (low, high float64) {
	return e.Mean - float64(1.96*e.SD), e.Mean + float64(1.96*e.SD)
}

// Known reports whether the interval leaves out zero: else the sign is not known.
func (e Effect) Known() bool {
	low, high := e.Interval()
	return low > 0 || high < 0
}

// Scored returns the effect's addend to scores: 0 while its sign is not known. Below about 150 matched sessions
// that is a guess: it was wrong for 22 to 43 % of the lessons.
func (e Effect) Scored() float64 {
	if !e.Known() {
		return 0
	}
	return e.Mean
}

// EffectOf estimates a lesson's effect from its trials, one a category. Only chance
// decided who got the lesson, so the difference is the lesson's doing; comparing within
// categories only (Mantel and Haenszel, 1959) keeps easy categories from passing for
// good lessons. Noise is the variance of a grade, see [Noise].
func EffectOf(trials []Trial, noise float64) Effect {
	weights, sum := weigh(trials)
	prior := effectSpread * effectSpread
	if weights == 0 {
		return Effect{SD: effectSpread}
	}
	d, v := sum/weights, noise/weights
	return Effect{Raw: d, Mean: d * prior / (prior + v), SD: math.Sqrt(prior * v / (prior + v))}
}

// weigh sums up the differences of the grades, each category by its weight.
func weigh(trials []Trial) (weights, sum float64) {
	for _, t := range trials {
		if t.With.W == 0 || t.Without.W == 0 {
			continue
		}
		w := t.With.W * t.Without.W / (t.With.W + t.Without.W)
		weights += w
		sum += float64(w * (t.With.S/t.With.W - t.Without.S/t.Without.W))
	}
	return weights, sum
}

// Noise is the variance of a grade within one category, with or without a lesson.
func Noise(trials []Trial) float64 {
	sum, weight := noisePrior*noiseWeight, float64(noiseWeight)
	for _, t := range trials {
		for _, g := range []Sums{t.With.Sums, t.Without.Sums} {
			if g.W > 1 {
				is, _ := g.scatter()
				sum, weight = sum+is, weight+g.W-1
			}
		}
	}
	return sum / weight
}

// Exposure has the share of a lesson in a category's next session, the share in the
// sessions behind the belief, both in [0,1], and the lesson's effect.
type Exposure struct {
	Effect float64 // [Effect.Scored]
	Next   float64
	Behind float64
}

// LOO returns the change of a category's expected grade by today's lessons, in [-0.2,0.2]. Only
// a change of exposure counts: their lasting effect is in the grades already.
func LOO(lessons []Exposure) float64 {
	sum := 0.0
	for _, l := range lessons {
		sum += float64(l.Effect * (l.Next - l.Behind))
	}
	return min(maxLOO, max(-maxLOO, sum))
}

// Expose moves the mean exposure behind a belief by one session, which has weight 1 of
// the belief's evidence.
func Expose(behind float64, injected bool, evidence float64) float64 {
	x := 0.0
	if injected {
		x = 1
	}
	return behind + (x-behind)/max(1, evidence)
}
