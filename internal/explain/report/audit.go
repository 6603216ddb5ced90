// Package report computes from the record what a fleet did, and draws it. It is pure, and
// every figure in it is counted; estimated are only the intervals, which say so.
package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
)

// Record has the input of an audit, all since one time.
type Record struct {
	Holds        Holds
	Overran      []fleet.Run // whose sessions ended after their leases were over
	Rivals       []fleet.Run // all that worked at the tasks of these
	Denials      []fleet.DeniedClaim
	GradeChanges []fleet.GradeChange // newest first
	Fallbacks    int                 // fires for which the external selector failed
	Tallies      []fleet.Tally       // of all runs
	Tasks        []fleet.TaskTally   // at which sessions failed
	Shares       map[fleet.Category]float64
	Entitled     map[fleet.Category]float64 // by the fires of that time, in sessions
}

// Audit says how lanes, claims and categories were used.
type Audit struct {
	PeakConcurrency   int // lanes held at one instant, at most
	TotalAcquisitions int
	Violations        []Violation
	Overruns          []Overrun
	Denials           int // claims that workers were denied
	Pivots            int // denials after which the worker took another category's lane
	SafetyNet         int // runs that the allow-list stood in for, as a payload named no usable category
	Fallbacks         int // fires for which the external selector failed
	All               Use
	Categories        []CategoryUse // by name: the configured ones, and those that there were runs of
	Fruitless         []Fruitless
	Failing           []Failing           // by failures, most first
	Off               []fleet.Discrepancy // figures that do not add up, where they were worked out
}

// Failing is a task at which most sessions fail. A session between them that does not fail
// keeps it from waiting for a person.
type Failing fleet.TaskTally

// Why says how the task fails.
func (f Failing) Why() string {
	text := fmt.Sprintf("%d of %d sessions at it failed", f.Failed, f.Sessions)
	if f.Reason != "" {
		text += ", the last as " + f.Reason
	}
	return text
}

// failing are the tasks at which more sessions failed than did not, and as many as put one
// among those that wait for a person that fail in a row.
func failing(tasks []fleet.TaskTally) (list []Failing) {
	for _, t := range tasks {
		if t.Failed >= fleet.FailuresToWait && 2*t.Failed > t.Sessions {
			list = append(list, Failing(t))
		}
	}
	return list
}

// Fruitless is a category that is chosen again and again and never gets to an agent:
// nothing is learnt of it, and its ranking stays as it is for ever.
type Fruitless struct {
	Category fleet.Category
	Runs     int // all of which ended busy, denied or idle
}

// Why says how its runs end.
func (f Fruitless) Why() string {
	return fmt.Sprintf("%s never gets to work: all %d runs ended busy, denied or idle", f.Category, f.Runs)
}

// minFruitless is the least number of runs for an alarm: fewer are bad luck.
const minFruitless = 5

// Violation is a lane that two runs held at once, which must never be.
type Violation struct {
	Category      fleet.Category
	Lane          int
	First, Second fleet.RunID
	At            time.Time // from when both held it
}

// Shared counts the overruns in whose time others had the lane or the task.
func (a Audit) Shared() int {
	return len(plain.Kept(a.Overruns, func(o Overrun) bool { return o.Shared > 0 }))
}

// Overrun is a session that ended after its lease was over, by its own machine's word: that machine slept, or the
// session's supervisor was stopped.
type Overrun struct {
	Run       fleet.RunID
	Host      string // the identity of the machine
	Category  fleet.Category
	LeaseOver time.Time
	Ended     time.Time
	Shared    time.Duration // of the time between, others had its lane or worked at its task
}

func overruns(r Record) (list []Overrun) {
	for _, run := range r.Overran {
		o := Overrun{Run: run.ID, Host: run.Host, Category: run.Category, LeaseOver: run.LeaseOver, Ended: run.OverranTo}
		var others [][2]time.Time
		add := func(from, to time.Time) {
			if to.IsZero() || to.After(o.Ended) {
				to = o.Ended
			}
			if from.Before(o.LeaseOver) {
				from = o.LeaseOver
			}
			if from.Before(to) {
				others = append(others, [2]time.Time{from, to})
			}
		}
		for _, h := range r.Holds.Kept {
			if h.Run != run.ID && h.Category == run.Category && h.Lane == run.Lane {
				add(h.AcquiredAt, h.ReleasedAt)
			}
		}
		for _, other := range r.Rivals {
			if other.ID != run.ID && other.Key == run.Key && other.Epoch > run.Epoch {
				add(other.StartedAt, other.EndedAt)
			}
		}
		slices.SortFunc(others, func(a, b [2]time.Time) int { return a[0].Compare(b[0]) })
		until := o.LeaseOver
		for _, span := range others {
			if span[0].Before(until) {
				span[0] = until
			}
			if span[1].After(until) {
				o.Shared += span[1].Sub(span[0])
				until = span[1]
			}
		}
		list = append(list, o)
	}
	return list
}

