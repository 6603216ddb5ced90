package storetest

import (
	"errors"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

func value[T any](v T) *T { return &v }

// plannedRun is a run as it is written down before it begins.
func plannedRun(id fleet.RunID) fleet.Run {
	return fleet.Run{ID: id, Category: "code", Source: fleet.FromHand, Agent: "claude", CreatedAt: Start()}
}

// takeFor is a run's request for the claim on a task.
func takeFor(id fleet.RunID, task fleet.TaskID, lessons ...fleet.LessonUse) storekit.RunTake {
	take := store.TakeRequest{Key: task.Key(), Holder: id.Holder(), Renews: true, TTL: time.Hour}
	return storekit.RunTake{TakeRequest: take, Run: id, Task: task, Lessons: lessons}
}

func (b bundle) mustTakeForRun(t *testing.T, r storekit.RunTake, want fleet.Grant) {
	t.Helper()
	grant, c, err := storekit.TakeForRun(t.Context(), b, r)
	must.Do(t, err)
	if grant != want {
		t.Fatalf("got %s, want %s: %+v", grant, want, c)
	}
}

// begun adds a run that has begun and holds the claim on its task.
func (b bundle) begun(t *testing.T, id fleet.RunID, lessons ...fleet.LessonUse) fleet.Run {
	t.Helper()
	return b.begunIn(t, "code", id, lessons...)
}

func (b bundle) begunIn(t *testing.T, c fleet.Category, id fleet.RunID, lessons ...fleet.LessonUse) fleet.Run {
	t.Helper()
	r := plannedRun(id)
	r.Category = c
	must.Do(t, b.AddRun(t.Context(), r))
	b.mustTakeForRun(t, takeFor(id, fleet.TaskID("task of "+id), lessons...), fleet.Granted)
	return b.mustRun(t, id)
}

// graded is the run with a good end.
func graded(r fleet.Run, grade float64) fleet.Run {
	r.Verdict = fleet.Verdict{
		Outcome: fleet.Productive, Grade: &grade, Reason: "fixed ünïcode", Parts: map[string]float64{"commits": 2},
		TaskState: fleet.StateDone, ExitStatus: value(0),
	}
	return r
}

// lost is the run as it ends without its claim.
func lost(r fleet.Run) fleet.Run {
	r.Verdict.Outcome = fleet.Lost
	return r
}

func (contract) AddRun(t *testing.T, b bundle) {
	_, err := b.Run(t.Context(), "0r1")
	mustBe(t, err, fleet.ErrNotFound)
	want := fleet.Run{
		ID: "0r1", Category: "code", Rank: 2, ChainDepth: 3, Source: fleet.FromHand, Unit: `stint-a-b\x2dc-0r1.service`,
		Agent: "claude", CreatedAt: Start().Add(time.Millisecond),
	}
	must.Do(t, b.AddRun(t.Context(), want))
	same(t, "run", b.mustRun(t, "0r1"), want)
	if err := b.AddRun(t.Context(), plannedRun("0r1")); err == nil {
		t.Error("got a second run of one id, want an error")
	}
	same(t, "after a second", b.mustRun(t, "0r1"), want)
}

func (contract) OnBranch(t *testing.T, b bundle) {
	const branch = "stint/bob/0r1"
	resumed := fleet.Conversation{ID: "c1", Resumes: "0r0", Why: "run 0r0 crashed"}
	for _, id := range []fleet.RunID{"0r1", "0r2"} {
		b.begun(t, id)
		must.Do(t, b.OnBranch(t.Context(), id, branch, resumed))
		same(t, "branch", b.mustRun(t, id).Branch, branch)
		same(t, "conversation", b.mustRun(t, id).Conversation, resumed)
	}
	must.Get(b.Abandon(t.Context(), store.Gone{Run: "0r1", Reason: "found dead", Spoke: "c2"}))(t)
	same(t, "conversation of an abandoned run", b.mustRun(t, "0r1").Conversation, fleet.Conversation{ID: "c2", Resumes: "0r0", Why: "run 0r0 crashed"})
	same(t, "branch of an abandoned run", b.mustRun(t, "0r1").Branch, branch)
	mustBe(t, b.OnBranch(t.Context(), "0r1", "stint/other", resumed), fleet.ErrLost)
	same(t, "branch of a run that is over", b.mustRun(t, "0r1").Branch, branch)
	r := graded(b.mustRun(t, "0r2"), 0.5)
	r.Conversation.ID = "c3"
	must.Do(t, b.Complete(t.Context(), r))
	same(t, "branch at the end", b.mustRun(t, "0r2").Branch, branch)
	same(t, "conversation at the end", b.mustRun(t, "0r2").Conversation.ID, "c3")
}

func (contract) LastRuns(t *testing.T, b bundle) {
	for _, id := range []fleet.RunID{"0r2", "0r3", "0r1"} {
		must.Do(t, b.AddRun(t.Context(), plannedRun(id)))
	}
	for limit, want := range map[int][]fleet.RunID{0: nil, 2: {"0r3", "0r2"}, 9: {"0r3", "0r2", "0r1"}} {
		runs := must.Get(b.LastRuns(t.Context(), store.RunQuery{Limit: limit}))(t)
		var got []fleet.RunID
		for _, r := range runs {
			got = append(got, r.ID)
		}
		same(t, "runs", got, want)
	}
}

// BegunOnce has a run begun by one process, and no other.
func (contract) BegunOnce(t *testing.T, b bundle) {
	begin := func(id fleet.RunID, pid int) error {
		_, err := b.Begin(t.Context(), store.Begin{Run: id, PID: pid, TTL: time.Hour, Offers: []store.Offer{{Task: "fix", Key: "fix"}}})
		return err
	}
	must.Do(t, b.AddRun(t.Context(), plannedRun("0r1")))
	b.clock.Advance(time.Second)
	must.Do(t, begin("0r1", 4711))
	want := b.mustRun(t, "0r1")
	same(t, "begun at", want.StartedAt, b.clock.Now())
	same(t, "begun by", want.PID, 4711)
	b.clock.Advance(time.Second)
	mustBe(t, begin("0r1", 4712), fleet.ErrLost)
	same(t, "begun once", b.mustRun(t, "0r1"), want)

	must.Do(t, b.AddRun(t.Context(), plannedRun("0r2")))
	must.Do(t, begin("0r2", 1))
	if got := b.mustRun(t, "0r2").StartedAt; !got.IsZero() {
		t.Errorf("got a run without a session begun at %s, want it planned", got)
	}
	ended := plannedRun("0r2")
	ended.Verdict.Outcome = fleet.RunDenied
	must.Do(t, b.Complete(t.Context(), ended))
	mustBe(t, begin("0r2", 1), fleet.ErrLost)
	same(t, "began as it ended", b.mustRun(t, "0r2").StartedAt, b.clock.Now())
	mustBe(t, begin("0gone", 1), fleet.ErrLost) // by a store that went back
}

func (contract) Lanes(t *testing.T, b bundle) {
	at := func(seconds int) time.Time { return Start().Add(time.Duration(seconds) * time.Second) }
	for _, id := range []fleet.RunID{"0r1", "0r2", "0r3"} {
		must.Do(t, b.AddRun(t.Context(), plannedRun(id)))
	}
	b.mustLane(t, "0r1", "code", 1, fleet.Granted) // at 0
	b.clock.Advance(time.Second)
	b.mustLane(t, "0r2", "docs", 2, fleet.Granted) // at 1
	b.clock.Advance(time.Second)
	must.Do(t, storekit.LeaveLane(t.Context(), b, "0r1")) // at 2
	b.clock.Advance(time.Second)
	must.Do(t, storekit.LeaveLane(t.Context(), b, "0r1"))
	b.mustLane(t, "0r3", "triage", 3, fleet.Granted) // at 3
	if r := b.mustRun(t, "0r3"); r.Category != "triage" || r.Lane != 3 {
		t.Errorf("got run in %s.%d, want triage.3", r.Category, r.Lane)
	}
	if grant, c, err := storekit.TakeLane(t.Context(), b, laneTake("0none", "code", 1)); err == nil {
		t.Errorf("got a lane for a run that is not there, %s, %+v, want an error", grant, c)
	}
	first := fleet.LaneHold{Run: "0r1", Category: "code", Lane: 1, AcquiredAt: at(0), ReleasedAt: at(2)}
	rest := []fleet.LaneHold{
		{Run: "0r2", Category: "docs", Lane: 2, AcquiredAt: at(1)},
		{Run: "0r3", Category: "triage", Lane: 3, AcquiredAt: at(3)},
	}
	for since, want := range map[int][]fleet.LaneHold{0: append([]fleet.LaneHold{first}, rest...), 1: append([]fleet.LaneHold{first}, rest...), 2: rest, 9: rest} {
		got := must.Get(b.LaneHolds(t.Context(), at(since)))(t)
		same(t, "lanes", got, want)
	}
}

// LaneClaims has the claim of a lane beside the hold: both begin and end together, once each, if a run asks twice.
func (contract) LaneClaims(t *testing.T, b bundle) {
	ctx := t.Context()
	for _, id := range []fleet.RunID{"0r1", "0r2"} {
		must.Do(t, b.AddRun(ctx, plannedRun(id)))
	}
	lane := fleet.LaneKey("code", 1)
	c := b.mustLane(t, "0r1", "code", 1, fleet.Granted)
	same(t, "claim", c, fleet.Claim{Key: lane, Holder: "run:0r1", Epoch: 1, AcquiredAt: Start(), ExpiresAt: Start().Add(time.Hour)})
	same(t, "asked once more", b.mustLane(t, "0r1", "code", 1, fleet.Granted), c)
	before := b.mustRun(t, "0r2")
	c.ReadAt = b.clock.Now()
	same(t, "in the way of another", b.mustLane(t, "0r2", "code", 1, fleet.Denied), c)
	same(t, "the run that was denied", b.mustRun(t, "0r2"), before)
	b.clock.Advance(2 * time.Hour)
	c.ExpiresAt, c.ReadAt = Start().Add(time.Hour), b.clock.Now()
	same(t, "an expiry alone frees no session's lane", b.mustLane(t, "0r2", "code", 1, fleet.Denied), c)
	ended := b.mustRun(t, "0r1")
	ended.Verdict.Outcome = fleet.Busy
	must.Do(t, b.Complete(ctx, ended))
	b.clock.Advance(time.Second)
	must.Do(t, b.Complete(ctx, ended))
	c = b.mustLane(t, "0r2", "code", 1, fleet.Granted)
	same(t, "epoch of the next", c.Epoch, fleet.Epoch(2))
	b.clock.Advance(time.Second)
	must.Get(b.Release(ctx, store.Hold{Key: lane, Holder: "run:0r2", Epoch: 2}, fleet.EndingAbandoned, "by hand"))(t)
	got := must.Get(b.LaneHolds(ctx, Start()))(t)
	at := Start().Add(2 * time.Hour)
	same(t, "holds", got, []fleet.LaneHold{
		{Run: "0r1", Category: "code", Lane: 1, AcquiredAt: Start(), ReleasedAt: at},
		{Run: "0r2", Category: "code", Lane: 1, AcquiredAt: at.Add(time.Second), ReleasedAt: at.Add(2 * time.Second)},
	})
}

// RenewWithLane has one renewal keep both claims of a session, and none when its lane is another's.
func (contract) RenewWithLane(t *testing.T, b bundle) {
	must.Do(t, b.AddRun(t.Context(), plannedRun("0r1")))
	b.mustLane(t, "0r1", "code", 1, fleet.Granted)
	b.mustTakeForRun(t, takeFor("0r1", "fix"), fleet.Granted)
	b.clock.Advance(time.Minute)
	fix, lane := store.Hold{Key: "fix", Holder: "run:0r1", Epoch: 1}, fleet.LaneKey("code", 1)
	must.Get(b.Renew(t.Context(), fix, 2*time.Hour))(t)
	for _, key := range []fleet.Key{"fix", lane} {
		c, _, err := b.check(t.Context(), key)
		must.Do(t, err)
		same(t, string(key), c.ExpiresAt, b.clock.Now().Add(2*time.Hour))
	}
	must.Get(b.Release(t.Context(), store.Hold{Key: lane, Holder: "run:0r1"}, fleet.EndingReleased, ""))(t)
	b.clock.Advance(time.Minute)
	_, err := b.Renew(t.Context(), fix, time.Hour)
	mustBe(t, err, fleet.ErrLost)
	c, _, err := b.check(t.Context(), "fix")
	must.Do(t, err)
	same(t, "the claim on the task", c.ExpiresAt, Start().Add(time.Minute+2*time.Hour))
}

// SessionOnItsLane has a session without a task: it works under the claim that its run took
// with the lane, and is counted once.
func (contract) SessionOnItsLane(t *testing.T, b bundle) {
	must.Do(t, b.AddRun(t.Context(), plannedRun("0r1")))
	b.mustLane(t, "0r1", "code", 1, fleet.Granted)
	take := takeFor("0r1", "fix")
	take.Task, take.Key, take.Budgets = "", fleet.LaneKey("code", 1), []fleet.Budget{{Scope: "fleet", Runs: 9}}
	for range 3 {
		b.mustTakeForRun(t, take, fleet.Granted)
		s := b.mustSnapshot(t)
		same(t, "sessions", s.Arms["code"].Sessions, 1)
		same(t, "of the day", fleet.SpentBy(s.Spent, "fleet").Runs, 1)
	}
	if r := b.mustRun(t, "0r1"); r.Key != take.Key || r.Epoch != 1 {
		t.Errorf("got %q at epoch %d in the row, want the lane at 1", r.Key, r.Epoch)
	}
}

// FirstOffer has a run begin with the first offer that nobody else has, and the first agent that can work. What is
// denied is on record; where no agent can work, nothing is taken.
func (contract) FirstOffer(t *testing.T, b bundle) {
	b.begun(t, "0r0")
	b.mustTake(t, store.TakeRequest{Key: "hers", Holder: alice, TTL: time.Hour}, fleet.Granted)
	must.Do(t, b.AddRun(t.Context(), plannedRun("0r1")))
	busy, free := fleet.Terms{Agent: "claude", Slots: 1}, fleet.Terms{Agent: "other", Slots: 1}
	begin := store.Begin{Run: "0r1", Category: "docs", Lane: 2, TTL: time.Hour, Agents: []fleet.Terms{busy, busy}}
	for _, task := range []fleet.TaskID{"hers", "fix", "later"} {
		begin.Offers = append(begin.Offers, store.Offer{Task: task, Key: task.Key()})
	}
	refused := must.Get(b.Begin(t.Context(), begin))(t)
	same(t, "refused", refused.Refused, fleet.RefusedError{Reason: "agent claude: all of its 1 slots are in use", Outcome: fleet.Busy})
	same(t, "the run, refused", b.mustRun(t, "0r1"), plannedRun("0r1"))
	begin.Agents = append(begin.Agents, free)
	for range 2 { // who never heard is told again
		got := must.Get(b.Begin(t.Context(), begin))(t)
		same(t, "offer", []any{got.Offer, got.Agent, got.Claim.Key, got.Claim.Epoch}, []any{1, "other", fleet.Key("fix"), fleet.Epoch(1)})
		must.Get(b.Release(t.Context(), store.Hold{Key: "hers", Holder: alice, Epoch: 1}, fleet.EndingDone, ""))(t) // that the first is free by then changes nothing
	}
	r := b.mustRun(t, "0r1")
	same(t, "run", []any{r.Category, r.Lane, r.Task, r.Key, r.Agent}, []any{fleet.Category("docs"), 2, fleet.TaskID("fix"), fleet.Key("fix"), "other"})
	same(t, "sessions", b.arm(t, "docs").Sessions, 1)
	for key, want := range map[fleet.Key]bool{"fix": true, "later": false, fleet.LaneKey("docs", 2): true} {
		if _, held, err := b.check(t.Context(), key); held != want || err != nil {
			t.Errorf("%s: held %v, %v, want %v", key, held, err, want)
		}
	}
	denied := must.Get(b.DeniedClaims(t.Context(), Start()))(t)
	if len(denied) != 2 || denied[1].Key != "hers" || denied[1].Holder != alice || denied[1].Category != "docs" {
		t.Errorf("got %+v denied, want the first offer, at each of the first two times", denied)
	}
}

func (contract) TakeForRun(t *testing.T, b bundle) {
	must.Do(t, b.AddRun(t.Context(), plannedRun("0r1")))
	want := b.mustRun(t, "0r1")
	b.mustTake(t, store.TakeRequest{Key: "hers", Holder: alice, TTL: time.Hour}, fleet.Granted)
	grant, c, err := storekit.TakeForRun(t.Context(), b, takeFor("0r1", "hers"))
	must.Do(t, err)
	if grant != fleet.Denied || c.Holder != alice {
		t.Errorf("got %s, %+v, want it denied by %s", grant, c, alice)
	}
	same(t, "run, denied", b.mustRun(t, "0r1"), want)

	b.mustTake(t, store.TakeRequest{Key: "free", Holder: bob, TTL: time.Second}, fleet.Granted)
	b.clock.Advance(time.Second)
	grant, c, err = storekit.TakeForRun(t.Context(), b, takeFor("0r1", "free"))
	must.Do(t, err)
	if grant != fleet.Granted || c.Epoch != 2 || c.Holder != "run:0r1" {
		t.Errorf("got %s, %+v, want epoch 2 granted", grant, c)
	}
	want.Task, want.Key, want.Epoch, want.StartedAt = "free", "free", 2, b.clock.Now()
	same(t, "run, granted", b.mustRun(t, "0r1"), want)

	refused := takeFor("0r1", "next")
	refused.TTL = 0
	_, _, err = storekit.TakeForRun(t.Context(), b, refused)
	mustBe(t, err, fleet.ErrUsage)
	same(t, "run, refused", b.mustRun(t, "0r1"), want)
}

// TakeForEndedRun shows that claim and row are one write: a run that cannot have the row
// gets no claim.
func (contract) TakeForEndedRun(t *testing.T, b bundle) {
	ended := plannedRun("0r1")
	must.Do(t, b.AddRun(t.Context(), ended))
	ended.Verdict.Outcome = fleet.Cancelled
	must.Do(t, b.Complete(t.Context(), ended))
	for _, id := range []fleet.RunID{"0r1", "0none"} {
		grant, c, err := storekit.TakeForRun(t.Context(), b, takeFor(id, "k"))
		mustBe(t, err, fleet.ErrLost)
		same(t, "grant", grant, fleet.Grant(""))
		same(t, "claim", c, fleet.Claim{})
		if c, held, err := b.check(t.Context(), "k"); held || c.Epoch != 0 || err != nil {
			t.Errorf("got %+v, %v, %v, want no claim", c, held, err)
		}
		same(t, "arms", b.mustSnapshot(t).Arms, map[fleet.Category]store.Arm{})
	}
}

func (contract) Complete(t *testing.T, b bundle) {
	r := b.begun(t, "0r1")
	b.clock.Advance(time.Minute)
	want := graded(r, 0.75)
	must.Do(t, b.Complete(t.Context(), want))
	want.EndedAt = b.clock.Now()
	same(t, "run", b.mustRun(t, "0r1"), want)
	same(t, "recent grades", b.arm(t, "code").Fast, rank.Sums{W: 1, S: 0.75, G2: 0.5625})
	for id, grade := range map[fleet.RunID]float64{"0r2": 0, "0r3": 1} {
		must.Do(t, b.Complete(t.Context(), graded(b.begun(t, id), grade)))
	}
	arm := b.arm(t, "code")
	same(t, "graded", arm.Graded, 3)
	same(t, "recent grades of three", arm.Fast, rank.Sums{W: 3, S: 1.75, G2: 1.5625})
	same(t, "grades of three", arm.Slow, arm.Fast)
	same(t, "arm of another", b.arm(t, "docs"), store.Arm{})
}

// CompleteOnce completes again, as one would who never heard that it was done.
func (contract) CompleteOnce(t *testing.T, b bundle) {
	r := b.begun(t, "0r1")
	must.Do(t, b.Complete(t.Context(), graded(r, 0.5)))
	want, arm := b.mustRun(t, "0r1"), b.arm(t, "code")
	same(t, "graded", arm.Graded, 1)
	b.clock.Advance(time.Second)
	must.Do(t, b.Complete(t.Context(), graded(r, 0.5)))
	mustBe(t, b.Complete(t.Context(), graded(r, 1)), fleet.ErrLost)
	r.Verdict = fleet.Verdict{Outcome: fleet.Lost}
	mustBe(t, b.Complete(t.Context(), r), fleet.ErrLost)
	same(t, "run", b.mustRun(t, "0r1"), want)
	same(t, "arm", b.arm(t, "code"), arm)
}

// CompleteLate completes a run that ended while its claim was good, when that has expired
// and nobody has taken it; one that ended later is too late.
func (contract) CompleteLate(t *testing.T, b bundle) {
	late, tooLate := b.begun(t, "0late"), b.begun(t, "0toolate")
	late.EndedAt = b.clock.Now().Add(time.Minute)
	b.clock.Advance(2 * time.Hour)
	tooLate.EndedAt = b.clock.Now().Add(-time.Minute)
	must.Do(t, b.Complete(t.Context(), graded(late, 0.5)))
	mustBe(t, b.Complete(t.Context(), graded(tooLate, 0.5)), fleet.ErrLost)
	must.Do(t, b.Complete(t.Context(), graded(late, 0.5)))
	if got := b.mustRun(t, "0late").EndedAt; !got.Equal(late.EndedAt) {
		t.Errorf("ended at %v, want %v", got, late.EndedAt)
	}
	same(t, "graded", b.arm(t, "code").Graded, 1)
}

// CompleteFenced completes under a claim that is not, or no longer, the run's.
func (contract) CompleteFenced(t *testing.T, b bundle) {
	tests := map[fleet.RunID]func(*fleet.Run){
		"0expired": func(*fleet.Run) { b.clock.Advance(time.Hour) },
		"0taken": func(r *fleet.Run) {
			b.clock.Advance(time.Hour)
			known := store.Known{Holder: r.ID.Holder(), Epoch: r.Epoch, Session: fleet.Unknown}
			b.mustTake(t, store.TakeRequest{Key: r.Key, Holder: alice, TTL: time.Hour, Known: known}, fleet.Granted)
		},
		"0released": func(r *fleet.Run) {
			must.Get(b.Release(t.Context(), store.Hold{Key: r.Key, Holder: r.ID.Holder()}, fleet.EndingReleased, ""))(t)
		},
		"0again": func(r *fleet.Run) { // the same holder, but not the same grant
			must.Get(b.Release(t.Context(), store.Hold{Key: r.Key, Holder: r.ID.Holder()}, fleet.EndingReleased, ""))(t)
			b.mustTake(t, store.TakeRequest{Key: r.Key, Holder: r.ID.Holder(), TTL: time.Hour}, fleet.Granted)
		},
		"0stale":  func(r *fleet.Run) { r.Epoch-- },
		"0future": func(r *fleet.Run) { r.Epoch++ },
		"0another": func(r *fleet.Run) {
			r.Key = "hers"
			b.mustTake(t, store.TakeRequest{Key: "hers", Holder: alice, TTL: time.Hour}, fleet.Granted)
		},
	}
	for id, lose := range tests {
		r := b.begun(t, id)
		lose(&r)
		want, arm := b.mustRun(t, id), b.arm(t, "code")
		if err := b.Complete(t.Context(), graded(r, 1)); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("%s: got %v, want lost", id, err)
		}
		same(t, string(id), b.mustRun(t, id), want)
		same(t, string(id), b.arm(t, "code"), arm)
		r.Verdict = fleet.Verdict{Outcome: fleet.Lost, Reason: "too late"}
		must.Do(t, b.Complete(t.Context(), r))
	}
}

