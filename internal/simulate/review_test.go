package simulate_test

import (
	"testing"

	"stint/internal/simulate"
	"stint/internal/testkit/must"
)

// TestReviewerAway has a reviewer of ten a day away for a week: hardly any session waits for a
// place, two days later nothing has waited for longer than a week, and the reviewer is never out
// of work until the queue is gone. The list's order brings the first four merges in at most half
// of the time that the four oldest take.
func TestReviewerAway(t *testing.T) {
	t.Parallel()
	s := must.Get(simulate.Load("../../testdata/scenarios/review.toml"))(t)
	policies := s.AllPolicies()[:1]
	got := run(t, s, simulate.Options{Runs: 40, Seed: 15, Policies: policies}).Policies[0].Review
	t.Logf("%+v", *got)
	if got.Blocked.Mean > 0.05 || got.Oldest.Mean > 7 || got.Merged.Mean < 0.95 || got.First.Mean > got.ByAge.Mean/2 {
		t.Errorf("got %+v, want at most 0.05 blocked and 7 days, at least 0.95 merged, and the first four in half of the time", *got)
	}

	// Without the wider limit, the week is lost.
	s.Review.AwayLimit = 10
	if narrow := run(t, s, simulate.Options{Runs: 10, Seed: 15, Policies: policies}).Policies[0].Review; narrow.Blocked.Mean < 0.1 {
		t.Errorf("got %+v with room for ten, want sessions kept from starting", *narrow)
	}
}
