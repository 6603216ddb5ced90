package simulate

import (
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// outOfReach is the reason for a category that is not awake, or in flight.
const outOfReach = "not available"

// outAsleep is the reason for a category that backs off.
const outAsleep = "backs off"

// ranked decides by the ranking of real fires, and keeps what the store keeps.
type ranked struct {
	settings   rank.Settings
	scenario   *Scenario
	seed       uint64
	candidates []rank.Candidate // by name, as a ranking wants them
	at         []int            // of each category in candidates
	index      []int            // of each candidate in the scenario
	pool       rank.Prior
	due        []float64
	entitled   []bool          // by category, as the others
	rounds     []fleet.Round   // before the fire
	fired      [][]fleet.Round // in which each machine last fired
	lessons    [][]known       // by lesson and category
	agents     map[string]*streak
	learns     Learns
	memories   []memory // by category
	picks      []int
	unpriced   bool
	oneAgent   bool
	agent      []int // by category, that starts next
	prices     rank.Prices
}

// streak are the sessions of an agent that failed in a row: nobody knows yet whether the work
// is to blame, or the agent.
type streak struct {
	failures int
	held     []flight
}

func newRanked(p Policy, s *Scenario, seed uint64) *ranked {
	n := len(s.Categories)
	r := &ranked{unpriced: p.Unpriced, oneAgent: p.OneAgent, agent: make([]int, n), settings: p.Settings, learns: p.Learns, memories: make([]memory, n), scenario: s, seed: seed, at: make([]int, n), index: make([]int, n), due: make([]float64, n), entitled: make([]bool, n), rounds: make([]fleet.Round, n), agents: map[string]*streak{}}
	for i := range s.Categories {
		r.index[i] = i
	}
	for range s.Lessons {
		r.lessons = append(r.lessons, make([]known, n))
	}
	slices.SortFunc(r.index, func(a, b int) int {
		return strings.Compare(string(s.Categories[a].Name), string(s.Categories[b].Name))
	})
	for at, i := range r.index {
		r.at[i] = at
		c := s.Categories[i]
		r.candidates = append(r.candidates, rank.Candidate{Category: c.Name, Share: c.Share, Agents: agentNames(len(c.Agents))})
	}
	return r
}

func (r *ranked) choose(v view) choice {
	for i := range r.memories {
		r.memories[i].correct(r.settings, r.arm(i), v.round)
	}
	last := r.lastRounds(v.host)
	for at := range r.candidates {
		c, i := &r.candidates[at], r.index[at]
		r.rounds[i] = c.Arm.Round
		c.Arm = c.Arm.Coming(last[i])
		c.Out, c.By = unavailable(c, v, i)
		c.Pending, r.due[i] = v.busy[i], 0
	}
	if len(r.lessons) > 0 {
		r.compareLessons(v.round)
	}
	s := rank.Rank(rank.Input{
		Settings: r.settings, Seed: r.seed, Fire: v.fire, At: r.scenario.at(v.round), FirePool: v.pool, Workers: v.most, Free: v.free, Rates: r.prices.Rates(v.pool), Candidates: r.candidates,
	})
	if !r.unpriced {
		r.prices.Fired(r.scenario.at(v.round), rank.Amounts{rank.USD: r.scenario.Budget}, v.pool, s.Full())
	}
	r.pool = s.Prior
	r.picks = r.picks[:0]
	for _, c := range s.Ranked()[:s.Picks] {
		i := r.category(c)
		r.picks = append(r.picks, i)
		if len(c.Order) > 1 && !r.oneAgent {
			r.agent[i] = slices.Index(agentNames(len(c.Order)), c.Order[0].Agent)
		}
	}
	// Entitlement accrues at the fire, and is debited after it.
	clear(r.entitled)
	if s.Picks > 0 {
		for _, c := range s.Ranked() {
			i := r.category(c)
			r.due[i], r.entitled[i] = c.Due, true
		}
	}
	moves := s.Moves()
	for at, i := range r.index {
		arm := &r.candidates[at].Arm
		coming := arm.Round
		arm.Round = r.rounds[i]
		if moves && r.scenario.Categories[i].Pool == v.pool {
			arm.Move(r.settings, rank.Move{Round: coming, Due: r.due[i], Entitled: r.entitled[i]})
			last[i] = coming
		}
	}
	return choice{picks: r.picks, due: r.due}
}

// lastRounds are those in which a machine last fired, by category.
func (r *ranked) lastRounds(host int) []fleet.Round {
	for len(r.fired) <= host {
		r.fired = append(r.fired, make([]fleet.Round, len(r.candidates)))
	}
	return r.fired[host]
}

func (r *ranked) begin(category int, v view) start {
	arm := r.arm(category)
	return start{round: v.round, agent: r.agent[category], at: arm.Round, load: arm.Debit(arm.Round)}
}

func unavailable(c *rank.Candidate, v view, i int) (string, fleet.Hindrance) {
	switch {
	case !v.awake[i]:
		return outOfReach, fleet.HinderedByTasks
	case c.Arm.Asleep(c.Arm.Round, time.Time{}):
		return outAsleep, fleet.HinderedByBackoff
	}
	return "", ""
}

func (r *ranked) category(s rank.Score) int {
	at, _ := slices.BinarySearchFunc(r.candidates, s.Category, func(c rank.Candidate, name fleet.Category) int {
		return strings.Compare(string(c.Category), string(name))
	})
	return r.index[at]
}

func (r *ranked) arm(category int) *rank.Arm { return &r.candidates[r.at[category]].Arm }

func (r *ranked) belief(category int) rank.Beta {
	return r.settings.Belief(r.arm(category), r.pool)
}

func (r *ranked) surplus(category int) float64 {
	_, surplus := r.arm(category).Settled(r.settings)
	return surplus
}

// learn counts a session, as the store does: a failure once its agent has worked again, and
// not at all if that fails as often as opens its breaker.
func (r *ranked) learn(e flight) {
	if c := r.scenario.Categories[e.category]; !r.unpriced {
		hours := float64(e.length) / 2
		r.prices.Ended(r.scenario.at(e.last()), r.arm(e.category), &rank.Pair{}, rank.Amounts{rank.USD: c.Cost, rank.Tokens: -1, rank.Hours: hours}, false)
	}
	agent := r.scenario.Categories[e.category].Agent
	if r.agents[agent] == nil {
		r.agents[agent] = &streak{}
	}
	s := r.agents[agent]
	switch o := e.verdict.Outcome; {
	case o == fleet.Failed, o == fleet.Timeout:
		if s.failures++; s.failures < fleet.FailuresToOpen {
			s.held = append(s.held, e)
		} else {
			s.held = nil
		}
		return
	case o == fleet.Productive, o == fleet.Noop, o == fleet.Nothing:
		for _, held := range s.held {
			r.count(held)
		}
		*s = streak{}
	}
	r.count(e)
}

func (r *ranked) count(e flight) {
	arm := r.arm(e.category)
	switch v := e.verdict; {
	case v.Grade != nil:
		x := rank.Graded{Round: e.at, Turn: rank.TurnAt(r.scenario.at(e.round)), Load: e.load, Grade: *v.Grade}
		if e.final != nil && r.learns == AtOnce {
			x.Grade = *e.final
		}
		c := &r.candidates[r.at[e.category]]
		name, alarms := agentNames(e.agent + 1)[e.agent], arm.Alarms
		r.settings.Learn(arm, r.pool, x)
		if arm.Alarms > alarms {
			c.Pairs = nil
		} else if len(c.Agents) > 0 {
			if c.Pairs == nil {
				c.Pairs = rank.Pairs{}
			}
			c.Pairs[name] = r.settings.LearnPair(c.Pairs[name], arm.Round, rank.Mark{Round: x.Round}, x.Grade)
		}
		if e.final != nil && r.learns != AtOnce && r.learns != Never {
			m := &r.memories[e.category]
			mark := rank.Mark{Round: x.Round, Load: x.Load, Turn: x.Turn, Counted: arm.Graded}
			m.later = append(m.later, correction{mark, x.Grade, *e.final, e.last() + e.known})
		}
		r.learnLessons(e, x)
	case v.Empty():
		arm.Sleep(arm.Round, time.Time{})
	}
}

func (r *ranked) alarms() int {
	sum := 0
	for i := range r.candidates {
		sum += r.candidates[i].Arm.Alarms
	}
	return sum
}

// agentNames are those of so many agents.
func agentNames(n int) (list []string) {
	for i := range n {
		list = append(list, string(rune('a'+i)))
	}
	return list
}

// at is when a fire is.
func (s *Scenario) at(round int) time.Time {
	minutes := 30
	if s.Hourly {
		minutes = 60
	}
	return time.Date(2026, 1, 1, 0, minutes*round, 0, 0, time.UTC)
}