func (contract) CompleteUngraded(t *testing.T, b bundle) {
	r := b.begun(t, "0r1")
	r.Verdict = fleet.Verdict{Outcome: fleet.Noop, Reason: "did nothing"}
	must.Do(t, b.Complete(t.Context(), r))
	r.EndedAt = b.clock.Now()
	same(t, "run", b.mustRun(t, "0r1"), r)
	same(t, "evidence", b.arm(t, "code").Evidence, rank.Evidence{})
}

// CompleteWithoutClaim ends a run with a grade, which nobody may count.
func (contract) CompleteWithoutClaim(t *testing.T, b bundle) {
	want := plannedRun("0r1")
	must.Do(t, b.AddRun(t.Context(), want))
	b.clock.Advance(time.Second)
	want = graded(want, 0.9)
	must.Do(t, b.Complete(t.Context(), want))
	if want.Verdict.Grade == nil {
		t.Error("got the caller's verdict changed, want it left alone")
	}
	want.StartedAt, want.EndedAt, want.Verdict.Grade = b.clock.Now(), b.clock.Now(), nil
	same(t, "run", b.mustRun(t, "0r1"), want)
	same(t, "arms", b.mustSnapshot(t).Arms, map[fleet.Category]store.Arm{})
	must.Do(t, b.Complete(t.Context(), graded(want, 0.9)))
	same(t, "run, ended again", b.mustRun(t, "0r1"), want)
	want.Verdict.Outcome = fleet.Lost
	mustBe(t, b.Complete(t.Context(), want), fleet.ErrLost)
	mustBe(t, b.Complete(t.Context(), plannedRun("0none")), fleet.ErrLost)
}

