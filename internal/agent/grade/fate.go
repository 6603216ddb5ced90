package grade

import (
	"slices"
	"time"

	"stint/internal/fleet"
)

// Step is by how much something that became of a session's work moves its grade.
type Step struct {
	Kind fleet.FateKind
	By   float64
	Rule string
}

// Steps are all there are. They are bounded, and small enough that the first grade still counts:
// whether work is merged says less of it than of what it was about. A merge after review is worth as
// much as tests and a check that passes; a revert costs all that a change is worth beside nothing.
// Work that went past review is worth less than any that review let through.
func Steps() []Step {
	return []Step{
		{fleet.FateMerged, 0.25, "it is in the target as it was made"},
		{fleet.FateChanged, 0.1, "it is in the target with changes, or in part"},
		{fleet.FateUnreviewed, 0, "it is in the target, past review"},
		{fleet.FateRejected, -0.3, "nobody wants it"},
		{fleet.FateReverted, -0.4, "the target took it back"},
		{fleet.FateTouched, -0.1, "others wrote a quarter of its lines anew within a week; while it is in the target"},
	}
}

const (
	// WatchTime bounds the watch over a session's work, from the session's beginning.
	WatchTime = 30 * 24 * time.Hour
	// FateTime bounds the watch after the first news of the work: the last news is final.
	FateTime = 7 * 24 * time.Hour
)

// Final is the grade of a session after what became of its work: the first one, and one step by
// the last of what became of it as a whole, and another if it was touched while it was
// in the target, within 0 and 1. The time that counts is that of the event, not of its report.
func Final(first float64, fates []fleet.ReviewOutcome) float64 {
	steps := map[fleet.FateKind]float64{}
	for _, s := range Steps() {
		steps[s.Kind] = s.By
	}
	last, sum := fleet.FateKind(""), first
	touched := false
	for _, f := range slices.SortedStableFunc(slices.Values(fates), func(a, b fleet.ReviewOutcome) int { return a.At.Compare(b.At) }) {
		if f.Kind == fleet.FateTouched {
			touched = true
		} else {
			last = f.Kind
		}
	}
	sum += steps[last]
	if touched && last.Landed() {
		sum += steps[fleet.FateTouched]
	}
	return thousandths(min(1, max(0, sum)))
}
