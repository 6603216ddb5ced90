package table

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Fleet is the one row of fleet, which is there from the beginning: what of it writes change.
type Fleet struct {
	Fires fleet.FireID // the number of the last fire
	Moved string       // where the store is from now on; empty: here

	Away    fleet.Away    // the reviewer's last word
	Lineage fleet.Lineage // zero: it is a single machine's
}

// Claim is a row of claims.
type Claim struct {
	fleet.Claim
	Renewals    int       // of this epoch; 0 right after a grant
	Incarnation int       // of the store, in which this epoch was granted
	TookOver    time.Time // when the epoch before had expired, which nobody gave back; zero: somebody did
}

// Run is a row of runs.
type Run struct {
	fleet.Run
	FatedAt        time.Time         // when the first of what became of its work happened; zero: nothing did
	LandedAt       time.Time         // when the target last got its work; zero: never, by git's word
	Grade          *float64          // after what became of its work; nil: nothing did, or it is not graded
	Nth            int               // which of the category's sessions it is, from 1; 0: it had no claim
	Counted        int               // which of the category's grades it brought, from 1; 0: none, or not yet
	Alarm          fleet.GradeChange // that its grade raised; without a time it raised none
	Day            string            // of the claim, UTC: whose budgets it counts for; empty: it is on no account
	ReservedTokens int64             // in the budgets, until the end has better figures
	ReservedUSD    float64
	Lessons        []fleet.LessonUse // that matched its session, by id
	LaneAt         time.Time         // when it took its lane, whose lock it had; zero: it has none
	LaneLeft       time.Time         // when it gave that back, while it had the lock; zero: it has it
}

// InLane reports whether the run has a lane.
func (r Run) InLane() bool { return !r.LaneAt.IsZero() && r.LaneLeft.IsZero() }

// LeaveLane notes that the run has given its lane back, if it had one.
func (r *Run) LeaveLane(at time.Time) {
	if r.InLane() {
		r.LaneLeft = at
	}
}

// Mark has the facts of the run's session that the ranking needs.
func (r Run) Mark() rank.Mark {
	began := r.StartedAt
	if began.IsZero() {
		began = r.CreatedAt
	}
	return rank.Mark{Round: r.Round, Load: r.Load, Turn: rank.TurnAt(began), Counted: r.Counted}
}

// Ranking is a row of rankings.
type Ranking struct {
	Day   string // UTC, when it was stored
	State rank.State
}

// Spent is a row of spent.
type Spent struct {
	Day         string // UTC
	fleet.Spent        // without what is reserved for sessions under way
}

// Review is a row of reviews: the way of a run's work through review.
type Review struct {
	fleet.Review
	Feedback fleet.Feedback // without the run
	Taken    bool           // it has a place
	LookedAt time.Time      // when a person was first found to look at the work; zero: not yet
	GivenAt  time.Time      // when somebody decided about it, and the place was free; zero: not yet
}

// Notice is a row of notices: when people last got which news.
type Notice struct {
	Event   fleet.Event
	Subject string
	At      time.Time
}

// Fire is a row of fires.
type Fire struct {
	fleet.Fire
	Attempt string // names the attempt that recorded it; empty: nobody asks again
}

// Heard is a row of heard: when a machine last wrote. It is no column of hosts: sessions write it
// while somebody else decides on that row.
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
	KeptRuns   int // of these: sessions under way, and what is reserved for them
	KeptTokens int64
	KeptUSD    float64
	Reason     string
}

// Acknowledged is a row of acknowledged: how many writes of a machine there were. No other machine
// counts there, so that the haste of others after a failover cannot hide what was lost.
type Acknowledged struct {
	Host   string
	Writes int64
}
