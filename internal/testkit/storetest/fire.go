package storetest

import (
	"fmt"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// testFire is a fire that starts two runs and skips a name that is no category.
func testFire(first, second fleet.RunID) (fleet.Fire, []fleet.Run) {
	f := fleet.Fire{
		Pool: "monitoring",
		At:   Start(), Seed: 1<<64 - 1, Workers: 3, Inputs: []byte(`{"fire":1}`), Selection: []byte(`{"a":"ünïcode"}`),
		Own: true, Allowed: []fleet.Category{"docs", "code"},
		Choices: []fleet.Choice{
			{Category: "docs", Decision: fleet.Spawn, Reason: "drew 0.9", Source: fleet.FromSelected, Rank: 1, Score: 0.9, Odds: value(0.25), Task: "fix", Unit: "u1", Run: first},
			{Category: "No\nSuch", Decision: fleet.Skip, Reason: "unknown category", By: fleet.HinderedByUnknown, Source: fleet.FromScores, Rank: 2},
			{Category: "code", Decision: fleet.Spawn, Reason: "drew -0.1", Refusal: "no slot", By: fleet.HinderedBySlots, Source: fleet.FromDiversity, Rank: 3, Score: -0.1, Odds: value(0.0), Unit: "u2", Run: second},
		},
	}
	runs := []fleet.Run{plannedRun(first), plannedRun(second)}
	for i := range runs {
		runs[i].Source, runs[i].Rank = fleet.FromSelected, i+1
	}
	return f, runs
}

func (b bundle) mustRecord(t *testing.T, first, second fleet.RunID) fleet.Fire {
	t.Helper()
	f, runs := testFire(first, second)
	got := must.Get(b.RecordFire(t.Context(), store.Firing{Fire: f, Runs: runs}))(t)
	f.ID = got.ID
	same(t, "as it was recorded", got, f)
	return f
}

func (contract) RecordFire(t *testing.T, b bundle) {
	_, err := b.Fire(t.Context(), 1)
	mustBe(t, err, fleet.ErrNotFound)
	want := b.mustRecord(t, "0r1", "0r2")
	same(t, "number", want.ID, fleet.FireID(1))
	got := must.Get(b.Fire(t.Context(), 1))(t)
	same(t, "fire", got, want)
	_, runs := testFire("0r1", "0r2")
	for _, r := range runs {
		r.Fire = 1
		same(t, "run", b.mustRun(t, r.ID), r)
	}
}

// RecordFireAtOnce records a fire of which the second run cannot be.
func (contract) RecordFireAtOnce(t *testing.T, b bundle) {
	b.mustRecord(t, "0r1", "0r2")
	f, runs := testFire("0r3", "0r1")
	if got, err := b.RecordFire(t.Context(), store.Firing{Fire: f, Runs: runs}); err == nil || got.ID != 0 {
		t.Errorf("got fire %d, %v, want an error", got.ID, err)
	}
	_, err := b.Run(t.Context(), "0r3")
	mustBe(t, err, fleet.ErrNotFound)
	_, err = b.Fire(t.Context(), 2)
	mustBe(t, err, fleet.ErrNotFound)
	same(t, "next number", b.mustRecord(t, "0r4", "0r5").ID, fleet.FireID(2))
}

func (contract) LastFires(t *testing.T, b bundle) {
	var fires []fleet.Fire
	for _, ids := range [][2]fleet.RunID{{"0r1", "0r2"}, {"0r3", "0r4"}, {"0r5", "0r6"}} {
		fires = append([]fleet.Fire{b.mustRecord(t, ids[0], ids[1])}, fires...)
	}
	for limit, want := range map[int][]fleet.Fire{0: nil, 2: fires[:2], 9: fires} {
		got := must.Get(b.LastFires(t.Context(), store.FireQuery{Limit: limit}))(t)
		same(t, "fires", got, want)
	}
}

// Entitled begins and ends right after each fire, and at it.
func (contract) Entitled(t *testing.T, b bundle) {
	var fires []fleet.Fire
	for i, ids := range [][2]fleet.RunID{{"0r1", "0r2"}, {"0r3", "0r4"}, {"0r5", "0r6"}} {
		f, runs := testFire(ids[0], ids[1])
		f.At = Start().Add(time.Duration(i) * time.Minute)
		f.Fallback = "failed"
		f.Due = map[fleet.Category]float64{"docs": 0.25, "code": float64(i) / 2}
		got := must.Get(b.RecordFire(t.Context(), store.Firing{Fire: f, Runs: runs}))(t)
		f.ID = got.ID
		fires = append(fires, f)
	}
	for span, want := range map[[2]time.Duration][]fleet.Fire{
		{-time.Hour}: fires, {}: fires, {time.Millisecond}: fires[1:], {time.Minute}: fires[1:], {2 * time.Minute}: fires[2:], {time.Hour}: nil,
		{0, time.Millisecond}: fires[:1], {-time.Hour, time.Minute}: fires[:1], {time.Minute, 2*time.Minute + time.Millisecond}: fires[1:],
	} {
		s := store.Span{From: Start().Add(span[0])}
		if span[1] > 0 {
			s.To = Start().Add(span[1])
		}
		entitled := must.Get(b.Entitled(t.Context(), s))(t)
		must.Equal(t, "fallbacks", must.Get(b.Fallbacks(t.Context(), s))(t), len(want))
		sums := map[fleet.Category]float64{}
		for _, f := range want {
			for c, due := range f.Due {
				sums[c] += due
			}
		}
		same(t, fmt.Sprint("entitled, ", span), entitled, sums)
	}
}

func (contract) NotStarted(t *testing.T, b bundle) {
	want := b.mustRecord(t, "0r1", "0r2")
	b.clock.Advance(time.Second)
	b.mustNotStart(t, want.ID, "0r2", true)
	want.Choices[2].Decision, want.Choices[2].Reason = fleet.StartFailed, "unit refused"
	got := must.Get(b.Fire(t.Context(), want.ID))(t)
	same(t, "fire", got, want)
	run := b.mustRun(t, "0r2")
	same(t, "verdict", run.Verdict, fleet.Verdict{Outcome: fleet.Abandoned, Reason: "unit refused"})
	same(t, "ended at", run.EndedAt, b.clock.Now())
	if other := b.mustRun(t, "0r1"); !other.EndedAt.IsZero() {
		t.Errorf("got the other run ended too: %+v", other)
	}
	_, err := b.Begin(t.Context(), store.Begin{Run: "0r2", Category: "code", Lane: 1, TTL: time.Hour})
	mustBe(t, err, fleet.ErrLost)
}

// NotStartedTooLate has a unit that was reported as not started, and ran.
func (contract) NotStartedTooLate(t *testing.T, b bundle) {
	f := b.mustRecord(t, "0r1", "0r2")
	b.mustLane(t, "0r1", "code", 1, fleet.Granted)
	want := b.mustRun(t, "0r1")
	b.mustNotStart(t, f.ID, "0r1", false)
	same(t, "run that has begun", b.mustRun(t, "0r1"), want)
	ended := b.mustRun(t, "0r2")
	ended.Verdict = fleet.Verdict{Outcome: fleet.Busy, Reason: "lane busy"}
	must.Do(t, b.Complete(t.Context(), ended))
	want = b.mustRun(t, "0r2")
	b.mustNotStart(t, f.ID, "0r2", false)
	same(t, "run that has ended", b.mustRun(t, "0r2"), want)
}

// mustNotStart reports a unit as not started, which closes its run unless it began.
func (b bundle) mustNotStart(t *testing.T, fire fleet.FireID, run fleet.RunID, want bool) {
	t.Helper()
	before := must.Get(b.Fire(t.Context(), fire))(t)
	closed := must.Get(b.NotStarted(t.Context(), fire, run, "unit refused"))(t)
	same(t, "closed", closed, want)
	if !want {
		after := must.Get(b.Fire(t.Context(), fire))(t)
		same(t, "fire of a run that began", after, before)
	}
}

func (contract) Snapshot(t *testing.T, b bundle) {
	same(t, "of nothing", b.mustSnapshot(t), store.Snapshot{ClaimsAt: store.ClaimsAt{At: b.clock.Now()}, NextFire: 1})
	b.mustRecord(t, "0r2", "0r1")
	ended := plannedRun("0r0")
	must.Do(t, b.AddRun(t.Context(), ended))
	ended.Verdict.Outcome = fleet.Busy
	must.Do(t, b.Complete(t.Context(), ended))
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r3"), 0.5)))
	got := b.mustSnapshot(t)
	same(t, "graded", got.Arms["code"].Graded, 1)
	got.Arms, got.Pairs, got.Agents, got.Spent, got.Prices = nil, nil, nil, nil, rank.Prices{}
	want := store.Snapshot{NextFire: 2, ClaimsAt: store.ClaimsAt{At: b.clock.Now(), Open: []fleet.Run{b.mustRun(t, "0r1"), b.mustRun(t, "0r2")}}}
	same(t, "snapshot", got, want)
}

// SnapshotOfAnything holds the selector's view of claims against what a take would
// say: one predicate for both.
func (contract) SnapshotOfAnything(t *testing.T, b bundle) {
	for key, ttl := range map[fleet.Key]time.Duration{"c": time.Hour, "a": time.Minute + time.Millisecond, "expired": time.Minute, "released": time.Hour} {
		b.mustTake(t, store.TakeRequest{Key: key, Holder: bob, TTL: ttl}, fleet.Granted)
	}
	must.Get(b.Release(t.Context(), store.Hold{Key: "released", Holder: bob}, fleet.EndingReleased, ""))(t)
	b.clock.Advance(time.Minute)
	var got []fleet.Key
	for _, c := range b.mustSnapshot(t).Claims {
		got = append(got, c.Key)
	}
	same(t, "held", got, []fleet.Key{"a", "c"})
	for _, key := range []fleet.Key{"a", "c", "expired", "released"} {
		want := fleet.Granted
		if key == "a" || key == "c" {
			want = fleet.Denied
		}
		b.mustTake(t, store.TakeRequest{Key: key, Holder: alice, TTL: time.Hour}, want)
	}
}
