package book

import (
	"slices"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/store"
)

// Graded is a run's grade after one more thing became of its work: first is the one at its end.
func Graded(first *float64, before []fleet.Fate, f fleet.Fate) *float64 {
	if first == nil {
		return nil
	}
	return new(grade.Final(*first, append(slices.Clone(before), f)))
}

// Remembered is the last of an arm's checkpoints at which an alarm had grades forgotten: those
// that were counted before it are corrected no more. Without an alarm it is the first.
func Remembered(points []store.Checkpoint) (at int) {
	for i := 1; i < len(points); i++ {
		if alarmed(points[i-1].Arm, points[i].Arm) {
			at = i
		}
	}
	return at
}

// alarmed reports whether an alarm ended the time between two checkpoints.
func alarmed(was, is bandit.Arm) bool { return is.Alarms == was.Alarms+1 }

// Relearnt are an arm, and its checkpoints from one on that no alarm came after, with the evidence
// worked out anew from grades that were corrected. The grades are all that were counted since that
// checkpoint, in that order. Each keeps the place and the round in which it was counted, so that the
// evidence is that of the corrected grades to the last bit, whenever and in whatever order the
// corrections came. The change detector is not fed by corrections: it goes by what sessions do now.
func Relearnt(points []store.Checkpoint, arm bandit.Arm, grades []store.Entry) ([]store.Checkpoint, bandit.Arm) {
	points = slices.Clone(points)
	counted := points[0].Arm.Graded
	for i := range points {
		next := &arm
		if i+1 < len(points) {
			next = &points[i+1].Arm
		}
		e := points[i].Settings.Relearn(points[i].Arm.Evidence, learnt(part(grades, points[i].Arm.Graded-counted, next.Graded-counted)))
		next.Fast, next.Slow, next.Slope, next.Season, next.Shift = e.Fast, e.Slow, e.Slope, e.Season, e.Shift
	}
	return points, arm
}

// learnt are grades as an arm learns them.
func learnt(list []store.Entry) (all []bandit.Learnt) {
	for _, e := range list {
		x := bandit.Graded{Round: e.Round, Turn: bandit.Turn(e.Began), Load: e.Load, Grade: *e.Grade, Shift: *e.Grade - *e.First}
		all = append(all, bandit.Learnt{Graded: x, In: e.In})
	}
	return all
}
