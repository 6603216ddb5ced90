package book_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
)

// noon is when sessions end in these tests.
var noon = time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)

// ended is a run that worked and ended so.
func ended(id fleet.RunID, outcome fleet.Outcome, change ...func(*fleet.Run)) fleet.Run {
	r := fleet.Run{ID: id, Category: "code", Key: "fix", Task: "fix", Agent: "claude", Verdict: fleet.Verdict{Outcome: outcome, Reason: "so"}}
	for _, c := range change {
		c(&r)
	}
	return r
}

func faulty(kind fleet.FaultKind) func(*fleet.Run) {
	return func(r *fleet.Run) { r.Verdict.Fault = kind }
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const counted, spared = "counted", "spared"
	later := noon.Add(time.Hour)
	rests := fleet.AgentState{Agent: "claude", Until: later, Since: noon, Reason: "usage limit: x", Limits: 1}
	tests := []struct {
		name  string
		agent fleet.AgentState
		run   fleet.Run
		want  fleet.AgentState
		held  string // what becomes of those before
		back  bool   // the run itself is held back
	}{
		{
			"a first failure",
			fleet.AgentState{},
			ended("0r", fleet.Failed),
			fleet.AgentState{Failures: 1, Category: "code"},
			"", true,
		},
		{
			"the failure that opens the breaker",
			fleet.AgentState{Failures: fleet.FailuresToOpen - 1},
			ended("0r", fleet.Timeout),
			fleet.AgentState{
				Failures: fleet.FailuresToOpen, Until: noon.Add(30 * time.Minute), Since: noon,
				Reason: "it failed 5 times in a row, last: so", Fault: fleet.FaultAgent,
			},
			spared, false,
		},
		{
			"a failure that the task is to blame for",
			fleet.AgentState{Failures: 2},
			ended("0r", fleet.Failed, faulty(fleet.FaultContext)),
			fleet.AgentState{Failures: 2},
			"", false,
		},
		{
			"work after failures",
			fleet.AgentState{Failures: 7, Probe: "0r", Until: noon, Reason: "x", Fault: fleet.FaultAgent},
			ended("0r", fleet.Noop),
			fleet.AgentState{},
			counted, false,
		},
		{
			"work of a session that began before the rest", rests, ended("0r", fleet.Productive),
			rests, counted, false,
		},
		{
			"work, and then a limit",
			fleet.AgentState{Agent: "claude"},
			ended("0r", fleet.Productive, func(r *fleet.Run) { r.QuotaUntil, r.Verdict.Reason = later, "x" }),
			rests, counted, false,
		},
		{
			"the same limit once more", rests, ended("0r", fleet.Quota, func(r *fleet.Run) { r.QuotaUntil = noon.Add(time.Minute) }),
			rests, "", false,
		},
		{
			"a failure of the probe of a service",
			fleet.AgentState{Faults: 2, Fault: fleet.FaultLogin, Reason: "x", Until: noon, Probe: "0r"},
			ended("0r", fleet.Failed),
			fleet.AgentState{Failures: 1, Category: "code"},
			"", true,
		},
		{
			"a failure beside the probe",
			fleet.AgentState{Faults: 2, Reason: "x", Probe: "0p"},
			ended("0r", fleet.Failed),
			fleet.AgentState{Failures: 1, Category: "code", Faults: 2, Reason: "x", Probe: "0p"},
			"", true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j, ok := book.Judge(tt.agent, tt.run, noon)
			if !ok {
				t.Fatal("it says nothing of the agent")
			}
			must.Equal(t, "agent", j.Agent, tt.want)
			if j.Works != (tt.held == counted) || j.Spares != (tt.held == spared) || j.Run.Deferred != tt.back {
				t.Errorf("works %t, spares %t, held back %t; want %q and %t", j.Works, j.Spares, j.Run.Deferred, tt.held, tt.back)
			}
			if own := j.Run.Verdict.Fault == fleet.FaultAgent; own != j.Spares {
				t.Errorf("fault %q, want the agent's: %t", j.Run.Verdict.Fault, j.Spares)
			}
		})
	}
}

// TestJudgeSaysNothing has ends that say nothing of the agent.
func TestJudgeSaysNothing(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]fleet.Run{
		"no claim":      {ID: "0r", Verdict: fleet.Verdict{Outcome: fleet.Failed}},
		"stint's fault": ended("0r", fleet.Failed, func(r *fleet.Run) { r.Verdict.Internal = true }),
		"cancelled":     ended("0r", fleet.Cancelled),
		"lost":          ended("0r", fleet.Lost),
		"abandoned":     ended("0r", fleet.Abandoned),
	} {
		if j, ok := book.Judge(fleet.AgentState{Failures: 3, Probe: "0r"}, r, noon); ok {
			t.Errorf("%s: got %+v", name, j)
		}
	}
}

