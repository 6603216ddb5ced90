// Package selector ranks the categories of work and reads and writes the payload
// in which a ranking travels. It is pure: evidence, clock and seed come in as
// values, and every category comes out with the reason why it is in or out.
//
// The ranking recommends; it leaves out only what is known to be stable (a lane
// in use, a claim that stands). Who really works on what is decided by the
// claim.
package selector

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
)

// Why a category is left out of a ranking.
const (
	ReasonNotAllowed = "not in the fanout's allow-list"
	ReasonNoTask     = "no workable task"
	ReasonAllClaimed = "every workable task is claimed"
	ReasonFiltered   = "not asked for"
)

// Candidate is what a ranking knows of one category.
type Candidate struct {
	Category     fleet.Category  `json:"category"`
	Allowed      bool            `json:"allowed"`       // a fire may start it
	SelfDirected bool            `json:"self_directed"` // runs without a task
	Lanes        int             `json:"lanes"`
	InFlight     []fleet.RunID   `json:"in_flight"` // runs that live, or are about to
	Posterior    fleet.Posterior `json:"posterior"`
}

// Input is everything a ranking depends on.
type Input struct {
	Seed       uint64
	Fire       fleet.FireID // the fire's number: the clock of the draws
	At         time.Time
	Candidates []Candidate
	Tasks      []fleet.Task
	Held       []fleet.Claim  // what a take would deny
	Only       fleet.Category // rank this one alone; empty: all
}

// Score is what a ranking says of one category.
type Score struct {
	Category fleet.Category
	In       bool
	Reason   string // why it is in, or out
	Beta     bandit.Beta
	TS       float64 // the Thompson draw, in [0,1]
	Score    float64 // what the ranking is sorted by, in grade units
	Tasks    int     // workable now
	Next     *fleet.Task
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
	Seed    uint64
	At      time.Time
	Tier    Tier
	Scores  []Score
	Blocked []Blocked
}

// Ranked is the part of the selection that is in, best first.
func (s Selection) Ranked() []Score {
	out := slices.IndexFunc(s.Scores, func(c Score) bool { return !c.In })
	if out < 0 {
		return s.Scores
	}
	return s.Scores[:out]
}

// Rank orders the categories by one Thompson draw each. A category with a begun
// task is lifted to the front, the best of them if there are several: what was
// begun is finished before anything is started.
func Rank(in Input) Selection {
	ready, blocked := Workable(in.Tasks, byKey(in.Held), in.At)
	s := Selection{Seed: in.Seed, At: in.At, Blocked: blocked, Tier: TierCategories}
	for _, c := range in.Candidates {
		s.Scores = append(s.Scores, score(in, c, ready, blocked))
	}
	slices.SortFunc(s.Scores, compareScores)
	s.lead()
	return s
}

func score(in Input, c Candidate, ready []fleet.Task, blocked []Blocked) Score {
	beta := bandit.Posterior(c.Posterior)
	ts := beta.Draw(bandit.Generator(in.Seed, in.Fire, c.Category))
	s := Score{Category: c.Category, Beta: beta, TS: ts, Score: ts}
	for _, t := range ready {
		if t.Category != c.Category {
			continue
		}
		if s.Tasks++; s.Next == nil {
			s.Next = &t
		}
	}
	s.Reason = unavailable(in, c, s.Tasks, blocked)
	if s.In = s.Reason == ""; s.In {
		s.Reason = fmt.Sprintf("drew %.3f from Beta(%.2f, %.2f)", ts, beta.A, beta.B)
	}
	return s
}

// unavailable says why a category cannot be started, or "".
func unavailable(in Input, c Candidate, tasks int, blocked []Blocked) string {
	switch {
	case in.Only != "" && in.Only != c.Category:
		return ReasonFiltered
	case !c.Allowed && in.Only == "": // asking for a category by name overrides the list
		return ReasonNotAllowed
	case len(c.InFlight) >= c.Lanes:
		return fmt.Sprintf("lane busy: run %s", c.InFlight[0])
	case tasks > 0:
		return ""
	case c.SelfDirected && lanesClaimed(in.Held, c):
		return ClaimBlocked
	case c.SelfDirected:
		return ""
	}
	for _, b := range blocked {
		if b.Task.Category == c.Category && b.Reason == ClaimBlocked {
			return ReasonAllClaimed
		}
	}
	return ReasonNoTask
}

// lanesClaimed reports whether a session without a task would be denied on every
// lane: a claim outlives a session that died.
func lanesClaimed(held []fleet.Claim, c Candidate) bool {
	for lane := range c.Lanes {
		key := fleet.LaneKey(c.Category, lane+1)
		if !slices.ContainsFunc(held, func(h fleet.Claim) bool { return h.Key == key }) {
			return false
		}
	}
	return true
}

// compareScores puts what is in first, best first; names break ties and order
// what is out.
func compareScores(a, b Score) int {
	switch {
	case a.In != b.In:
		if a.In {
			return -1
		}
		return 1
	case a.In:
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Category, b.Category))
	default:
		return cmp.Compare(a.Category, b.Category)
	}
}

// lead lifts the best category with a begun task to the front and sets the tier.
func (s *Selection) lead() {
	ranked := s.Ranked()
	begun := slices.IndexFunc(ranked, func(c Score) bool { return c.Next != nil && c.Next.State == fleet.StateActive })
	switch {
	case begun >= 0:
		s.Tier = TierActive
		best := ranked[begun]
		copy(ranked[1:begun+1], ranked[:begun])
		ranked[0] = best
		ranked[0].Reason += fmt.Sprintf("; leads: %q is active", best.Next.ID)
	case len(ranked) > 0 && ranked[0].Next != nil:
		s.Tier = TierReady
	}
}
