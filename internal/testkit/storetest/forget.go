package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// session is one from its fire to its end, now. It leaves a row of every kind.
func (b bundle) session(t *testing.T, c fleet.Category, grade float64) fleet.RunID {
	t.Helper()
	ctx := t.Context()
	s := b.mustSnapshot(t)
	r := plannedRun(fleet.NewRunID(b.clock.Now(), uint32(s.NextFire))) //nolint:gosec // a small number
	r.Category, r.CreatedAt, r.Agent = c, b.clock.Now(), "claude"
	must.Get(b.RecordFire(ctx, store.Firing{Runs: []fleet.Run{r}, Fire: fleet.Fire{
		At: b.clock.Now(), Moves: []fleet.Category{"code", "docs"}, Due: map[fleet.Category]float64{"code": 0.5, "docs": 0.5},
		Inputs: []byte("{}"), Selection: []byte("{}"), Choices: []fleet.Choice{{Category: c, Decision: fleet.Spawn, Run: r.ID}},
	}}))(t)
	b.mustLane(t, r.ID, c, 1, fleet.Granted)
	must.Do(t, Deny(ctx, b, fleet.DeniedClaim{Run: r.ID, Category: c, Key: "k", Holder: bob}))
	task := fleet.TaskID(r.ID)
	b.mustTakeForRun(t, takeFor(r.ID, task, fleet.LessonUse{Lesson: "a", Injected: true}), fleet.Granted)
	r = graded(b.mustRun(t, r.ID), grade)
	r.Usage = fleet.Usage{Tokens: new(int64(5)), USD: new(0.5), Cost: fleet.CostReported}
	r.Commits = []string{"c1"}
	must.Do(t, b.Complete(ctx, r))
	must.Get(b.AddFates(ctx, []fleet.ReviewOutcome{{Run: r.ID, Kind: fleet.FateMerged, Witness: "m"}}))(t)
	return r.ID
}

// Forget lets go of the older half of a record: rows that a belief, an account, a claim or a person
// still needs stay, and all figures add up after every batch.
func (contract) Forget(t *testing.T, b bundle) {
	ctx := t.Context()
	var all []fleet.RunID
	const days = 120
	for day := range days {
		grade := 0.9
		if day > days/4 { // an alarm comes of it
			grade = 0.1
		}
		all = append(all, b.session(t, []fleet.Category{"code", "docs"}[day%2], grade))
		b.clock.Advance(24 * time.Hour)
	}
	if b.mustSnapshot(t).Arms["code"].Alarms == 0 {
		t.Error("got no alarm, want that this is a test")
	}
	open := b.begun(t, fleet.NewRunID(Start().Add(time.Millisecond), 1)) // it is old, and has not ended
	before := b.mustSnapshot(t)
	claims, err := b.List(ctx, store.Listing{All: true})
	must.Do(t, err)
	_, err = b.NoticeDue(ctx, fleet.Notice{Event: fleet.EventQuota, Agent: "claude"}, time.Hour)
	must.Do(t, err)

	forget := func(from time.Time, most int) (n int) {
		t.Helper()
		for range 99 {
			got := must.Get(b.Forget(t.Context(), from))(t)
			b.addsUp(t)
			if n += got; got == 0 {
				return n
			}
			if got > most {
				t.Errorf("got %d at once, want at most %d", got, most)
			}
		}
		t.Fatal("it goes on for ever")
		return n
	}
	from := Start().Add(days / 2 * 24 * time.Hour)
	same(t, "forgotten, and fires", forget(from, 1100), days/2+days/2)
	left := all[days/2:]
	runs, err := RunsSince(ctx, b, time.UnixMilli(0))
	must.Do(t, err)
	same(t, "runs", len(runs), len(left)+1) // with the open one
	for _, r := range runs {
		if r.ID != open.ID && !slices.Contains(left, r.ID) {
			t.Errorf("run %s of %s is there still", r.ID, r.CreatedAt)
		}
	}
	e, err := b.Edge(ctx)
	must.Do(t, err)
	same(t, "edge", e, store.Edge{From: from, Fire: days / 2, Oldest: open.CreatedAt})
	same(t, "the first run, and the last", []bool{e.Gone(all[0]), e.Gone(all[days-1])}, []bool{true, false})
	for id, want := range map[fleet.FireID]int{1: 0, days / 2: 0, days/2 + 1: 1} {
		f := must.Get(b.Fire(ctx, id))(t)
		same(t, fmt.Sprintf("choices and inputs of fire %d", id), []int{len(f.Choices), len(f.Inputs)}, []int{want, 2 * want})
	}
	for what, got := range map[string]func() (int, error){
		"lane holds": func() (int, error) { l, err := b.LaneHolds(ctx, time.UnixMilli(0)); return len(l), err },
		"denials":    func() (int, error) { l, err := b.LastDenials(ctx, store.DenialQuery{Limit: 999}); return len(l), err },
		"runs with fates": func() (int, error) {
			l, err := b.Watched(ctx, time.UnixMilli(0), time.UnixMilli(0), 999)
			return len(l), err
		},
	} {
		n := must.Get(got())(t)
		same(t, what, n, len(left))
	}
	watched := must.Get(b.Watched(ctx, time.UnixMilli(0), b.clock.Now().Add(time.Hour), 999))(t)
	same(t, "runs of which nothing became yet", len(watched), 0)
	after := b.mustSnapshot(t)
	same(t, "arms", after.Arms, before.Arms)
	same(t, "lessons", after.Lessons, before.Lessons)
	same(t, "agents, with their bills", after.Agents, before.Agents)
	now, err := b.List(ctx, store.Listing{All: true})
	must.Do(t, err)
	same(t, "claims", len(now.Claims), len(claims.Claims))

	// Life goes on: a grade that is kept is corrected, one that is gone is passed over.
	news, err := b.AddFates(ctx, []fleet.ReviewOutcome{{Run: left[0], Kind: fleet.FateReverted, Witness: "r"}, {Run: all[0], Kind: fleet.FateReverted, Witness: "r"}})
	must.Do(t, err)
	same(t, "news", len(news), 1)
	b.addsUp(t)
	b.session(t, "code", 0.4)
	b.addsUp(t)

	// All of it goes, except the open run. The agent's next session is reckoned by the same bills.
	b.clock.Advance(24 * time.Hour)
	forget(b.clock.Now(), 1100)
	runs, err = RunsSince(ctx, b, time.UnixMilli(0))
	must.Do(t, err)
	same(t, "runs", len(runs), 1)
	same(t, "bills", b.claude(t).Bills[0].Tokens, new(int64(5)))
	same(t, "how many", len(b.claude(t).Bills), fleet.BillsKept)
	b.session(t, "docs", 0.6)
}

