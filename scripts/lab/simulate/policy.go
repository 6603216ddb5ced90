package simulate

import (
	"slices"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Kind says how a policy decides.
type Kind string

const (
	// Ranked ranks as "stint select" does.
	Ranked Kind = "stint"
	// Known takes what is worth most now, which nobody knows: the best there is.
	Known Kind = "known"
	// UCB1 takes the highest upper confidence bounds.
	UCB1 Kind = "ucb1"
	// DiscountedUCB is the same with evidence that fades at every fire.
	DiscountedUCB Kind = "d-ucb"
	// DiscountedTS is Thompson sampling with evidence that fades at every fire (Raj and
	// Kalyani, "Taming Non-stationary Bandits", 2017).
	DiscountedTS Kind = "discounted-ts"
	// SlidingTS is Thompson sampling with the evidence of the last fires (Trovo and others,
	// "Sliding-Window Thompson Sampling for Non-Stationary Environments", JAIR 68, 2020).
	SlidingTS Kind = "sliding-ts"
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
	Settings rank.Settings // of [Ranked]; the floor, the cap and v of those within them
	Fair     bool          // one of the others keeps the ranking's floors and caps
	Gamma    float64       // what is left of evidence: per update of [Additive], per fire of the discounted; in (0,1]
	Window   int           // of [SlidingTS], in fires
	OneAgent bool          // of [Ranked]: the first agent of a category does its work
	Unpriced bool          // of [Ranked]: nothing that binds has a price
	Learns   Learns        // of [Ranked]: when it learns what became of work; empty: [Later]
}

// Learns is when a policy learns what became of a session's work.
type Learns string

const (
	// Later has the grade of the session's end corrected once it is known, as real fires do.
	Later Learns = "later"
	// AtOnce has it known at the session's end, as nobody can.
	AtOnce Learns = "at-once"
	// Never leaves the grade of the session's end.
	Never Learns = "never"
)

// unfair are the settings without floors and caps: nothing but the grades counts.
func unfair() rank.Settings {
	s := rank.Defaults()
	s.Floor, s.Cap = 0, 0
	return s
}

// core are those that forget nothing, and know no alarm, depletion or season either: they are for problems that never change.
func core() rank.Settings {
	return rank.Settings{V: rank.Defaults().V, Anchor: true, Dispersion: true}
}

// IsIndex reports whether a policy takes the highest of some index, to which a debt can be
// added.
func (k Kind) IsIndex() bool {
	return k == Known || k == UCB1 || k == DiscountedUCB || k == DiscountedTS || k == SlidingTS
}

// Policies are those that need no scenario, in the order in which they are shown.
func Policies() []Policy {
	d := rank.Defaults()
	return []Policy{
		{Name: "stint", Kind: Ranked, Settings: d},
		{Name: "stint-free", Kind: Ranked, Settings: unfair()},
		{Name: "stint-core", Kind: Ranked, Settings: core()},
		// Multiple-play Thompson sampling as published (Komiyama, Honda and Nakagawa, ICML 2015), with fractional updates for grades
		// between 0 and 1 in place of the random rounding of Agrawal and Goyal (COLT 2012).
		{Name: "mp-ts", Kind: Ranked, Settings: rank.Settings{V: d.V}},
		{Name: "known", Kind: Known, Settings: d, Fair: true},
		{Name: "ucb1", Kind: UCB1, Settings: d, Gamma: 1},
		{Name: "d-ucb", Kind: DiscountedUCB, Settings: d, Gamma: 0.99},
		{Name: "discounted-ts", Kind: DiscountedTS, Settings: d, Gamma: 0.99},
		{Name: "sliding-ts", Kind: SlidingTS, Settings: d, Gamma: 1, Window: 300},
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

// view has the facts that a policy sees when a fire comes.
type view struct {
	pool  string       // that fires; empty: the default one
	round int          // of the default pool, from 1
	host  int          // that fires
	fire  fleet.FireID // which counts those of other pools, too
	awake []bool       // can be started
	picks int          // start so many, at most as many as are awake
	most  int          // start so many, if there are categories and slots
	free  int
	busy  []int     // sessions in flight
	due   []float64 // what this fire entitles each category to, by the shares of all that are awake
	worth []float64 // the expected grade of a session that is started now, for those that know it
}

// choice lists the categories that a policy starts: distinct ones that are awake.
type choice struct {
	picks []int
	due   []float64 // what this fire entitles each category to, if not the view's
}

// start has a policy's notes on a session that begins, to have them back when it ends.
type start struct {
	round int
	at    fleet.Round // of its category
	load  float64
	agent int
}

// player is a policy at work in one run.
type player interface {
	choose(view) choice
	// begin counts a session, also one that a person started.
	begin(category int, v view) start
	learn(flight)
	// surplus counts the sessions by which a category is above its cap.
	surplus(category int) float64
	// alarms is the number of changes that it has noticed.
	alarms() int
}

// start returns a policy that knows nothing yet. Policies that draw the same things in
// the same way draw the same numbers.
func (p Policy) start(s *Scenario, seed uint64, run int) player {
	t := newTally(p, len(s.Categories))
	rng := generator(seed, run, "policy")
	switch p.Kind {
	case Ranked:
		return newRanked(p, s, keyOf(seed, run, "policy"))
	case Known, UCB1, DiscountedUCB, DiscountedTS, SlidingTS:
		return &index{tally: t, kind: p.Kind, gamma: p.Gamma, window: p.Window, rng: rng}
	case Additive:
		return &additive{tally: t, gamma: p.Gamma, rng: rng, last: make([]int, len(s.Categories))}
	case Random:
		return &random{rng: rng}
	case RoundRobin:
		return &roundRobin{next: map[string]int{}}
	}
	panic("simulate: policy " + p.Name + " is of no kind: " + string(p.Kind))
}
