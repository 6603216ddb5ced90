package book

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store/table"
)

// takePlace gives a run a place in review. One that somebody decided about since it was looked
// at stays given back.
func (p Tx) takePlace(id fleet.RunID, looked time.Time) {
	place, had := p.Places.Get(table.Place{Run: id, TakenAt: p.Now()})
	if had && (place.GivenAt.IsZero() || place.GivenAt.After(table.Whole(looked))) {
		return
	}
	place.GivenAt = time.Time{}
	p.Places.Put(place)
}

// giveBackPlace takes the place of a run whose work somebody has decided about.
func (p Tx) giveBackPlace(id fleet.RunID) {
	if place, had := p.Places.Get(table.Place{Run: id}); had && place.GivenAt.IsZero() {
		place.GivenAt = p.Now()
		p.Places.Put(place)
	}
}

// emptyPlace takes the place of a run that left nothing there, unless somebody has decided about its work.
func (p Tx) emptyPlace(id fleet.RunID) {
	if place, _ := p.Places.Get(table.Place{Run: id}); place.GivenAt.IsZero() {
		p.Places.Delete(place)
	}
}

// SeePlaces takes what was found of runs' work at a time into their places.
func (p Tx) SeePlaces(at time.Time, list []fleet.PlaceSight) {
	p.Ahead(p.Places.Ask("run", table.In(plain.Each(list, func(s fleet.PlaceSight) fleet.RunID { return s.Run }))))
	for _, s := range list {
		switch s.State {
		case fleet.PlaceWaits:
			p.takePlace(s.Run, at)
		case fleet.PlaceOut:
			p.takePlace(s.Run, at)
			if place, _ := p.Places.Get(table.Place{Run: s.Run}); place.LookedAt.IsZero() {
				place.LookedAt = p.Now()
				p.Places.Put(place)
			}
		case fleet.PlaceReviewed:
			p.giveBackPlace(s.Run)
		case fleet.PlaceEmpty:
			p.emptyPlace(s.Run)
		}
	}
}

// SaveReview stores what was decided of a run's work, and how its check went. A part that is not
// given stays as it was.
func (p Tx) SaveReview(r fleet.Review) {
	p.Ahead(p.Places.Like(table.Place{Run: r.Run}))
	row, _ := p.Reviews.Get(fleet.Review{Run: r.Run})
	if r.Decision != "" {
		check := row.Check
		row = r
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
