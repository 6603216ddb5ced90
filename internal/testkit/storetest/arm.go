package storetest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// mustFire records a fire that starts nothing, entitles to so much, is the next, and a round
// of code and docs.
func (b bundle) mustFire(t *testing.T, due map[fleet.Category]float64) {
	t.Helper()
	next := b.mustSnapshot(t).NextFire
	f, err := b.RecordFire(t.Context(), store.Firing{Fire: fleet.Fire{At: b.clock.Now(), Due: due, Moves: []fleet.Category{"code", "docs"}}})
	must.Do(t, err)
	same(t, "fire", f.ID, next)
}

// accounts returns the categories' accounts.
func (b bundle) accounts(t *testing.T) map[fleet.Category]rank.Account {
	t.Helper()
	m := map[fleet.Category]rank.Account{}
	for c, arm := range b.mustSnapshot(t).Arms {
		m[c] = arm.Account
	}
	return m
}

// loadAfter is the load right after a session that found so much.
func loadAfter(before float64) float64 { return before + 1 - math.Exp2(-1.0/6) }

func (contract) Debit(t *testing.T, b bundle) {
	ctx := t.Context()
	b.mustRecord(t, "0r1", "0r2")
	b.mustTake(t, store.TakeRequest{Key: "hers", Holder: alice, TTL: time.Hour}, fleet.Granted)
	b.mustTakeForRun(t, takeFor("0r1", "hers"), fleet.Denied)
	refused := takeFor("0r1", "fix")
	refused.TTL = 0
	_, _, err := storekit.TakeForRun(ctx, b, refused)
	mustBe(t, err, fleet.ErrUsage)
	same(t, "without a grant", b.accounts(t), map[fleet.Category]rank.Account{})

	b.mustTakeForRun(t, takeFor("0r1", "fix"), fleet.Granted)
	want := rank.Account{Sessions: 1, Since: 1, Load: loadAfter(0)}
	same(t, "granted", b.accounts(t), map[fleet.Category]rank.Account{"code": want})
	b.mustTakeForRun(t, takeFor("0r1", "fix"), fleet.Granted)
	must.Get(b.Renew(ctx, store.Hold{Key: "fix", Holder: "run:0r1"}, time.Hour))(t)
	// A worker that never heard of its grant may come back when that has expired.
	b.clock.Advance(2 * time.Hour)
	b.mustTakeForRun(t, takeFor("0r1", "fix"), fleet.Granted)
	same(t, "granted once more", b.accounts(t), map[fleet.Category]rank.Account{"code": want})
	for _, s := range b.mustSnapshot(t).Spent {
		if s.Runs != 1 {
			t.Errorf("%s: %d sessions, want 1", s.Scope, s.Runs)
		}
	}
	must.Do(t, b.Complete(ctx, graded(b.mustRun(t, "0r1"), 0.5)))
	same(t, "renewed and ended", b.accounts(t), map[fleet.Category]rank.Account{"code": want})

	for range 6 {
		b.mustFire(t, nil)
	}
	by := b.begun(t, "0hand")
	if by.Fire != 0 || by.Round != 6 || by.Load != loadAfter(0)/2 {
		t.Errorf("got round %d, load %v in the row, want those of its start: 6, %v", by.Round, by.Load, loadAfter(0)/2)
	}
	want.Sessions, want.Since, want.Load, want.LoadAt = 2, 2, loadAfter(loadAfter(0)/2), 6
	same(t, "granted to a run by hand", b.accounts(t), map[fleet.Category]rank.Account{"code": want, "docs": {}})
}

