package review_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/review"
)

// TestSort has items that differ from a plain one in one respect each.
func TestSort(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	good, bad := 0.9, 0.1
	item := func(run fleet.RunID, change func(*review.Item)) review.Item {
		i := review.Item{Branch: review.Branch{
			Run: run, Landing: review.Waiting, Since: now.Add(-24 * time.Hour), Lines: 200, Files: []string{string(run)},
		}}
		change(&i)
		return i
	}
	items := []review.Item{
		item("merged", func(i *review.Item) { i.Landing = review.Merged }),
		item("plain", func(*review.Item) {}),
		item("conflicting", func(i *review.Item) { i.Conflicts = []string{"f"} }),
		item("bad", func(i *review.Item) { i.Session.Verdict.Grade = &bad }),
		item("good", func(i *review.Item) { i.Session.Verdict.Grade = &good }),
		item("old", func(i *review.Item) { i.Since = now.Add(-20 * 24 * time.Hour) }),
		item("small", func(i *review.Item) { i.Lines = 10 }),
		item("large", func(i *review.Item) { i.Lines = 900 }),
		item("shared", func(i *review.Item) { i.Files = append(i.Files, "large") }),
		item("of the future", func(i *review.Item) { i.Since = now.Add(time.Hour) }),
		item("reverted", func(i *review.Item) { i.Landing, i.By = review.Reverted, "0123456789abcdef" }),
	}
	review.Sort(items, now)
	var got [][2]string
	for _, i := range items {
		got = append(got, [2]string{string(i.Run), i.Why})
	}
	want := [][2]string{
		{"old", "old"},
		{"small", "small"},
		{"good", ""},
		{"shared", "shares files with 1 other"},
		{"plain", ""},
		{"reverted", "reverted by 0123456789ab"},
		{"of the future", ""},
		{"bad", ""},
		{"large", "shares files with 1 other"},
		{"conflicting", "conflicts in 1 file"},
		{"merged", "merged"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("order (-got +want):\n%s", diff)
	}
}

// TestSortFreesSooner works through a queue as it comes and as it is sorted: the first four
// items are through in at most half of the time.
func TestSortFreesSooner(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	var items []review.Item
	for n := range 24 { // the oldest first, small and large ones by turns
		items = append(items, review.Item{Branch: review.Branch{
			Run: fleet.RunID(rune('a' + n)), Landing: review.Waiting, Since: now.Add(time.Duration(n-72) * time.Hour),
			Lines: []int{600, 40, 300, 1200, 20, 90}[n%6], Files: []string{string(rune('a' + n))},
		}})
	}
	lines := func() (sum int) {
		for _, i := range items[:4] {
			sum += i.Lines
		}
		return sum
	}
	before := lines()
	if review.Sort(items, now); lines() > before/2 {
		t.Errorf("got %d lines in the first four items, want at most half of %d", lines(), before)
	}
}
