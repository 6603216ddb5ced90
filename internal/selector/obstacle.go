package selector

import "time"

// Hindrance is what kind of thing keeps a category from being started, or a task from
// being worked on.
type Hindrance string

const (
	HinderedByFilter  Hindrance = "not-asked-for" // another category was asked for by name
	HinderedByPool    Hindrance = "pool"          // fires of another pool start it
	HinderedByList    Hindrance = "not-allowed"   // no fire may start it
	HinderedByPause   Hindrance = "paused"        // a person has stopped it
	HinderedByReview  Hindrance = "review"        // too many of its results wait for review
	HinderedByGate    Hindrance = "gate"          // no agent or budget is left
	HinderedByLane    Hindrance = "lane-busy"     // sessions of it run
	HinderedByRest    Hindrance = "cooldown"      // it rests after a session
	HinderedByClaim   Hindrance = "claimed"       // another holds the claim
	HinderedBySource  Hindrance = "source"        // a source that may have tasks for it failed
	HinderedByTasks   Hindrance = "no-task"       // there is nothing to work on
	HinderedByBackoff Hindrance = "backoff"       // sessions found nothing to do
	HinderedByWaiting Hindrance = "waiting"       // the task waits for something outside the fleet
	HinderedByDate    Hindrance = "wait"          // the task waits for a day
	HinderedByNeed    Hindrance = "requires"      // the task requires something that is not settled
	HinderedByEmpty   Hindrance = "rests"         // sessions at the task brought nothing
)

// Obstacle is one thing that keeps a category from being started, or a task from being
// worked on.
type Obstacle struct {
	Kind   Hindrance
	Reason string    // a sentence fragment: what a fire records when this comes first
	On     string    // what a task requires, with [HinderedByNeed]
	Until  time.Time // when it ends by itself; zero: when something else changes
}

// Gate reports whether it is a gate: for want of an agent, a budget or a person's look.
func (h Hindrance) Gate() bool { return h == HinderedByGate || h == HinderedByReview }

// Lists reports whether the obstacle is found only by listing tasks or asking a gate, which
// may take a while.
func (h Hindrance) Lists() bool {
	switch h {
	case HinderedByReview, HinderedByClaim, HinderedBySource, HinderedByTasks, HinderedByBackoff:
		return true
	case HinderedByFilter, HinderedByPool, HinderedByList, HinderedByPause, HinderedByGate, HinderedByLane, HinderedByRest,
		HinderedByWaiting, HinderedByDate, HinderedByNeed, HinderedByEmpty:
	}
	return false
}

// endsByRounds reports whether it ends with the rounds of the category's pool alone.
func (h Hindrance) endsByRounds() bool { return h == HinderedByBackoff || h == HinderedByEmpty }

// first is the first obstacle, or none.
func first(obstacles []Obstacle) Obstacle {
	if len(obstacles) == 0 {
		return Obstacle{}
	}
	return obstacles[0]
}
