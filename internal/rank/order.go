package rank

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
)

// order is the one in which a session tries tasks: what was begun, what is pressing, what is in no
// other work's way, what no session has worked on, what had its last session longest ago, what the most
// other tasks wait for, what is old.
type order struct {
	Queue
	waiters map[fleet.TaskID]waiters
	place   map[fleet.TaskState]int
}

func (q Queue) order(ready []*fleet.Task, g graph) order {
	o := order{Queue: q, waiters: g.waiters(ready, q.aged), place: map[fleet.TaskState]int{}}
	for i, state := range fleet.TaskStates() {
		o.place[state] = i
	}
	return o
}

// criterion names the rule that decided between two tasks.
type criterion int

const (
	byState criterion = iota
	byPriority
	byOverlap
	byLeftOpen
	byTurn
	byWaiters
	byAge
	byID
)

// compare is negative when a session tries a before b, and says what decided it.
func (o order) compare(a, b *fleet.Task) (int, criterion) {
	if n := cmp.Compare(o.placeOf(a), o.placeOf(b)); n != 0 {
		return n, byState
	}
	if n := cmp.Compare(o.class(a).Rank(), o.class(b).Rank()); n != 0 {
		return n, byPriority
	}
	if n := o.overlaps(a) - o.overlaps(b); n != 0 {
		return n, byOverlap
	}
	if left := b.LeftOpen(); left != a.LeftOpen() {
		if left {
			return -1, byLeftOpen
		}
		return 1, byLeftOpen
	} else if left && !a.Leads() {
		if n := a.Memory.Since.Compare(b.Memory.Since); n != 0 {
			return n, byTurn
		}
	}
	if len(o.waiters) > 0 {
		if more := cmp.Compare(o.waiters[b.ID].count, o.waiters[a.ID].count); more != 0 {
			return more, byWaiters
		}
	}
	if n := compareAge(a.Created, b.Created); n != 0 {
		return n, byAge
	}
	return cmp.Compare(a.ID, b.ID), byID
}

// placeOf is that of the task's state. A begun task that has had its sessions takes its turn with
// those to be begun.
func (o order) placeOf(t *fleet.Task) int {
	if yields(t) {
		return o.place[fleet.StateTodo]
	}
	return o.place[t.State]
}

// yields reports whether a task was begun, and leads no longer.
func yields(t *fleet.Task) bool { return t.State == fleet.StateActive && !t.Leads() }

// overlaps is 1 for a task that is to change what other work changes.
func (o order) overlaps(t *fleet.Task) int {
	if o.Overlaps[t.ID].Why == "" {
		return 0
	}
	return 1
}

// class is the priority as which a task counts: its own, or that of a more pressing one that
// waits for it.
func (o order) class(t *fleet.Task) fleet.Priority {
	own := o.aged(t)
	if first := o.waiters[t.ID].first; first != nil && o.aged(first).Rank() < own.Rank() {
		return o.aged(first)
	}
	return own
}

// raiseAfter is the wait that makes a low task as urgent as any within three weeks, which people still remember.
const raiseAfter = 7 * 24 * time.Hour

// aged is a task's own priority with the time that it has waited: it gains a class for each
// [raiseAfter], so that none waits for ever.
func (q Queue) aged(t *fleet.Task) fleet.Priority {
	since := t.Created
	if since.IsZero() {
		since = t.Modified
	}
	if since.IsZero() || since.After(q.At) {
		return t.Priority
	}
	return t.Priority.Raised(int(q.At.Sub(since) / raiseAfter))
}

// Ahead is a workable task that a session tries before another of its category.
type Ahead struct {
	ID      fleet.TaskID
	Because string // a sentence fragment about it
}

// Ahead lists the workable tasks that a session of its category tries before this one,
// first the first. The task itself need not be workable.
func (q Queue) Ahead(t *fleet.Task) (list []Ahead) {
	g := newGraph(q.Tasks)
	ready, _ := q.workable(g)
	o := q.order(append(slices.Clone(ready), t), g)
	for _, other := range ready {
		if other.Category != t.Category || other.ID == t.ID {
			continue
		}
		if n, by := o.compare(other, t); n < 0 {
			list = append(list, Ahead{other.ID, o.because(by, other, t)})
		}
	}
	return list
}

func (o order) because(by criterion, a, b *fleet.Task) string {
	switch by {
	case byState:
		if yields(b) {
			return fmt.Sprintf("it is %s, and this one has had %d sessions", a.State, b.Memory.Taken)
		}
		return fmt.Sprintf("it is %s, this one is %s", a.State, b.State)
	case byPriority:
		return fmt.Sprintf("its priority is %s; this one's is %s", o.counts(a), o.counts(b))
	case byOverlap:
		return o.Overlaps[b.ID].Why + ", which this one is to change, too"
	case byLeftOpen:
		if yields(b) {
			return fmt.Sprintf("this one is active, and has had %d sessions", b.Memory.Taken)
		}
		return "sessions have worked on this one and left it open"
	case byTurn:
		return "its last session is longer ago"
	case byWaiters:
		return fmt.Sprintf("more open tasks wait for it: %d, and %d for this one", o.waiters[a.ID].count, o.waiters[b.ID].count)
	case byAge:
		if b.Created.IsZero() {
			return "it has a date, this one has none"
		}
		return fmt.Sprintf("it is from %s, this one from %s", a.Created.Format(time.DateOnly), b.Created.Format(time.DateOnly))
	case byID:
	}
	return "its name comes first, and they are equal otherwise"
}

// Counts is a task's priority, and as what it counts.
func (q Queue) Counts(t *fleet.Task) string {
	return q.order([]*fleet.Task{t}, newGraph(q.Tasks)).counts(t)
}

func (o order) counts(t *fleet.Task) string {
	class := o.class(t)
	switch {
	case class == t.Priority:
		return string(t.Priority)
	case class == o.aged(t):
		return fmt.Sprintf("%s, which counts as %s for the time that it has waited", t.Priority, class)
	}
	return fmt.Sprintf("%s, which counts as %s for %s, which waits for it", t.Priority, class, o.waiters[t.ID].first.ID)
}

// TaskObstacles are all that keeps a task in a workable state from being worked on, but
// for claims.
func (q Queue) TaskObstacles(t *fleet.Task) []Obstacle {
	return q.hinder(newGraph(q.Tasks), t)
}
