package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// leave ends a session at a task that leaves something of it.
func (b bundle) leave(t *testing.T, id fleet.RunID, task fleet.TaskID, outcome fleet.Outcome, left fleet.TaskLeft) {
	t.Helper()
	must.Do(t, b.AddRun(t.Context(), plannedRun(id)))
	take := takeFor(id, task)
	for _, m := range b.mustSnapshot(t).Tasks {
		if m.Task == task {
			take.Memory = m
		}
	}
	b.mustTakeForRun(t, take, fleet.Granted)
	r := b.mustRun(t, id)
	r.Verdict, r.Left = fleet.Verdict{Outcome: outcome, Reason: "because of " + string(id)}, left
	must.Do(t, b.Complete(t.Context(), r))
}

// TaskLeftMeanwhile has a run that looked before another one finished the task: it is
// refused, with nothing left behind, and may take the task as it is now.
func (contract) TaskLeftMeanwhile(t *testing.T, b bundle) {
	late := takeFor("0late", "fix")
	must.Do(t, b.AddRun(t.Context(), plannedRun("0late")))
	b.leave(t, "0r1", "fix", fleet.Productive, fleet.TaskLeft{State: "done", Seen: "a", Worked: true, Changed: true})
	_, _, err := storekit.TakeForRun(t.Context(), b, late)
	var refused fleet.RefusedError
	if !errors.As(err, &refused) || refused.Outcome != fleet.RunDenied {
		t.Fatalf("got %v, want a refusal that ends denied", err)
	}
	claim, _, err := b.Check(t.Context(), late.Key)
	must.Do(t, err)
	same(t, "epoch", claim.Epoch, fleet.Epoch(1))
	same(t, "run", b.mustRun(t, "0late").Key, fleet.Key(""))
	late.Memory = b.mustSnapshot(t).Tasks[0]
	b.mustTakeForRun(t, late, fleet.Granted)
}

// TaskLeft counts the sessions that change nothing of a task, and remembers the state
// that one leaves it in together with its end.
func (contract) TaskLeft(t *testing.T, b bundle) {
	same(t, "nothing yet", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{})
	idle := fleet.TaskLeft{State: "todo", Seen: "a", Worked: true}
	b.leave(t, "0r1", "fix", fleet.Noop, idle)
	b.clock.Advance(time.Minute)
	b.leave(t, "0r2", "fix", fleet.Nothing, idle)
	stored := fleet.TaskLeft{State: "todo", Seen: "a"}
	want := fleet.TaskMemory{TaskLeft: stored, Task: "fix", Run: "0r1", Since: b.clock.Now(), Sessions: 2, Fruitless: 2, Taken: 2, Rests: 4, Reason: "because of 0r2"}
	same(t, "two in vain", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{want})

	b.leave(t, "0r3", "fix", fleet.Cancelled, fleet.TaskLeft{State: "todo", Seen: "a"})
	same(t, "one that was not at work", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{want})
	b.leave(t, "0r4", "fix", fleet.Lost, fleet.TaskLeft{State: "done", Worked: true, Changed: true})
	same(t, "one that lost its claim", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{want})

	b.leave(t, "0r5", "fix", fleet.Productive, fleet.TaskLeft{State: "done", Seen: "a", Owed: fleet.CallDone, Worked: true, Changed: true})
	want = fleet.TaskMemory{
		TaskLeft: fleet.TaskLeft{State: "done", Seen: "a", Owed: fleet.CallDone},
		Task:     "fix", Run: "0r5", Since: b.clock.Now(), Taken: 3, Reason: "because of 0r2",
	}
	same(t, "one that closed it", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{want})

	// A sight of an earlier state changes nothing.
	stale := want
	stale.Run = "0r1"
	must.Do(t, b.SeeTasks(t.Context(), []store.TaskSight{{TaskMemory: stale, Was: "a", Forget: true}, {TaskMemory: want, Was: "b", Forget: true}}))
	same(t, "after stale looks", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{want})
	paid := want
	paid.Seen = "b"
	must.Do(t, b.SeeTasks(t.Context(), []store.TaskSight{{TaskMemory: paid, Was: "a"}}))
	paid.Owed = ""
	same(t, "paid", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{paid})
	must.Do(t, b.SeeTasks(t.Context(), []store.TaskSight{{TaskMemory: paid, Was: "b", Forget: true}}))
	bare := fleet.TaskMemory{Task: "fix", Since: paid.Since, Taken: 3}
	same(t, "changed", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{bare})
	b.leave(t, "0r6", "fix", fleet.Quota, fleet.TaskLeft{State: "todo", Seen: "c"})
	same(t, "after a session that did not come to work", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{bare})
	must.Do(t, b.SeeTasks(t.Context(), []store.TaskSight{{TaskMemory: bare, Forget: true, Over: true}}))
	same(t, "over", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{})
}

