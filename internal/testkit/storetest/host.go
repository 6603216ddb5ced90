package storetest

import (
	"fmt"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// fireOf has a machine fire, and start a run there if it is given one.
func (b bundle) fireOf(t *testing.T, h fleet.Host, runs ...fleet.RunID) error {
	t.Helper()
	f := store.Firing{Host: h}
	for _, id := range runs {
		r := plannedRun(id)
		r.Location = fleet.Location{Host: h.ID, Boot: h.Boot}
		f.Runs = append(f.Runs, r)
	}
	_, err := b.RecordFire(t.Context(), f)
	return err
}

func (contract) Hosts(t *testing.T, b bundle) {
	one := fleet.Host{
		ID: "a", Name: "one", Machine: "m", Boot: "1", Version: "v1", Arch: "arm64", Workspace: "/w", Slots: 3, Labels: []string{"big", "gpu"}, Config: "d1gest",
		HeardAt: time.Unix(1, 0), GoneAt: time.Unix(1, 0), Reason: "what it says of these counts for nothing",
	}
	two := fleet.Host{ID: "b", Name: "two", Boot: "1"}
	must.Do(t, b.fireOf(t, two))
	b.clock.Advance(time.Minute)
	must.Do(t, b.fireOf(t, one))
	want := func(of ...fleet.Host) {
		t.Helper()
		same(t, "hosts", b.mustSnapshot(t).Hosts, of)
		list, at, err := b.Hosts(t.Context())
		must.Do(t, err)
		same(t, "hosts, asked for alone", list, of)
		same(t, "when", at, b.clock.Now())
	}
	one.FiredAt, one.HeardAt, one.GoneAt, one.Reason = Start().Add(time.Minute), Start().Add(time.Minute), time.Time{}, ""
	two.FiredAt, two.HeardAt = Start(), Start()
	want(one, two)

	// One of the same name, until the other is gone.
	b.clock.Advance(time.Minute)
	other := fleet.Host{ID: "c", Name: "one"}
	mustBe(t, b.fireOf(t, other), fleet.ErrUsage)
	want(one, two)
	must.Get(b.HostGone(t.Context(), "a", "burnt"))(t)
	must.Do(t, b.fireOf(t, other))
	mustBe(t, b.fireOf(t, one), fleet.ErrUsage)
	other.FiredAt, other.HeardAt, one.GoneAt, one.Reason = b.clock.Now(), b.clock.Now(), b.clock.Now(), "burnt"
	want(one, other, two)
	mustBe(t, b.ForgetHost(t.Context(), "c"), fleet.ErrUsage)
	must.Do(t, b.ForgetHost(t.Context(), "a"))
	want(other, two)

	// It was started again: a process of before is a copy's.
	two.Boot = "2"
	must.Do(t, b.fireOf(t, two))
	two.Boot = "1"
	mustBe(t, b.fireOf(t, two), fleet.ErrUsage)
	stale := plannedRun("0r9")
	stale.Location = fleet.Location{Host: "b", Boot: "1"}
	mustBe(t, b.AddRun(t.Context(), stale), fleet.ErrUsage)
	stale.Boot = "2"
	must.Do(t, b.AddRun(t.Context(), stale))
	gone := store.Gone{Run: "0r9", Reason: "of before", By: fleet.Location{Host: "b", Boot: "1"}}
	_, err := b.Abandon(t.Context(), gone)
	mustBe(t, err, fleet.ErrUsage)
	gone.By.Boot = "2"
	left := must.Get(b.Abandon(t.Context(), gone))(t)
	same(t, "left", left, true)
}

// RoundsOfHosts has a round pass as often as the quickest machine fires, whichever that is, and never by an extra fire.
func (contract) RoundsOfHosts(t *testing.T, b bundle) {
	due := map[fleet.Category]float64{"code": 0.5}
	for i, step := range []struct {
		host  string
		round fleet.Round // of the fire
		due   float64     // that waits to be settled after it
		next  fleet.Round // for the machine
		extra bool
	}{
		{"a", 1, 0.5, 2, false},
		{"b", 1, 1, 2, false}, // takes part
		{"b", 2, 0.5, 3, false},
		{"a", 2, 1, 2, true}, // and still takes part when its timer fires
		{"b", 2, 1.5, 3, true},
		{"a", 2, 2, 3, false},
		{"a", 3, 0.5, 4, false},
		{"a", 4, 0.5, 5, false}, // b is late
		{"b", 4, 1, 5, false},
		{"", 4, 1.5, 5, true},
		{"", 5, 0.5, 6, false}, // says nothing of itself
		{"a", 5, 1, 6, false},
	} {
		f := store.Firing{Host: fleet.Host{ID: step.host}, Fire: fleet.Fire{Due: due, Moves: []fleet.Category{"code"}}, Extra: step.extra}
		must.Get(b.RecordFire(t.Context(), f))(t)
		s := b.mustSnapshot(t)
		arm, what := s.Arms["code"], fmt.Sprintf("step %d", i+1)
		same(t, what+": round", arm.Round, step.round)
		same(t, what+": due", arm.Due, step.due)
		same(t, what+": fires", arm.Fires, i+1)
		same(t, what+": next round", s.Coming("code", step.host).Round, step.next)
	}
	same(t, "the next round of a machine that never fired", b.mustSnapshot(t).Coming("code", "c").Round, fleet.Round(5))
	b.addsUp(t)
}

func (contract) HostGone(t *testing.T, b bundle) {
	host := fleet.Host{ID: "a", Name: "one", Boot: "1"}
	must.Do(t, b.fireOf(t, host, "0r1", "0r2", "0r3"))
	must.Do(t, b.fireOf(t, fleet.Host{ID: "b", Name: "two"}, "0r4"))
	for _, id := range []fleet.RunID{"0r1", "0r2", "0r4"} {
		b.mustLane(t, id, "code", int(id[2]-'0'), fleet.Granted)
		b.mustTakeForRun(t, takeFor(id, fleet.TaskID("task of "+id)), fleet.Granted)
	}
	done := graded(b.mustRun(t, "0r1"), 0.5) // it has ended, and gave nothing back yet
	must.Do(t, b.Complete(t.Context(), done))

	b.clock.Advance(time.Minute)
	mustBe(t, b.ForgetHost(t.Context(), "a"), fleet.ErrUsage)
	ended := must.Get(b.HostGone(t.Context(), "a", "burnt"))(t)
	same(t, "ended", ended, []fleet.RunID{"0r2", "0r3"})
	there := must.Get(b.LastRuns(t.Context(), store.RunQuery{Host: "b", Limit: 9}))(t)
	same(t, "runs of the other", there, []fleet.Run{b.mustRun(t, "0r4")})
	same(t, "the end of what had ended", b.mustRun(t, "0r1").Verdict.Outcome, fleet.Productive)
	for _, id := range ended {
		same(t, "end", b.mustRun(t, id).Verdict, fleet.Verdict{Outcome: fleet.Abandoned, Reason: "its host is off: burnt"})
	}
	held := must.Get(b.List(t.Context(), store.Listing{}))(t)
	for _, c := range held.Claims {
		same(t, "holder of what is held", c.Holder, fleet.RunID("0r4").Holder())
	}
	same(t, "so many are held", len(held.Claims), 2)

	// A session that lives after all has lost.
	_, err := b.Renew(t.Context(), store.Hold{Key: "task of 0r2", Holder: fleet.RunID("0r2").Holder(), Epoch: 1, Kept: true}, time.Hour)
	mustBe(t, err, fleet.ErrLost)
	lost := graded(b.mustRun(t, "0r2"), 0.9)
	mustBe(t, b.Complete(t.Context(), lost), fleet.ErrLost)
	_, err = b.Begin(t.Context(), store.Begin{Run: "0r3", Category: "code", Lane: 3, TTL: time.Hour})
	mustBe(t, err, fleet.ErrLost)

	// It fires: it is back.
	must.Do(t, b.fireOf(t, host))
	same(t, "gone", b.mustSnapshot(t).Hosts[0].Gone(), false)
	_, err = b.HostGone(t.Context(), "x", "burnt")
	mustBe(t, err, fleet.ErrNotFound)
}

func (contract) Tail(t *testing.T, b bundle) {
	must.Do(t, b.fireOf(t, fleet.Host{ID: "a", Name: "one"}, "0r1", "0r2"))
	for _, id := range []fleet.RunID{"0r1", "0r2"} {
		b.mustTakeForRun(t, takeFor(id, fleet.TaskID("task of "+id)), fleet.Granted)
	}
	want := func(id fleet.RunID, text string, at time.Time) {
		t.Helper()
		got, read, err := b.Tail(t.Context(), id)
		must.Do(t, err)
		same(t, "tail", got, fleet.Tail{Run: id, At: at, Text: text})
		same(t, "when it was read", read, b.clock.Now())
	}
	none := func(id fleet.RunID) {
		t.Helper()
		_, _, err := b.Tail(t.Context(), id)
		mustBe(t, err, fleet.ErrNotFound)
	}
	none("0r1")
	hold := store.Hold{Key: "task of 0r1", Holder: fleet.RunID("0r1").Holder(), Epoch: 1, Kept: true, Tail: "line 1\nü\n"}
	b.clock.Advance(time.Minute)
	must.Get(b.Renew(t.Context(), hold, time.Hour))(t)
	told := b.clock.Now()
	want("0r1", "line 1\nü\n", told)
	none("0r2")
	hold.Tail = ""
	b.clock.Advance(time.Minute)
	must.Get(b.Renew(t.Context(), hold, time.Hour))(t)
	want("0r1", "line 1\nü\n", told)
	hold.Tail, hold.Epoch = "of one who lost the claim", 7
	_, err := b.Renew(t.Context(), hold, time.Hour)
	mustBe(t, err, fleet.ErrLost)
	want("0r1", "line 1\nü\n", told)

	done := graded(b.mustRun(t, "0r1"), 0.5)
	done.Tail = "line 2"
	must.Do(t, b.Complete(t.Context(), done))
	want("0r1", "line 2", b.clock.Now())
	must.Get(b.Abandon(t.Context(), store.Gone{Run: "0r2", Reason: "crashed", Tail: "line 3"}))(t)
	ended := b.clock.Now()
	want("0r2", "line 3", ended)

	// A fire deletes those that nobody needs any more.
	b.clock.Advance(14 * 24 * time.Hour)
	must.Do(t, b.fireOf(t, fleet.Host{ID: "a", Name: "one"}))
	want("0r2", "line 3", ended)
	b.clock.Advance(time.Second)
	must.Do(t, b.fireOf(t, fleet.Host{ID: "a", Name: "one"}))
	none("0r1")
	none("0r2")
}

// Overran has sessions end after their leases were over: found by who closes them, by who takes their
// claim, and by nobody but themselves.
func (contract) Overran(t *testing.T, b bundle) {
	ids := []fleet.RunID{"0r1", "0r2", "0r3", "0r4"}
	must.Do(t, b.fireOf(t, fleet.Host{ID: "a", Name: "one"}, ids...))
	for _, id := range ids {
		b.mustTakeForRun(t, takeFor(id, fleet.TaskID("task of "+id)), fleet.Granted)
	}
	over := b.mustRun(t, "0r1").StartedAt.Add(takeFor("0r1", "x").TTL)
	b.clock.Advance(over.Sub(b.clock.Now()) + time.Minute)
	none := func() {
		t.Helper()
		list := must.Get(b.Overran(t.Context(), time.Time{}))(t)
		same(t, "overran", len(list), 0)
	}
	left := must.Get(b.Abandon(t.Context(), store.Gone{Run: "0r1", Reason: "silent"}))(t)
	same(t, "left", left, true)
	take := store.TakeRequest{Key: "task of 0r2", Holder: bob, TTL: time.Hour, Known: store.Known{Holder: "run:0r2", Epoch: 1, Session: fleet.Gone}}
	b.mustTake(t, take, fleet.Granted)
	none()
	lost := func(id fleet.RunID, at time.Time) error {
		r := plannedRun(id)
		r.Key, r.Epoch, r.EndedAt, r.Verdict = fleet.TaskID("task of "+id).Key(), 1, at, fleet.Verdict{Outcome: fleet.Lost, Reason: "so"}
		return b.Complete(t.Context(), r)
	}
	mustBe(t, lost("0r1", over), fleet.ErrLost) // it has ended in time, and is closed
	must.Do(t, lost("0r4", over))
	none()
	for i, id := range ids[:3] {
		at := over.Add(time.Duration(10*(i+1)) * time.Second)
		for range 2 { // who never heard the answer
			must.Do(t, lost(id, at))
		}
		r := b.mustRun(t, id)
		same(t, "lease", r.LeaseOver, over)
		same(t, "end", r.OverranTo, at)
	}
	same(t, "what others said of its end", b.mustRun(t, "0r1").Verdict.Outcome, fleet.Abandoned)
	list := must.Get(b.Overran(t.Context(), over.Add(10*time.Second)))(t)
	same(t, "since then", []int{len(list)}, []int{2})
	same(t, "the first of them", list[0].ID, fleet.RunID("0r2"))
}

func (contract) AskToStop(t *testing.T, b bundle) {
	must.Do(t, b.fireOf(t, fleet.Host{ID: "a", Name: "one"}, "0r1"))
	b.mustTakeForRun(t, takeFor("0r1", "fix"), fleet.Granted)
	hold := store.Hold{Key: "fix", Holder: fleet.RunID("0r1").Holder(), Epoch: 1, Kept: true}
	hears := func(want string, heard time.Time) {
		t.Helper()
		kept := must.Get(b.Renew(t.Context(), hold, time.Hour))(t)
		same(t, "heard by the session", kept.Stop, want)
		same(t, "heard of the machine", b.mustSnapshot(t).Hosts[0].HeardAt, heard)
	}
	b.clock.Advance(time.Second)
	hears("", Start()) // it was heard of a moment ago
	b.clock.Advance(time.Minute)
	hears("", b.clock.Now())
	open := must.Get(b.AskToStop(t.Context(), "0r1", "enough"))(t)
	same(t, "open", open, true)
	hears("enough", b.clock.Now())
	same(t, "on record", b.mustRun(t, "0r1").Stop, "enough")
	must.Do(t, b.Complete(t.Context(), graded(b.mustRun(t, "0r1"), 0.5)))
	open = must.Get(b.AskToStop(t.Context(), "0r1", "enough"))(t)
	same(t, "open once it has ended", open, false)
}
