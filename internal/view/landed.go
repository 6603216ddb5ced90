package view

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/review"
)

// Landed shows one run's work that the target has.
func Landed() View[review.Landed] {
	type landed = review.Landed
	short := func(id string) string { return id[:min(len(id), 12)] }
	return View[landed]{
		Link("run", "Run", "", func(l landed) Ref { return OfRun(l.ID) }),
		Age("at", "", func(l landed) time.Time { return l.At }),
		Word("category", "Category", "", func(l landed) fleet.Category { return l.Category }),
		Word("task", "Task", "", func(l landed) fleet.TaskID { return l.Task }).OrNull(),
		Grade("final_grade", "Grade", "", func(l landed) *float64 { return l.Final() }),
		Word("", "Commit", "", func(l landed) string { return short(l.Commit) }),
		Word("commit", "", "the run's last", func(l landed) string { return l.Commit }),
		Word("", "Landed as", "", func(l landed) string { return short(l.As) }),
		Word("landed_as", "", "the target's commit; null: nobody knows", func(l landed) string { return l.As }).OrNull(),
		Word("by", "By", "who decided: a user's name, forge or git", func(l landed) string { return l.By }),
		Word("fate", "Fate", "merged, changed, unreviewed or reverted, never rejected or touched",
			func(l landed) fleet.FateKind { return l.Kind }),
	}
}

// LandedList shows landed work.
func LandedList() View[[]review.Landed] {
	return List("stint/landed@1", "landed", "the latest first", Landed())
}
