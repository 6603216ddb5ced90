package rank

import (
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// ClaimBlocked is the reason of a task that a take would deny.
const ClaimBlocked = "claim_blocked"

// ReasonOwed is the reason for a task whose tracker has not got the report of the last session.
const ReasonOwed = "waiting for a report to its tracker"

// Blocked is a task that is open but cannot be worked on, and why.
type Blocked struct {
	Task   *fleet.Task
	Kind   fleet.Hindrance
	Reason string
	Claim  *fleet.Claim // the one in the way, with [fleet.HinderedByClaim]
}

// Queue is the tasks among which sessions choose, and what decides in which order.
type Queue struct {
	Tasks []fleet.Task
	Held  []fleet.Claim // what a take would deny
	At    time.Time
	// Round is that of a category, by which its tasks rest.
	Round func(fleet.Category) fleet.Round
	// Overlaps are the tasks that are to change what other work changes.
	Overlaps map[fleet.TaskID]fleet.Overlap
	// First is the task that another selector chose: where it can be worked on, it comes first.
	First fleet.TaskID
	// ByHand has a task that rests be worked on where no other is left: a person asks for it.
	ByHand bool
}

// Workable splits the open tasks into those a session may take, in the order in
// which a session should try them, and those that are blocked. The results point into the
// tasks.
func (q Queue) Workable() (ready []*fleet.Task, blocked []Blocked) {
	return q.workable(newGraph(q.Tasks))
}

func (q Queue) workable(g graph) (ready []*fleet.Task, blocked []Blocked) {
	held := make(map[fleet.Key]*fleet.Claim, len(q.Held))
	for i := range q.Held {
		held[q.Held[i].Key] = &q.Held[i]
	}
	for i := range q.Tasks {
		t := &q.Tasks[i]
		if !t.State.Workable() {
			continue
		}
		if claim := held[t.ID.Key()]; claim != nil {
			blocked = append(blocked, Blocked{Task: t, Kind: fleet.HinderedByClaim, Reason: ClaimBlocked, Claim: claim})
			continue
		}
		if o := first(q.hinder(g, t)); o.Kind != "" {
			blocked = append(blocked, Blocked{Task: t, Kind: o.Kind, Reason: o.Reason})
			continue
		}
		ready = append(ready, t)
	}
	o := q.order(ready, g)
	slices.SortFunc(ready, func(a, b *fleet.Task) int {
		n, _ := o.compare(a, b)
		return n
	})
	if i := slices.IndexFunc(ready, func(t *fleet.Task) bool { return t.ID == q.First }); i > 0 {
		chosen := ready[i]
		copy(ready[1:], ready[:i])
		ready[0] = chosen
	}
	return ready, blocked
}

// Refuse says why a session of a category cannot begin with a task, or "".
func (q Queue) Refuse(c fleet.Category, id fleet.TaskID) string {
	i := slices.IndexFunc(q.Tasks, func(t fleet.Task) bool { return t.ID == id })
	if i < 0 {
		return "no task has that id"
	}
	t := &q.Tasks[i]
	if t.Category != c {
		return "it is of category " + string(t.Category)
	}
	for _, held := range q.Held {
		if held.Key == id.Key() {
			return fmt.Sprintf("claimed by %s until %s", held.Holder, plain.Stamp(held.ExpiresAt))
		}
	}
	if !t.State.Workable() {
		return "its state is " + string(t.State)
	}
	return first(q.TaskObstacles(t)).Reason
}

// hinder is what keeps a task in a workable state from being worked on, one after the
// other, except for claims. Waiting for other work, and resting, come last: both end without
// anybody's look at the task.
func (q Queue) hinder(g graph, t *fleet.Task) []Obstacle {
	list := g.obstacles(t, q.At)
	if t.Memory != nil && t.Memory.Owed != "" {
		list = append(list, Obstacle{Kind: fleet.HinderedByWaiting, Reason: ReasonOwed})
	}
	if o := q.Overlaps[t.ID]; o.Waits {
		list = append(list, Obstacle{Kind: fleet.HinderedByOverlap, Reason: "waits for other work: " + o.Why})
	}
	if fires := q.rest(t); fires > 0 {
		list = append(list, Obstacle{Kind: fleet.HinderedByEmpty, Reason: fmt.Sprintf("rests for %s: %s", fleet.Fires(fires), t.Memory.Emptied())})
	}
	return list
}

// rest is for how many more rounds a task rests.
func (q Queue) rest(t *fleet.Task) int {
	if t.Memory == nil || t.Memory.Rests == 0 {
		return 0
	}
	return t.Memory.Rest(q.Round(t.Category))
}

// Pick is the task that a session of a category should try, or nil and the reason
// why there is none. When only is not empty, that task is meant; it is returned
// even where a claim stands in its way, for the claim to say so, and while it rests or waits for
// other work.
func (q Queue) Pick(c fleet.Category, only fleet.TaskID) (*fleet.Task, string) {
	ready, blocked := q.Workable()
	for _, t := range ready {
		if t.Category == c && (only == "" || t.ID == only) {
			return t, ""
		}
	}
	var w backlog
	for _, b := range blocked {
		switch {
		case b.Task.Category != c || only != "" && b.Task.ID != only:
		case only == "":
			w.block(b, q)
		case slices.Contains([]fleet.Hindrance{fleet.HinderedByClaim, fleet.HinderedByOverlap, fleet.HinderedByEmpty}, b.Kind):
			return b.Task, ""
		default:
			return nil, fmt.Sprintf("task %q %s", only, b.Reason)
		}
	}
	if q.ByHand && w.resting != nil {
		return w.resting, ""
	}
	return nil, w.empty().Reason
}

// Firsts are the tasks that the next session of each category should try. A category
// without one has no workable task.
func (q Queue) Firsts() map[fleet.Category]*fleet.Task {
	firsts := map[fleet.Category]*fleet.Task{}
	ready, _ := q.Workable()
	for _, t := range ready {
		if firsts[t.Category] == nil {
			firsts[t.Category] = t
		}
	}
	return firsts
}

// compareAge puts the older first and what has no date last.
func compareAge(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		if a.IsZero() {
			return 1
		}
		return -1
	}
	return a.Compare(b)
}
