package selector

import (
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
)

// ClaimBlocked is the reason of a task that a take would deny.
const ClaimBlocked = "claim_blocked"

// Blocked is a task that is open but cannot be worked on, and why.
type Blocked struct {
	Task   *fleet.Task
	Reason string
	Claim  *fleet.Claim // the one in the way, with [ClaimBlocked]
}

// Workable splits the open tasks into those a session may take, in the order in
// which a session should try them, and those that are blocked. Held are the
// claims that a take would deny, by key. What is returned points into tasks.
func Workable(tasks []fleet.Task, held map[fleet.Key]fleet.Claim, now time.Time) (ready []*fleet.Task, blocked []Blocked) {
	return workable(tasks, newGraph(tasks), held, now)
}

func workable(tasks []fleet.Task, g graph, held map[fleet.Key]fleet.Claim, now time.Time) (ready []*fleet.Task, blocked []Blocked) {
	for i := range tasks {
		t := &tasks[i]
		if !t.State.Workable() {
			continue
		}
		if claim, ok := held[t.ID.Key()]; ok {
			blocked = append(blocked, Blocked{Task: t, Reason: ClaimBlocked, Claim: &claim})
			continue
		}
		if reason := first(g.obstacles(t, now)).Reason; reason != "" {
			blocked = append(blocked, Blocked{Task: t, Reason: reason})
			continue
		}
		ready = append(ready, t)
	}
	sortReady(ready, g)
	return ready, blocked
}

// Pick is the task that a session of a category should try, or nil and the reason
// why there is none. When only is not empty, that task is meant; it is returned
// even where a claim stands in its way, for the claim to say so.
func Pick(tasks []fleet.Task, held []fleet.Claim, c fleet.Category, only fleet.TaskID, now time.Time) (*fleet.Task, string) {
	ready, blocked := Workable(tasks, byKey(held), now)
	for _, t := range ready {
		if t.Category == c && (only == "" || t.ID == only) {
			return t, ""
		}
	}
	reason := ReasonNoTask
	for _, b := range blocked {
		switch {
		case b.Task.Category != c || only != "" && b.Task.ID != only:
		case only != "" && b.Reason == ClaimBlocked:
			return b.Task, ""
		case only != "":
			return nil, fmt.Sprintf("task %q %s", only, b.Reason)
		case b.Reason == ClaimBlocked:
			reason = ReasonAllClaimed
		}
	}
	return nil, reason
}

// Firsts are the tasks that the next session of each category should try. A category
// without one has no workable task.
func Firsts(tasks []fleet.Task, held []fleet.Claim, now time.Time) map[fleet.Category]*fleet.Task {
	firsts := map[fleet.Category]*fleet.Task{}
	ready, _ := Workable(tasks, byKey(held), now)
	for _, t := range ready {
		if firsts[t.Category] == nil {
			firsts[t.Category] = t
		}
	}
	return firsts
}

func byKey(claims []fleet.Claim) map[fleet.Key]fleet.Claim {
	m := make(map[fleet.Key]fleet.Claim, len(claims))
	for _, c := range claims {
		m[c.Key] = c
	}
	return m
}

// sortReady puts tasks in the order in which a session tries them.
func sortReady(ready []*fleet.Task, g graph) {
	o := newOrder(ready, g)
	slices.SortFunc(ready, func(a, b *fleet.Task) int {
		n, _ := o.compare(a, b)
		return n
	})
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
