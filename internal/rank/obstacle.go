package rank

import (
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Obstacle is one thing that keeps a category from being started, or a task from being
// worked on.
type Obstacle struct {
	Kind   fleet.Hindrance
	Reason string    // a sentence fragment: what a fire records when this comes first
	On     string    // what a task requires, with [fleet.HinderedByNeed]
	Until  time.Time // when it ends by itself; zero: when something else changes
}

// Over is when the last of several things ends by itself; zero: one does not, or there is none.
func Over(ends ...time.Time) (at time.Time) {
	for _, end := range ends {
		if end.IsZero() {
			return end
		}
		at = plain.Latest(at, end)
	}
	return at
}

// Sooner is the earlier of two times, of which zero is never.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Opening is the earliest time at which a category can be started that cannot be now, by the passing of time alone; zero:
// there is none. Categories are those that count, all where none is named. A fire between two of the schedule (extra) leaves
// a category that cools down last of all to the schedule: else each such fire would cause the next, and the fleet never rested.
func (s Situation) Opening(extra bool, categories ...fleet.Category) (at time.Time) {
	work, _ := s.backlogs()
	for _, f := range s.Facts {
		if len(categories) > 0 && !slices.Contains(categories, f.Category) {
			continue
		}
		obstacles := s.obstacles(f, work.of(f.Category))
		over := Over(plain.Each(obstacles, func(o Obstacle) time.Time { return o.Until })...)
		if !extra || !slices.ContainsFunc(obstacles, func(o Obstacle) bool { return o.Kind == fleet.HinderedByRest && o.Until.Equal(over) }) {
			at = Sooner(at, over)
		}
	}
	return at
}

// first is the first obstacle, or none.
func first(obstacles []Obstacle) Obstacle {
	if len(obstacles) == 0 {
		return Obstacle{}
	}
	return obstacles[0]
}