// TestRestsDouble has an agent meet the same thing again and again: each rest is twice as long as
// the one before, and up to a quarter more, by the run that met it.
func TestRestsDouble(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		end     fleet.Run
		minutes []int
	}{
		{"usage limit", ended("", fleet.Quota), []int{15, 30, 60, 120, 240, 360, 360}},
		{"service", ended("", fleet.Unavailable, faulty(fleet.FaultServer)), []int{2, 4, 8, 16, 32, 60, 60}},
		{"login", ended("", fleet.Unavailable, faulty(fleet.FaultLogin)), []int{60, 60, 60}},
	} {
		var a fleet.AgentState
		now := noon
		for i, minutes := range tt.minutes {
			var after fleet.AgentState
			var rests []time.Duration
			for run := range 1000 {
				tt.end.ID = fleet.RunID(fmt.Sprint("0r", run))
				j, _ := book.Judge(a, tt.end, now)
				after, rests = j.Agent, append(rests, j.Agent.Until.Sub(now))
			}
			least, most := slices.Min(rests), slices.Max(rests)
			want := time.Duration(minutes) * time.Minute
			if least < want || least > want*101/100 || most > want*125/100 || most < want*124/100 {
				t.Errorf("%s %d: rests for %v to %v, want %v, and up to a quarter more", tt.name, i+1, least, most, want)
			}
			a, now = after, after.Until
		}
	}
}

// TestRests holds any order of ends against what a rest is: nothing but an agent that shows that
// it works after failures of its own ends it before its time, or, in one category, a rest in all; a time that the service named is
// waited for; after a fault one session tries.
func TestRests(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var (
			a       fleet.AgentState
			now     = noon
			named   time.Time // by the service
			working []fleet.RunID
			trying  []fleet.RunID
		)
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 2).Draw(rt, "step") {
			case 0:
				now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
			case 1:
				id := fleet.RunID(fmt.Sprint("0r", i))
				refused := len(book.Admission{State: a, Probing: slices.Contains(working, a.Probe), Now: now}.Refusals()) > 0
				may := !now.Before(a.Until) && (!a.Tried() || len(trying) == 0)
				switch {
				case refused == may:
					rt.Fatalf("refused: %t, may begin: %t; %+v at %v", refused, may, a, now)
				case refused:
					continue
				case now.Before(named):
					rt.Fatalf("began at %v, before the %v that the service named", now, named)
				case len(trying) > 0:
					rt.Fatalf("began beside %v, which tries the agent: %+v", trying, a)
				case a.Tried():
					a.Probe, trying = id, append(trying, id)
				}
				working = append(working, id)
			case 2:
				if len(working) == 0 {
					continue
				}
				r := ended(rapid.SampledFrom(working).Draw(rt, "run"), rapid.SampledFrom([]fleet.Outcome{
					fleet.Productive, fleet.Noop, fleet.Failed, fleet.Failed, fleet.Timeout, fleet.Quota, fleet.Unavailable, fleet.Cancelled,
				}).Draw(rt, "outcome"))
				switch o := r.Verdict.Outcome; {
				case o == fleet.Unavailable:
					r.Verdict.Fault = rapid.SampledFrom([]fleet.FaultKind{fleet.FaultLogin, fleet.FaultServer}).Draw(rt, "fault")
				case o == fleet.Failed:
					r.Verdict.Fault = rapid.SampledFrom([]fleet.FaultKind{"", fleet.FaultContext}).Draw(rt, "fault")
				case o == fleet.Quota || o == fleet.Productive:
					if hours := rapid.IntRange(0, 3).Draw(rt, "hours"); hours > 0 {
						r.QuotaUntil = now.Add(time.Duration(hours) * time.Hour)
						if r.QuotaUntil.After(named) {
							named = r.QuotaUntil
						}
					}
				}
				before := a
				if j, ok := book.Judge(a, r, now); ok {
					a = j.Agent
				}
				is := func(id fleet.RunID) bool { return id == r.ID }
				working, trying = slices.DeleteFunc(working, is), slices.DeleteFunc(trying, is)
				works := before.Faults == 0 && r.Verdict.Outcome.Succeeded()
				if works {
					trying = nil
				}
				givesWay := before.Category != "" && a.Fault != fleet.FaultAgent && a.Rests(now)
				if now.Before(before.Until) && a.Until.Before(before.Until) && !(before.Fault == fleet.FaultAgent && (works || givesWay)) {
					rt.Fatalf("%s shortened a rest: %+v, then %+v", r.Verdict.Outcome, before, a)
				}
			}
		}
	})
}
