package rank

import (
	"cmp"
	"maps"
	"slices"

	"stint/internal/fleet"
)

// Pair has the grades and the use of an agent's sessions of one category. Its sums fade as the category's do, and begin anew at an alarm.
type Pair struct {
	At fleet.Round `json:"at"`
	Sums
	Use [resources]Mean `json:"use"` // of its last sessions
}

// Pairs are those of one category, by agent.
type Pairs map[string]Pair

// pairWeight is the weight of the category's belief in that of an agent with grades, in sessions.
const pairWeight = 4

// with is p with another agent's pair: maps of pairs are shared.
func (p Pairs) with(agent string, pair Pair) Pairs {
	c := maps.Clone(p)
	if c == nil {
		c = Pairs{}
	}
	c[agent] = pair
	return c
}

// Others returns the mean use of a session by other agents than one; nil: nobody knows.
func Others(pairs map[fleet.Category]Pairs, agent string) (u fleet.Usage) {
	var use [resources]Mean
	for _, c := range slices.Sorted(maps.Keys(pairs)) { // the order of a sum decides its last bit
		for _, by := range slices.Sorted(maps.Keys(pairs[c])) {
			for r, m := range pairs[c][by].Use {
				if by != agent {
					use[r].W, use[r].S = use[r].W+m.W, use[r].S+m.S
				}
			}
		}
	}
	if usd := use[USD].Of(); usd > 0 {
		u.USD = &usd
	}
	if tokens := int64(use[Tokens].Of()); tokens > 0 {
		u.Tokens = &tokens
	}
	return u
}

// LearnPair counts a grade for the agent that brought it.
func (s Settings) LearnPair(p Pair, now fleet.Round, m Mark, grade float64) Pair {
	p = s.pairAt(p, now)
	p.add(fade(float64(p.At-m.Round), s.HalfLife), grade)
	return p
}

// RevisePair has a grade count that was learnt as another.
func (s Settings) RevisePair(p Pair, now fleet.Round, m Mark, was, is float64) Pair {
	p = s.pairAt(p, now)
	p.revise(fade(float64(p.At-m.Round), s.HalfLife), was, is)
	return p
}

func (s Settings) pairAt(p Pair, now fleet.Round) Pair {
	now = max(now, p.At)
	p.Sums, p.At = p.times(fade(float64(now-p.At), s.HalfLife)), now
	return p
}

// AgentDraw is an agent of a category, with what it drew.
type AgentDraw struct {
	Agent string
	Draw  float64
	Price float64 // at most 0
}

// Agents orders those of a category by draws from what is believed of each, less the price of what each uses. The belief about
// an agent is drawn towards the category's. One without grades has that, and its draw; so among such ones the order stays.
func (l Scorer) Agents(c fleet.Category, parts Components, a *Arm, pairs Pairs, agents []string) []AgentDraw {
	list := make([]AgentDraw, len(agents))
	phi := l.dispersion(l.forward(a.Evidence, a.Round), l.Prior)
	for i, agent := range agents {
		p, d := pairs[agent], AgentDraw{Agent: agent, Draw: parts.TS}
		if sums := l.pairAt(p, a.Round).Sums; sums.W > 0 {
			mean := parts.Belief.Mean()
			own := Beta{float64(pairWeight*mean) + sums.S/phi, float64(pairWeight*(1-mean)) + (sums.W-sums.S)/phi}
			d.Draw = own.Draw(Generator(l.Seed, l.Fire, c+fleet.Category("\x00"+agent)))
		}
		use := a.Use
		for r := range use {
			if own := p.Use[r]; own.W > 0 { // drawn towards the category's
				use[r] = Mean{useWeight + own.W, float64(useWeight*use[r].Of()) + own.S}
			}
		}
		for _, cost := range l.costs(use) {
			d.Price += cost.Price
		}
		list[i] = d
	}
	slices.SortStableFunc(list, func(x, y AgentDraw) int { return cmp.Compare(y.Draw+y.Price, x.Draw+x.Price) })
	return list
}
