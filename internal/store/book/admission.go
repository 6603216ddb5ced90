package book

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Admission holds everything that decides whether one more session of an agent may begin.
type Admission struct {
	fleet.Terms
	State   fleet.AgentState
	Probing bool          // another open run tries the agent
	Busy    int           // other open sessions of the agent
	Host    string        // of the agent's login
	Spent   []fleet.Spent // today
	Taken   int           // taken places in review
	Away    bool          // the reviewer is away
	Now     time.Time
}

// Refusals returns all reasons against the session, in order of weight: review, the agent itself, its slots, and
// budgets. [fleet.AgentState.Expected] gives the reserve of a session.
func (a Admission) Refusals() (list []fleet.RefusedError) {
	if reason := a.Room.Full(a.Taken, a.Away); reason != "" {
		list = append(list, fleet.RefusedError{Reason: reason, By: fleet.HinderedByReview, Outcome: fleet.Busy})
	}
	if reason := a.State.Blocked(a.Now, a.Probing); reason != "" {
		r := fleet.RefusedError{Reason: fmt.Sprintf("agent %s: %s", a.Agent, reason), By: fleet.HinderedByAgent, Outcome: a.State.Refuses(a.Now)}
		if a.State.Rests(a.Now) { // otherwise another session tries it
			r.Until = a.State.Until
		}
		list = append(list, r)
	}
	if w, until := a.State.Ahead(a.Host, a.Busy, a.Now); a.Pace && !until.IsZero() {
		list = append(list, fleet.RefusedError{
			Reason: fmt.Sprintf("agent %s: %s, and the rest is spread (until %s)", a.Agent, w, plain.Stamp(until)),
			By:     fleet.HinderedByAgent, Until: until, Outcome: fleet.Quota,
		})
	}
	if a.Slots > 0 && a.Busy >= a.Slots {
		list = append(list, fleet.RefusedError{
			Reason: fmt.Sprintf("agent %s: all of its %d slots are in use", a.Agent, a.Slots), By: fleet.HinderedBySeats, Outcome: fleet.Busy,
		})
	}
	tokens, usd := a.State.Expected(a.Budgets)
	for _, b := range a.Budgets {
		if reason := b.Gone(fleet.SpentBy(a.Spent, b.Scope), tokens, usd); reason != "" {
			list = append(list, fleet.RefusedError{
				Reason: reason, By: fleet.HinderedByBudget, Until: fleet.NextDay(a.Now), Scope: b.Scope, Outcome: fleet.Quota,
			})
		}
	}
	return list
}

// Settle returns what a session's end changes in the use of each of its scopes: its own use replaces its reserve. If its
// use is unknown, as after a kill, the reserve stays as the best guess, and counts as its assumed cost.
func Settle(reserved fleet.Spent, r fleet.Run) (change fleet.Spent, assumed bool) {
	change = reserved
	if r.Verdict.Internal && r.Usage.Tokens == nil && r.Usage.USD == nil { // no agent worked
		change = fleet.Spent{Runs: -1}
	}
	if r.Usage.Tokens != nil {
		change.Tokens = *r.Usage.Tokens
	}
	if r.Usage.USD != nil {
		change.USD = *r.Usage.USD
	}
	change.Guessed = change.USD
	if r.Usage.USD != nil && !r.Usage.Cost.Estimated() {
		change.Guessed = 0
	}
	assumed = r.Usage.USD == nil && change.USD > 0
	change.Tokens -= reserved.Tokens
	change.USD -= reserved.USD
	change.Guessed -= reserved.USD
	return change, assumed
}
