package selector

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
)

// order is the one in which a session tries tasks: what was begun, what the most other
// tasks wait for, what is pressing, what is old.
type order struct {
	power map[fleet.TaskID]int
	place map[fleet.TaskState]int
}

func newOrder(ready []*fleet.Task, g graph) order {
	o := order{power: g.powers(ready), place: map[fleet.TaskState]int{}}
	for i, state := range fleet.TaskStates() {
		o.place[state] = i
	}
	return o
}

// criterion is what decided between two tasks.
type criterion int

const (
	byState criterion = iota
	byPower
	byPriority
	byAge
	byID
)

// compare is negative when a session tries a before b, and says what decided it.
func (o order) compare(a, b *fleet.Task) (int, criterion) {
	if a.State != b.State {
		return cmp.Compare(o.place[a.State], o.place[b.State]), byState
	}
	if len(o.power) > 0 {
		if more := cmp.Compare(o.power[b.ID], o.power[a.ID]); more != 0 {
			return more, byPower
		}
	}
	if n := cmp.Compare(a.Priority.Rank(), b.Priority.Rank()); n != 0 {
		return n, byPriority
	}
	if n := compareAge(a.Created, b.Created); n != 0 {
		return n, byAge
	}
	return cmp.Compare(a.ID, b.ID), byID
}

// Ahead is a workable task that a session tries before another of its category.
type Ahead struct {
	ID      fleet.TaskID
	Because string // a sentence fragment about it
}

// Ahead lists the workable tasks that a session of its category tries before this one,
// first the first. The task itself need not be workable.
func (s Situation) Ahead(t *fleet.Task) (list []Ahead) {
	g := newGraph(s.Tasks)
	ready, _ := workable(s.Tasks, g, byKey(s.Held), s.At)
	o := newOrder(append(slices.Clone(ready), t), g)
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
		return fmt.Sprintf("it is %s, this one is %s", a.State, b.State)
	case byPower:
		return fmt.Sprintf("more open tasks wait for it: %d, and %d for this one", o.power[a.ID], o.power[b.ID])
	case byPriority:
		return fmt.Sprintf("its priority is %s, this one's is %s", a.Priority, b.Priority)
	case byAge:
		if b.Created.IsZero() {
			return "it has a date, this one has none"
		}
		return fmt.Sprintf("it is from %s, this one from %s", a.Created.Format(time.DateOnly), b.Created.Format(time.DateOnly))
	case byID:
	}
	return "its name comes first, and nothing else tells them apart"
}

// TaskObstacles are all that keeps a task in a workable state from being worked on, but
// for claims.
func (s Situation) TaskObstacles(t *fleet.Task) []Obstacle {
	return slices.Collect(newGraph(s.Tasks).obstacles(t, s.At))
}