// ForgetNothing has sessions of long ago that something still waits for.
func (contract) ForgetNothing(t *testing.T, b bundle) {
	ctx := t.Context()
	for _, stays := range []func(id fleet.RunID){
		func(id fleet.RunID) {
			b.mustTake(t, store.TakeRequest{Key: "kept", Holder: id.Holder(), TTL: time.Hour}, fleet.Granted)
		},
		func(id fleet.RunID) {
			must.Do(t, b.SaveFeedback(ctx, fleet.Feedback{Run: id, Task: "fix", Said: "again", At: b.clock.Now()}))
		},
	} {
		stays(b.session(t, "code", 0.5))
		b.clock.Advance(time.Hour)
	}
	b.session(t, "code", 0.7)
	b.clock.Advance(time.Hour)
	for range 3 {
		must.Get(b.Forget(ctx, b.clock.Now()))(t)
	}
	runs := must.Get(RunsSince(ctx, b, time.UnixMilli(0)))(t)
	same(t, "runs", len(runs), 2)
}

// ForgetInBetween has the record begin at each half hour of sessions that overlap, some of whose ends
// are heard of late, while their grades change: from wherever it begins, all adds up.
func (contract) ForgetInBetween(t *testing.T, b bundle) {
	ctx := t.Context()
	const sessions = 48
	quick := rank.Defaults()
	quick.Alarm = 1
	b = b.fresh(t, quick)
	var open []fleet.Run
	for i := range sessions {
		_, err := b.RecordFire(ctx, store.Firing{Fire: fleet.Fire{At: b.clock.Now(), Moves: []fleet.Category{"code"}, Due: map[fleet.Category]float64{"code": 0.9}}})
		must.Do(t, err)
		r := plannedRun(fleet.NewRunID(b.clock.Now(), uint32(i))) //nolint:gosec // a small number
		must.Do(t, b.AddRun(ctx, r))
		take := takeFor(r.ID, fleet.TaskID(r.ID))
		take.TTL = 100 * time.Hour
		b.mustTakeForRun(t, take, fleet.Granted)
		open = append(open, b.mustRun(t, r.ID))
		b.clock.Advance(30 * time.Minute)
		if len(open) < 3 {
			continue
		}
		end := graded(open[i%2], 0.9-0.8*float64(i/12%2)) // not in the order in which they began
		open = append(open[:i%2:i%2], open[i%2+1:]...)
		if i%5 == 0 {
			end.EndedAt = b.clock.Now().Add(-25 * time.Minute)
		}
		must.Do(t, b.Complete(ctx, end))
	}
	if n := b.arm(t, "code").Alarms; n < 2 {
		t.Errorf("got %d alarms, want that this is a test", n)
	}
	for from := Start().Add(time.Minute); from.Before(b.clock.Now()); from = from.Add(15 * time.Minute) {
		must.Get(b.Forget(ctx, from))(t)
		b.addsUp(t)
		if t.Failed() {
			t.Fatalf("with an edge %s after the start", from.Sub(Start()))
		}
	}
	runs := must.Get(RunsSince(ctx, b, time.UnixMilli(0)))(t)
	if len(runs) > 6 {
		t.Errorf("got %d runs that are kept, want the open ones", len(runs))
	}
}