// DebitAfterPivot has a run that was denied in one category and works another.
func (contract) DebitAfterPivot(t *testing.T, b bundle) {
	b.mustTake(t, store.TakeRequest{Key: "hers", Holder: alice, TTL: time.Hour}, fleet.Granted)
	must.Do(t, b.AddRun(t.Context(), plannedRun("0r1")))
	b.mustLane(t, "0r1", "code", 1, fleet.Granted)
	b.mustTakeForRun(t, takeFor("0r1", "hers"), fleet.Denied)
	must.Do(t, storekit.LeaveLane(t.Context(), b, "0r1"))
	b.mustLane(t, "0r1", "docs", 1, fleet.Granted)
	b.mustTakeForRun(t, takeFor("0r1", "free", fleet.LessonUse{Lesson: "a", Injected: true}), fleet.Granted)
	want := rank.Account{Sessions: 1, Since: 1, Load: loadAfter(0)}
	same(t, "accounts", b.accounts(t), map[fleet.Category]rank.Account{"docs": want})

	r := graded(b.mustRun(t, "0r1"), 0.5)
	r.Category = "code" // as it was planned
	must.Do(t, b.Complete(t.Context(), r))
	s := b.mustSnapshot(t)
	if len(s.Arms) != 1 || s.Arms["docs"].Graded != 1 || !s.Arms["docs"].Ended.Equal(b.clock.Now()) {
		t.Errorf("got %+v, want the grade and the end counted for docs alone", s.Arms)
	}
	if len(s.Lessons) != 1 || s.Lessons[0].Category != "docs" {
		t.Errorf("got %+v, want the lesson tried in docs", s.Lessons)
	}
}

// Entitle has numbers that a float64 holds exactly.
func (contract) Entitle(t *testing.T, b bundle) {
	b = b.fresh(t, rank.Settings{V: 10, Floor: 0.5, Cap: 1.5})
	b.mustFire(t, map[fleet.Category]float64{"code": 0.5, "docs": 0.25})
	docs := rank.Account{Entitled: 0.25, Due: 0.25}
	same(t, "after one fire", b.accounts(t), map[fleet.Category]rank.Account{"code": {Entitled: 0.5, Due: 0.5}, "docs": docs})
	b.mustFire(t, map[fleet.Category]float64{"code": 0.75})
	code := rank.Account{Entitled: 1.25, Due: 0.75, Deficit: 0.25}
	same(t, "without a session", b.accounts(t), map[fleet.Category]rank.Account{"code": code, "docs": docs})
	b.begun(t, "0r1")
	b.begun(t, "0r2")
	b.mustFire(t, map[fleet.Category]float64{"code": 1})
	code = rank.Account{Sessions: 2, Entitled: 2.25, Due: 1, Surplus: 2 - 1.5*0.75, Load: loadAfter(loadAfter(0)), LoadAt: 2}
	same(t, "with two sessions", b.accounts(t), map[fleet.Category]rank.Account{"code": code, "docs": docs})
	b.mustFire(t, nil)
	same(t, "asleep", b.accounts(t), map[fleet.Category]rank.Account{"code": code, "docs": docs})
}

// EntitleAtOnce records fires of which one of the runs cannot be.
func (contract) EntitleAtOnce(t *testing.T, b bundle) {
	b.mustRecord(t, "0r1", "0r2")
	b.mustFire(t, map[fleet.Category]float64{"code": 0.5})
	before := b.mustSnapshot(t)
	for _, ids := range [][2]fleet.RunID{{"0r3", "0r1"}, {"0r1", "0r3"}, {"0r3", "0r3"}} {
		f, runs := testFire(ids[0], ids[1])
		f.Due = map[fleet.Category]float64{"code": 1, "docs": 1, "triage": 1}
		f.Moves = []fleet.Category{"code", "docs", "triage"}
		if got, err := b.RecordFire(t.Context(), store.Firing{Fire: f, Runs: runs}); err == nil {
			t.Fatalf("got fire %d with runs %v, want an error", got.ID, ids)
		}
		same(t, "what is remembered", b.mustSnapshot(t), before)
	}
}

