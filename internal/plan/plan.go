// Package plan decides what a fire does: from a request and the limits in force
// to one choice a category, each with its reason. It is pure.
package plan

import (
	"fmt"
	"maps"
	"slices"

	"stint/internal/fleet"
	"stint/internal/selector"
)

// Why a category of a request is, or is not, started.
const (
	ReasonUnknown    = "unknown category"
	ReasonNotAllowed = selector.ReasonNotAllowed
	ReasonNoSlot     = "no slot free"
	ReasonStart      = "among the best"
	ReasonSafetyNet  = "the payload named no usable category; taken from the allow-list"
)

// Input is everything a plan depends on.
type Input struct {
	Request selector.Request
	Scores  []selector.Score           // of stint's own ranking; nil when a foreign payload is followed
	Odds    map[fleet.Category]float64 // of its categories being started; nil with Scores
	Known   []fleet.Category
	Allowed []fleet.Category
	// Barred are the categories of other pools and of other hosts, and those that no fire may start.
	Barred map[fleet.Category]selector.Obstacle

	// Agents of each category that could work, except for their slots, the preferred one first.
	Agents map[fleet.Category][]string
	Seats  selector.Seats // slots of the agents that have a limit

	Workers int    // start at most so many
	Free    int    // slots left: start at most so many
	Closed  string // why nothing may be started at all; empty: it may
}

// Limits are what a plan takes over from the ranking's input.
func Limits(in selector.Input) Input {
	limits := Input{
		Barred: map[fleet.Category]selector.Obstacle{}, Agents: map[fleet.Category][]string{}, Seats: in.Seats,
		Workers: in.Workers, Free: in.Free, Closed: in.Closed,
	}
	for _, c := range in.Candidates {
		limits.Agents[c.Category] = c.Agents
		if c.By == fleet.HinderedByPool || c.By == fleet.HinderedByHost || c.By == fleet.HinderedByList {
			limits.Barred[c.Category] = selector.Obstacle{Kind: c.By, Reason: c.Out}
		}
	}
	return limits
}

// Plan is what to do, in order of decision.
type Plan struct {
	Choices []fleet.Choice
	Net     bool // the allow-list had to stand in for the payload
}

// Decide picks the categories to start: the request's order is kept, unknown and
// disallowed names and those of another pool or host are dropped, and every category that was named or ranked gets
// a choice with its reason.
func Decide(in Input) Plan {
	names := in.Request.Categories
	p := Plan{Net: in.Request.Foreign && !in.Usable(in.Request)}
	if p.Net {
		for _, c := range in.Allowed {
			if _, barred := in.Barred[c]; !barred {
				names = append(names, selector.Named{Category: string(c), Source: fleet.FromAllowList})
			}
		}
	}
	started, seats := 0, maps.Clone(in.Seats)
	for i, n := range names {
		c := fleet.Choice{Category: fleet.Category(n.Category), Source: n.Source, Rank: i + 1, Decision: fleet.Skip}
		c.Score, c.Reason = in.score(c.Category)
		if in.Odds != nil {
			odds := in.Odds[c.Category]
			c.Odds = &odds
		}
		full := ""
		var refusal string
		if c.By, refusal = in.refuse(c.Category, started); c.By == "" {
			var seated bool
			if c.Agent, full, seated = seats.Take(in.Agents[c.Category]); !seated {
				c.By, refusal = fleet.HinderedBySeats, full
			}
		}
		switch {
		case c.By != "" && in.Scores == nil:
			c.Reason = refusal
		case c.By != "": // what the ranking said stays beside the reason why it did not count
			c.Refusal = refusal
			c.Reason += "; " + refusal
		default:
			c.Decision = fleet.Spawn
			started++
			if n.Source == fleet.FromAllowList {
				c.Reason = ReasonSafetyNet
			}
			if full != "" {
				c.Reason += fmt.Sprintf("; by agent %s, for %s", c.Agent, full)
			}
		}
		p.Choices = append(p.Choices, c)
	}
	for _, s := range in.Scores {
		if !s.In { // the ranking left it out
			p.Choices = append(p.Choices, fleet.Choice{Category: s.Category, Decision: fleet.Skip, Reason: s.Reason(), By: s.By})
		}
	}
	return p
}

// Usable reports whether a request names a category that the fire may start.
func (in Input) Usable(r selector.Request) bool {
	return slices.ContainsFunc(r.Categories, func(n selector.Named) bool {
		c := fleet.Category(n.Category)
		_, barred := in.Barred[c]
		return slices.Contains(in.Known, c) && slices.Contains(in.Allowed, c) && !barred
	})
}

// Admit says why one more session of the category may not begin now, or "": an obstacle to
// fires also keeps a session from following another, and from beginning then.
func (in Input) Admit(c fleet.Category, obstacles []selector.Obstacle) string {
	switch {
	case len(obstacles) > 0:
		return obstacles[0].Reason
	case in.Free <= 0:
		return ReasonNoSlot
	}
	in.Workers = 1
	_, reason := in.refuse(c, 0)
	return reason
}

// refuse says why a named category is not started; no kind: it is.
func (in Input) refuse(c fleet.Category, started int) (fleet.Hindrance, string) {
	switch {
	case !slices.Contains(in.Known, c):
		return fleet.HinderedByUnknown, ReasonUnknown
	case in.Barred[c].Kind != "":
		return in.Barred[c].Kind, in.Barred[c].Reason
	case !slices.Contains(in.Allowed, c):
		return fleet.HinderedByList, ReasonNotAllowed
	case in.Closed != "":
		return fleet.HinderedByMachine, in.Closed
	case started >= in.Workers:
		return fleet.HinderedByWorkers, fmt.Sprintf("beyond this fire's limit of %d", in.Workers)
	case started >= in.Free:
		return fleet.HinderedBySlots, fmt.Sprintf("%s: %d left when the fire began", ReasonNoSlot, in.Free)
	}
	return "", ""
}

// score is what the ranking says of a category that is in.
func (in Input) score(c fleet.Category) (float64, string) {
	for _, s := range in.Scores {
		if s.Category == c {
			return s.Value, s.Reason()
		}
	}
	return 0, ReasonStart
}
