package book

import (
	"stint/internal/bandit"
	"stint/internal/fleet"
)

// Claim is a row of claims.
type Claim struct {
	fleet.Claim
	Renewals int // of this epoch; 0 right after a grant
}

// Run is a row of runs.
type Run struct {
	fleet.Run                  // without what became of its work
	Grade          *float64    // after what became of its work; nil: nothing did, or it is not graded
	Nth            int         // which of the category's sessions it is, from 1; 0: it had no claim
	Counted        int         // which of the category's grades it brought, from 1; 0: none, or not yet
	CountedIn      fleet.Round // of the category then
	Day            string      // of the claim, UTC: whose budgets it counts for; empty: it is on no account
	ReservedTokens int64       // in the budgets, until the end has better figures
	ReservedUSD    float64
}

// Fate is a row of fates.
type Fate struct {
	fleet.Fate
	Seq    int  // from 1, in the order in which a run's were found out
	Belief bool // the evidence goes by its grade; else it is too old
}

// Arm is a row of arms.
type Arm struct {
	Category fleet.Category
	bandit.Arm
}

// Agent is a row of agents.
type Agent struct {
	fleet.AgentState             // without its bills
	BilledAfter      fleet.RunID // bills of runs up to this one count no more
}
