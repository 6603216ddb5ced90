package storetest

import (
	"fmt"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// Limit has an agent that says when it can work again.
func (contract) Limit(t *testing.T, b bundle) {
	r := b.works(t, "0r1", "claude")
	until := Start().Add(5 * time.Hour)
	r.QuotaUntil = until
	b.ends(t, r, fleet.Quota, "5-hour limit reached")
	same(t, "stored", b.mustRun(t, "0r1").QuotaUntil, until)
	want := fleet.AgentState{Agent: "claude", Until: until, Since: Start(), Reason: "usage limit: 5-hour limit reached", Limits: 1}
	same(t, "agent", b.claude(t), want)

	next := b.asks(t, "0r2", "claude")
	b.mustRefuse(t, next, "agent claude: usage limit: 5-hour limit reached (until 2026-06-26T17:00:00Z)")
	b.works(t, "0r3", "codex")
	b.clock.Advance(5*time.Hour - time.Millisecond)
	b.mustRefuse(t, next, "usage limit")
	b.clock.Advance(time.Millisecond)
	b.mustTakeForRun(t, next, fleet.Granted)
	b.ends(t, b.mustRun(t, "0r2"), fleet.Noop, "")
	same(t, "agent that works again", b.claude(t), fleet.AgentState{Agent: "claude"})
	same(t, "no failure of the task", fleet.WaitingTasks(b.mustSnapshot(t).Tasks), []fleet.Waiting{})
}

// LimitAfterWork has a session do its work, and then meet a limit.
func (contract) LimitAfterWork(t *testing.T, b bundle) {
	r := graded(b.works(t, "0r1", "claude"), 0.5)
	r.QuotaUntil = Start().Add(time.Hour)
	must.Do(t, b.Complete(t.Context(), r))
	b.mustRefuse(t, b.asks(t, "0r2", "claude"), "(until 2026-06-26T13:00:00Z)")
	same(t, "graded all the same", b.arm(t, "code").Graded, 1)
}

// LimitBackoff has an agent that never says when.
func (contract) LimitBackoff(t *testing.T, b bundle) {
	for i, minutes := range []int{15, 30, 60, 120, 240, 360, 360} {
		r := b.works(t, fleet.RunID(fmt.Sprint("0r", i)), "claude")
		r.QuotaUntil = b.clock.Now().Add(-time.Hour) // over already: as good as nothing
		b.ends(t, r, fleet.Quota, "enough")
		rest := b.claude(t).Until.Sub(b.clock.Now())
		if least := time.Duration(minutes) * time.Minute; rest < least || rest > least+least/4 {
			t.Errorf("limit %d: rests for %v, want %d minutes and at most a quarter more", i+1, rest, minutes)
		}
		b.clock.Advance(rest)
	}
	b.ends(t, b.works(t, "0good", "claude"), fleet.Noop, "")
	b.ends(t, b.works(t, "0again", "claude"), fleet.Quota, "enough")
	if rest := b.claude(t).Until.Sub(b.clock.Now()); rest > 19*time.Minute {
		t.Errorf("after a good session: rests for %v, want 15 minutes again", rest)
	}
}

// LimitMetAtOnce has sessions under way when the first of them meets the limit.
func (contract) LimitMetAtOnce(t *testing.T, b bundle) {
	first, second, good := b.works(t, "0r1", "claude"), b.works(t, "0r2", "claude"), b.works(t, "0r3", "claude")
	var failing []fleet.Run
	for i := range fleet.FailuresToOpen {
		failing = append(failing, b.works(t, fleet.RunID(fmt.Sprint("0f", i)), "claude"))
	}
	first.QuotaUntil = Start().Add(5 * time.Hour)
	b.ends(t, first, fleet.Quota, "enough")
	want := b.claude(t)
	b.ends(t, second, fleet.Quota, "enough, too")
	same(t, "after a second", b.claude(t), want)
	b.ends(t, good, fleet.Noop, "")
	same(t, "after one that was under way went well", b.claude(t), want)
	for _, r := range failing {
		b.ends(t, r, fleet.Failed, "broken")
	}
	same(t, "until, after failures", b.claude(t).Until, want.Until)
}

// opened is an agent that failed as often as one may.
func (b bundle) opened(t *testing.T) {
	t.Helper()
	for i := range fleet.FailuresToOpen {
		b.ends(t, b.works(t, fleet.RunID(fmt.Sprint("0failed", i)), "claude"), fleet.Failed, "no login")
	}
}

func (contract) Breaker(t *testing.T, b bundle) {
	b.ends(t, b.works(t, "0early", "claude"), fleet.Failed, "broken")
	b.ends(t, b.works(t, "0good", "claude"), fleet.Noop, "") // in a row, or it does not count
	b.opened(t)
	next := b.asks(t, "0next", "claude")
	b.mustRefuse(t, next, "agent claude: it failed 5 times in a row in category code, last: no login (until 2026-06-26T12:30:00Z)")
	b.works(t, "0other", "codex")
	b.clock.Advance(30 * time.Minute)
	same(t, "probes", b.race(t, 10, func(*storekit.RunTake) {}), 1)
	probe := b.claude(t).Probe
	b.mustRefuse(t, next, fmt.Sprintf("it failed 5 times in a row, and run %s tries it", probe))

	b.ends(t, b.mustRun(t, probe), fleet.Timeout, "hung") // opens it again
	b.mustRefuse(t, next, "it failed 6 times in a row in category code, last: hung (until 2026-06-26T13:00:00Z)")
	b.clock.Advance(30 * time.Minute)
	b.mustTakeForRun(t, next, fleet.Granted)
	b.mustRefuse(t, b.asks(t, "0beside", "claude"), "and run 0next tries it")
	b.ends(t, b.mustRun(t, "0next"), fleet.Noop, "")
	same(t, "closed", b.claude(t), fleet.AgentState{Agent: "claude"})
	b.works(t, "0one", "claude")
	b.works(t, "0two", "claude")
}

// HardCategory has an agent fail as often as one may in one category: it works on in another, and that it works
// there ends its rest. A failure there makes it rest everywhere.
func (contract) HardCategory(t *testing.T, b bundle) {
	docs := func(id fleet.RunID) storekit.RunTake {
		r := plannedRun(id)
		r.Category = "docs"
		must.Do(t, b.AddRun(t.Context(), r))
		take := takeFor(id, fleet.TaskID("task of "+id))
		take.Agent = "claude"
		return take
	}
	b.opened(t)
	b.mustRefuse(t, b.asks(t, "0code", "claude"), "in category code")
	b.mustTakeForRun(t, docs("0docs1"), fleet.Granted)
	b.ends(t, b.mustRun(t, "0docs1"), fleet.Failed, "no login")
	b.mustRefuse(t, docs("0docs2"), "it failed 6 times in a row, last: no login")
	b.mustRefuse(t, b.asks(t, "0code2", "claude"), "it failed 6 times in a row, last: no login")

	b.clock.Advance(30 * time.Minute)
	b.mustTakeForRun(t, docs("0probe"), fleet.Granted)
	b.ends(t, b.mustRun(t, "0probe"), fleet.Noop, "")
	for i := range fleet.FailuresToOpen {
		b.ends(t, b.works(t, fleet.RunID(fmt.Sprint("0hard", i)), "claude"), fleet.Failed, "too hard")
	}
	limited := docs("0docs3")
	b.mustTakeForRun(t, limited, fleet.Granted)
	r := b.mustRun(t, "0docs3")
	r.QuotaUntil = b.clock.Now().Add(10 * time.Minute)
	b.ends(t, r, fleet.Quota, "enough")
	b.mustRefuse(t, docs("0docs4"), "usage limit: enough") // a shorter rest, and one of every category
	b.clock.Advance(11 * time.Minute)
	b.mustTakeForRun(t, docs("0docs5"), fleet.Granted)
	b.ends(t, b.mustRun(t, "0docs5"), fleet.Noop, "")
	b.works(t, "0again", "claude")
}

// failsAt ends a session that failed at a task, graded 0.
func (b bundle) failsAt(t *testing.T, task fleet.TaskID, r fleet.Run) {
	t.Helper()
	r.Task, r.Verdict = task, fleet.Verdict{Outcome: fleet.Failed, Reason: "exit 1", Grade: new(float64)}
	r.Left.Worked = true
	must.Do(t, b.Complete(t.Context(), r))
}

// BlameOfFailures has an agent fail in a row: what it failed at counts once it works
// again, and never if it fails so often that it rests.
func (contract) BlameOfFailures(t *testing.T, b bundle) {
	works := func(id fleet.RunID) fleet.Run {
		r := b.asks(t, id, "claude")
		r.Task = fleet.TaskID(r.Key)
		b.mustTakeForRun(t, r, fleet.Granted)
		return b.mustRun(t, id)
	}
	believed := func() (int, float64) {
		arm := b.mustSnapshot(t).Arms["code"]
		return arm.Graded, arm.Fast.S
	}
	b.ends(t, works("0calm"), fleet.Productive, "")
	calm := b.mustSnapshot(t)

	var failed []fleet.Run
	for i := range fleet.FailuresToOpen {
		r := works(fleet.RunID(fmt.Sprint("0f", i)))
		failed = append(failed, r)
		if b.failsAt(t, r.Task, r); i == fleet.FailuresToOpen-1 {
			break
		}
		same(t, "held", b.mustRun(t, r.ID).Deferred, true)
		same(t, "attempts at its task, at once", b.memoryOf(t, r.Task).Failures, 1)
	}
	after := b.mustSnapshot(t)
	same(t, "tasks", after.Tasks, calm.Tasks)
	for _, r := range failed {
		got := b.mustRun(t, r.ID)
		same(t, "the agent's own", got.Verdict, fleet.Verdict{Outcome: fleet.Failed, Reason: "exit 1", Fault: fleet.FaultAgent})
		same(t, "held", got.Deferred, false)
	}
	graded, _ := believed()
	same(t, "grades", graded, calm.Arms["code"].Graded)

	// A probe that fails is the agent's, too.
	b.clock.Advance(30 * time.Minute)
	probe := works("0probe1")
	b.failsAt(t, probe.Task, probe)
	same(t, "the probe has no grade", b.mustRun(t, probe.ID).Verdict.Grade == nil, true)
	same(t, "tasks after the probe", b.mustSnapshot(t).Tasks, calm.Tasks)

	// Once it works, failures count as soon as it works again: with another category.
	b.clock.Advance(30 * time.Minute)
	b.ends(t, works("0probe2"), fleet.Noop, "")
	for _, id := range []fleet.RunID{"0g1", "0g2"} {
		r := works(id)
		b.failsAt(t, r.Task, r)
	}
	graded, _ = believed()
	same(t, "grades while they are held", graded, calm.Arms["code"].Graded)
	b.ends(t, works("0g3"), fleet.Noop, "")
	graded, sum := believed()
	same(t, "grades once it works", graded, calm.Arms["code"].Graded+2)
	same(t, "their sum", sum, calm.Arms["code"].Fast.S)
	same(t, "held", b.mustRun(t, "0g1").Deferred, false)
}

// memoryOf returns the record of a task.
func (b bundle) memoryOf(t *testing.T, id fleet.TaskID) fleet.TaskMemory {
	t.Helper()
	for _, m := range b.mustSnapshot(t).Tasks {
		if m.Task == id {
			return m
		}
	}
	return fleet.TaskMemory{}
}

// ProbeWithoutAnswer has probes that say nothing of their agent: another follows.
func (contract) ProbeWithoutAnswer(t *testing.T, b bundle) {
	b.opened(t)
	b.clock.Advance(30 * time.Minute)
	ends := map[fleet.RunID]func(fleet.Run){
		"0killed": func(r fleet.Run) {
			must.Get(b.Abandon(t.Context(), store.Gone{Run: r.ID, Reason: "found dead"}))(t)
		},
		"0cancelled": func(r fleet.Run) { b.ends(t, r, fleet.Cancelled, "stopped") },
		"0lost":      func(r fleet.Run) { r.Verdict.Outcome = fleet.Lost; must.Do(t, b.Complete(t.Context(), r)) },
	}
	for id, end := range ends {
		probe := b.works(t, id, "claude")
		b.mustRefuse(t, b.asks(t, id+"beside", "claude"), "tries it")
		end(probe)
	}
	b.works(t, "0last", "claude")
}

// ProbeAlone has a session that began before the breaker opened end beside a probe.
func (contract) ProbeAlone(t *testing.T, b bundle) {
	old := b.works(t, "0old", "claude")
	b.opened(t)
	b.clock.Advance(30 * time.Minute)
	b.works(t, "0probe", "claude")
	b.ends(t, old, fleet.Failed, "no login")
	b.clock.Advance(30 * time.Minute)
	b.mustRefuse(t, b.asks(t, "0beside", "claude"), "run 0probe tries it")
}

// ResumeAgents has a person free the agents, which resuming one category does not.
func (contract) ResumeAgents(t *testing.T, b bundle) {
	b.opened(t)
	take := b.asks(t, "0next", "claude")
	b.mustRefuse(t, take, "failed")
	ended := must.Get(b.Resume(t.Context(), "code"))(t)
	same(t, "ended with a category", len(ended), 0)
	b.mustRefuse(t, take, "failed")
	ended = must.Get(b.Resume(t.Context(), ""))(t)
	same(t, "ended with the fleet", len(ended) > 0, true)
	b.mustTakeForRun(t, take, fleet.Granted)
}

// ProbeOfService has a session that began before its service failed end beside the one
// that tries the agent since.
func (contract) ProbeOfService(t *testing.T, b bundle) {
	take := b.asks(t, "0old", "claude")
	take.TTL = 24 * time.Hour
	b.mustTakeForRun(t, take, fleet.Granted)
	old := b.mustRun(t, "0old")
	b.meets(t, b.works(t, "0first", "claude"), fleet.FaultLogin, "login expired")
	b.clock.Advance(2 * time.Hour)
	b.works(t, "0probe", "claude")
	b.ends(t, old, fleet.Timeout, "hung")
	b.mustRefuse(t, b.asks(t, "0beside", "claude"), "login expired (run 0probe tries it)")
	b.ends(t, b.mustRun(t, "0probe"), fleet.Failed, "it does not build")
	b.works(t, "0both", "claude")
}
