package review

import (
	"slices"

	"stint/internal/fleet"
)

// State is a stage on the way of a session's work into the target.
type State string

const (
	StateMerged     State = "merged"
	StateChanged    State = "merged with changes"
	StateRejected   State = "rejected"
	StateSuperseded State = "superseded"  // other work of the same task came first
	StateReverted   State = "reverted"    // it waits again
	StatePublished  State = "published"   // it waits elsewhere, as in a merge request
	StateCheckedOut State = "checked out" // a person works on it
	StateWaiting    State = "waiting"
)

// Decided returns the decision on the item. A commit that was made since opens it again.
func (i Item) Decided() (d fleet.Review, ok bool) {
	return i.Decision, i.Decision.Decision != "" && i.Decision.Tip == i.Tip
}

// Checked reports how the check of the item went, and false if it was not checked as it is.
func (i Item) Checked() (green, known bool) {
	c := i.Decision.Check
	return c.OK, c.Tip != "" && c.Tip == i.Tip && (c.OK || i.Decision.Failed())
}

// Open reports whether somebody has to decide about the item.
func (i Item) Open() bool {
	switch i.State {
	case StateWaiting, StateCheckedOut, StatePublished, StateReverted:
		return true
	case StateMerged, StateChanged, StateRejected, StateSuperseded:
	}
	return false
}

// Rotten reports whether the item becomes harder to merge while it waits: it conflicts with the
// target, or its check failed.
func (i Item) Rotten() bool {
	green, known := i.Checked()
	return i.Open() && (len(i.Conflicts) > 0 || known && !green)
}

// StateOf is the state of an item. The target's word counts most, then a person's. superseded is
// work of a task of which the target has other work, see [Supersede].
func StateOf(i Item, superseded bool) State {
	d, _ := i.Decided()
	if d.Tip != i.Tip {
		d = fleet.Review{}
	}
	switch {
	case i.Landing == Merged, i.Landing == Copied:
		return StateMerged
	case i.Landing == Covered && superseded:
		return StateSuperseded
	case i.Landing == Covered:
		return StateChanged
	case d.Decision == fleet.DecisionRejected:
		return StateRejected
	case d.Decision == fleet.DecisionSuperseded, superseded:
		return StateSuperseded
	case i.Landing == Reverted:
		return StateReverted
	case d.Decision == fleet.DecisionPublished:
		return StatePublished
	case i.Apart:
		return StateCheckedOut
	}
	return StateWaiting
}

// Resolve gives each item its state. Work is superseded if the target took in another's of the
// same task after the work had left it, and so did not build on it.
func Resolve(items []Item) {
	landed := map[fleet.TaskID][]Item{}
	for _, i := range items {
		if i.Session.Task != "" && (i.Landing == Merged || i.Landing == Copied) {
			landed[i.Session.Task] = append(landed[i.Session.Task], i)
		}
	}
	for n := range items {
		superseded := false
		for _, other := range landed[items[n].Session.Task] {
			superseded = superseded || other.Run != items[n].Run && other.Landed < items[n].Left
		}
		items[n].State = StateOf(items[n], superseded)
	}
}

// MostClashes bounds how many pairs of items are merged in thought at one look.
const MostClashes = 200

// Pairs are open items that change the same file and may conflict, those of the oldest first, as
// indices. An item that conflicts with the target is in none: it is to be redone in any case.
func Pairs(items []Item) (pairs [][2]int) {
	by := map[string][]int{}
	for _, n := range byAge(items) {
		if !items[n].Open() || len(items[n].Conflicts) > 0 {
			continue
		}
		seen := map[int]bool{}
		for _, file := range items[n].Files {
			for _, other := range by[file] {
				if len(pairs) == MostClashes {
					return pairs
				}
				if !seen[other] {
					seen[other] = true
					pairs = append(pairs, [2]int{other, n})
				}
			}
			by[file] = append(by[file], n)
		}
	}
	return pairs
}

func byAge(items []Item) []int {
	order := make([]int, len(items))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return items[a].Since.Compare(items[b].Since) })
	return order
}
