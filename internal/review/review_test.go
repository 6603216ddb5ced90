package review_test

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/testkit/must"
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
		item("red", func(i *review.Item) {
			i.Tip, i.Decision.Check = "t", fleet.ReviewCheck{Tip: "t", Reason: "exit status 1"}
		}),
		item("green", func(i *review.Item) { i.Tip, i.Decision.Check = "t", fleet.ReviewCheck{Tip: "t", OK: true} }),
		item("checked before", func(i *review.Item) { i.Tip, i.Decision.Check = "u", fleet.ReviewCheck{Tip: "t"} }),
		item("clashing", func(i *review.Item) { i.Collides, i.Files = []fleet.RunID{"shared"}, []string{"large"} }),
		item("unblocking", func(i *review.Item) { i.Unblocks = 2 }),
		item("rejected", func(i *review.Item) {
			i.Decision = fleet.Review{Decision: fleet.DecisionRejected, Reason: "not so"}
		}),
	}
	review.Resolve(items)
	review.Sort(items, now)
	var got [][2]string
	for _, i := range items {
		got = append(got, [2]string{string(i.Run), i.Why})
	}
	want := [][2]string{
		{"old", "old"},
		{"small", "small"},
		{"unblocking", "unblocks 2 tasks"},
		{"clashing", "conflicts with 1 other, shares files with 2 others"},
		{"good", ""},
		{"shared", "shares files with 2 others"},
		{"green", "green"},
		{"checked before", ""},
		{"plain", ""},
		{"reverted", "reverted by 0123456789ab"},
		{"of the future", ""},
		{"bad", ""},
		{"large", "shares files with 2 others"},
		{"conflicting", "conflicts in 1 file"},
		{"red", "check failed: exit status 1"},
		{"merged", ""},
		{"rejected", "not so"},
	}
	must.Equal(t, "order", got, want)
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
	review.Resolve(items)
	if review.Sort(items, now); lines() > before/2 {
		t.Errorf("got %d lines in the first four items, want at most half of %d", lines(), before)
	}
}

// TestResolve has a state for each way in which git's word and the decisions meet.
func TestResolve(t *testing.T) {
	t.Parallel()
	decided := func(d fleet.ReviewDecision) func(*review.Item) {
		return func(i *review.Item) { i.Decision = fleet.Review{Tip: i.Tip, Decision: d} }
	}
	landed := func(l review.Landing) func(*review.Item) { return func(i *review.Item) { i.Landing = l } }
	// Another run of the task is in the target since two commits.
	rival := func(left int) func(*review.Item) {
		return func(i *review.Item) { i.Session.Task, i.Left = "task", left }
	}
	for _, test := range []struct {
		name   string
		change []func(*review.Item)
		want   review.State
		open   bool
	}{
		{"plain", nil, review.StateWaiting, true},
		{"checked out", []func(*review.Item){func(i *review.Item) { i.Apart = true }}, review.StateCheckedOut, true},
		{"published", []func(*review.Item){decided(fleet.DecisionPublished)}, review.StatePublished, true},
		{"rejected", []func(*review.Item){decided(fleet.DecisionRejected)}, review.StateRejected, false},
		{"rejected, and changed since", []func(*review.Item){decided(fleet.DecisionRejected), func(i *review.Item) { i.Tip = "later" }}, review.StateWaiting, true},
		{"rejected, and merged all the same", []func(*review.Item){decided(fleet.DecisionRejected), landed(review.Copied)}, review.StateMerged, false},
		{"merged", []func(*review.Item){landed(review.Merged)}, review.StateMerged, false},
		{"merged with changes", []func(*review.Item){landed(review.Covered)}, review.StateChanged, false},
		{"reverted", []func(*review.Item){landed(review.Reverted)}, review.StateReverted, true},
		{"reverted and rejected", []func(*review.Item){landed(review.Reverted), decided(fleet.DecisionRejected)}, review.StateRejected, false},
		{"landed, and the target written anew", []func(*review.Item){decided(fleet.DecisionLanded)}, review.StateWaiting, true},
		{"superseded by a decision", []func(*review.Item){decided(fleet.DecisionSuperseded)}, review.StateSuperseded, false},
		{"beside another of its task", []func(*review.Item){rival(4)}, review.StateSuperseded, false},
		{"covered by another of its task", []func(*review.Item){rival(4), landed(review.Covered)}, review.StateSuperseded, false},
		{"built on another of its task", []func(*review.Item){rival(2)}, review.StateWaiting, true},
	} {
		item := review.Item{Branch: review.Branch{Run: "run", Tip: "tip", Landing: review.Waiting}}
		for _, change := range test.change {
			change(&item)
		}
		other := review.Item{Branch: review.Branch{Run: "other", Landing: review.Copied, Landed: 2}, Session: fleet.Run{Task: "task"}}
		items := []review.Item{item, other}
		review.Resolve(items)
		if got := items[0]; got.State != test.want || got.Open() != test.open {
			t.Errorf("%s: got %s, open %v, want %s, %v", test.name, got.State, got.Open(), test.want, test.open)
		}
	}
}

// TestPairs pairs what changes the same files, the oldest first, and no pair twice.
func TestPairs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	var items []review.Item
	for n, i := range []review.Branch{
		{Files: []string{"a", "b"}},
		{Files: []string{"b", "a"}},
		{Files: []string{"b"}, Conflicts: []string{"b"}},
		{Files: []string{"b"}, Landing: review.Merged},
		{Files: []string{"c"}},
		{Files: []string{"a"}},
	} {
		if i.Landing == "" {
			i.Landing = review.Waiting
		}
		i.Since = now.Add(-time.Duration(n) * time.Hour)
		items = append(items, review.Item{Branch: i})
	}
	review.Resolve(items)
	must.Equal(t, "pairs", review.Pairs(items), [][2]int{{5, 1}, {5, 0}, {1, 0}})
	many := make([]review.Item, 100)
	for n := range many {
		many[n].State, many[n].Files = review.StateWaiting, []string{"a"}
	}
	if got := len(review.Pairs(many)); got != review.MostClashes {
		t.Errorf("got %d pairs of many items, want %d", got, review.MostClashes)
	}
}
