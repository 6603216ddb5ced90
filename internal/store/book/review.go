package book

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store/table"
)

// takePlace gives a run a place in review, unless somebody decided about its work after the look.
func (p Tx) takePlace(id fleet.RunID, looked time.Time) {
	if r := p.review(id); !r.Taken && !r.GivenAt.After(table.Whole(looked)) {
		r.Taken, r.GivenAt = true, time.Time{}
		p.Reviews.Put(r)
	}
}

// giveBackPlace frees the place of a run after a decision about its work.
func (p Tx) giveBackPlace(id fleet.RunID) {
	if r := p.review(id); r.Taken {
		r.Taken, r.GivenAt = false, p.Now()
		p.Reviews.Put(r)
	}
}

// emptyPlace frees the place of a run without work, unless somebody decided about it.
func (p Tx) emptyPlace(id fleet.RunID) {
	switch r := p.review(id); {
	case !r.GivenAt.IsZero():
	case r.Decision == "" && r.Check.Tip == "" && r.Feedback.Task == "":
		p.Reviews.Delete(r)
	default:
		r.Taken, r.LookedAt = false, time.Time{}
		p.Reviews.Put(r)
	}
}

// SeePlaces updates places by the state of runs' work at a time.
func (p Tx) SeePlaces(at time.Time, list []fleet.PlaceSight) {
	p.Ahead(p.Reviews.Ask("run", table.In(plain.Each(list, func(s fleet.PlaceSight) fleet.RunID { return s.Run }))))
	for _, s := range list {
		switch s.State {
		case fleet.PlaceWaits:
			p.takePlace(s.Run, at)
		case fleet.PlaceOut:
			p.takePlace(s.Run, at)
			if r := p.review(s.Run); r.LookedAt.IsZero() {
				r.LookedAt = p.Now()
				p.Reviews.Put(r)
			}
		case fleet.PlaceReviewed:
			p.giveBackPlace(s.Run)
		case fleet.PlaceEmpty:
			p.emptyPlace(s.Run)
		}
	}
}

// SaveReview stores the decision about a run's work, and the result of its check. A part that is missing stays as it
// was.
func (p Tx) SaveReview(r fleet.Review) {
	row := p.review(r.Run)
	if r.Decision != "" {
		check := row.Check
		row.Review = r
		row.Check, row.DecidedAt = check, p.Now()
	}
	if r.Check.Tip != "" {
		row.Check = r.Check
		row.Check.At = p.Now()
	}
	p.Reviews.Put(row)
	if r.Decision.Final() {
		p.giveBackPlace(r.Run)
	}
}

// SaveFeedback stores the feedback on a run's work, and replaces what was there.
func (p Tx) SaveFeedback(f fleet.Feedback) {
	row := p.review(f.Run)
	f.Run, f.At = "", table.Whole(f.At)
	row.Feedback = f
	p.Reviews.Put(row)
}
