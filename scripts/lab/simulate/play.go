package simulate

import (
	"slices"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Session is one that began, and what became of it.
type Session struct {
	Category int
	Source   fleet.Source
	Verdict  fleet.Verdict
	Worth    float64 // the expected grade; 0 without work
}

// Moment is one fire of the default pool as a whole, for those who watch. It holds until
// they return.
type Moment struct {
	Fire     int
	Sessions []Session // that began since the last one, by whatever pool or hand
	Due      []float64 // what the fire entitled each category to
	Means    []float64 // the true ones
	// Belief is stint's belief about a category's mean grade; nil: another
	// policy plays.
	Belief func(category int) rank.Beta
}

// flight is a session that has not ended.
type flight struct {
	ending
	start
	category int
	source   fleet.Source
	depth    int // of its chain
}

func (f flight) last() int { return f.round + f.length - 1 }

// play is one run of one policy.
type play struct {
	scenario *Scenario
	world    *world
	player   player
	ledger   *ledger
	desk     *desk    // nil: nothing waits for review
	flights  []flight // in the order of their starts
	view     view
	strain   []strain
	value    []float64 // the expected grade of a session that is started now
	shares   []float64 // of the categories that are awake, in their order
	best     []float64
	spent    float64   // USD of the day
	begun    []int     // sessions of this round, by category
	due      []float64 // what this round entitled each category to
	sessions []Session
	watch    func(Moment)
	Outcome
}

func newPlay(s *Scenario, p Policy, seed uint64, run int) *play {
	n := len(s.Categories)
	w, value := newWorld(s, seed, run), make([]float64, n)
	game := &play{
		scenario: s, world: w, player: p.start(s, seed, run), ledger: newLedger(n),
		view:   view{awake: make([]bool, n), busy: make([]int, n), due: make([]float64, n), worth: value},
		strain: make([]strain, n), value: value, begun: make([]int, n), due: make([]float64, n),
	}
	if s.Review != nil {
		game.desk = &desk{Review: s.Review, chance: generator(seed, run, "review")}
	}
	return game
}

// run plays all fires, unless stop says otherwise: it is asked now and then.
func (p *play) run(stop func() bool) Outcome {
	const often = 1024
	for round := 1; round <= p.scenario.Fires; round++ {
		if round%often == 0 && stop() {
			break
		}
		p.world.move(round)
		p.view.round = round
		if round%firesADay == 0 {
			p.spent = 0
		}
		clear(p.begun)
		for _, pool := range p.scenario.Pools {
			for range pool.PerFire {
				p.fire(pool)
			}
		}
		p.fire(Pool{Workers: p.scenario.Workers})
		if p.desk != nil {
			p.desk.works(round)
		}
	}
	p.Alarms = p.player.alarms()
	p.MinRatio, p.MaxRatio = p.ledger.ratios()
	if d := p.desk; d != nil {
		p.Review = Reviewed{d.blocked / max(1, d.wanted), d.merged / max(1, d.could), d.oldest.Hours() / 24, d.first[0], d.first[1]}
	}
	p.WindowMax, p.LongestGap, p.Sessions = p.ledger.worst, p.ledger.longest, p.ledger.sessions
	return p.Outcome
}

// fire has all machines fire for a pool, one after the other. No session ends between.
func (p *play) fire(pool Pool) {
	if pool.Name == "" { // which alone is in the results
		p.ledger.next()
	}
	clear(p.due)
	p.byHand(pool)
	for p.view.host = range max(1, p.scenario.Hosts) {
		p.choose(pool)
	}
	p.land()
	if p.watch != nil && pool.Name == "" {
		m := Moment{Fire: p.view.round, Sessions: p.sessions, Due: p.due, Means: p.world.mean}
		if r, ok := p.player.(*ranked); ok {
			m.Belief = r.belief
		}
		p.watch(m)
		p.sessions = p.sessions[:0]
	}
}

// choose starts what the policy chooses for one machine.
func (p *play) choose(pool Pool) {
	p.observe(pool)
	p.entitle()
	c := p.player.choose(p.view)
	if c.due == nil {
		c.due = p.view.due
	}
	for i, due := range c.due {
		p.due[i] += due
	}
	if pool.Name == "" {
		p.ledger.entitle(c.due)
		p.Regret += p.attainable()
		for _, category := range c.picks {
			p.Regret -= p.value[category]
		}
	}
	for _, category := range c.picks {
		p.begin(category, fleet.FromScores, 0)
	}
}

// begin has a session begin, which a chain of so many came before.
func (p *play) begin(category int, source fleet.Source, depth int) {
	round := p.view.round
	begun := p.player.begin(category, p.view)
	mean := p.mean(category)
	if agents := p.scenario.Categories[category].Agents; len(agents) > 0 {
		mean = min(1, max(0, mean+agents[begun.agent]))
	}
	f := flight{
		ending:   p.world.end(round, category, p.begun[category], mean),
		start:    begun,
		category: category, source: source, depth: depth,
	}
	p.begun[category]++
	p.flights = append(p.flights, f)
	p.spent += p.scenario.Categories[category].Cost
	p.view.busy[category]++
	if d := p.scenario.Depletion; d != nil {
		p.strain[category].add(d, round)
	}
	if p.watch != nil {
		p.sessions = append(p.sessions, Session{category, source, f.verdict, f.worth})
	}
	if source == fleet.FromHand || p.scenario.Categories[category].Pool != "" {
		return
	}
	p.ledger.got(category)
	p.Picks++
	p.Reward += f.worth
	if f.verdict.Empty() {
		p.Noops++
	}
}

// byHand starts the sessions that people run beside a fire.
func (p *play) byHand(pool Pool) {
	for i, c := range p.scenario.Categories {
		if c.Pool == pool.Name && p.view.round <= c.ByHand {
			p.begin(i, fleet.FromHand, 0)
		}
	}
}

// observe finds out what the policy sees, and what it does not: what sessions are worth.
func (p *play) observe(pool Pool) {
	v, s := &p.view, p.scenario
	awake := 0
	for i, on := range p.world.awake {
		c := &s.Categories[i]
		v.awake[i] = on && c.Pool == pool.Name && v.round > c.ByHand && p.free(i) && !s.rests(i, v.round)
		if v.awake[i] {
			awake++
		}
		p.value[i] = 0
		if p.world.work[i] && !slices.ContainsFunc(s.Outages, func(o Outage) bool { return o.hits(*c, v.round) }) {
			p.value[i] = p.mean(i)
		}
	}
	v.pool, v.fire, v.free = pool.Name, v.fire+1, awake
	if s.Sessions != nil && s.Sessions.Slots > 0 {
		v.free = max(0, s.Sessions.Slots-len(p.flights))
	}
	if v.most = pool.Workers; s.Budget > 0 && p.spent >= s.Budget {
		v.most = 0
	}
	v.picks = min(v.most, v.free, awake)
	if p.desk != nil && pool.Name == "" {
		v.picks = p.desk.room(v.round, v.picks, len(p.flights))
		v.most = v.picks
	}
}

// free reports whether no session in flight keeps a category from starting.
func (p *play) free(category int) bool {
	s := p.scenario.Sessions
	return s == nil || !s.Lock || p.view.busy[category] == 0
}

// rests reports whether the agent of a category rests at a fire.
func (s *Scenario) rests(category, fire int) bool {
	for _, o := range s.Outages {
		since := fire - o.First
		if c := s.Categories[category]; !o.Rest || since == 0 || !o.hits(c, fire) {
			continue
		}
		var of []int
		for i, c := range s.Categories {
			if o.hits(c, fire) {
				of = append(of, i)
			}
		}
		return since%2 == 1 || of[since/2%len(of)] != category
	}
	return false
}

// mean is the true mean of a category's grade, with what its load costs.
func (p *play) mean(category int) float64 {
	m := p.world.mean[category]
	if d := p.scenario.Depletion; d != nil {
		m -= d.Amount * p.strain[category].now(d, p.view.round)
	}
	for _, l := range p.scenario.Lessons {
		m += l.Effect * l.next(p.scenario.Categories[category].Name, p.view.round)
	}
	return min(1, max(0, m))
}

// attainable returns the worth of the best sessions that could be started now.
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

// entitle divides this fire's sessions by the shares of all that are awake.
func (p *play) entitle() {
	p.shares = p.shares[:0]
	for i, awake := range p.view.awake {
		if awake {
			p.shares = append(p.shares, p.scenario.Categories[i].Share)
		}
	}
	due := rank.Entitlement(p.shares, p.view.picks)
	for i, awake := range p.view.awake {
		p.view.due[i] = 0
		if awake {
			p.view.due[i], due = due[0], due[1:]
		}
	}
}

// land ends the sessions that take until the next fire. Their followers end with them, unless
// they take longer.
func (p *play) land() {
	for i := 0; i < len(p.flights); {
		f := p.flights[i]
		if f.last() > p.view.round {
			i++
			continue
		}
		p.flights = slices.Delete(p.flights, i, i+1)
		p.view.busy[f.category]--
		if p.desk != nil {
			p.desk.takes(p.view.round, f.verdict)
		}
		p.player.learn(f)
		p.respawn(f)
	}
}

// respawn has one more session follow one that ended, if real sessions are followed so. By
// hand they run without a service manager.
func (p *play) respawn(f flight) {
	r := p.scenario.Respawn
	if r == nil || !p.world.awake[f.category] || !p.free(f.category) {
		return
	}
	follows, _ := rank.Respawn(rank.Chain{
		Outcome: f.verdict.Outcome, Grade: f.verdict.Grade, Depth: f.depth, Most: r.Most, From: r.From,
		Surplus: p.player.surplus(f.category), Later: f.source != fleet.FromHand,
	})
	if follows {
		p.begin(f.category, fleet.FromRespawn, f.depth+1)
	}
}