// GradeAsDispatched has grades count half after a round, so that a grade that comes a
// round late weighs exactly half, with the load of its start.
func (contract) GradeAsDispatched(t *testing.T, b bundle) {
	b = b.fresh(t, rank.Settings{V: 10, HalfLife: 1, SlowHalfLife: 2})
	b.mustFire(t, nil)
	early := b.begun(t, "0r1") // in round 1, without any load
	for range 6 {
		b.mustFire(t, nil)
	}
	late := b.begun(t, "0r2") // in round 7, with half the load of one session
	b.begun(t, "0r3")
	load := loadAfter(0) / 2
	same(t, "load", late.Load, load)
	same(t, "round", late.Round, fleet.Round(7))
	b.mustFire(t, nil)
	b.mustFire(t, nil)

	must.Do(t, b.Complete(t.Context(), graded(late, 0.5))) // in round 9: two late
	got := b.arm(t, "code").Evidence
	want := rank.Evidence{
		At: 9, Graded: 1, Fast: rank.Sums{W: 0.25, S: 0.125, G2: 0.0625}, Slow: rank.Sums{W: 0.5, S: 0.25, G2: 0.125},
		Slope: rank.Regression{N: 0.5, X: load / 2, G: 0.25, XX: load * load / 2, XG: load / 4},
	}
	want.Seasons[0] = rank.Regression{N: 0.5, Y: -0.5, G: 0.25, YY: 0.5, YG: -0.25} // it began at noon; that day of the week is not dyadic
	got.Seasons[1] = rank.Regression{}
	same(t, "two rounds late", got, want)

	must.Do(t, b.Complete(t.Context(), graded(early, 1))) // in round 9: eight late
	want.Graded, want.Fast = 2, rank.Sums{W: 0.25 + 1.0/256, S: 0.125 + 1.0/256, G2: 0.0625 + 1.0/256}
	want.Slow = rank.Sums{W: 0.5 + 1.0/16, S: 0.25 + 1.0/16, G2: 0.125 + 1.0/16}
	want.Slope.N, want.Slope.G = want.Slow.W, want.Slow.S
	want.Seasons[0] = rank.Regression{N: want.Slow.W, Y: -want.Slow.W, G: want.Slow.S, YY: want.Slow.W, YG: -want.Slow.S}
	got = b.arm(t, "code").Evidence
	got.Seasons[1] = rank.Regression{}
	same(t, "eight rounds late", got, want)
}

// GradeChanges has a category bring good grades and then bad ones, beside one that does not
// change. The beliefs before and after are those of the arms then, and a grade that is refused
// leaves nothing.
func (contract) GradeChanges(t *testing.T, b bundle) {
	settings := rank.Defaults()
	b = b.fresh(t, settings)
	believed := func() float64 {
		s := b.mustSnapshot(t)
		code, docs := s.Arms["code"].Arm, s.Arms["docs"].Arm
		return settings.Belief(&code, settings.Prior([]*rank.Arm{&code, &docs})).Mean()
	}
	b.mustFire(t, nil)
	var want []fleet.GradeChange
	end := func(r fleet.Run, grade float64) {
		t.Helper()
		was, alarms := believed(), b.arm(t, "code").Alarms
		must.Do(t, b.Complete(t.Context(), graded(r, grade)))
		must.Do(t, b.Complete(t.Context(), graded(r, grade)))
		mustBe(t, b.Complete(t.Context(), graded(r, grade/2-0.01)), fleet.ErrLost)
		if b.arm(t, "code").Alarms > alarms {
			want = append([]fleet.GradeChange{{Run: r.ID, Fire: r.Fire, Category: "code", At: b.clock.Now(), Was: was, Became: believed()}}, want...)
		}
		b.clock.Advance(5 * time.Hour) // within one hour a change passes for the time of day
	}
	end(b.begunIn(t, "docs", "0d"), 0.5)
	for i := range 60 {
		grade := 0.9 - float64(i%3)/20
		if i/20 == 1 {
			grade -= 0.8
		}
		r := plannedRun(fleet.RunID(fmt.Sprintf("0e%02d", i)))
		r.Fire = fleet.FireID(i % 2) // every other one by hand
		must.Do(t, b.AddRun(t.Context(), r))
		b.mustTakeForRun(t, takeFor(r.ID, fleet.TaskID("task of "+r.ID)), fleet.Granted)
		end(b.mustRun(t, r.ID), grade)
	}
	if len(want) < 2 || want[0].Became < want[0].Was || want[1].Became > want[1].Was {
		t.Fatalf("got the changes %+v, want one up after one down", want)
	}
	all := must.Get(b.GradeChanges(t.Context(), store.ChangeQuery{Limit: 9}))(t)
	same(t, "all", all, want)
	for what, q := range map[string]store.ChangeQuery{
		"one":   {Limit: 1},
		"since": {Since: want[0].At, Limit: 9},
		"a run": {Run: want[0].Run, Category: "code", Limit: 9},
	} {
		got := must.Get(b.GradeChanges(t.Context(), q))(t)
		same(t, what, got, want[:1])
	}
	none := must.Get(b.GradeChanges(t.Context(), store.ChangeQuery{Category: "docs", Limit: 9}))(t)
	same(t, "docs", none, []fleet.GradeChange{})
}

