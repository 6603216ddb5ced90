package simulate

import (
	"slices"

	"stint/internal/bandit"
	"stint/internal/fleet"
)

// outcome is what one run of one policy came to.
type outcome struct {
	regret    float64
	reward    float64
	picks     int
	noops     int
	alarms    int
	minRatio  float64
	maxRatio  float64
	windowMax float64
	longest   float64
	sessions  []int
	curve     []float64 // the regret as it grows, at intervals
}

// flight is a session that has not ended.
type flight struct {
	ending
	category int
	started  fleet.FireID
	load     float64
}

func (f flight) last() fleet.FireID { return f.started + fleet.FireID(f.length) - 1 }

// play is one run of one policy.
type play struct {
	scenario *Scenario
	world    *world
	player   player
	ledger   *ledger
	flights  []flight // in the order of their starts
	view     view
	strain   []strain
	value    []float64 // the expected grade of a session that is started now
	shares   []float64 // of the categories that are awake, in their order
	due      []float64
	best     []float64
	every    int // fires between two points of the curve
	outcome
}

func newPlay(s *Scenario, p Policy, seed uint64, run int) *play {
	n := len(s.Categories)
	return &play{
		scenario: s, world: newWorld(s, seed, run), player: p.start(s, seed, run), ledger: newLedger(n),
		view: view{awake: make([]bool, n), busy: make([]int, n)}, strain: make([]strain, n),
		value: make([]float64, n), due: make([]float64, n), every: spacing(s.Fires),
	}
}

// points is how many points a curve has at least, when there are as many fires.
const points = 100

// spacing is the number of fires between two points of a curve.
func spacing(fires int) int { return max(1, fires/points) }

// run plays all fires, unless stop says otherwise: it is asked now and then.
func (p *play) run(stop func() bool) outcome {
	const often = 1024
	for fire := 1; fire <= p.scenario.Fires; fire++ {
		if fire%often == 0 && stop() {
			break
		}
		p.fire(fleet.FireID(fire))
		if fire%p.every == 0 || fire == p.scenario.Fires {
			p.curve = append(p.curve, p.regret)
		}
	}
	p.alarms = p.player.alarms()
	p.minRatio, p.maxRatio = p.ledger.ratios()
	p.windowMax, p.longest, p.sessions = p.ledger.worst, p.ledger.longest, p.ledger.sessions
	return p.outcome
}

func (p *play) fire(fire fleet.FireID) {
	p.world.move(fire)
	p.look(fire)
	c := p.player.choose(p.view)
	due := c.due
	if due == nil {
		due = p.entitlement()
	}
	p.ledger.add(due, c.picks)
	p.regret += p.attainable()
	for i, category := range c.picks {
		f := flight{ending: p.world.end(fire, category, p.mean(fire, category)), category: category, started: fire}
		if c.loads != nil {
			f.load = c.loads[i]
		}
		p.flights = append(p.flights, f)
		p.view.busy[category]++
		p.picks++
		p.regret -= p.value[category]
		p.reward += p.value[category]
		if f.noop {
			p.noops++
		}
		if p.scenario.Depletion != nil {
			p.strain[category].add(p.scenario.Depletion, fire)
		}
	}
	p.land(fire)
}

// look finds out what the policy sees, and what it does not: what sessions are worth.
func (p *play) look(fire fleet.FireID) {
	v, s := &p.view, p.scenario.Sessions
	awake := 0
	for i, on := range p.world.awake {
		v.awake[i] = on && (s == nil || !s.Lock || v.busy[i] == 0)
		if v.awake[i] {
			awake++
		}
		p.value[i] = 0
		if p.world.work[i] {
			p.value[i] = p.mean(fire, i)
		}
	}
	v.fire, v.free = fire, awake
	if s != nil && s.Slots > 0 {
		v.free = max(0, s.Slots-len(p.flights))
	}
	v.picks = min(p.scenario.Workers, v.free, awake)
}

// mean is the true mean of a category's grade, with what its load costs.
func (p *play) mean(fire fleet.FireID, category int) float64 {
	m := p.world.mean[category]
	if d := p.scenario.Depletion; d != nil {
		m -= d.Amount * p.strain[category].now(d, fire)
	}
	return min(1, max(0, m))
}

// attainable is what the best sessions are worth that could be started now.
func (p *play) attainable() float64 {
	p.best = p.best[:0]
	for i, awake := range p.view.awake {
		if awake {
			p.best = append(p.best, p.value[i])
		}
	}
	slices.Sort(p.best)
	sum := 0.0
	for _, v := range p.best[len(p.best)-p.view.picks:] {
		sum += v
	}
	return sum
}

// entitlement is what this fire entitles each category to, for policies that do not
// say so themselves.
func (p *play) entitlement() []float64 {
	p.shares = p.shares[:0]
	for i, awake := range p.view.awake {
		if awake {
			p.shares = append(p.shares, p.scenario.Categories[i].Share)
		}
	}
	due := bandit.Entitlement(p.shares, p.view.picks)
	for i, awake := range p.view.awake {
		p.due[i] = 0
		if awake {
			p.due[i], due = due[0], due[1:]
		}
	}
	return p.due
}

// land ends the sessions that take until the next fire.
func (p *play) land(fire fleet.FireID) {
	aloft := p.flights[:0]
	for _, f := range p.flights {
		if f.last() > fire {
			aloft = append(aloft, f)
			continue
		}
		p.view.busy[f.category]--
		p.player.learn(ended(f))
	}
	p.flights = aloft
}
