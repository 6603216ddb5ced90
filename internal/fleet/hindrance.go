package fleet

import "slices"

// Hindrance is a kind of thing that keeps a category from being started, or a task from
// being worked on. It is recorded with what a fire decides, and groups its reasons.
type Hindrance string

// A category is hindered by these.
const (
	HinderedByFilter  Hindrance = "not-asked-for"    // another category was asked for by name
	HinderedByUnknown Hindrance = "unknown-category" // the configuration does not have it
	HinderedByPool    Hindrance = "pool"             // fires of another pool start it
	HinderedByHost    Hindrance = "host"             // its sessions run on other hosts
	HinderedByList    Hindrance = "not-allowed"      // no fire may start it
	HinderedByPause   Hindrance = "paused"           // a person has stopped it
	HinderedByReview  Hindrance = "review"           // too many of its results wait for review
	HinderedByTrust   Hindrance = "untrusted"        // a program or the prompt is not as a person confirmed it
	HinderedByAgent   Hindrance = "agent"            // no agent of it can work
	HinderedByClone   Hindrance = "clone"            // no clone of the workspace can be made
	HinderedBySeats   Hindrance = "agent-busy"       // other sessions have the slots of its agents
	HinderedByBudget  Hindrance = "budget"           // a budget is used up
	HinderedByLane    Hindrance = "lane-busy"        // sessions of it run
	HinderedByRest    Hindrance = "cooldown"         // it rests after a session
	HinderedBySource  Hindrance = "source"           // a source that may have tasks for it failed
	HinderedByTasks   Hindrance = "no-task"          // there is nothing to work on
	HinderedByBackoff Hindrance = "backoff"          // sessions brought nothing
	HinderedByMachine Hindrance = "machine"          // the machine is short of something
	HinderedBySlots   Hindrance = "no-slot"          // other sessions have the slots of the fleet, or of the pool
	HinderedByWorkers Hindrance = "beyond-workers"   // a fire starts no more
	HinderedByRival   Hindrance = "taken-since"      // another took the room while the fire decided
)

// They hinder a task; the first three a category, too.
const (
	HinderedByClaim    Hindrance = "claimed"          // another holds the claim
	HinderedByEmpty    Hindrance = "rests"            // sessions at the task brought nothing
	HinderedByOverlap  Hindrance = "overlap"          // other work changes what it is to change
	HinderedByWaiting  Hindrance = "waiting"          // it waits for something outside the fleet
	HinderedByDate     Hindrance = "wait"             // it waits for a day
	HinderedByNeed     Hindrance = "requires"         // it requires something that is not settled
	HinderedByState    Hindrance = "state"            // no session works on tasks in its state
	HinderedByProblem  Hindrance = "unreadable"       // it cannot be read
	HinderedByFailures Hindrance = "waits-for-person" // sessions failed at it, or left it as it was
)

// Gate reports whether it is a gate: for want of an agent, a clone, a budget or a person's look.
func (h Hindrance) Gate() bool {
	gates := []Hindrance{HinderedByReview, HinderedByTrust, HinderedByAgent, HinderedByClone, HinderedBySeats, HinderedByBudget}
	return slices.Contains(gates, h)
}

// Elsewhere reports whether it keeps a category from every fire of this host and pool.
func (h Hindrance) Elsewhere() bool {
	return slices.Contains([]Hindrance{HinderedByPool, HinderedByHost, HinderedByList}, h)
}

// Yields reports whether a person's word overrides it. No word overrides a lane, a claim, a
// budget, a box, or what the machine lacks.
func (h Hindrance) Yields() bool {
	return slices.Contains([]Hindrance{HinderedByList, HinderedByPause, HinderedByReview, HinderedByRest, HinderedByBackoff, HinderedByEmpty}, h)
}

// Lists reports whether the obstacle is found only by listing tasks or asking a gate, which
// may take a while.
func (h Hindrance) Lists() bool {
	return slices.Contains([]Hindrance{HinderedByReview, HinderedByClaim, HinderedByOverlap, HinderedBySource, HinderedByTasks, HinderedByBackoff}, h)
}

// EndsByRounds reports whether it ends with the rounds of the category's pool alone.
func (h Hindrance) EndsByRounds() bool { return h == HinderedByBackoff || h == HinderedByEmpty }
