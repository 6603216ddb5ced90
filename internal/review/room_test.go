package review_test

import (
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/testkit/must"
)

// TestPlaces has a run for each state of a place and of the work.
func TestPlaces(t *testing.T) {
	t.Parallel()
	item := func(run fleet.RunID, l review.Landing, apart bool) review.Item {
		return review.Item{Branch: review.Branch{Run: run, Landing: l, Apart: apart}}
	}
	taken := []fleet.ReviewSlot{
		{Run: "at work"},
		{Run: "at work, committed"},
		{Run: "crashed, empty", Ended: true},
		{Run: "waits", Ended: true},
		{Run: "out", Ended: true},
		{Run: "merged", Ended: true},
		{Run: "gone", Ended: true, Left: true, Host: "here"},
		{Run: "in another clone", Ended: true, Left: true, Host: "other"},
	}
	items := []review.Item{
		item("at work, committed", review.Waiting, false),
		item("merged", review.Merged, false),
		item("merged before", review.Copied, false),
		item("out", review.Waiting, true),
		item("reverted", review.Reverted, false),
		item("unknown", review.Waiting, false),
		item("waits", review.Waiting, false),
	}
	want := []fleet.PlaceSight{
		{Run: "merged", State: fleet.PlaceReviewed},
		{Run: "out", State: fleet.PlaceOut},
		{Run: "reverted", State: fleet.PlaceWaits},
		{Run: "unknown", State: fleet.PlaceWaits},
		{Run: "crashed, empty", State: fleet.PlaceEmpty},
		{Run: "gone", State: fleet.PlaceReviewed},
	}
	review.Resolve(items)
	must.Equal(t, "what changes", review.Places(taken, items, func(p fleet.ReviewSlot) bool { return p.Host == "other" }), want)
}

func TestSilence(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 10, 16, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const hour, day = time.Hour, 24 * time.Hour
	var mornings, hourly []time.Time // ten items each morning, the last eight hours ago, and one an hour, the last three hours ago
	for n := range 5 {
		for item := range 10 {
			mornings = append(mornings, ago(8*hour+time.Duration(4-n)*day-time.Duration(item)*6*time.Minute))
		}
		hourly = append(hourly, ago(time.Duration(7-n)*hour))
	}
	for name, test := range map[string]struct {
		waits   time.Duration // for which the oldest has; 0: nothing does
		reviews []time.Time
		later   time.Duration
		want    string
	}{
		"nothing waits":       {0, hourly, 99 * day, ""},
		"the same afternoon":  {3 * day, mornings, 0, ""},
		"a day without":       {3 * day, mornings, day, ""},
		"two days without":    {3 * day, mornings, 39 * hour, "nobody has reviewed for 1d22h, more than twice the usual time; in review: 1 result, the oldest for 4d15h"},
		"a machine, once":     {3 * day, hourly, -hour, ""},
		"a machine":           {3 * day, hourly, time.Second, "nobody has reviewed for 3h00m, more than twice the usual time; in review: 1 result, the oldest for 3d00h"},
		"nothing to look at":  {hour, hourly, 0, ""},
		"never":               {6 * day, nil, 0, ""},
		"never, for a week":   {7*day + time.Second, nil, 0, "nobody has reviewed for 7d00h, more than twice the usual time; in review: 1 result, the oldest for 7d00h"},
		"few":                 {30 * day, hourly[:3], 0, ""},
		"of the same instant": {30 * day, slices.Repeat(hourly[:1], 9), 0, ""},
	} {
		items := []review.Item{{State: review.StateMerged, Branch: review.Branch{Since: ago(999 * day)}}}
		if test.waits > 0 {
			items = append(items, review.Item{State: review.StateWaiting, Branch: review.Branch{Since: ago(test.waits)}})
		}
		if got := review.Silence(items, test.reviews, now.Add(test.later)); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestRot(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	const week = 7 * 24 * time.Hour
	young := review.Item{Branch: review.Branch{Landing: review.Waiting, Since: now.Add(-week)}}
	old, conflicting, merged, out := young, young, young, young
	old.Since = now.Add(-week - time.Second)
	conflicting.Conflicts = []string{"f", "g"}
	both := conflicting
	both.Since = old.Since
	merged.Landing, merged.Since = review.Merged, old.Since
	out.Apart, out.Since = true, old.Since
	red := young
	red.Tip, red.Decision.Check = "t", fleet.ReviewCheck{Tip: "t"}
	aside := red // as it conflicts
	aside.Conflicts = conflicting.Conflicts
	list := func(items ...review.Item) []review.Item { return items }
	for name, test := range map[string]struct {
		items  []review.Item
		limit  int
		maxAge time.Duration
		want   string
	}{
		"young":      {list(young, young, young), 4, week, ""},
		"old":        {list(young, old), 4, week, "rotten in review: 1 (1 older than 7d00h), and the limit is 1"},
		"a quarter":  {list(old, conflicting), 5, week, "rotten in review: 2 (1 older than 7d00h, 1 in conflict with the target), and the limit is 2"},
		"below":      {list(old), 5, week, ""},
		"both":       {list(both), 1, week, "rotten in review: 1 (1 older than 7d00h, 1 in conflict with the target), and the limit is 1"},
		"red":        {list(red), 1, 0, "rotten in review: 1 (1 with a failed check), and the limit is 1"},
		"set aside":  {list(aside), 1, 0, "rotten in review: 1 (1 in conflict with the target), and the limit is 1"},
		"any age":    {list(old, old), 4, 0, ""},
		"merged":     {list(merged), 4, week, ""},
		"looked at":  {list(out), 4, week, ""},
		"no limit":   {slices.Repeat(list(old), 11), 0, week, ""},
		"no limit's": {slices.Repeat(list(old), 12), 0, week, "rotten in review: 12 (12 older than 7d00h), and the limit is 12"},
	} {
		review.Resolve(test.items)
		if got := review.Rot(test.items, test.limit, test.maxAge, now); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
