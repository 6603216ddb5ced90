package rank

import "stint/internal/fleet"

// Settings are the constants of the ranking.
type Settings struct {
	// V is the number of sessions of allocation debt that one whole point of grade is worth,
	// above 0. Larger values follow the grades more, and let a category wait longer.
	V float64 `json:"v"`
	// Floor is the part of its entitlement that a category gets at least, in [0,1];
	// 0: no floor.
	Floor float64 `json:"floor"`
	// Cap is the multiple of its entitlement that a category gets at most, at least
	// 1; 0: no cap.
	Cap float64 `json:"cap"`
	// HalfLife is the number of rounds after which a grade counts half; 0: grades
	// count for ever. Without it the 24 problems earn 0.03 % more, and the worst of them 1.5 % less.
	HalfLife float64 `json:"half_life"`
	// SlowHalfLife is the same for the long-run mean to which a belief returns as its
	// evidence fades. It earns 0.09 %, and 1.9 % where that counts most.
	SlowHalfLife float64 `json:"slow_half_life"`
	// Alarm is the level of the change detector, in standard deviations of one grade
	// summed up; 0: never. It earns 0.22 %, and 3.9 % where that counts most.
	Alarm float64 `json:"alarm"`
	// Depletion says whether a category whose grades fall with its recent load is
	// marked down while the load is high.
	Depletion bool `json:"depletion"`
	// Season says whether a category whose grades go with the time of the day, or of the week, is ranked by
	// what the time of the fire brings.
	Season bool `json:"season"`
	// Anchor says whether a category's prior is its own long-run mean, drawn towards
	// that of all, rather than the uniform distribution.
	Anchor bool `json:"anchor"`
	// Dispersion says whether a belief is sharpened to how little the grades really
	// scatter, which 0 or 1 grades do most.
	Dispersion bool `json:"dispersion"`
}

// Defaults are the settings that did well on the published problems that
// "make bench-selection" runs.
func Defaults() Settings {
	return Settings{
		V: 10, Floor: 0.5, Cap: 1.8, HalfLife: 300, SlowHalfLife: 3000, Alarm: 15,
		Depletion: true, Season: true, Anchor: true, Dispersion: true,
	}
}

// Arm is all that is remembered of a category: what its sessions were worth and what
// it is owed. The zero value is a category that has never run.
type Arm struct {
	Round fleet.Round `json:"round"` // that it is in
	Fires int         `json:"fires"` // that counted, of all machines
	Evidence
	Account
	Backoff
	Use [resources]Mean `json:"use"` // of its last sessions
}

// Coming is the arm in the round of the next fire of a machine, if that counts: so the fire sees it.
// Last is the round in which the machine last fired for the category; 0: it never did. A machine
// that has fired in the current round begins the next, and another takes part in the current one:
// however many machines there are, a round passes as often as the quickest of them fires.
func (a Arm) Coming(last fleet.Round) Arm {
	if last >= a.Round {
		a.Round++
	}
	return a
}

// Move is a fire that counts for a category: it begins a round, or takes part in the current one.
type Move struct {
	Round    fleet.Round
	Due      float64 // to which it entitled the category
	Entitled bool    // it did
}

// Move counts a fire.
func (a *Arm) Move(s Settings, m Move) {
	begins := m.Round > a.Round
	a.Round = m.Round
	a.Fires++
	switch {
	case !m.Entitled:
	case begins:
		a.Entitle(s, m.Due)
	default:
		a.Due, a.Entitled = a.Due+m.Due, a.Entitled+m.Due
	}
}

// Components has the terms of a category's score, all in units of grade.
type Components struct {
	Belief  Beta    // what is believed of the mean grade
	Beta    Beta    // that with the sessions in flight, from which the draw is
	TS      float64 // the Thompson draw from Beta, in [0,1]
	LOO     float64 // what today's lessons change beside those behind the belief, in [-0.2,0.2]
	Season  float64 // what the time brings beside the times behind the belief
	Plateau float64 // what the recent load costs beside the load behind the belief
	Div     float64 // what the category is owed (above 0), or has had too much of
	Costs   [resources]Cost
}

// Fixed is the score without the draw.
func (c Components) Fixed() float64 { return c.LOO + c.Season + c.Plateau + c.Div + c.Price() }

// Price returns the charge for the use of all resources that bind.
func (c Components) Price() (sum float64) {
	for _, cost := range c.Costs {
		sum += cost.Price
	}
	return sum
}

// Score returns the sum by which a ranking is sorted.
func (c Components) Score() float64 { return c.TS + c.Fixed() }

// Scorer scores the arms for one fire.
type Scorer struct {
	Settings
	Seed  uint64
	Fire  fleet.FireID
	Turn  Turn
	Rates Rates
	Prior Prior
}

// NewScorer begins a fire over these arms, awake or not. Their order decides the last
// bit of the result: the caller keeps it.
func NewScorer(s Settings, seed uint64, fire fleet.FireID, arms []*Arm) Scorer {
	return Scorer{Settings: s, Seed: seed, Fire: fire, Prior: s.Prior(arms)}
}

// Score works out one arm's components. Pending is the number of its sessions that
// have not ended; loo comes from [LOO].
func (l Scorer) Score(c fleet.Category, a *Arm, pending int, loo float64) Components {
	now := l.forward(a.Evidence, a.Round)
	belief := l.belief(now, l.Prior)
	b := belief.pending(float64(pending))
	return Components{
		Belief:  belief,
		Beta:    b,
		TS:      b.Draw(Generator(l.Seed, l.Fire, c)),
		LOO:     loo,
		Season:  l.season(now, l.Turn, l.Prior),
		Plateau: l.plateau(now, a.LoadNow(a.Round), l.Prior),
		Div:     a.Debt(l.Settings),
		Costs:   l.costs(a.Use),
	}
}
