package rank

import (
	"fmt"
	"maps"
	"slices"

	"stint/internal/fleet"
)

// Why a category of a request is, or is not, started.
const (
	ReasonUnknown   = "unknown category"
	ReasonNoSlot    = "no slot free"
	ReasonSafetyNet = "the payload is no ranking; taken from the allow-list"
	ReasonForced    = "forced by a person"
)

// PlanInput has everything that a plan depends on.
type PlanInput struct {
	Input // what may start, and how much of it

	Request Request
	Scores  []Score                        // of stint's own ranking; nil when a payload is followed
	Odds    map[fleet.Category]float64     // of its categories being started; nil with Scores
	Allowed []fleet.Category               // the allow-list, in its order
	Order   map[fleet.Category][]AgentDraw // of each category's agents that could work, the best first
}

// Plan has the choices, in order of decision.
type Plan struct {
	Choices []fleet.Choice
	Net     bool // the allow-list had to stand in for the payload
}

// Decide picks the categories to start, in the order of the request after those that a person
// forces. Every category that was named or ranked gets a choice with its reason.
func Decide(in PlanInput) Plan {
	var names []Named
	add := func(name string, source fleet.Source) {
		if !slices.ContainsFunc(names, func(n Named) bool { return n.Category == name }) {
			names = append(names, Named{Category: name, Source: source})
		}
	}
	for _, c := range in.Forced {
		add(string(c), fleet.FromHand)
	}
	for _, n := range in.Request.Categories {
		add(n.Category, n.Source)
	}
	p := Plan{Net: in.Request.Unread}
	if p.Net {
		for _, c := range in.Allowed {
			if !in.Blocker(c, 0).Kind.Elsewhere() {
				add(string(c), fleet.FromAllowList)
			}
		}
	}
	started, seats := 0, maps.Clone(in.Seats)
	for i, n := range names {
		c := fleet.Choice{Category: fleet.Category(n.Category), Source: n.Source, Rank: i + 1, Decision: fleet.Skip}
		c.Score, c.Reason = in.ranked(c)
		if in.Odds != nil {
			odds := in.Odds[c.Category]
			c.Odds = &odds
		}
		blocker, full := in.Blocker(c.Category, started), ""
		if blocker.Kind == "" {
			var seated bool
			if c.Agent, full, seated = seats.Take(AgentNames(in.Order[c.Category])); !seated {
				blocker = Obstacle{Kind: fleet.HinderedBySeats, Reason: full}
			}
		}
		switch c.By = blocker.Kind; {
		case c.By != "" && in.Scores == nil:
			c.Reason = blocker.Reason
		case c.By != "": // what the ranking said stays beside the reason why it did not count
			c.Refusal = blocker.Reason
			c.Reason += "; " + blocker.Reason
		default:
			c.Decision = fleet.Spawn
			started++
			in.offer(&c)
			if why := Chosen(in.Order[c.Category]); full != "" {
				c.Reason += fmt.Sprintf("; by agent %s, for %s", c.Agent, full)
			} else if why != "" {
				c.Reason += "; " + why
			}
		}
		p.Choices = append(p.Choices, c)
	}
	for _, s := range in.Scores {
		if !s.In && !slices.Contains(in.Forced, s.Category) { // the ranking left it out
			p.Choices = append(p.Choices, fleet.Choice{Category: s.Category, Decision: fleet.Skip, Reason: s.Reason(), By: s.By})
		}
	}
	return p
}

// Blocker returns the obstacle to one more session of a category beside so many that the
// same fire starts; without a kind, there is none. A fire asks here whoever ranked, and so does a
// session that is to follow another, or that goes on to another category.
func (in PlanInput) Blocker(c fleet.Category, started int) Obstacle {
	of := in.Of(c)
	switch {
	case of == nil:
		return Obstacle{Kind: fleet.HinderedByUnknown, Reason: ReasonUnknown}
	case of.By != "":
		return Obstacle{Kind: of.By, Reason: of.Out}
	case in.Closed != "":
		return Obstacle{Kind: fleet.HinderedByMachine, Reason: in.Closed}
	case started >= in.Workers:
		return Obstacle{Kind: fleet.HinderedByWorkers, Reason: fmt.Sprintf("beyond this fire's limit of %d", in.Workers)}
	case in.Free <= 0:
		return Obstacle{Kind: fleet.HinderedBySlots, Reason: ReasonNoSlot}
	case started >= in.Free:
		return Obstacle{Kind: fleet.HinderedBySlots, Reason: fmt.Sprintf("%s: %d left when the fire began", ReasonNoSlot, in.Free)}
	}
	return Obstacle{}
}

// offer has the session of a choice begin with the task that another selector chose, or says why
// it cannot.
func (in PlanInput) offer(c *fleet.Choice) {
	switch o := in.Offer; {
	case o == nil || c.Category != o.Category:
	case o.Refused != "":
		c.Reason += fmt.Sprintf("; not with task %q: %s", o.Task, o.Refused)
	default:
		c.Task = o.Task
		c.Reason += fmt.Sprintf("; with task %q, which it chose", o.Task)
	}
}

// ranked is a category's score, if stint ranked it, and why it is on the list.
func (in PlanInput) ranked(c fleet.Choice) (float64, string) {
	i := slices.IndexFunc(in.Scores, func(s Score) bool { return s.Category == c.Category })
	score := 0.0
	if i >= 0 {
		score = in.Scores[i].Value
	}
	switch {
	case c.Source == fleet.FromHand:
		return score, ReasonForced
	case c.Source == fleet.FromAllowList:
		return score, ReasonSafetyNet
	case i >= 0:
		return score, in.Scores[i].Reason()
	}
	return 0, fmt.Sprintf("chosen by the selector, rank %d", c.Rank)
}
