package rank

import (
	"cmp"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Input is everything a ranking depends on. It is stored as JSON with each fire.
type Input struct {
	Settings   Settings            `json:"settings"`
	Seed       uint64              `json:"seed,string"`
	Fire       fleet.FireID        `json:"fire"` // the fire's number, by which it draws
	At         time.Time           `json:"at"`
	FirePool   string              `json:"pool,omitempty"`           // whose categories are ranked; empty: the default pool's
	Workers    int                 `json:"workers"`                  // start at most so many
	Free       int                 `json:"free_slots"`               // and no more than this
	Seats      Seats               `json:"seats,omitempty"`          // and no more of an agent than it has slots
	Rates      Rates               `json:"rates,omitzero"`           // of what binds
	Extra      bool                `json:"extra,omitempty"`          // no round passes by it
	Closed     string              `json:"closed,omitempty"`         // why nothing may be started at all; empty: it may
	Failed     []fleet.SourceFault `json:"failed_sources,omitempty"` // of tasks; no part of the ranking
	Forced     []fleet.Category    `json:"forced,omitempty"`         // by a person: started first, whatever yields to that
	Offer      *Offer              `json:"offer,omitempty"`          // the task that another selector chose; nil: none
	Candidates []Candidate         `json:"candidates"`
	Blocked    []BlockedTask       `json:"blocked"`
}

// Offer is the task with which another selector wants its first category to begin.
type Offer struct {
	Task     fleet.TaskID   `json:"task"`
	Category fleet.Category `json:"category"`
	Refused  string         `json:"refused,omitempty"` // why a session cannot begin with it; empty: it can
}

// Of returns the candidate of a category, or nil.
func (in Input) Of(c fleet.Category) *Candidate {
	for i := range in.Candidates {
		if in.Candidates[i].Category == c {
			return &in.Candidates[i]
		}
	}
	return nil
}

// Score has a ranking's result for one category.
type Score struct {
	*Candidate
	Components
	In    bool
	Value float64 // what the ranking is sorted by, in grade units
	Due   float64 // sessions of this fire that the category is entitled to, in [0,1]
	Leads bool    // it was lifted to the front because its task is begun

	Alone  bool        // it is all that is ranked
	Picked bool        // a fire starts it
	Order  []AgentDraw // of its agents that could work, the best first
	Full   string      // which of its agents have no slot left for it; empty: none that was asked

	tie uint64
}

// Tier says what kind of work a selection leads with.
type Tier int

const (
	TierActive     Tier = 1 // a begun task to resume
	TierReady      Tier = 2 // a task to begin
	TierCategories Tier = 3 // no task: categories only
)

// Selection is a ranking: the categories that are in, best first, then those that
// are out, by name.
type Selection struct {
	Input
	Tier   Tier
	Prior  Prior
	Scores []Score
	Picks  int // a fire starts so many of them
}

// Ranked is the part of the selection that is in, best first.
func (s Selection) Ranked() []Score {
	return s.Scores[:countIn(s.Scores)]
}

// Alone reports whether a single category is ranked, and so nothing.
func (s Selection) Alone() bool { return len(s.Scores) == 1 }

func countIn(scores []Score) int {
	if out := slices.IndexFunc(scores, func(c Score) bool { return !c.In }); out >= 0 {
		return out
	}
	return len(scores)
}

// Rank orders the categories that can be started by their scores. A category with a
// begun task is lifted to the front, the best of them if there are several: begun work is
// finished before new work is started, unless the category has had more than its cap.
func Rank(in Input) Selection {
	if !slices.IsSortedFunc(in.Candidates, byName) { // the order must not decide the last bit
		in.Candidates = slices.SortedFunc(slices.Values(in.Candidates), byName)
	}
	arms := make([]*Arm, len(in.Candidates))
	for i := range in.Candidates {
		arms[i] = &in.Candidates[i].Arm
	}
	scorer := NewScorer(in.Settings, in.Seed, in.Fire, arms)
	scorer.Turn, scorer.Rates = TurnAt(in.At), in.Rates
	s := Selection{Input: in, Prior: scorer.Prior, Scores: make([]Score, len(in.Candidates))}
	for i := range in.Candidates {
		c := &in.Candidates[i]
		parts := scorer.Score(c.Category, &c.Arm, c.Pending, c.LOO)
		s.Scores[i] = Score{
			Candidate: c, Components: parts, Order: scorer.Agents(c.Category, parts, &c.Arm, c.Pairs, c.Agents), In: c.Out == "", Value: parts.Score(), Alone: len(in.Candidates) == 1,
			tie: Key(in.Seed^uint64(in.Fire), string(c.Category)),
		}
	}
	slices.SortFunc(s.Scores, compareScores)
	ranked := s.Ranked()
	s.Tier = lead(ranked, in.Settings)
	s.Picks = in.pick(ranked)
	shares := plain.Each(ranked, func(c Score) float64 { return c.Share })
	for i, due := range Entitlement(shares, s.Picks) {
		ranked[i].Due = due
	}
	return s
}

// Moves reports whether a fire that ranked so is a round of its pool: it can start
// something, or could if nobody waited for rounds to pass. With all categories backing off
// the clock must go on, or none would ever wake. A fire that is closed, has no slot, or
// finds every lane held, every category paused or without work, ages nothing.
func (s Selection) Moves() bool {
	if s.Picks > 0 {
		return true
	}
	awake := slices.Clone(s.Scores)
	for i := range awake {
		awake[i].In = awake[i].In || awake[i].By.EndsByRounds()
	}
	slices.SortFunc(awake, compareScores)
	return s.pick(awake[:countIn(awake)]) > 0
}

// Full reports whether the slots alone keep a fire that ranked so from starting one session more.
func (s Selection) Full() bool {
	return s.Closed == "" && min(s.Workers, len(s.Ranked())) > s.Free
}

// ByDraws are each category's agents that could work, in the order of their draws.
func (s Selection) ByDraws() map[fleet.Category][]AgentDraw {
	list := map[fleet.Category][]AgentDraw{}
	for _, score := range s.Scores {
		list[score.Category] = score.Order
	}
	return list
}

func byName(a, b Candidate) int { return cmp.Compare(a.Category, b.Category) }

// compareScores puts the categories that are in first, best first; a hash breaks ties, so that
// no name is preferred for ever. Those that are out stand by name.
func compareScores(a, b Score) int {
	switch {
	case a.In != b.In:
		if a.In {
			return -1
		}
		return 1
	case a.In:
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.tie, b.tie), cmp.Compare(a.Category, b.Category))
	default:
		return cmp.Compare(a.Category, b.Category)
	}
}

