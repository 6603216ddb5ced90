package store

import (
	"stint/internal/fleet"
	"stint/internal/rank"
)

// Ledger has the record of all that ever ran, and the figures that are kept of it: each of these can be worked
// out anew.
type Ledger struct {
	Recount  rank.Recount
	Runs     []Entry      // oldest first
	Fires    []fleet.Fire // number and choices, by number
	LastFire fleet.FireID // that there ever was
	Claims   map[fleet.Key]fleet.Claim
	Spent    []DaySpent
	Resets   []DaySpent // what was struck out of a day's account
	Missing  []string   // what the record speaks of and does not have, in words
}

// Entry has the part of a run that the figures depend on.
type Entry struct {
	rank.Recounted // by its row
	ID             fleet.RunID
	Agent          string
	Key            fleet.Key // empty: it had no claim
	Epoch          fleet.Epoch
	Open           bool
	Held           bool
	Day            string
	Tokens         int64 // used or, as long as it is not known, reserved
	USD            float64
}

// DaySpent is the use of a scope in a day.
type DaySpent struct {
	Day string
	fleet.Spent
}