func (contract) Respawn(t *testing.T, b bundle) {
	f := b.mustRecord(t, "0r1", "0r2")
	next := plannedRun("0r3")
	next.Fire, next.Source, next.ChainDepth = f.ID, fleet.FromRespawn, 1
	next.CreatedAt, next.NotBefore = Start().Add(time.Second), Start().Add(time.Minute)
	decide := func(run fleet.RunID, next *fleet.Run, reason string, by fleet.RunID, why string) {
		t.Helper()
		gotBy, gotWhy, err := b.Respawn(t.Context(), run, next, reason, store.Bounds{})
		must.Do(t, err)
		same(t, "followed by", gotBy, by)
		same(t, "why", gotWhy, why)
	}
	decide("0r1", &next, "good", "0r3", "good")
	decide("0r2", nil, "no workable task", "", "no workable task")
	same(t, "next", b.mustRun(t, "0r3"), next)
	before := b.mustSnapshot(t)

	other := next
	other.ID = "0r4"
	decide("0r1", &other, "once more", "0r3", "good")
	decide("0r1", &next, "by one who never heard", "0r3", "good")
	decide("0r2", &other, "after all", "", "no workable task")
	_, _, err := b.Respawn(t.Context(), "0none", &other, "of nothing", store.Bounds{})
	mustBe(t, err, fleet.ErrNotFound)
	same(t, "after the second decisions", b.mustSnapshot(t), before)
	same(t, "first", b.mustRun(t, "0r1").Following(), "by run 0r3: good")
	same(t, "second", b.mustRun(t, "0r2").Following(), "no workable task")

	must.Do(t, b.AddRun(t.Context(), plannedRun("0r5")))
	if by, _, err := b.Respawn(t.Context(), "0r5", &next, "by a run that is there", store.Bounds{}); err == nil {
		t.Errorf("got %v, want an error: the next run is there", by)
	}
	same(t, "undone", b.mustRun(t, "0r5").Followed, "")
	late := other
	late.ID = "0r6"
	_, why, err := b.Respawn(t.Context(), "0r5", &late, "good", store.Bounds{Lanes: map[fleet.Category]int{late.Category: 1}, Seen: map[fleet.RunID]bool{"0r1": false, "0r2": false, "0r5": false}})
	must.Do(t, err)
	same(t, "taken since", why, "lane code.1 was taken since: run 0r3")
	_, err = b.Run(t.Context(), "0r6")
	mustBe(t, err, fleet.ErrNotFound)
	b.mustNotStart(t, f.ID, "0r3", true) // no choice of the fire is about it
	got := must.Get(b.Fire(t.Context(), f.ID))(t)
	same(t, "choices", got.Choices, f.Choices)
}

