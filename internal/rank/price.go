package rank

import (
	"maps"
	"math"
	"time"

	"stint/internal/fleet"
)

// Resource names a thing that sessions use up.
type Resource int

const (
	USD    Resource = iota
	Tokens          // of a model
	Hours           // of a slot
	resources
)

// Amounts are of each resource. As a budget of a day, 0 is none.
type Amounts [resources]float64

const (
	// haste is η: an eighth of a day's budget that is used beyond an even pace raises the pressure from 0 to 1, and as much may
	// be used before it rises above 0. With 4 and with 16 the problem "costs" earns the same, within 0.5 %.
	haste = 8
	// fillTime is the hours of full slots that raise their pressure from 0 to 1, and fillMost those that a single fire speaks for.
	fillTime, fillMost = 4, 1
	// fullPart is the part of that pressure that counts. Sessions that take 20 times as long earn 18 % more a fire, and
	// 1.6 % less if the long ones are worth more by their length. With 0.2 it is 15 and 1.1 %, with 0.5 it is 31 and 3.4 %.
	fullPart = 0.23
	// recently is the number of a category's sessions behind its expected use, and recentlyAll that behind the mean of all.
	recently, recentlyAll = 32, 128
	// useWeight is the weight of the mean use of all in a category's own, in sessions.
	useWeight = 4
	// outlier bounds a use, as a multiple of the usual one: one absurd bill must not decide.
	outlier = 8
	// usualWeight is the number of sessions after which the usual use is known.
	usualWeight = 8
	// maxPrice bounds a price, in units of grade: nothing costs more than a session can be worth. With 0.5, costs that
	// differ 50 times earn 33 % more, and 58 % with 1.
	maxPrice = 1
)

// Mean is the mean of what the last sessions used, of which each weighs a little more than the one before.
type Mean struct {
	W float64 `json:"w"` // sessions
	S float64 `json:"s"`
}

func (m *Mean) add(x, recently float64) {
	m.W = float64(m.W*(1-1/recently)) + 1
	m.S = float64(m.S*(1-1/recently)) + x
}

// Of is the mean; 0 without any.
func (m Mean) Of() float64 {
	if m.W == 0 {
		return 0
	}
	return m.S / m.W
}

// Pressure says how hard a resource binds: above 0 it does, up to 1. Below 0 there is a credit to use beyond an even pace
// before it binds.
type Pressure struct {
	At    time.Time `json:"at"`   // up to which time has passed for it
	From  time.Time `json:"from"` // when what is left began to become available: at midnight, or when a session ended
	Used  float64   `json:"used"` // of a budget: the part that was used that day
	Level float64   `json:"level"`
}

func newPressure(at time.Time) Pressure { return Pressure{At: at, From: at, Level: -1} }

func (p *Pressure) move(by float64) { p.Level = min(1, max(-1, p.Level+by)) }

// pass has what a budget has left for a day become available evenly over the rest of it.
func (p *Pressure) pass(now time.Time) {
	if fleet.Ahead(p.At, now) || now.Sub(p.At) > 2*day { // a clock was set back; or nothing binds any more
		*p = newPressure(now)
	}
	for p.At.Before(now) {
		midnight := p.At.UTC().Truncate(day).Add(day)
		until := midnight
		if now.Before(midnight) {
			until = now
		}
		p.move(-float64(float64(haste*max(0, 1-p.Used)) * (until.Sub(p.At).Seconds() / midnight.Sub(p.From).Seconds())))
		if p.At = until; until.Equal(midnight) {
			p.Used, p.From = 0, until
		}
	}
}

// Prices has the pressures of the resources, which move by what ended and by the time that passed.
type Prices struct {
	Budget Amounts             `json:"budget"`          // of a day
	Use    [resources]Mean     `json:"use"`             // of the sessions of all categories
	Of     [resources]Pressure `json:"of"`              // those that have a budget
	Slots  map[string]Pressure `json:"slots,omitempty"` // of each pool
}

func (p Prices) clone() Prices {
	p.Slots = maps.Clone(p.Slots)
	return p
}

// Fired has time pass up to a fire of a pool. Full is whether the slots alone kept it from starting one session more.
func (p *Prices) Fired(at time.Time, budget Amounts, pool string, full bool) {
	for r, day := range budget {
		switch of, was := &p.Of[r], p.Budget[r]; {
		case day == 0:
			*of = Pressure{}
		case was == 0:
			*of = newPressure(at)
		default:
			of.Used *= was / day
			of.pass(at)
		}
	}
	p.Budget = budget
	slots, known := p.Slots[pool]
	if !known && !full {
		return
	}
	if !known || fleet.Ahead(slots.At, at) {
		slots = newPressure(at)
	}
	hours := float64(min(fillMost, max(0, at.Sub(slots.At).Hours())) / fillTime)
	if !full {
		hours = -hours
	}
	slots.move(hours)
	if at.After(slots.At) {
		slots.At = at
	}
	if p.Slots == nil {
		p.Slots = map[string]Pressure{}
	}
	p.Slots[pool] = slots
}

// Ended counts what a session of a category used, by which agent. A cost that is assumed counts for the budget alone.
func (p *Prices) Ended(at time.Time, a *Arm, by *Pair, use Amounts, assumed bool) {
	for r, x := range use {
		if !(x >= 0) || math.IsInf(x, 1) {
			continue // nobody knows
		}
		if day := p.Budget[r]; day > 0 {
			of := &p.Of[r]
			of.pass(at)
			of.Used, of.From = of.Used+x/day, of.At
			of.move(float64(haste * (x / day)))
			x = min(x, day)
		}
		if assumed && r == int(USD) {
			continue
		}
		if usual := max(p.Use[r].Of(), a.Use[r].Of()); usual > 0 && p.Use[r].W > usualWeight {
			x = min(x, float64(outlier*usual))
		}
		p.Use[r].add(x, recentlyAll)
		a.Use[r].add(x, recently)
		by.Use[r].add(x, recently)
	}
}

// Rate is the price of one resource.
type Rate struct {
	Pressure float64 `json:"pressure"` // in [0,1]
	Mean     float64 `json:"mean"`     // use of a session, of all categories
}

// Rates are the prices for a fire; zero: nothing binds.
type Rates [resources]Rate

// Rates are the prices for a fire of a pool.
func (p Prices) Rates(pool string) (list Rates) {
	for r := range list {
		level := p.Of[r].Level
		if r == int(Hours) {
			level = float64(fullPart * p.Slots[pool].Level)
		}
		if mean := p.Use[r].Of(); level > 0 && mean > 0 {
			list[r] = Rate{level, mean}
		}
	}
	return list
}

// Cost has a session's expected use of a resource that binds, and the price that the score loses.
type Cost struct {
	Use   float64
	Price float64 // in units of grade, at most 0
}

// costs are those of one session of an arm.
func (l Scorer) costs(use [resources]Mean) (list [resources]Cost) {
	for r, rate := range l.Rates {
		if rate.Pressure == 0 {
			continue
		}
		u := (float64(useWeight*rate.Mean) + use[r].S) / (useWeight + use[r].W)
		list[r] = Cost{Use: u, Price: -min(maxPrice, float64(float64(rate.Pressure*l.Prior.Mean)*(u/rate.Mean)))}
	}
	return list
}
