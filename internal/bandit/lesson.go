package bandit

import "math"

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

// Trial is what became of the sessions of one category that a lesson matched: with it
// and, by chance, without it.
type Trial struct {
	With    Sums `json:"with"`
	Without Sums `json:"without"`
}

// Add counts a graded session.
func (t *Trial) Add(injected bool, grade float64) {
	if injected {
		t.With.add(1, grade)
		return
	}
	t.Without.add(1, grade)
}

// Effect is what a lesson does to a grade, in units of grade.
type Effect struct {
	Raw  float64 `json:"raw"`  // the difference as observed, controlled by category
	Mean float64 `json:"mean"` // drawn towards no effect by how little is known
	SD   float64 `json:"sd"`   // of Mean
}

// Interval is the central 95 % credible interval.
func (e Effect) Interval() (low, high float64) {
	return e.Mean - float64(1.96*e.SD), e.Mean + float64(1.96*e.SD)
}

// EffectOf estimates a lesson's effect from its trials, one a category. Only chance
// decided who got the lesson, so the difference is the lesson's doing; comparing within
// categories only (Mantel and Haenszel, 1959) keeps easy categories from passing for
// good lessons. Noise is the variance of a grade, see [Noise].
func EffectOf(trials []Trial, noise float64) Effect {
	var weights, sum float64
	for _, t := range trials {
		if t.With.W == 0 || t.Without.W == 0 {
			continue
		}
		w := t.With.W * t.Without.W / (t.With.W + t.Without.W)
		weights += w
		sum += float64(w * (t.With.S/t.With.W - t.Without.S/t.Without.W))
	}
	prior := effectSpread * effectSpread
	if weights == 0 {
		return Effect{SD: effectSpread}
	}
	d, v := sum/weights, noise/weights
	return Effect{Raw: d, Mean: d * prior / (prior + v), SD: math.Sqrt(prior * v / (prior + v))}
}

// Noise is the variance of a grade within one category, with or without a lesson.
func Noise(trials []Trial) float64 {
	sum, weight := noisePrior*noiseWeight, float64(noiseWeight)
	for _, t := range trials {
		for _, g := range []Sums{t.With, t.Without} {
			if g.W > 1 {
				is, _ := g.scatter()
				sum, weight = sum+is, weight+g.W-1
			}
		}
	}
	return sum / weight
}

// Exposure is how much of a lesson the next session of a category can expect beside how
// much the sessions behind the belief had, both in [0,1], and what the lesson does.
type Exposure struct {
	Effect float64 // [Effect.Mean]
	Next   float64
	Behind float64
}

// LOO is what today's lessons change of a category's expected grade, in [-0.2,0.2]. Only
// a change of exposure counts: what the lessons always did is in the grades already.
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
