// Package report computes from the record what a fleet did. It is pure, and every
// figure in it is counted, never estimated.
package report

import (
	"cmp"
	"slices"
	"time"

	"stint/internal/fleet"
)

// Audit says how lanes were used.
type Audit struct {
	PeakConcurrency   int // lanes held at one instant, at most
	TotalAcquisitions int
	Violations        []Violation
}

// Violation is a lane that two runs held at once, which must never be.
type Violation struct {
	Category      fleet.Category
	Lane          int
	First, Second fleet.RunID
	At            time.Time // from when both held it
}

// NewAudit audits acquisitions of lanes. A hold that was never given back lasts to
// the end of time: only the record of its release ends it.
func NewAudit(holds []fleet.LaneHold) Audit {
	return Audit{PeakConcurrency: peak(holds), TotalAcquisitions: len(holds), Violations: violations(holds)}
}

// peak counts the holds that overlap most. A hold that begins at the instant
// another ends does not overlap it.
func peak(holds []fleet.LaneHold) int {
	type change struct {
		at   time.Time
		step int
	}
	var changes []change
	for _, h := range holds {
		changes = append(changes, change{h.AcquiredAt, 1})
		if !h.ReleasedAt.IsZero() {
			changes = append(changes, change{h.ReleasedAt, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step))
	})
	most, now := min(1, len(holds)), 0 // a hold too short for the clock's tick is one all the same
	for _, c := range changes {
		now += c.step
		most = max(most, now)
	}
	return most
}

// violations finds the holds of one lane that begin before an earlier one ended.
func violations(holds []fleet.LaneHold) (list []Violation) {
	type lane struct {
		category fleet.Category
		number   int
	}
	longest := map[lane]fleet.LaneHold{} // of those before, the one that lasts longest
	sorted := slices.SortedStableFunc(slices.Values(holds), func(a, b fleet.LaneHold) int {
		return a.AcquiredAt.Compare(b.AcquiredAt)
	})
	for _, h := range sorted {
		key := lane{h.Category, h.Lane}
		before, found := longest[key]
		if found && endsAfter(before, h.AcquiredAt) {
			list = append(list, Violation{h.Category, h.Lane, before.Run, h.Run, h.AcquiredAt})
		}
		if !found || !before.ReleasedAt.IsZero() && (h.ReleasedAt.IsZero() || h.ReleasedAt.After(before.ReleasedAt)) {
			longest[key] = h
		}
	}
	return list
}

func endsAfter(h fleet.LaneHold, t time.Time) bool {
	return h.ReleasedAt.IsZero() || h.ReleasedAt.After(t)
}
