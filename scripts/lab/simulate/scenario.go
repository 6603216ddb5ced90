package simulate

import "stint/internal/fleet"

// Scenario is a world in which policies are tried.
type Scenario struct {
	Fires        int
	Hourly       bool // else a fire comes every half hour
	Workers      int  // start at most so many sessions a fire
	Hosts        int  // machines that fire one after the other, each as often; 0: one
	Grades       Grades
	Change       Change
	Availability *Chain // nil: every category is always awake
	Sessions     *Sessions
	Depletion    *Depletion
	Respawn      *Respawn
	Fates        *Fates  // nil: the grade of a session is its worth
	Review       *Review // nil: nothing waits for review
	Outages      []Outage
	Pools        []Pool
	Lessons      []Lesson
	Budget       float64    // USD that sessions may use in a day; 0: any
	Categories   []Category // at least one, in the order of the results
	Policies     []Policy   // what the scenario sets or adds, by name
}

// Noise says how grades scatter around their mean.
type Noise string

const (
	// Bernoulli grades are 0 or 1.
	Bernoulli Noise = "bernoulli"
	// Graded grades follow a Beta distribution.
	Graded Noise = "beta"
)

// Grades describes the grading of sessions.
type Grades struct {
	Noise         Noise
	Concentration float64 // of [Graded], above 0: a+b of the Beta distribution
	Missing       float64 // probability that a session that worked brings no grade
	Nothing       float64 // probability that one that found no work ends as nothing, else it is a noop
}

// ChangeKind says how true means move.
type ChangeKind string

const (
	// Still means stay as they are.
	Still ChangeKind = "none"
	// Permute deals the means out anew at intervals.
	Permute ChangeKind = "permute"
	// Cycle swings each mean as a sine does, each from a point of its own.
	Cycle ChangeKind = "cycle"
	// Together raises all means alike, and lowers them, in turns.
	Together ChangeKind = "together"
	// Walk moves each mean by a normal step at every fire, within bounds that reflect.
	Walk ChangeKind = "walk"
)

// Change describes the movement of true means.
type Change struct {
	Kind      ChangeKind
	Every     int     // fires between two permutations or turns, or of a cycle
	SD        float64 // of a step of the walk
	Low, High float64 // its bounds
	Swing     float64 // a mean rises and falls by so much
}

// Chain is a Markov chain of two states that starts awake and moves before every fire
// but the first.
type Chain struct {
	Wake  float64 // probability per fire of asleep → awake
	Sleep float64 // probability per fire of awake → asleep
}

// Sessions describes the length of sessions. Without it each ends before the next fire.
type Sessions struct {
	Median float64 // of a lognormal distribution, in fires; a session takes at least 1
	Sigma  float64 // of its logarithm
	Slots  int     // at most so many in flight; 0: no limit
	Lock   bool    // a category in flight is not available
}

// Depletion makes grades fall with the recent sessions of a category.
type Depletion struct {
	Amount   float64 // by which a mean falls at a load of 1, which is a session at every fire
	HalfLife float64 // of the load, in fires, above 0
}

// Respawn has one more session follow a good one, before the next fire.
type Respawn struct {
	From float64 // the least grade that is followed
	Most int     // sessions of a chain after the first
}

// Fates have the work of a session merged or rejected some time after its end. It is worth
// the probability that it is merged, which is the mean of its category, and the grade at its end
// says little of that.
type Fates struct {
	First       float64 // mean grade at a session's end
	SD          float64 // of these grades
	Correlation float64 // of such a grade with whether the work is merged
	After       int     // fires after the end at which that is known at the earliest
	Until       int     // and at the latest
}

// Outage is a time in which sessions fail.
type Outage struct {
	First, Last int            // fires
	Agent       string         // whose sessions; empty: everybody's
	Category    fleet.Category // of which; empty: of all
	Outcome     fleet.Outcome  // [fleet.Unavailable], or [fleet.Failed]
	// Rest says whether the agent rests: from the second fire of the outage on, one
	// category at every other fire may try it.
	Rest bool
}

// hits reports whether sessions of a category that start at a fire fail.
func (o Outage) hits(c Category, fire int) bool {
	return fire >= o.First && fire <= o.Last && (o.Agent == "" || o.Agent == c.Agent) && (o.Category == "" || o.Category == c.Name)
}

// Pool is one beside the default one, with a timer of its own. The worth of its sessions is in
// no result.
type Pool struct {
	Name    string
	PerFire int // fires of it for each of the default pool
	Workers int
}

// Witness names the source of a session's grade.
type Witness string

const (
	// Grader is somebody who judges it, and whose word is taken.
	Grader Witness = "grader"
	// NoWitness leaves nothing but the session's own report.
	NoWitness Witness = "none"
	// Changes are left behind, beside the session's own report.
	Changes Witness = "changes"
	// Trust in the agent has its own report taken for the grade.
	Trust Witness = "trust"
)

// Category is a kind of work as it really is.
type Category struct {
	Name    fleet.Category
	Mean    float64   // of a grade, in [0,1]
	Share   float64   // of the sessions that it is to get, relative to the others'
	Supply  *Chain    // of work: without any, a session finds nothing to do; nil: there is always some
	Pool    string    // whose fires start it; empty: the default pool's
	Agent   string    // that works on it; empty: one that no outage is of
	Witness Witness   // empty: a grader
	Report  *float64  // the grade that its sessions report of themselves; nil: the true one
	Cost    float64   // USD of a session
	Agents  []float64 // of each agent that can work on it, by how much its grades differ; empty: one
	Longer  float64   // times as long as sessions of the scenario; 0: as long
	Lasting bool      // a session is worth its grade for each fire that it takes
	ByHand  int       // until this fire, each has a session of it by hand beside it, which has its lane
}
