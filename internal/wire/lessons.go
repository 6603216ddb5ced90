package wire

import (
	"maps"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/survey"
)

// Lessons is stint/lessons@1.
type Lessons struct {
	Schema  string   `json:"schema"`
	Lessons []Lesson `json:"lessons"`
}

// Lesson is what is known of one lesson. Effects are in units of grade.
type Lesson struct {
	ID       fleet.LessonID             `json:"id"`
	Version  string                     `json:"version"` // a hash of its text
	Active   bool                       `json:"active"`  // there is a file of it
	Edited   bool                       `json:"edited"`  // there is a file of it with another text
	Effect   float64                    `json:"effect"`
	Low      float64                    `json:"low"` // the 95 % interval
	High     float64                    `json:"high"`
	Known    bool                       `json:"known"`   // the interval leaves out zero
	Raw      float64                    `json:"raw"`     // the difference as observed
	With     int                        `json:"with"`    // graded sessions that got it
	Without  int                        `json:"without"` // graded sessions from which it was withheld
	Empty    Arms                       `json:"empty"`   // sessions that found nothing to do
	Failed   Arms                       `json:"failed"`  // sessions that failed
	Missing  []Missing                  `json:"missing"`
	Exposure map[fleet.Category]float64 `json:"exposure"`
}

// Arms are sessions of the two arms of a trial.
type Arms struct {
	With    int `json:"with"`
	Without int `json:"without"`
}

// Missing is how many more graded sessions it takes to show an effect.
type Missing struct {
	Effect   float64 `json:"effect"`
	Sessions int     `json:"sessions"`
}

// NewLessons are lessons and their effects, as JSON.
func NewLessons(list []survey.LessonEffect) Lessons {
	return Lessons{"stint/lessons@1", each(list, newLesson)}
}

func newLesson(l survey.LessonEffect) Lesson {
	arms := func(of func(bandit.Tried) int) Arms { return Arms{of(l.With), of(l.Without)} }
	low, high := l.Effect.Interval()
	o := Lesson{
		ID: l.ID, Version: l.Version, Active: l.Active, Edited: l.Edited,
		Effect: l.Effect.Mean, Low: low, High: high, Known: l.Effect.Known(), Raw: l.Effect.Raw,
		With: l.With.Graded, Without: l.Without.Graded,
		Empty:    arms(func(t bandit.Tried) int { return t.Empty }),
		Failed:   arms(func(t bandit.Tried) int { return t.Failed }),
		Exposure: map[fleet.Category]float64{},
	}
	maps.Copy(o.Exposure, l.Exposure)
	for i, size := range survey.EffectSizes() {
		o.Missing = append(o.Missing, Missing{size, l.Missing[i]})
	}
	return o
}