// NewAudit audits a record. A hold that was never given back lasts to the end of time:
// only the record of its release ends it.
func NewAudit(r Record, s rank.Settings) Audit {
	a := Audit{
		PeakConcurrency: r.Holds.peak, TotalAcquisitions: r.Holds.count, Violations: r.Holds.violations, Overruns: overruns(r),
		Denials: len(r.Denials), Pivots: r.Holds.pivots, Fallbacks: r.Fallbacks,
		All: Use{Outcomes: map[fleet.Outcome]int{}}, Fruitless: fruitless(r.Tallies), Failing: failing(r.Tasks),
	}
	categories := uses[fleet.Category]{}
	for c := range r.Shares {
		categories.of(c)
	}
	for _, t := range r.Tallies {
		if t.Source == fleet.FromAllowList {
			a.SafetyNet += t.Runs
		}
		a.All.add(t)
		categories.of(t.Category).add(t)
	}
	a.Categories = a.compare(categories, r, s)
	return a
}

// fruitless are the categories of which every run came to nothing, by name.
func fruitless(tallies []fleet.Tally) (list []Fruitless) {
	vain, other := map[fleet.Category]int{}, map[fleet.Category]bool{}
	for _, t := range tallies {
		if o := t.Outcome; o == fleet.Busy || o == fleet.RunDenied || o == fleet.Idle {
			vain[t.Category] += t.Runs
		} else {
			other[t.Category] = true
		}
	}
	for _, c := range slices.Sorted(maps.Keys(vain)) {
		if vain[c] >= minFruitless && !other[c] {
			list = append(list, Fruitless{c, vain[c]})
		}
	}
	return list
}

// OutcomeCount counts the runs with one outcome.
type OutcomeCount struct {
	Outcome fleet.Outcome
	Runs    int
	Part    float64 // of those that ended
}

// Ends are the outcomes that there were, from work to none.
func (u Use) Ends() (list []OutcomeCount) {
	for _, o := range fleet.Outcomes() {
		if n := u.Outcomes[o]; n > 0 {
			list = append(list, OutcomeCount{o, n, ratio(float64(n), float64(u.Ended))})
		}
	}
	return list
}

// Holds are acquisitions of lanes, summed up one by one, the oldest first: a record has more than fit into memory.
type Holds struct {
	Kept       []fleet.LaneHold               // that are looked at one by one, in that order
	Keep       func(fleet.LaneHold) bool      // which those are; nil: all
	Denied     map[fleet.RunID]fleet.Category // the category in which a run was denied last
	count      int
	peak       int // that overlap, at most
	pivots     int // by runs that were denied in another category
	violations []Violation
	open       []time.Time                // the ends of those that are held; zero: none
	longest    map[laneKey]fleet.LaneHold // of those before in a lane, the one that lasts longest
}

type laneKey struct {
	category fleet.Category
	number   int
}

// Add sums up one more hold. A hold that begins before an earlier one in its lane has ended is a violation; at the very
// instant of the end it is none.
func (s *Holds) Add(h fleet.LaneHold) {
	s.count++
	if s.Keep == nil || s.Keep(h) {
		s.Kept = append(s.Kept, h)
	}
	if c := s.Denied[h.Run]; c != "" && c != h.Category {
		s.pivots++
	}
	s.open = slices.DeleteFunc(s.open, func(end time.Time) bool { return !end.IsZero() && !end.After(h.AcquiredAt) })
	if h.ReleasedAt.IsZero() || h.ReleasedAt.After(h.AcquiredAt) { // a clock may be set back
		s.open = append(s.open, h.ReleasedAt)
	}
	s.peak = max(s.peak, len(s.open), 1) // one too short for the clock's tick is one all the same
	key := laneKey{h.Category, h.Lane}
	before, found := s.longest[key]
	if found && (before.ReleasedAt.IsZero() || before.ReleasedAt.After(h.AcquiredAt)) {
		s.violations = append(s.violations, Violation{h.Category, h.Lane, before.Run, h.Run, h.AcquiredAt})
	}
	if s.longest == nil {
		s.longest = map[laneKey]fleet.LaneHold{}
	}
	if !found || !before.ReleasedAt.IsZero() && (h.ReleasedAt.IsZero() || h.ReleasedAt.After(before.ReleasedAt)) {
		s.longest[key] = h
	}
}
