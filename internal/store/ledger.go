package store

import (
	"stint/internal/fleet"
	"stint/internal/rank"
)

// Ledger holds the record of everything that ran, and the figures kept beside it. Each figure can be computed from the
// record.
type Ledger struct {
	Recount  rank.Recount
	Runs     []Entry      // oldest first
	Fires    []fleet.Fire // number and choices, by number
	LastFire fleet.FireID // the last number given to a fire
	Claims   map[fleet.Key]fleet.Claim
	Spent    []DaySpent
	Resets   []DaySpent // amounts that people struck out of a day's account
	Missing  []string   // runs and fires that the record mentions and lacks, in words
}

// Entry is the part of a run on which the figures depend.
type Entry struct {
	rank.Recounted // from its row
	ID             fleet.RunID
	Agent          string
	Key            fleet.Key // empty: the run had no claim
	Epoch          fleet.Epoch
	Open           bool
	Held           bool
	Day            string
	Tokens         int64 // used, or reserved while the use is unknown
	USD            float64
}

// DaySpent is the use of one scope in one day.
type DaySpent struct {
	Day string
	fleet.Spent
}
