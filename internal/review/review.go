// Package review decides what of the sessions' work waits for a person, and in which order it
// is best looked through. It is pure: what git and the record say of each branch comes in, and
// a list with reasons comes out.
package review

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Branch is a branch of a run, and what of it the target has.
type Branch struct {
	Run     fleet.RunID
	Name    string
	Tip     string
	Dir     string  // in which it is checked out; empty: nowhere
	Apart   bool    // that is not the run's own folder: a person works there
	Landing Landing // of all of its commits
	By      string  // the target's commit that decided it; empty: none
	Since   time.Time
	Left    int // how many commits the target has had since the branch left it; [LongAgo] where it never did
	Landed  int // and since the branch landed; [LongAgo] where it has not

	// For a branch that waits, or was reverted:
	Commits   []string // that the target lacks, oldest first
	Others    int      // commits that the target has as others
	Files     []string // that they change
	Tests     int      // of the files, those that are tests by their names
	Lines     int      // inserted and deleted
	Conflicts []string // files in which it conflicts with the target
	Untried   bool     // whether it does is not known yet
}

// LongAgo is more commits than any target has.
const LongAgo = math.MaxInt32

// Target is the branch that the work of sessions is to get into.
type Target struct {
	Name string // empty: no branch is checked out
	Tip  string
}

// Item is the work of one session, with its place in the order.
type Item struct {
	Branch
	State     State
	Session   fleet.Run    // of the record; without a category: the record has no such run
	Decision  fleet.Review // what was decided and found of it, see [Item.Decided] and [Item.Checked]
	Shares    int          // other items that change one of its files
	Collides  []fleet.RunID
	Unblocks  int         // tasks that wait for its own
	Leftovers string      // of its session beside the item, for people; empty: none
	Why       string      // it stands where it stands
	Seen      string      // the tip that a person named, or its beginning; empty: none
	AtWork    fleet.RunID // that goes on with it now; empty: no session does
}

// Constants of the time that an item takes, and of its worth. The figures need only be right for the
// order: a glance at the least, a minute for a screen of changes, half an hour at the most.
const (
	glance       = 1.0  // minutes
	linesAMinute = 50.0 // of a change, at the pace of a careful reading
	fileMinutes  = 0.5  // to find one's way in each
	maxMinutes   = 30.0
	redoing      = 3.0 // a conflict has to be solved first, or a red check understood
	ageDoubles   = 4.0 // days after which waiting has made an item worth twice as much
	maxAge       = 28.0
	urgentAge    = 6.5  // days from which the oldest comes first, however long it takes: nothing starves
	urgent       = 1e3  // above the worth a minute of all others
	shareWorth   = 0.25 // for each item that is to be looked at again once this one is in
	clashWorth   = 0.25 // beyond that, for each that conflicts with it
	greenWorth   = 1.25 // it is likely to be good
	unblockWorth = 0.5  // for each task that waits for the item's
)

// Sort puts open items in the order in which the next minutes free most, the others behind
// them, and says why. Each is worth more the longer it has waited and the more others change the
// same files, and takes time by its size: by descending worth a minute, the sum of what waits
// falls fastest (W. E. Smith, Various optimizers for single-stage production, 1956).
func Sort(items []Item, now time.Time) {
	share(items)
	key := make(map[fleet.RunID]float64, len(items))
	for i := range items {
		key[items[i].Run], items[i].Why = items[i].rate(now)
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		if a.Open() != b.Open() {
			return cmp.Compare(open(b), open(a))
		}
		return cmp.Or(cmp.Compare(key[b.Run], key[a.Run]), strings.Compare(string(a.Run), string(b.Run)))
	})
}

func open(i Item) int {
	if i.Open() {
		return 1
	}
	return 0
}

// rate is an item's worth a minute.
func (i Item) rate(now time.Time) (rate float64, why string) {
	minutes := i.Minutes()
	days := min(max(now.Sub(i.Since).Hours()/24, 0), maxAge)
	worth := (1 + days/ageDoubles) * (1 + shareWorth*float64(i.Shares) + clashWorth*float64(len(i.Collides)) + unblockWorth*float64(i.Unblocks))
	var reasons []string
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if g := i.Session.Verdict.Grade; g != nil {
		worth *= 0.5 + *g
	}
	switch {
	case i.State == StateReverted:
		say("reverted by %s", short(i.By))
	case !i.Open():
		return 0, i.closing()
	}
	if i.State == StatePublished && i.Decision.URL != "" {
		say("at %s", i.Decision.URL)
	}
	if i.AtWork != "" {
		say("run %s goes on with it", i.AtWork)
	}
	if i.Apart {
		say("checked out in %s", i.Dir)
	}
	green, known := i.Checked()
	if len(i.Conflicts) > 0 {
		say("conflicts in %s", plain.Plural(len(i.Conflicts), "file"))
	}
	switch {
	case known && green:
		worth *= greenWorth
		say("green")
	case known && len(i.Conflicts) == 0: // a conflict says it all, and may be why
		say("check failed: %s", i.Decision.Check.Reason)
	}
	if i.Unblocks > 0 {
		say("unblocks %s", plain.Plural(i.Unblocks, "task"))
	}
	if i.Others > 0 && i.Landing == Waiting {
		say("%s in the target already", plain.Plural(i.Others, "commit"))
	}
	if len(i.Collides) > 0 {
		say("conflicts with %s", plain.Plural(len(i.Collides), "other"))
	}
	if i.Shares > len(i.Collides) {
		say("shares files with %s", plain.Plural(i.Shares, "other"))
	}
	if minutes <= 3 {
		say("small")
	}
	if days >= ageDoubles {
		say("old")
	}
	if i.Leftovers != "" {
		say("%s", i.Leftovers)
	}
	if days >= urgentAge { // it is rotten soon, and would keep all other work from starting
		return urgent + days, strings.Join(reasons, ", ")
	}
	return worth / minutes, strings.Join(reasons, ", ")
}

// Minutes estimates the time that a review of the item takes.
func (i Item) Minutes() float64 {
	minutes := glance + float64(i.Lines)/linesAMinute + fileMinutes*float64(len(i.Files))
	if green, known := i.Checked(); len(i.Conflicts) > 0 || known && !green {
		minutes *= redoing
	}
	return min(minutes, maxMinutes)
}

// closing says why nobody has to decide about the item.
func (i Item) closing() string {
	switch i.State {
	case StateRejected, StateSuperseded:
		if d, ok := i.Decided(); ok && d.Reason != "" {
			return d.Reason
		}
		return "other work of the task is in the target"
	case StateMerged, StateChanged:
		if i.Landing == Copied {
			return "as commits of its own"
		}
	case StateWaiting, StateCheckedOut, StatePublished, StateReverted:
	}
	return ""
}

// share counts for each open item the others that change one of its files.
func share(items []Item) {
	by := map[string][]int{}
	for n, i := range items {
		if !i.Open() {
			continue
		}
		for _, file := range i.Files {
			by[file] = append(by[file], n)
		}
	}
	seen := make([]int, len(items)) // the last item, from 1 on, that was found to share files with each
	for n := range items {
		if !items[n].Open() {
			continue
		}
		for _, file := range items[n].Files {
			for _, other := range by[file] {
				if other != n && seen[other] != n+1 {
					seen[other] = n + 1
					items[n].Shares++
				}
			}
		}
	}
}

func short(id string) string { return id[:min(len(id), 12)] }
