package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// room is a request that takes one of so many places.
func (b bundle) room(t *testing.T, id fleet.RunID, limit int) storekit.RunTake {
	t.Helper()
	must.Do(t, b.AddRun(t.Context(), plannedRun(id)))
	r := takeFor(id, fleet.TaskID("task of "+id))
	r.Room = fleet.Room{Takes: true, Limit: limit, Away: limit + 1}
	return r
}

func (b bundle) mustPlaces(t *testing.T) []fleet.ReviewSlot {
	t.Helper()
	list, _, err := b.Places(t.Context())
	must.Do(t, err)
	return list
}

// mustBeFull asks for a claim, and gets none for want of a place.
func (b bundle) mustBeFull(t *testing.T, r storekit.RunTake) {
	t.Helper()
	before := b.mustSnapshot(t)
	_, _, err := storekit.TakeForRun(t.Context(), b, r)
	refused := fleet.RefusedError{}
	if !errors.As(err, &refused) || refused.By != fleet.HinderedByReview || refused.Outcome != fleet.Busy {
		t.Errorf("got %v, want it refused for want of a place", err)
	}
	same(t, "after it", b.mustSnapshot(t), before)
}

func (contract) Places(t *testing.T, b bundle) {
	b.mustTakeForRun(t, b.room(t, "0r1", 2), fleet.Granted)
	second := b.room(t, "0r2", 2)
	b.mustTakeForRun(t, second, fleet.Granted)
	b.mustTakeForRun(t, second, fleet.Granted) // it has its place
	b.begun(t, "0free")                        // its work goes nowhere
	third := b.room(t, "0r3", 2)
	b.mustBeFull(t, third)
	same(t, "taken", b.mustPlaces(t), []fleet.ReviewSlot{{Run: "0r1"}, {Run: "0r2"}})

	b.clock.Advance(time.Minute)
	productive := graded(b.mustRun(t, "0r1"), 0.5)
	productive.Commits = []string{"c0ffee"}
	must.Do(t, b.Complete(t.Context(), productive))
	must.Get(b.Abandon(t.Context(), store.Gone{Run: "0r2", Reason: "found dead"}))(t)
	same(t, "of runs that are over", b.mustPlaces(t), []fleet.ReviewSlot{{Run: "0r1", Ended: true, Left: true}, {Run: "0r2", Ended: true}})
	b.mustBeFull(t, third)

	see := func(at time.Time, run fleet.RunID, s fleet.PlaceState) {
		t.Helper()
		must.Do(t, b.SeePlaces(t.Context(), at, []fleet.PlaceSight{{Run: run, State: s}}))
	}
	looked := b.clock.Now()
	b.clock.Advance(time.Minute)
	see(looked, "0r2", fleet.PlaceEmpty)
	b.mustTakeForRun(t, third, fleet.Granted)
	see(looked, "0unknown", fleet.PlaceWaits) // the limit binds sessions, not what is there
	same(t, "with one nobody knows", b.mustPlaces(t), []fleet.ReviewSlot{{Run: "0r1", Ended: true, Left: true}, {Run: "0r3"}, {Run: "0unknown", Ended: true}})
	see(looked, "0r1", fleet.PlaceOut)
	out := b.clock.Now()
	b.clock.Advance(time.Minute)
	see(b.clock.Now(), "0r1", fleet.PlaceOut)
	see(b.clock.Now(), "0r1", fleet.PlaceReviewed)
	decided := b.clock.Now()
	reviews := func(since time.Time, want ...time.Time) {
		t.Helper()
		got := must.Get(b.ReviewTimes(t.Context(), since))(t)
		same(t, "reviews", got, want)
	}
	reviews(Start(), out, decided)
	reviews(decided, decided)
	reviews(decided.Add(time.Millisecond))
	see(looked, "0r1", fleet.PlaceWaits) // that was seen before it was decided about
	see(b.clock.Now(), "0never", fleet.PlaceReviewed)
	same(t, "after a review", b.mustPlaces(t), []fleet.ReviewSlot{{Run: "0r3"}, {Run: "0unknown", Ended: true}})
	b.clock.Advance(time.Minute)
	see(b.clock.Now(), "0r1", fleet.PlaceWaits) // reverted
	same(t, "after a revert", b.mustPlaces(t), []fleet.ReviewSlot{{Run: "0r1", Ended: true, Left: true}, {Run: "0r3"}, {Run: "0unknown", Ended: true}})
	reviews(Start(), out)
	b.clock.Advance(time.Minute)
	for _, d := range []fleet.ReviewDecision{fleet.DecisionPublished, fleet.DecisionRejected} {
		must.Do(t, b.SaveReview(t.Context(), fleet.Review{Run: "0r1", Tip: "c0ffee", Decision: d}))
	}
	same(t, "after a decision", b.mustPlaces(t), []fleet.ReviewSlot{{Run: "0r3"}, {Run: "0unknown", Ended: true}})
	reviews(Start(), out, b.clock.Now())

	// Of a place with nothing left in it, the reviewer's words stay, and the look at it is no review.
	said := fleet.Feedback{Run: "0r3", Task: "fix", Said: "again", At: Start()}
	must.Do(t, b.SaveFeedback(t.Context(), said))
	before := must.Get(b.ReviewTimes(t.Context(), Start()))(t)
	b.clock.Advance(time.Minute)
	see(b.clock.Now(), "0r3", fleet.PlaceOut)
	reviews(Start(), append(before, b.clock.Now())...)
	see(b.clock.Now(), "0r3", fleet.PlaceEmpty)
	reviews(Start(), before...)
	same(t, "what was said", must.Get(b.Feedback(t.Context()))(t), map[fleet.RunID]fleet.Feedback{"0r3": said})
	same(t, "with nothing left", b.mustPlaces(t), []fleet.ReviewSlot{{Run: "0unknown", Ended: true}})
}

