package storetest

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// Feedback has what is said of a run's work replaced.
func (contract) Feedback(t *testing.T, b bundle) {
	first := fleet.Feedback{Run: "0r1", Task: "fix", Rounds: 1, Seen: []string{"a", "b"}, Said: "one\ntwo", At: b.clock.Now()}
	second := fleet.Feedback{Run: "0r2", Task: "other", Said: "three", Rounds: 4, At: b.clock.Now()}
	for _, f := range []fleet.Feedback{first, second} {
		must.Do(t, b.SaveFeedback(t.Context(), f))
	}
	first.Rounds, first.Said = 2, ""
	must.Do(t, b.SaveFeedback(t.Context(), first))
	must.Get(b.Retry(t.Context(), "other"))(t) // a person has the session try again
	second.Rounds = 0
	got := must.Get(b.Feedback(t.Context()))(t)
	same(t, "feedback", got, map[fleet.RunID]fleet.Feedback{"0r1": first, "0r2": second})
}

// Reviews has decisions and checks follow one another, in any order, also of a run that
// is on no record.
func (contract) Reviews(t *testing.T, b bundle) {
	all := map[fleet.RunID]fleet.Review{}
	saved := func(r fleet.Review) {
		t.Helper()
		b.clock.Advance(time.Minute)
		must.Do(t, b.SaveReview(t.Context(), r))
		want := all[r.Run]
		check := want.Check
		if r.Decision != "" {
			want = r
			want.DecidedAt = b.clock.Now()
		}
		if want.Check, want.Run = check, r.Run; r.Check.Tip != "" {
			want.Check = r.Check
			want.Check.At = b.clock.Now()
		}
		all[r.Run] = want
		got := must.Get(b.Reviews(t.Context()))(t)
		same(t, "all reviews", got, all)
	}
	saved(fleet.Review{Run: "0r1", Check: fleet.ReviewCheck{Tip: "a", Reason: "make test: exit status 1"}})
	saved(fleet.Review{Run: "0r1", Tip: "b", Decision: fleet.DecisionRejected, Reason: "not this way"})
	saved(fleet.Review{Run: "0r1", Check: fleet.ReviewCheck{Tip: "b", OK: true}})
	saved(fleet.Review{Run: "0r2", Tip: "c", Decision: fleet.DecisionPublished})
	saved(fleet.Review{Run: "0r2", Tip: "c", Decision: fleet.DecisionPublished, URL: "https://forge.example/7"})
	saved(fleet.Review{Run: "0r1", Tip: "d", Decision: fleet.DecisionLanded, By: "ann", Commit: "e", Base: "f", Check: fleet.ReviewCheck{Tip: "d", OK: true}})

	some := must.Get(b.Reviews(t.Context(), "0r2", "0none"))(t)
	same(t, "of two runs", some, map[fleet.RunID]fleet.Review{"0r2": all["0r2"]})
	none := must.Get(b.Reviews(t.Context(), "0none"))(t)
	same(t, "of none", none, map[fleet.RunID]fleet.Review{})
}

// Notices has news go out once in a while, unless it is another's or did not go out at all.
func (contract) Notices(t *testing.T, b bundle) {
	news := fleet.Notice{Event: fleet.EventQuota, Agent: "a"}
	due := func(n fleet.Notice, want bool) {
		t.Helper()
		got := must.Get(b.NoticeDue(t.Context(), n, time.Hour))(t)
		same(t, "due", got, want)
	}
	due(news, true)
	due(news, false)
	due(fleet.Notice{Event: fleet.EventQuota, Agent: "b"}, true)
	b.clock.Advance(time.Hour - time.Millisecond)
	due(news, false)
	b.clock.Advance(time.Millisecond)
	due(news, true)
	due(news, false)
	must.Do(t, b.ForgetNotice(t.Context(), news))
	due(news, true)
	due(news, false)
}

// Landed lists what the target got by a person's landing, which counts more, or by what git shows, the latest first.
func (contract) Landed(t *testing.T, b bundle) {
	for _, id := range []fleet.RunID{"0r1", "0r2", "0r3", "0r4", "0r5"} {
		must.Do(t, b.AddRun(t.Context(), plannedRun(id)))
	}
	fate := func(run fleet.RunID, kind fleet.FateKind) {
		t.Helper()
		b.clock.Advance(time.Minute)
		must.Get(b.AddFates(t.Context(), []fleet.ReviewOutcome{{Run: run, At: b.clock.Now(), Kind: kind, Witness: "c"}}))(t)
	}
	decide := func(run fleet.RunID, d fleet.ReviewDecision) {
		t.Helper()
		b.clock.Advance(time.Minute)
		must.Do(t, b.SaveReview(t.Context(), fleet.Review{Run: run, Tip: "c", Decision: d}))
	}
	decide("0r3", fleet.DecisionLanded)
	fate("0r4", fleet.FateMerged)
	fate("0r1", fleet.FateChanged)
	fate("0r3", fleet.FateMerged)
	decide("0r2", fleet.DecisionLanded)
	fate("0r4", fleet.FateReverted)
	decide("0r5", fleet.DecisionRejected)
	fate("0r5", fleet.FateRejected)
	for limit, want := range map[int][]fleet.RunID{9: {"0r2", "0r1", "0r4", "0r3"}, 2: {"0r2", "0r1"}} {
		var got []fleet.RunID
		for _, r := range must.Get(b.LastRuns(t.Context(), store.RunQuery{Landed: true, Limit: limit}))(t) {
			got = append(got, r.ID)
		}
		same(t, "landed", got, want)
	}
}

// WatchedSince has two things become of a run's work. The time of the first counts, whichever was heard of first.
func (contract) WatchedSince(t *testing.T, b bundle) {
	for _, heard := range [][]time.Duration{{0, time.Hour}, {time.Hour, 0}} {
		b := b.fresh(t, rank.Defaults())
		r := graded(b.begun(t, "0r1"), 0.5)
		r.Commits = []string{"c"}
		must.Do(t, b.Complete(t.Context(), r))
		first := b.clock.Now()
		b.clock.Advance(2 * time.Hour)
		for _, d := range heard {
			must.Get(b.AddFates(t.Context(), []fleet.ReviewOutcome{{Run: r.ID, At: first.Add(d), Kind: fleet.FateMerged, Witness: d.String()}}))(t)
		}
		for later, want := range map[time.Duration]int{0: 1, time.Minute: 0} {
			same(t, "watched", len(must.Get(b.Watched(t.Context(), time.UnixMilli(0), first.Add(later), 9))(t)), want)
		}
	}
}
