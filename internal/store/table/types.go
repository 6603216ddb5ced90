package table

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Fleet holds the columns of the fleet's one row that writes change.
type Fleet struct {
	Fires fleet.FireID // the number of the last fire
	Moved string       // the store in use instead; empty: this one

	Away    fleet.Away    // the reviewer's last note
	Lineage fleet.Lineage // zero: only one machine uses the store
}

// Claim is a row of claims.
type Claim struct {
	fleet.Claim
	Renewals    int       // of this epoch; 0 just after a grant
	Incarnation int       // of the store, at the grant
	TookOver    time.Time // when the epoch before expired without a release; zero: it was released
}

// Run is a row of runs.
type Run struct {
	fleet.Run
	FatedAt        time.Time         // when the first review outcome happened; zero: none
	LandedAt       time.Time         // when the target last got its work, by git's word; zero: never
	Grade          *float64          // after review outcomes; nil: there are none, or no grade
	Nth            int               // number of the session in its category, from 1; 0: the run had no claim
	Counted        int               // number of the grade in its category, from 1; 0: none, or not yet
	Alarm          fleet.GradeChange // a change that its grade raised; without a time: none
	Day            string            // the claim's day, in UTC, whose budgets it counts for; empty: none
	ReservedTokens int64             // in the budgets, until the run's end has better figures
	ReservedUSD    float64
	Lessons        []fleet.LessonUse // lessons that matched its session, by id
	LaneAt         time.Time         // when it took its lane, whose lock it had; zero: it has no lane
	LaneLeft       time.Time         // when it released the lane, still with the lock; zero: not yet
}

// InLane reports whether the run has a lane.
func (r Run) InLane() bool { return !r.LaneAt.IsZero() && r.LaneLeft.IsZero() }

// LeaveLane notes that the run released its lane, if it had one.
func (r *Run) LeaveLane(at time.Time) {
	if r.InLane() {
		r.LaneLeft = at
	}
}

// Mark returns the session's facts for the ranking.
func (r Run) Mark() rank.Mark {
	began := r.StartedAt
	if began.IsZero() {
		began = r.CreatedAt
	}
	return rank.Mark{Round: r.Round, Load: r.Load, Turn: rank.TurnAt(began), Counted: r.Counted}
}

// Ranking is a row of rankings.
type Ranking struct {
	Day   string // of the write, UTC
	State rank.State
}

// Spent is a row of spent.
type Spent struct {
	Day         string // UTC
	fleet.Spent        // without the reserves of open sessions
}

// Review is a row of reviews: a run's work on its way through review.
type Review struct {
	fleet.Review
	Feedback fleet.Feedback // without the run
	Taken    bool           // it has a place
	LookedAt time.Time      // when a person was first found to look at the work; zero: never
	GivenAt  time.Time      // when a decision freed the place; zero: never
}

// Notice is a row of notices: the last time that one went out.
type Notice struct {
	Event   fleet.Event
	Subject string
	At      time.Time
}

// Fire is a row of fires.
type Fire struct {
	fleet.Fire
	Attempt string // idempotency key of its record; empty: none
}

// Heard is a row of heard: the time of a machine's last write. It is no column of hosts: sessions write it while others
// decide on that row.
type Heard struct {
	Host string
	At   time.Time
}

// Denial is a row of denials.
type Denial struct {
	ID int // from 1
	fleet.DeniedClaim
}

// Reset is a row of resets.
type Reset struct {
	ID         int // from 1
	At         time.Time
	Scope      fleet.Scope
	Runs       int // on the account before
	Tokens     int64
	USD        float64
	KeptRuns   int // kept for open sessions, with their reserves
	KeptTokens int64
	KeptUSD    float64
	Reason     string
}

// Acknowledged is a row of acknowledged: the number of a machine's writes. Other machines do not count here: after a
// failover, their writes must not hide a loss.
type Acknowledged struct {
	Host   string
	Writes int64
}