// PlacesRace has many runs take a place at once: no more get one than there are.
func (contract) PlacesRace(t *testing.T, b bundle) {
	const runs, limit = 20, 3
	var all sync.WaitGroup
	var guard sync.Mutex
	granted := 0
	for n := range runs {
		take := b.room(t, fleet.RunID(fmt.Sprintf("0r%02d", n)), limit)
		all.Go(func() {
			grant, _, err := storekit.TakeForRun(t.Context(), b, take)
			guard.Lock()
			defer guard.Unlock()
			if grant == fleet.Granted {
				granted++
			} else if !errors.As(err, &fleet.RefusedError{}) {
				t.Errorf("got %q, %v, want it granted or refused", grant, err)
			}
		})
	}
	all.Wait()
	same(t, "granted", granted, limit)
	same(t, "places", len(b.mustPlaces(t)), limit)
}

func (contract) Away(t *testing.T, b bundle) {
	was := must.Get(b.ClearAway(t.Context()))(t)
	same(t, "was away", was, false)
	b.mustTakeForRun(t, b.room(t, "0r1", 1), fleet.Granted)
	second := b.room(t, "0r2", 1)
	b.mustBeFull(t, second)
	away := fleet.Away{Until: Start().Add(time.Hour), Reason: "ünïcode"}
	must.Do(t, b.SetAway(t.Context(), fleet.Away{Reason: "replaced"}))
	must.Do(t, b.SetAway(t.Context(), away))
	away.Since = Start()
	same(t, "snapshot", b.mustSnapshot(t).Away, away)
	b.mustTakeForRun(t, second, fleet.Granted)
	third := b.room(t, "0r3", 2)
	b.clock.Advance(time.Hour) // it is over by itself
	b.mustBeFull(t, third)
	_, last, err := b.Places(t.Context())
	must.Do(t, err)
	same(t, "the last word", last, away)
	was = must.Get(b.ClearAway(t.Context()))(t)
	same(t, "was away", was, true)
	same(t, "back", b.mustSnapshot(t).Away, fleet.Away{})
}
