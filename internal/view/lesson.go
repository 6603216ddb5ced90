package view

import (
	"fmt"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/survey"
)

// Lessons shows lessons and their effects.
func Lessons() View[[]survey.LessonEffect] { return List("stint/lessons@1", "lessons", "", Lesson()) }

// Lesson shows one lesson. Effects are in units of grade.
func Lesson() View[survey.LessonEffect] {
	type lesson = survey.LessonEffect
	low := func(l lesson) float64 { v, _ := l.Effect.Interval(); return v }
	high := func(l lesson) float64 { _, v := l.Effect.Interval(); return v }
	empty, failed := func(t rank.Tried) int { return t.Empty }, func(t rank.Tried) int { return t.Failed }
	return View[lesson]{
		Word("id", "", "", func(l lesson) fleet.LessonID { return l.ID }),
		Word("version", "", "a hash of its text", func(l lesson) string { return l.Version }),
		Bool("active", "there is a file of it", func(l lesson) bool { return l.Active }),
		Bool("edited", "there is a file of it with another text", func(l lesson) bool { return l.Edited }),
		Word("", "Lesson", "", func(l lesson) string {
			switch {
			case l.Edited:
				return string(l.ID) + " (before an edit)"
			case !l.Active:
				return string(l.ID) + " (gone)"
			}
			return string(l.ID)
		}),
		Word("", "Effect", "", func(l lesson) string {
			switch {
			case !tried(l):
				return ""
			case l.Effect.Known():
				return fmt.Sprintf("%+.3f", l.Effect.Mean)
			}
			return "unknown"
		}),
		Word("", "95%", "", func(l lesson) string {
			if !tried(l) {
				return ""
			}
			return fmt.Sprintf("%+.2f to %+.2f", low(l), high(l))
		}),
		Number("effect", "", func(l lesson) float64 { return l.Effect.Mean }),
		Number("low", "the 95 % interval", low),
		Number("high", "", high),
		Bool("known", "the interval leaves out zero", func(l lesson) bool { return l.Effect.Known() }),
		Number("raw", "the difference as observed", func(l lesson) float64 { return l.Effect.Raw }),
		Int("with", "With", "graded sessions that got it", func(l lesson) int { return l.With.Graded }),
		Int("without", "Without", "graded sessions from which it was withheld", func(l lesson) int { return l.Without.Graded }),
		Part("empty", "sessions that found nothing to do", arms(empty), func(l lesson) lesson { return l }),
		Part("failed", "sessions that failed", arms(failed), func(l lesson) lesson { return l }),
		Word("", "Empty", "", func(l lesson) string { return fmt.Sprintf("%d/%d", empty(l.With), empty(l.Without)) }),
		Word("", "Failed", "", func(l lesson) string { return fmt.Sprintf("%d/%d", failed(l.With), failed(l.Without)) }),
	}
}

// tried reports whether there are grades with the lesson and without.
func tried(l survey.LessonEffect) bool { return l.With.Graded > 0 && l.Without.Graded > 0 }

// arms shows the sessions in both arms of a trial.
func arms(of func(rank.Tried) int) View[survey.LessonEffect] {
	return View[survey.LessonEffect]{
		Int("with", "", "", func(l survey.LessonEffect) int { return of(l.With) }),
		Int("without", "", "", func(l survey.LessonEffect) int { return of(l.Without) }),
	}
}