// TaskOwed has a task's tracker owed a word from before its session is at work, and a
// person close it.
func (contract) TaskOwed(t *testing.T, b bundle) {
	b.leave(t, "0r1", "item", fleet.Noop, fleet.TaskLeft{State: "todo", Source: "gh", Item: "7", Seen: "a", Worked: true})
	begun := fleet.TaskMemory{Task: "item", Run: "0r2", TaskLeft: fleet.TaskLeft{State: "todo", Source: "gh", Item: "7", Owed: fleet.CallRelease}}
	_, claim, err := b.Take(t.Context(), store.TakeRequest{Key: "item", Holder: "run:0r2", TTL: time.Hour})
	must.Do(t, err)
	hold := store.Hold{Key: "item", Holder: "run:0r2", Epoch: claim.Epoch}
	must.Do(t, b.LeaveTask(t.Context(), hold, begun))
	begun.Since, begun.Sessions, begun.Fruitless, begun.Taken, begun.Rests, begun.Reason = b.clock.Now(), 1, 1, 1, 2, "because of 0r1"
	same(t, "begun", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{begun})

	closed := fleet.TaskMemory{Task: "item", TaskLeft: fleet.TaskLeft{State: "done", Source: "gh", Item: "7", Owed: fleet.CallDone, Changed: true}}
	for _, stale := range []store.Hold{{Key: "item", Holder: bob, Epoch: hold.Epoch}, {Key: "item", Holder: hold.Holder, Epoch: hold.Epoch - 1}, {}} {
		if err := b.LeaveTask(t.Context(), stale, closed); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("by %+v: got %v, want it lost", stale, err)
		}
	}
	same(t, "after writes without the claim", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{begun})
	must.Do(t, b.LeaveTask(t.Context(), hold, closed))
	closed.Since, closed.Changed = b.clock.Now(), false
	same(t, "closed by hand", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{closed})
	found := must.Get(b.Retry(t.Context(), "item"))(t)
	same(t, "found by a retry", found, true)
	// The tracker has the item as begun: it is still to be released.
	open := fleet.TaskMemory{Task: "item", Since: closed.Since, TaskLeft: fleet.TaskLeft{Source: "gh", Item: "7", Owed: fleet.CallRelease}}
	same(t, "after it", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{open})

	broken := store.TaskSight{TaskMemory: open, Owing: true}
	broken.Trouble = "no answer"
	must.Do(t, b.SeeTasks(t.Context(), []store.TaskSight{broken}))
	same(t, "told in vain", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{broken.TaskMemory})
	must.Do(t, b.SeeTasks(t.Context(), []store.TaskSight{{TaskMemory: open}}))
	open.Owed = ""
	same(t, "told", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{open})
	must.Get(b.Retry(t.Context(), "item"))(t)
	same(t, "after another retry", b.mustSnapshot(t).Tasks, []fleet.TaskMemory{})
}