// GradesOfAll has the same grades surprise more where others have bad ones: a belief
// rests on what all categories have in common, too.
func (contract) GradesOfAll(t *testing.T, b bundle) {
	surprise := func(b bundle, others float64) float64 {
		for _, id := range []fleet.RunID{"0a", "0b", "0c"} {
			must.Do(t, b.Complete(t.Context(), graded(b.begunIn(t, "docs", id), others)))
		}
		for _, id := range []fleet.RunID{"0d", "0e", "0f", "0g", "0h"} {
			must.Do(t, b.Complete(t.Context(), graded(b.begun(t, id), 0.25)))
		}
		must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0i"), 1)))
		return b.arm(t, "code").Up.Level
	}
	amongBad, amongGood := surprise(b, 0), surprise(b.fresh(t, rank.Defaults()), 1)
	if amongBad <= amongGood || amongGood <= 0 {
		t.Errorf("got a surprise of %v among bad grades and %v among good ones, want less, but some", amongBad, amongGood)
	}
}

func (contract) Backoff(t *testing.T, b bundle) {
	const noop, nothing, idle = fleet.Noop, fleet.Nothing, fleet.Idle
	b.mustFire(t, nil)
	steps := []struct {
		id      fleet.RunID
		outcome fleet.Outcome
		want    rank.Backoff
	}{
		{"0r1", noop, rank.Backoff{Noops: 1, NoopsEver: 1, AsleepUntil: 2 + 1}},
		{"0r2", idle, rank.Backoff{Noops: 2, NoopsEver: 1, AsleepUntil: 4 + 2}},
		{"0r3", nothing, rank.Backoff{Noops: 3, NoopsEver: 2, AsleepUntil: 8 + 3}},
		{"0r4", idle, rank.Backoff{Noops: 4, NoopsEver: 2, AsleepUntil: 16 + 4}},
		{"0r5", idle, rank.Backoff{Noops: 5, NoopsEver: 2, AsleepUntil: 32 + 5}},
		{"0r6", noop, rank.Backoff{Noops: 6, NoopsEver: 3, AsleepUntil: 64 + 6}},
		{"0r7", noop, rank.Backoff{Noops: 7, NoopsEver: 4, AsleepUntil: 64 + 7}},
	}
	last := fleet.TaskID("")
	for _, step := range steps {
		b.clock.Advance(time.Minute)
		if step.outcome != idle {
			last = fleet.TaskID("task of " + step.id)
		}
		step.want.VainAt, step.want.AsleepSince = last, b.clock.Now()
		b.backOff(t, "code", step.id, step.outcome)
		same(t, string(step.id), b.arm(t, "code").Backoff, step.want)
		b.mustFire(t, nil)
	}
	same(t, "of another", b.arm(t, "docs").Backoff, rank.Backoff{})
	same(t, "evidence", b.arm(t, "code").Evidence, rank.Evidence{})
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r8"), 0)))
	same(t, "after a grade", b.arm(t, "code").Backoff, rank.Backoff{NoopsEver: 4})
}

// backOff has a run find nothing to do: with a claim on the last task that is left, or, where
// it is idle, without.
func (b bundle) backOff(t *testing.T, c fleet.Category, id fleet.RunID, outcome fleet.Outcome) {
	t.Helper()
	if outcome == fleet.Idle {
		r := plannedRun(id)
		r.Category, r.Source = c, fleet.FromScores
		must.Do(t, b.AddRun(t.Context(), r))
		r.Verdict.Outcome = outcome
		must.Do(t, b.Complete(t.Context(), r))
		return
	}
	r := b.begunIn(t, c, id)
	r.Verdict.Outcome, r.Left.Last = outcome, true
	must.Do(t, b.Complete(t.Context(), r))
}

