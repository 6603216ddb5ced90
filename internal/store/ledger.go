package store

import (
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
)

// Ledger is what is on record of all that ever ran, beside the figures that are kept of it: each
// of these can be worked out anew.
type Ledger struct {
	Arms        map[fleet.Category]bandit.Arm
	Checkpoints map[fleet.Category][]Checkpoint // oldest first
	Alarms      map[fleet.Category][]int        // changes of grades on record: at which of the category's grades
	Runs        []Entry                         // oldest first
	Fires       []Moves                         // by number
	LastFire    fleet.FireID                    // that there ever was
	Claims      map[fleet.Key]fleet.Claim
	Spent       []DaySpent
	Resets      []DaySpent // what was struck out of a day's account
	Missing     []string   // what the record speaks of and does not have, in words
	Edge        Edge
	Fates       int // by which evidence goes
}

// Edge is where the record begins, if not all of it is kept.
type Edge struct {
	From   time.Time    // runs that ended before may be gone, with all that was theirs; zero: all are kept
	Fire   fleet.FireID // of fires up to this one inputs, selections and choices are gone
	Oldest time.Time    // when the oldest of what can go was: a run, or a fire's inputs; zero: there is none
}

// Gone reports whether a run of this id may have been on record.
func (e Edge) Gone(id fleet.RunID) bool { return !e.From.IsZero() && id < fleet.NewRunID(e.From, 0) }

// Cut is an edge to be, and where the arms stood at it: from there on their figures can be worked out.
type Cut struct {
	Was, From time.Time // the edge that it was worked out under, and the one to be
	Fates     int       // by which evidence went then
	Bases     map[fleet.Category]Base
}

// Base is what takes the place of the oldest checkpoints of a category.
type Base struct {
	Was []Checkpoint // those that go, at least one
	Checkpoint
}

// Checkpoint is an arm as it was, and the settings under which it learnt from then on.
type Checkpoint struct {
	Settings bandit.Settings
	Arm      bandit.Arm
}

// Entry is what a run says for the figures.
type Entry struct {
	ID       fleet.RunID
	Category fleet.Category
	Agent    string
	Key      fleet.Key // empty: it had no claim
	Epoch    fleet.Epoch
	Round    fleet.Round
	Load     float64
	Began    time.Time
	Open     bool
	Ended    time.Time
	Grade    *float64 // by which the category's evidence goes: the first, or a corrected one
	First    *float64 // at its end
	Held     bool
	Nth      int         // which of the category's sessions; 0: none
	Counted  int         // which of the category's grades; 0: none
	In       fleet.Round // of the category, when the grade was counted
	Day      string
	Tokens   int64 // used or, as long as it is not known, reserved
	USD      float64
}

// Moves are the rounds into which a fire moved categories, and what it entitled them to.
type Moves struct {
	Fire   fleet.FireID
	Rounds map[fleet.Category]fleet.Round
	Due    map[fleet.Category]float64
}

// DaySpent is what a scope used in a day.
type DaySpent struct {
	Day string
	fleet.Spent
}