// TaskRests has tasks rest by the rounds of their category, one after another, and what
// ends that.
func (contract) TaskRests(t *testing.T, b bundle) {
	rests := func(what string, want ...fleet.Round) {
		t.Helper()
		var got []fleet.Round
		for _, m := range b.mustSnapshot(t).Tasks {
			got = append(got, m.Rests)
		}
		same(t, what, got, want)
	}
	open := fleet.TaskLeft{State: "active", Seen: "a", Worked: true}
	b.leave(t, "0r1", "a", fleet.Noop, open)
	same(t, "one task", b.arm(t, "code").Backoff, rank.Backoff{NoopsEver: 1, VainAt: "a"})
	b.mustFire(t, nil)
	b.leave(t, "0r2", "a", fleet.Nothing, open)
	rests("twice", 1+4)
	b.leave(t, "0r3", "b", fleet.Noop, open)
	rests("another", 1+4, 1+2)
	same(t, "two tasks", b.arm(t, "code").AsleepUntil, fleet.Round(1+2))
	b.mustResume(t, "docs", false)
	b.mustResume(t, "code", true)
	rests("resumed", 0, 0)
	same(t, "resumed", b.arm(t, "code").Backoff, rank.Backoff{NoopsEver: 3})
	b.leave(t, "0r4", "a", fleet.Noop, open)
	rests("three times", 1+8, 0)
	b.leave(t, "0r5", "a", fleet.Productive, open)
	rests("worked on", 0, 0)
	b.leave(t, "0r6", "b", fleet.Noop, open)
	b.leave(t, "0r7", "a", fleet.Noop, open)
	asleep := b.arm(t, "code").Backoff
	for _, step := range []struct {
		task fleet.TaskID
		want rank.Backoff
	}{{"b", asleep}, {"a", rank.Backoff{NoopsEver: asleep.NoopsEver}}} { // the back-off is of the last
		found := must.Get(b.Retry(t.Context(), step.task))(t)
		same(t, "found by a retry", found, true)
		same(t, "back-off after a retry", b.arm(t, "code").Backoff, step.want)
	}
	rests("tried again")
}

// attempt has a session try a task.
func (b bundle) attempt(t *testing.T, id fleet.RunID, task fleet.TaskID, outcome fleet.Outcome) {
	t.Helper()
	r := plannedRun(id)
	r.Agent = "agent of " + string(id) // that none is stopped
	must.Do(t, b.AddRun(t.Context(), r))
	b.mustTakeForRun(t, takeFor(id, task), fleet.Granted)
	r = b.mustRun(t, id)
	r.Verdict = fleet.Verdict{Outcome: outcome, Reason: "because of " + string(id)}
	if outcome == fleet.Failed || outcome == fleet.Timeout {
		r.Verdict.Grade = value(0.0)
	}
	must.Do(t, b.Complete(t.Context(), r))
}

func (contract) Waiting(t *testing.T, b bundle) {
	outcomes := []fleet.Outcome{
		fleet.Failed, fleet.Timeout, fleet.Productive, // forgets
		fleet.Failed, fleet.Noop, fleet.Quota, fleet.Cancelled, fleet.Timeout, // two, by their task's fault
	}
	for i, outcome := range outcomes {
		b.attempt(t, fleet.RunID(fmt.Sprint("0r", i)), "fix", outcome)
	}
	b.attempt(t, "0other", "other", fleet.Failed)
	b.ends(t, b.works(t, "0unable", "another"), fleet.Failed, "no program") // no word of the task
	same(t, "after two failures", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})
	b.clock.Advance(time.Minute)
	b.attempt(t, "0last", "fix", fleet.Failed)
	want := []fleet.Waiting{{Task: "fix", Failures: 3, Since: b.clock.Now(), Reason: "because of 0last"}}
	same(t, "after three", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), want)

	for _, step := range []struct {
		task fleet.TaskID
		want bool
	}{{"fix", true}, {"fix", false}, {"none", false}} {
		found := must.Get(b.Retry(t.Context(), step.task))(t)
		same(t, "retry "+string(step.task), found, step.want)
	}
	same(t, "after the retry", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})
	b.attempt(t, "0anew", "fix", fleet.Failed)
	same(t, "counted anew", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})

	for i := range fleet.FailuresToWait { // the death of every worker
		id := fleet.RunID(fmt.Sprint("0killed", i))
		must.Do(t, b.AddRun(t.Context(), plannedRun(id)))
		b.mustTakeForRun(t, takeFor(id, "deadly"), fleet.Granted)
		for range 2 { // the second to find it finds nothing
			must.Get(b.Abandon(t.Context(), store.Gone{Run: id, Reason: "found dead"}))(t)
		}
		same(t, "killed "+fmt.Sprint(i+1), len(fleet.WaitingTasks(b.mustSnapshot(t).Tasks)) > 0, i+1 == fleet.FailuresToWait)
	}
}
