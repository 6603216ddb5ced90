package rank

import (
	"math"

	"stint/internal/fleet"
)

const (
	// poolWeight is the number of sessions from which a category's long-run mean counts
	// half in the mean of all.
	poolWeight = 10
	// anchorWeight is the weight of the mean of all in a category's own, in sessions.
	anchorWeight = 4
	// priorWeight is the least weight of the prior, in sessions: that of Beta(1,1).
	priorWeight = 2
	// fadedWeight bounds what evidence that has faded adds to the prior's weight.
	fadedWeight = 10
	// dispersionWeight is the weight of the dispersion of all in a category's own, in
	// sessions, and dispersionPrior that of the prior in the dispersion of all.
	dispersionWeight, dispersionPrior = 10, 2.5
	// minDispersion bounds how far a belief is sharpened.
	minDispersion = 0.05
	// lowAnchor and highAnchor bound a prior's mean: no category is hopeless. With 0.02
	// and 0.98 an arm that began with some zeros was hardly tried again: of twenty arms
	// with means of 0.03 to 0.15, the regret over 10⁴ fires was 140 to 238 in ten
	// batches of forty runs, and is 149 to 193 with these.
	lowAnchor, highAnchor = 0.05, 0.95
)

// Evidence has the graded sessions of a category, as sums in which a session
// weighs 2^-(age/half-life), its age in rounds from its start. They are kept as of the
// round At and brought forward when they are used (forward decay: Cormode,
// Shkapenyuk, Srivastava and Xu, ICDE 2009): grades may come late, in any order or
// all at once, and give the same sums.
type Evidence struct {
	At      fleet.Round         `json:"at"`
	Fast    Sums                `json:"fast"`
	Slow    Sums                `json:"slow"`
	Slope   Regression          `json:"slope"`   // on the load
	Seasons [periods]Regression `json:"seasons"` // on the waves of each period
	Lately  Mean                `json:"lately"`  // by how much the last grades were off what was expected
	Shift   float64             `json:"shift"`   // of Fast.S: what corrections added to the first grades
	Up      Drift               `json:"up"`
	Down    Drift               `json:"down"`
	Graded  int                 `json:"graded"` // sessions that brought a grade
	Alarms  int                 `json:"alarms"` // changes that were detected
	Kept    Pane                `json:"kept"`
}

// Behind counts the graded sessions behind a belief: those since the change that the last alarm found, or all.
func (e Evidence) Behind() int { return e.Graded - max(0, e.Kept.First-1) }

// Sums are the weight of the sessions, and the weighted sums of their grades and of
// the squares of these.
type Sums struct {
	W  float64 `json:"w"`
	S  float64 `json:"s"`
	G2 float64 `json:"g2"`
}

func (s *Sums) add(weight, grade float64) {
	s.W += weight
	s.S += float64(weight * grade)
	s.G2 += float64(weight * grade * grade)
}

func (s Sums) times(f float64) Sums {
	return Sums{float64(s.W * f), float64(s.S * f), float64(s.G2 * f)}
}

// scatter is the sum of squared deviations of the grades, and what that would be of
// grades that are 0 or 1 with the same mean. Both are the same, to the last bit, when
// they are.
func (s Sums) scatter() (is, most float64) {
	if s.W == 0 {
		return 0, 0
	}
	squared := s.S * s.S / s.W
	return max(0, s.G2-squared), max(0, s.S-squared)
}

// Graded is a session that brought a grade.
type Graded struct {
	Round fleet.Round // when it was started
	Turn  Turn        // then
	Load  float64     // of its category then, see [Account.LoadNow]
	Grade float64     // in [0,1]
}

// Learn adds a graded session to an arm and reports whether it raised the alarm:
// then the grades from before the change are forgotten. The pool is that of the same
// time.
func (s Settings) Learn(a *Arm, p Prior, x Graded) (alarm bool) {
	e := s.forward(a.Evidence, a.Round)
	e.Graded++
	if e.Fast.W > settledWeight {
		b := s.belief(e, p)
		mean := b.Mean()
		// A grade that comes now is a first one, and is compared with those.
		off := x.Grade - (mean - e.Shift/e.Fast.W) - s.season(e, x.Turn, p)
		surprise := (off - p.shift) / math.Sqrt(float64(s.dispersion(e, p)*mean*(1-mean))+p.unsure)
		age := fade(float64(e.At-x.Round), latelyHalfLife)
		e.Lately.W += age
		e.Lately.S += float64(age * off)
		e.Up.step(surprise, x.Grade, e.Graded)
		e.Down.step(-surprise, x.Grade, e.Graded)
	} else {
		e.Up.gather(x.Grade)
		e.Down.gather(x.Grade)
	}
	s.count(&e, x)
	e.Slope.add(fade(float64(e.At-x.Round), s.SlowHalfLife), x.Load, 0, x.Grade)
	if alarm = s.Alarm > 0 && max(e.Up.Level, e.Down.Level) > s.Alarm; alarm {
		e.restart()
	}
	a.Evidence = e
	a.Wake()
	return alarm
}

