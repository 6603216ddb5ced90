package book

import "stint/internal/fleet"

// RepeatsEnd reports whether a run has ended on record by the verdict of this end: a caller that brings
// it again never heard that it was recorded.
func RepeatsEnd(recorded, end fleet.Run) bool {
	was, v := recorded.Verdict, end.Verdict
	grade := same(was.Grade, v.Grade) ||
		was.Grade == nil && was.Fault == fleet.FaultAgent // which the record made of it, see [Judge]
	return recorded.ID == end.ID && recorded.Key == end.Key && recorded.Epoch == end.Epoch &&
		was.Outcome == v.Outcome && was.Reason == v.Reason && was.TaskState == v.TaskState && same(was.ExitStatus, v.ExitStatus) && grade
}

// same reports whether two values are equal that may not be known.
func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
