package fleet

import (
	"fmt"
	"time"
)

// Room bounds the sessions' work that may wait for review at once. A session whose work goes to
// review takes a place with its claim, and its work keeps it until somebody decided about it: no
// more work waits than there is room for, however many sessions end at once.
type Room struct {
	Takes bool // such a session takes a place
	Limit int  // places that there are; 0: any number
	Away  int  // that there are while the reviewer is away; 0: any number
}

// Full says why no place is free, or "".
func (r Room) Full(taken int, away bool) string {
	limit, who := r.Limit, ""
	if away {
		limit, who = r.Away, " while the reviewer is away"
	}
	if !r.Takes || limit == 0 || taken < limit {
		return ""
	}
	return fmt.Sprintf("%d places in review are taken, and the limit%s is %d", taken, who, limit)
}

// ReviewSlot is a place in review that a run has.
type ReviewSlot struct {
	Run   RunID
	Ended bool   // the run is over on record, or the record has no such run
	Left  bool   // it left commits, on record
	Host  string // the identity of the machine whose clone has its branch; empty: nobody knows
}

// PlaceSight is a finding about a run's work, for its place.
type PlaceSight struct {
	Run   RunID
	State PlaceState
}

// PlaceState is the state of a run's work.
type PlaceState string

const (
	PlaceWaits    PlaceState = "waits"       // for review: it takes a place
	PlaceOut      PlaceState = "checked out" // by a person, who looks at it: it keeps its place
	PlaceReviewed PlaceState = "reviewed"    // somebody decided about it: it gives its place back
	PlaceEmpty    PlaceState = "empty"       // there is none: the run gives its place back
)

// Away is a reviewer's word that nobody reviews for a while.
type Away struct {
	Since  time.Time // zero: nobody is away
	Until  time.Time // zero: until the reviewer is back
	Reason string
}

// At reports whether it holds.
func (a Away) At(now time.Time) bool {
	return !a.Since.IsZero() && (a.Until.IsZero() || a.Until.After(now))
}