// Silent closes a run of another machine only if nothing was heard of it by then.
func (contract) Silent(t *testing.T, b bundle) {
	r := b.begun(t, "0r1")
	gone := store.Gone{Run: r.ID, Reason: "not heard of", Silent: true}
	closed := func(want bool) {
		t.Helper()
		left := must.Get(b.Abandon(t.Context(), gone))(t)
		same(t, "closed", left, want)
	}
	b.clock.Advance(time.Hour + 29*time.Second) // of which an hour was its lease
	closed(false)
	must.Get(b.Renew(t.Context(), store.Hold{Key: r.Key, Holder: r.ID.Holder(), Epoch: r.Epoch, Kept: true}, time.Hour))(t)
	b.clock.Advance(time.Minute)
	closed(false)
	same(t, "it is open", b.mustRun(t, r.ID).EndedAt.IsZero(), true)
	b.mustTake(t, store.TakeRequest{Key: "beside", Holder: r.ID.Holder(), TTL: 72 * time.Hour}, fleet.Granted) // its agent's own, which says nothing
	b.clock.Advance(time.Hour)
	closed(true)
	closed(false)
	planned := fleet.Run{ID: "0r2", Category: "code", Source: fleet.FromSelected, CreatedAt: b.clock.Now(), Limit: time.Hour}
	must.Do(t, b.AddRun(t.Context(), planned))
	gone.Run = planned.ID
	b.clock.Advance(time.Hour - time.Second) // its unit may be there, and its worker about to begin
	closed(false)
	same(t, "limit", b.mustRun(t, planned.ID).Limit, time.Hour)
	b.clock.Advance(time.Second)
	closed(true)
}
