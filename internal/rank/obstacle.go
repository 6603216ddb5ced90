package rank

import (
	"time"

	"stint/internal/fleet"
)

// Obstacle is one thing that keeps a category from being started, or a task from being
// worked on.
type Obstacle struct {
	Kind   fleet.Hindrance
	Reason string    // a sentence fragment: what a fire records when this comes first
	On     string    // what a task requires, with [fleet.HinderedByNeed]
	Until  time.Time // when it ends by itself; zero: when something else changes
}

// first is the first obstacle, or none.
func first(obstacles []Obstacle) Obstacle {
	if len(obstacles) == 0 {
		return Obstacle{}
	}
	return obstacles[0]
}
