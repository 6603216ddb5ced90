// Package report computes from the record what a fleet did. It is pure, and every
// figure in it is counted, never estimated.
package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
)

// Record is what an audit is computed from, all since one time.
type Record struct {
	Holds     []fleet.LaneHold
	Denials   []fleet.DeniedClaim
	Fallbacks int         // fires for which the external selector failed
	Runs      []fleet.Run // of every state
	Shares    map[fleet.Category]float64
}

// Audit says how lanes, claims and categories were used.
type Audit struct {
	PeakConcurrency   int // lanes held at one instant, at most
	TotalAcquisitions int
	Violations        []Violation
	Denials           int // claims that workers were denied
	Pivots            int // denials after which the worker took another category's lane
	Runs              int // that ended, busy, denied and idle ones included
	Noops             int // of these
	SafetyNet         int // runs that the allow-list stood in for, as a payload named no usable category
	Fallbacks         int // fires for which the external selector failed
	Categories        []CategoryAudit
	Fruitless         []Fruitless
}

// Fruitless is a category that is chosen again and again and never gets to an agent:
// nothing is learnt of it, and its ranking stays as it is for ever.
type Fruitless struct {
	Category fleet.Category
	Runs     int // all of which ended busy, denied or idle
}

// leastFruitless is how many runs make an alarm of it: fewer are bad luck.
const leastFruitless = 5

// CategoryAudit compares what a category got with what it was to get.
type CategoryAudit struct {
	Category fleet.Category
	Spawned  int     // runs of fires that worked in it, after a pivot too
	Sessions int     // runs that had a claim in it, whoever started them: what its entitlement is debited for
	Part     float64 // of all sessions, in [0,1]
	Share    float64 // its target, in [0,1]
}

// Violation is a lane that two runs held at once, which must never be.
type Violation struct {
	Category      fleet.Category
	Lane          int
	First, Second fleet.RunID
	At            time.Time // from when both held it
}

// NewAudit audits a record. A hold that was never given back lasts to the end of time:
// only the record of its release ends it.
func NewAudit(r Record) Audit {
	a := Audit{
		PeakConcurrency: peak(r.Holds), TotalAcquisitions: len(r.Holds), Violations: violations(r.Holds),
		Denials: len(r.Denials), Pivots: pivots(r), Fallbacks: r.Fallbacks, Categories: categories(r),
		Fruitless: fruitless(r.Runs),
	}
	for _, run := range r.Runs {
		if run.Source == fleet.FromAllowList {
			a.SafetyNet++
		}
		if run.EndedAt.IsZero() {
			continue
		}
		a.Runs++
		if run.Verdict.Outcome == fleet.Noop {
			a.Noops++
		}
	}
	return a
}

// fruitless are the categories of which every run came to nothing, by name.
func fruitless(runs []fleet.Run) (list []Fruitless) {
	vain, other := map[fleet.Category]int{}, map[fleet.Category]bool{}
	for _, r := range runs {
		if o := r.Verdict.Outcome; o == fleet.Busy || o == fleet.RunDenied || o == fleet.Idle {
			vain[r.Category]++
		} else {
			other[r.Category] = true
		}
	}
	for _, c := range slices.Sorted(maps.Keys(vain)) {
		if vain[c] >= leastFruitless && !other[c] {
			list = append(list, Fruitless{c, vain[c]})
		}
	}
	return list
}

// NoopRate is the part of the ended runs that did nothing, in [0,1]; 0 without runs.
func (a Audit) NoopRate() float64 {
	if a.Runs == 0 {
		return 0
	}
	return float64(a.Noops) / float64(a.Runs)
}

// pivots counts, for each denied run, the lanes it took after the first.
func pivots(r Record) int {
	denied := map[fleet.RunID]bool{}
	for _, d := range r.Denials {
		denied[d.Run] = true
	}
	n := 0
	for id := range denied {
		lanes := 0
		for _, h := range r.Holds {
			if h.Run == id {
				lanes++
			}
		}
		n += max(0, lanes-1)
	}
	return n
}

// categories compares the sessions that there were with the shares, by name.
func categories(r Record) []CategoryAudit {
	spawned, sessions := map[fleet.Category]int{}, map[fleet.Category]int{}
	all := 0
	for _, run := range r.Runs {
		if run.Fire != 0 {
			spawned[run.Category]++
		}
		if run.Epoch > 0 {
			sessions[run.Category]++
			all++
		}
	}
	var list []CategoryAudit
	for _, c := range slices.Sorted(maps.Keys(r.Shares)) {
		a := CategoryAudit{Category: c, Spawned: spawned[c], Sessions: sessions[c], Share: r.Shares[c]}
		if all > 0 {
			a.Part = float64(a.Sessions) / float64(all)
		}
		list = append(list, a)
	}
	return list
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