// count adds a session to the sums that ask for no load.
func (s Settings) count(e *Evidence, x Graded) {
	age := float64(e.At - x.Round)
	slow := fade(age, s.SlowHalfLife)
	fast := fade(age, s.HalfLife)
	e.Fast.add(fast, x.Grade)
	e.Slow.add(slow, x.Grade)
	for i, turn := range x.Turn {
		a, b := waves(turn)
		e.Seasons[i].add(slow, a, b, x.Grade)
	}
}

// forward brings evidence to the round now, never back: faded evidence stays faded.
func (s Settings) forward(e Evidence, now fleet.Round) Evidence {
	now = max(now, e.At)
	age := float64(now - e.At)
	fast, slow := fade(age, s.HalfLife), fade(age, s.SlowHalfLife)
	e.Fast, e.Slow, e.At = e.Fast.times(fast), e.Slow.times(slow), now
	e.Shift = float64(e.Shift * fast)
	lately := fade(age, latelyHalfLife)
	e.Lately = Mean{float64(e.Lately.W * lately), float64(e.Lately.S * lately)}
	e.Slope = e.Slope.times(slow)
	for i, of := range e.Seasons {
		e.Seasons[i] = of.times(slow)
	}
	return e
}

// fade is the weight of what is so many rounds old.
func fade(age, halfLife float64) float64 {
	if halfLife == 0 || age <= 0 {
		return 1
	}
	return exp2(-age / halfLife)
}

// Prior has what the categories have in common at one time: the belief about one begins with it.
type Prior struct {
	Mean       float64 // of their long-run means, in (0,1)
	Dispersion float64 // how far grades scatter, in (0,1]; 1: as 0 or 1 grades do
	slope      float64 // by how much a grade falls for a whole unit of load; 0: nothing speaks for that
	period     int     // in which a season goes round
	season     float64 // the weight of no season in a category's own; 0: nobody has one
	shift      float64 // see [shift]
	unsure     float64 // the variance of that
	ridge      float64 // the weight of that in a category's own slope
}

// Prior works out what the arms have in common, each as of its own round.
func (s Settings) Prior(arms []*Arm) Prior {
	var (
		means, weights = 1.0, 2.0
		is, most       = dispersionPrior, dispersionPrior
		xx, xg         float64
		now            []Evidence
	)
	for _, a := range arms {
		e := s.forward(a.Evidence, a.Round)
		if e.Slow.W > 0 {
			u := e.Slow.W / (e.Slow.W + poolWeight)
			means += u * e.Slow.S / e.Slow.W
			weights += u
		}
		scattered, possible := e.Fast.scatter()
		is, most = is+scattered, most+possible
		load := e.Slope.centred()
		xx, xg = xx+load.XX, xg+load.XG
		now = append(now, e)
	}
	p := Prior{Mean: means / weights, Dispersion: 1}
	if s.Dispersion {
		p.Dispersion = min(1, max(minDispersion, is/most))
	}
	p.ridge = ridge(p.Dispersion)
	noise := float64(0.25 * p.Dispersion)
	p.shift, p.unsure = shift(now, noise)
	p.findSeason(now, noise)
	if xg < 0 && float64(xg*xg) > float64(float64(noise*xx)*surprising(1)) {
		p.slope = -xg / (xx + p.ridge)
	}
	return p
}

// dispersion returns the scatter of one category's grades, in (0,1].
func (s Settings) dispersion(e Evidence, p Prior) float64 {
	if !s.Dispersion {
		return 1
	}
	own := p.Dispersion
	if is, most := e.Fast.scatter(); most > 0 {
		own = is / most
	}
	phi := (float64(dispersionWeight*p.Dispersion) + float64(e.Fast.W*own)) / (dispersionWeight + e.Fast.W)
	return min(1, max(minDispersion, phi))
}

// belief is the posterior of the mean grade: a quasi-likelihood Beta whose evidence
// counts by how little it scatters, on a prior that is the category's long-run mean.
// As evidence fades its weight goes over to the prior, so that the variance grows and
// the mean stays.
func (s Settings) belief(e Evidence, p Prior) Beta {
	m, n0, phi := 0.5, float64(priorWeight), s.dispersion(e, p)
	if s.Anchor {
		m = (float64(anchorWeight*p.Mean) + e.Slow.S) / (anchorWeight + e.Slow.W)
		m = min(highAnchor, max(lowAnchor, m))
		n0 += min(fadedWeight, max(0, e.Slow.W-e.Fast.W)/phi)
	}
	return Beta{float64(n0*m) + e.Fast.S/phi, float64(n0*(1-m)) + (e.Fast.W-e.Fast.S)/phi}
}

// Belief returns the belief about an arm's mean grade.
func (s Settings) Belief(a *Arm, p Prior) Beta {
	return s.belief(s.forward(a.Evidence, a.Round), p)
}