// LearnsNothing ends runs in every way that says nothing of their category.
func (contract) LearnsNothing(t *testing.T, b bundle) {
	ctx := t.Context()
	must.Do(t, b.Complete(ctx, graded(b.begun(t, "0r1"), 0.5)))
	b.backOff(t, "code", "0r2", fleet.Noop)
	ends := map[fleet.RunID]func(fleet.Run) error{
		"0claimed": func(r fleet.Run) error { return b.Complete(ctx, r) },
		"0lost":    func(r fleet.Run) error { return b.Complete(ctx, lost(graded(r, 0.9))) },
		"0dead": func(r fleet.Run) error {
			_, err := b.Abandon(ctx, store.Gone{Run: r.ID, Reason: "found dead"})
			return err
		},
	}
	// learnt is the arm without what sessions use, which counts whatever comes of them.
	learnt := func() rank.Arm {
		a := b.arm(t, "code").Arm
		a.Use = rank.Arm{}.Use
		return a
	}
	for _, outcome := range []fleet.Outcome{
		fleet.Busy, fleet.RunDenied, fleet.Quota, fleet.Unavailable, fleet.Cancelled, fleet.Lost, fleet.Abandoned,
		fleet.Productive, fleet.Failed, fleet.Timeout, // that nobody graded
	} {
		for how, end := range ends {
			b.clock.Advance(24 * time.Hour) // whatever stopped the agent is over
			r := b.begun(t, how+fleet.RunID(outcome))
			before := learnt()
			r.Verdict.Outcome = outcome
			must.Do(t, end(r))
			same(t, string(r.ID), learnt(), before)
		}
	}
	closed := b.begun(t, "0closed")
	arm := learnt()
	closed.Verdict.Outcome, closed.Verdict.TaskState = fleet.Nothing, fleet.StateDone
	must.Do(t, b.Complete(ctx, closed))
	same(t, "a task closed without work", learnt(), arm)
	before := b.mustSnapshot(t).Arms
	f := b.mustRecord(t, "0planned1", "0planned2")
	b.mustNotStart(t, f.ID, "0planned1", true)
	same(t, "not started", b.mustSnapshot(t).Arms, before)
}

// Ended has sessions of a category that count, and ends that were none.
func (contract) Ended(t *testing.T, b bundle) {
	ctx := t.Context()
	b.mustFire(t, map[fleet.Category]float64{"code": 1})
	same(t, "before any session", b.arm(t, "code").Ended, time.Time{})
	first, second, dead, elsewhere := b.begun(t, "0r1"), b.begun(t, "0r2"), b.begun(t, "0r3"), b.begunIn(t, "docs", "0r4")
	first.Verdict.Outcome = fleet.Lost
	same(t, "while all are open", b.arm(t, "code").Ended, time.Time{})
	steps := []struct {
		name string
		end  func() error
		want int // of which step its time is
	}{
		{"graded", func() error { return b.Complete(ctx, graded(second, 0.5)) }, 1},
		{"another category", func() error { return b.Complete(ctx, graded(elsewhere, 0.5)) }, 1},
		{"idle", func() error { b.backOff(t, "code", "0r5", fleet.Idle); return nil }, 1},
		{"lost", func() error { return b.Complete(ctx, lost(first)) }, 4},
		{"abandoned", func() error { _, err := b.Abandon(ctx, store.Gone{Run: dead.ID, Reason: "found dead"}); return err }, 5},
		{"not started", func() error {
			f := b.mustRecord(t, "0r6", "0r7")
			b.mustNotStart(t, f.ID, "0r6", true)
			return nil
		}, 5},
	}
	for _, step := range steps {
		b.clock.Advance(time.Minute)
		must.Do(t, step.end())
		same(t, step.name, b.arm(t, "code").Ended, Start().Add(time.Duration(step.want)*time.Minute))
	}
	same(t, "of another category", b.arm(t, "docs").Ended, Start().Add(2*time.Minute))
}

// RankingAt has a grade on each of four days, more than the states that are kept within a day, and asks what was known on each.
func (contract) RankingAt(t *testing.T, b bundle) {
	want := map[time.Time]rank.Arm{}
	for day := range 4 {
		at := b.clock.Now()
		want[at] = b.arm(t, "code").Arm
		b.clock.Advance(time.Hour)
		for n := range 40 * (day % 2) {
			must.Do(t, b.Complete(t.Context(), graded(b.begun(t, fleet.RunID(fmt.Sprintf("0%c%02d", 'a'+day, n))), 0.5)))
		}
		must.Do(t, b.Complete(t.Context(), graded(b.begun(t, fleet.RunID(fmt.Sprintf("0%cz", 'a'+day))), float64(day)/4)))
		b.clock.Advance(23 * time.Hour)
	}
	want[b.clock.Now()] = b.arm(t, "code").Arm
	for at, arm := range want {
		var got rank.Arm
		if known := must.Get(b.RankingAt(t.Context(), at))(t).Arms["code"]; known != nil {
			got = *known
		}
		same(t, at.Format(time.RFC3339), got, arm)
	}
}