// lead lifts the best category with a begun task to the front and returns the tier.
func lead(ranked []Score, s Settings) Tier {
	begun := slices.IndexFunc(ranked, func(c Score) bool { return mayLead(c, s) })
	if begun >= 0 {
		best := ranked[begun]
		copy(ranked[1:begun+1], ranked[:begun])
		best.Leads = true
		ranked[0] = best
	}
	switch {
	case len(ranked) == 0 || ranked[0].Next == nil:
		return TierCategories
	case ranked[0].Next.State == fleet.StateActive:
		return TierActive
	default:
		return TierReady
	}
}

func mayLead(c Score, s Settings) bool {
	if c.Next == nil || c.Next.State != fleet.StateActive || c.Next.Fruitless {
		return false
	}
	_, surplus := c.Arm.Settled(s)
	return surplus == 0
}

// Odds estimates, from so many redraws of every category from what is believed of it,
// the probability with which each is among those a fire starts. Only the draws differ;
// they are as repeatable as the ranking's own.
func (s Selection) Odds(redraws int) map[fleet.Category]float64 {
	odds, picked := map[fleet.Category]float64{}, map[fleet.Category]int{}
	ranked := slices.Clone(s.Ranked())
	for n := range redraws {
		seed := Key(s.Seed+uint64(n), "odds")
		for i := range ranked {
			c := &ranked[i]
			c.Leads, c.Picked = false, false
			c.Value = c.Fixed() + c.Beta.Draw(Generator(seed, s.Fire, c.Category))
		}
		slices.SortFunc(ranked, compareScores)
		lead(ranked, s.Settings)
		s.pick(ranked)
		for i := range ranked {
			if ranked[i].Picked {
				picked[ranked[i].Category]++
			}
		}
	}
	for c, n := range picked {
		odds[c] = float64(n) / float64(redraws)
	}
	return odds
}
