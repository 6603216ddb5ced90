package storetest

import (
	"fmt"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// meets ends a run whose agent met a fault.
func (b bundle) meets(t *testing.T, r fleet.Run, kind fleet.FaultKind, reason string) {
	t.Helper()
	r.Verdict = fleet.Verdict{Outcome: fleet.Unavailable, Fault: kind, Reason: reason}
	must.Do(t, b.Complete(t.Context(), r))
}

// Fault has an agent whose login expires: nothing is learnt, the task was not tried,
// and the agent rests until one session finds that somebody logged in.
func (contract) Fault(t *testing.T, b bundle) {
	must.Do(t, b.Complete(t.Context(), graded(b.works(t, "0before", "claude"), 0.8)))
	r := b.works(t, "0r1", "claude")
	before := b.arm(t, "code")
	b.meets(t, r, fleet.FaultLogin, "login expired")
	same(t, "what is believed of the category, and that it was debited", b.arm(t, "code"), before)
	stored := b.mustRun(t, "0r1").Verdict
	same(t, "in the row", stored.Fault, fleet.FaultLogin)
	if stored.Outcome != fleet.Unavailable || stored.Grade != nil {
		t.Errorf("got %s, grade %v", stored.Outcome, stored.Grade)
	}
	a := b.claude(t)
	rest := a.Until.Sub(Start())
	if rest < time.Hour || rest > 75*time.Minute {
		t.Errorf("rests for %v, want an hour and at most a quarter more", rest)
	}
	same(t, "agent", a, fleet.AgentState{Agent: "claude", Until: a.Until, Since: Start(), Reason: "login expired", Fault: fleet.FaultLogin, Faults: 1})
	next, beside := b.asks(t, "0r2", "claude"), b.asks(t, "0r3", "claude")
	b.mustRefuse(t, next, "agent claude: login expired (until ")
	same(t, "its outcome", b.refusal(t, next).Outcome, fleet.Unavailable)
	b.works(t, "0r4", "codex")

	b.clock.Advance(rest)
	b.mustTakeForRun(t, next, fleet.Granted)
	b.mustRefuse(t, beside, "agent claude: login expired (run 0r2 tries it)")
	same(t, "its outcome", b.refusal(t, beside).Outcome, fleet.Unavailable)
	b.meets(t, b.mustRun(t, "0r2"), fleet.FaultLogin, "login expired")
	if a := b.claude(t); a.Faults != 2 || a.Probe != "" || a.Until.Sub(b.clock.Now()) > 75*time.Minute {
		t.Errorf("after a try: got %+v", a)
	}
	b.clock.Advance(2 * time.Hour)
	b.mustTakeForRun(t, beside, fleet.Granted)
	b.ends(t, b.mustRun(t, "0r3"), fleet.Noop, "")
	same(t, "agent that works again", b.claude(t), fleet.AgentState{Agent: "claude"})
	for i := range fleet.FailuresToWait { // of one task, and it may still be tried
		take := takeFor(fleet.RunID(fmt.Sprint("0t", i)), "fix")
		take.Agent = "codex"
		must.Do(t, b.AddRun(t.Context(), plannedRun(take.Run)))
		b.mustTakeForRun(t, take, fleet.Granted)
		b.meets(t, b.mustRun(t, take.Run), fleet.FaultServer, "its service failed")
		b.clock.Advance(2 * time.Hour)
	}
	same(t, "no failure of the task", len(fleet.WaitingTasks(b.mustSnapshot(t).Tasks)), 0)
}

// FaultOfMachine has an agent's login expire on one of three machines, and then on a second.
func (contract) FaultOfMachine(t *testing.T, b bundle) {
	worksOn := func(host string, id fleet.RunID) fleet.Run {
		t.Helper()
		b.mustTakeForRun(t, b.asksOn(t, host, id, "claude"), fleet.Granted)
		return b.mustRun(t, id)
	}
	one, beside := worksOn("a", "0r1"), worksOn("a", "0r2")
	b.meets(t, one, fleet.FaultLogin, "login expired")
	b.meets(t, beside, fleet.FaultLogin, "login expired")
	a := b.claude(t)
	same(t, "machine", a.Host, "a")
	there := b.asksOn(t, "a", "0there", "claude")
	b.mustRefuse(t, there, "agent claude: login expired (until ")
	b.ends(t, worksOn("b", "0r4"), fleet.Productive, "") // it says nothing of a's login
	same(t, "agent after work elsewhere", b.claude(t), a)

	// Once it has rested, one session tries there, and elsewhere they go on.
	b.clock.Advance(2 * time.Hour)
	b.mustTakeForRun(t, there, fleet.Granted)
	again := b.asksOn(t, "a", "0again", "claude")
	b.mustRefuse(t, again, "agent claude: login expired (run 0there tries it)")
	b.ends(t, worksOn("b", "0r5"), fleet.Productive, "")
	b.meets(t, b.mustRun(t, "0there"), fleet.FaultLogin, "login expired")
	b.ends(t, worksOn("b", "0r6"), fleet.Productive, "")

	// A second machine's login fails as well: it is the account, and nobody works.
	b.meets(t, worksOn("b", "0r3"), fleet.FaultForbidden, "it may not")
	same(t, "machine of two", b.claude(t).Host, "")
	b.mustRefuse(t, b.asksOn(t, "c", "0r7", "claude"), "agent claude: it may not (until ")
	b.clock.Advance(2 * time.Hour)
	b.mustTakeForRun(t, again, fleet.Granted)
	b.ends(t, b.mustRun(t, "0again"), fleet.Productive, "")
	same(t, "agent that works again", b.claude(t), fleet.AgentState{Agent: "claude"})

	// A usage limit is the account's, whatever rests.
	b.meets(t, worksOn("a", "0r8"), fleet.FaultLogin, "login expired")
	b.ends(t, worksOn("b", "0r9"), fleet.Quota, "five hours")
	same(t, "machine of a limit", b.claude(t).Host, "")
	b.mustRefuse(t, b.asksOn(t, "b", "0r10", "claude"), "agent claude: ")
}

// FaultBackoff has a service that does not come back, and then does.
func (contract) FaultBackoff(t *testing.T, b bundle) {
	for i, minutes := range []int{2, 4, 8, 16, 32, 60, 60} {
		b.meets(t, b.works(t, fleet.RunID(fmt.Sprint("0r", i)), "claude"), fleet.FaultConnection, "service not reached")
		rest := b.claude(t).Until.Sub(b.clock.Now())
		if least := time.Duration(minutes) * time.Minute; rest < least || rest > least+least/4 {
			t.Errorf("fault %d: rests for %v, want %d minutes and at most a quarter more", i+1, rest, minutes)
		}
		b.clock.Advance(rest)
	}
	b.ends(t, b.works(t, "0good", "claude"), fleet.Failed, "it does not build") // its service works
	same(t, "after an answer", b.claude(t), fleet.AgentState{Agent: "claude", Failures: 1, Category: "code"})

	b.meets(t, b.works(t, "0last", "claude"), fleet.FaultModel, "no such model")
	found := must.Get(b.Resume(t.Context(), ""))(t)
	same(t, "resumed", found, []string{"the rest of agent claude"})
	same(t, "after that", b.claude(t), fleet.AgentState{Agent: "claude"})
}

// FaultOfTask has tasks that are too long or refused: the task was tried, and neither
// category nor agent is to blame.
func (contract) FaultOfTask(t *testing.T, b bundle) {
	before := b.arm(t, "code").Arm
	for i := range fleet.FailuresToWait {
		take := takeFor(fleet.RunID(fmt.Sprint("0r", i)), "long")
		take.Agent = "claude"
		must.Do(t, b.AddRun(t.Context(), plannedRun(take.Run)))
		b.mustTakeForRun(t, take, fleet.Granted)
		r := b.mustRun(t, take.Run)
		r.Verdict = fleet.Verdict{Outcome: fleet.Failed, Fault: fleet.FaultContext, Reason: "too long"}
		must.Do(t, b.Complete(t.Context(), r))
	}
	same(t, "grades", b.arm(t, "code").Graded, before.Graded)
	same(t, "agent", b.claude(t), fleet.AgentState{Agent: "claude"})
	list := fleet.WaitingTasks(b.mustSnapshot(t).Tasks)
	if len(list) != 1 || list[0].Task != "long" || list[0].Reason != "too long" {
		t.Errorf("got %+v, want that the task waits for a person", list)
	}
}

// FaultMetAtOnce has sessions under way when the first of them meets the fault.
func (contract) FaultMetAtOnce(t *testing.T, b bundle) {
	first, second, good := b.works(t, "0r1", "claude"), b.works(t, "0r2", "claude"), b.works(t, "0r3", "claude")
	b.meets(t, first, fleet.FaultServer, "its service failed")
	b.meets(t, second, fleet.FaultServer, "its service failed")
	want := b.claude(t)
	same(t, "faults", want.Faults, 1)
	b.ends(t, good, fleet.Noop, "")
	same(t, "after one that was under way went well", b.claude(t), want)
}
