package engine

import (
	"stint/internal/bandit"
	"stint/internal/fleet"
)

// maxLessons bounds what lessons add to a prompt, in bytes: beyond some pages the task
// itself is lost among them.
const maxLessons = 48 << 10

// matching are the lessons that fit a session, and those of them that it gets: chance
// withholds some, so that their effect can be told from that of the sessions they
// happen to fit. The same run always gets the same.
func (e *Engine) matching(lessons []fleet.Lesson, r fleet.Run, task *fleet.Task) (uses []fleet.LessonUse, given []fleet.Lesson) {
	size := 0
	for _, l := range lessons {
		if !l.Matches(r.Category, task) || size+len(l.Body) > maxLessons {
			continue
		}
		size += len(l.Body) // also of one that is withheld: whether others fit must not depend on chance
		injected := bandit.Chance(string(r.ID), string(l.ID)) >= e.Config.Lessons.Withhold
		uses = append(uses, fleet.LessonUse{Lesson: l.ID, Version: l.Version(), Injected: injected})
		if injected {
			given = append(given, l)
		}
	}
	return uses, given
}
