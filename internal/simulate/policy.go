package simulate

import (
	"slices"
	"strings"

	"stint/internal/bandit"
	"stint/internal/fleet"
)

// Kind says how a policy decides.
type Kind string

const (
	// Ranked ranks as "stint select" does.
	Ranked Kind = "stint"
	// UCB1 takes the highest upper confidence bounds.
	UCB1 Kind = "ucb1"
	// EpsilonGreedy takes the best means so far, and now and then any category.
	EpsilonGreedy Kind = "epsilon-greedy"
	// DiscountedTS is Thompson sampling that forgets at every fire.
	DiscountedTS Kind = "discounted-ts"
	// Additive adds bonuses for what was neglected to a Thompson draw.
	Additive Kind = "additive"
	// Random takes any.
	Random Kind = "random"
	// RoundRobin takes all in turn.
	RoundRobin Kind = "round-robin"
)

// Policy is a way to choose, with a name for the results.
type Policy struct {
	Name     string
	Kind     Kind
	Settings bandit.Settings // of [Ranked]
	Gamma    float64         // what is left of evidence: per update of [Additive], per fire of [DiscountedTS]; in (0,1]
	Epsilon  float64         // of [EpsilonGreedy], in [0,1]
}

// Policies are those that need no scenario, in the order in which they are shown.
func Policies() []Policy {
	d := bandit.Defaults()
	return []Policy{
		{Name: "stint", Kind: Ranked, Settings: d},
		{Name: "stint-free", Kind: Ranked, Settings: d.Unfair()},
		{Name: "stint-core", Kind: Ranked, Settings: d.Core()},
		{Name: "mp-ts", Kind: Ranked, Settings: d.Plain()},
		{Name: "ucb1", Kind: UCB1},
		{Name: "epsilon-greedy", Kind: EpsilonGreedy, Epsilon: 0.1},
		{Name: "discounted-ts", Kind: DiscountedTS, Gamma: 0.99},
		{Name: "additive", Kind: Additive, Gamma: 0.95},
		{Name: "random", Kind: Random},
		{Name: "round-robin", Kind: RoundRobin},
	}
}

// AllPolicies are the scenario's own and, where it says nothing of them, those that
// need none.
func (s *Scenario) AllPolicies() []Policy {
	all := Policies()
	for _, p := range s.Policies {
		if i := slices.IndexFunc(all, func(q Policy) bool { return q.Name == p.Name }); i >= 0 {
			all[i] = p
			continue
		}
		all = append(all, p)
	}
	return all
}

// Names are the names of policies, for a person.
func Names(policies []Policy) string {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

// view is what a policy sees when a fire comes.
type view struct {
	fire  fleet.FireID
	awake []bool // can be started
	picks int    // start so many, at most as many as are awake
	free  int
	busy  []int // sessions in flight
}

// choice is what a policy starts: distinct categories that are awake.
type choice struct {
	picks []int
	loads []float64 // of the picks, if the policy wants them back
	due   []float64 // what this fire entitles each category to; nil: by the shares of all that are awake
}

// ended is a session that a policy hears of.
type ended struct {
	ending
	category int
	started  fleet.FireID
	load     float64 // as the policy gave it
}

// player is a policy at work in one run.
type player interface {
	choose(view) choice
	learn(ended)
	// alarms is the number of changes that it has noticed.
	alarms() int
}

// start returns a policy that knows nothing yet. Policies that draw the same things in
// the same way draw the same numbers.
func (p Policy) start(s *Scenario, seed uint64, run int) player {
	t := newTally(len(s.Categories))
	rng := generator(seed, run, "policy")
	switch p.Kind {
	case Ranked:
		return newRanked(p.Settings, s, keyOf(seed, run, "policy"))
	case UCB1:
		return &ucb1{tally: t}
	case EpsilonGreedy:
		return &epsilonGreedy{tally: t, epsilon: p.Epsilon, rng: rng}
	case DiscountedTS:
		return &discounted{tally: t, gamma: p.Gamma, rng: rng}
	case Additive:
		return &additive{tally: t, gamma: p.Gamma, rng: rng, last: make([]fleet.FireID, len(s.Categories))}
	case Random:
		return &random{rng: rng}
	case RoundRobin:
		return &roundRobin{}
	}
	panic("simulate: policy " + p.Name + " is of no kind: " + string(p.Kind))
}
