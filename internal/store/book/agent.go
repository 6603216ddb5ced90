package book

import (
	"fmt"
	"time"

	"stint/internal/fleet"
)

const (
	// firstLimit is the time for which an agent stops after a usage limit of unknown end. Each further limit doubles it,
	// up to maxLimit.
	firstLimit, maxLimit = 15 * time.Minute, 6 * time.Hour
	// lastingRest is the time for which an agent stops when its login or model needs a person. Then one session tries
	// again.
	lastingRest = time.Hour
	// firstFault is the time for which an agent stops after a passing fault of its service. Each further fault doubles
	// it, up to maxFault.
	firstFault, maxFault = 2 * time.Minute, time.Hour
	// openTime is the time for which an agent stops after failing again and again.
	openTime = 30 * time.Minute
)

// Judgement is the effect of a session's end on its agent.
type Judgement struct {
	Agent fleet.AgentState
	Run   fleet.Run // with the changes to be recorded
	// What becomes of deferred earlier failures; if neither is set, they stay deferred.
	Works  bool // the agent works: its deferred failures count as the work's
	Spares bool // they were the agent's own fault: they get no grade, and are no attempt at a task
}

// Judge updates an agent's state by a session's end: a usage limit, a fault of its service, a failure, or proof that it
// works. A failure is deferred. When the agent works again, it counts as the work's. When the agent fails often enough
// to open its breaker, it counts as the agent's, and so does each failure from then on until the agent works. Failures
// in only one category stop the agent only there: the work may be too hard for it, and its next session elsewhere shows
// that. Judge reports false if the end tells nothing about the agent.
func Judge(a fleet.AgentState, r fleet.Run, now time.Time) (j Judgement, ok bool) {
	if r.Key == "" || r.Verdict.Internal { // no agent worked
		return Judgement{}, false
	}
	j = Judgement{Agent: a, Run: r}
	switch r.Verdict.Outcome {
	case fleet.Quota:
		j.limit(now)
	case fleet.Unavailable:
		j.fault(now)
	case fleet.Failed, fleet.Timeout:
		j.answer(now)
		j.fail(now)
	case fleet.Productive, fleet.Noop, fleet.Nothing:
		j.work(now)
	case fleet.Cancelled, fleet.Lost, fleet.Abandoned, fleet.Busy, fleet.RunDenied, fleet.Idle:
		return Judgement{}, false
	}
	if a.Probe == r.ID {
		j.Agent.Probe = ""
	}
	return j, true
}

// fail records a failure.
func (j *Judgement) fail(now time.Time) {
	a, v := &j.Agent, &j.Run.Verdict
	if v.Fault.OfTask() && j.Run.Task != "" {
		return // the service works, and the task is to blame
	}
	if a.Failures == 0 {
		a.Category = j.Run.Category
	} else if a.Category != j.Run.Category {
		if a.Category = ""; a.Fault == fleet.FaultAgent {
			a.Until = time.Time{} // this failure stops the agent in all categories, and the stop in one ends
		}
	}
	if a.Failures++; a.Failures < fleet.FailuresToOpen {
		j.Run.Deferred = true
		return
	}
	v.Grade, v.Fault, j.Spares = nil, fleet.FaultAgent, true
	where := ""
	if a.Category != "" {
		where = fmt.Sprintf(" in category %s", a.Category)
	}
	j.rest(now, now.Add(openTime), fmt.Sprintf("it failed %d times in a row%s, last: %s", a.Failures, where, v.Reason), fleet.FaultAgent, "")
}

// work records that the agent works.
func (j *Judgement) work(now time.Time) {
	a := &j.Agent
	a.Failures, a.Category, j.Works = 0, "", true
	j.answer(now)
	if !limited(*a, now) && a.Faults == 0 { // a session from before the stop tells nothing about it
		a.Limits, a.Until, a.Reason, a.Fault, a.Host = 0, time.Time{}, "", "", ""
	}
	if j.Run.QuotaUntil.After(now) { // it finished its work, and then met a limit
		j.limit(now)
	}
	if f := j.Run.Verdict.Fault; f != "" && !f.OfTask() {
		j.fault(now)
	}
}

// limit records a usage limit. The agent stops until the time that it gave, or for twice as long as last time, from 15
// minutes to 6 hours. The last digits of the run's id spread the ends, so that fleets with one login do not all return
// in the same second. Sessions that were open at the first sign of a limit meet that limit, not another.
func (j *Judgement) limit(now time.Time) {
	if !limited(j.Agent, now) {
		j.Agent.Limits++
	}
	until := now.Add(rest(firstLimit, maxLimit, j.Agent.Limits, j.Run.ID))
	if j.Run.QuotaUntil.After(now) {
		until = j.Run.QuotaUntil
	}
	j.answer(now)
	j.rest(now, until, "usage limit: "+j.Run.Verdict.Reason, "", "")
}

// limited reports whether a usage limit still holds.
func limited(a fleet.AgentState, now time.Time) bool { return a.Limits > 0 && a.Rests(now) }

// fault records a fault of the agent's service or login. The agent stops for an hour if a person must act, else for
// twice as long as last time, from 2 minutes to an hour. Sessions that were open at the first sign of a fault meet that
// fault, not another. A login that fails on one machine stops the agent only there, until it fails on another.
func (j *Judgement) fault(now time.Time) {
	a, v := &j.Agent, j.Run.Verdict
	if a.Faults == 0 || !a.Rests(now) {
		a.Faults++
	}
	long := rest(firstFault, maxFault, a.Faults, j.Run.ID)
	if v.Fault.Lasting() {
		long = rest(lastingRest, lastingRest, 1, j.Run.ID)
	}
	host := ""
	if v.Fault.OfMachine() {
		host = j.Run.Host
	}
	j.rest(now, now.Add(long), v.Reason, v.Fault, host)
}

// answer records that the agent's service works, if this session was the one to try it. A session from before the stop
// tells nothing about it.
func (j *Judgement) answer(now time.Time) {
	if a := &j.Agent; a.Faults > 0 && a.Probe == j.Run.ID && !a.Rests(now) {
		a.Faults, a.Fault, a.Reason, a.Until, a.Host = 0, "", "", time.Time{}, ""
	}
}

// rest stops the agent until a time, on one machine or on all. A longer stop stays.
func (j *Judgement) rest(now, until time.Time, reason string, fault fleet.FaultKind, host string) {
	a := &j.Agent
	rested := a.Rests(now) && (a.Fault != fleet.FaultAgent || a.Category == "") // a stop in one category gives way to one in all
	if until.After(a.Until) || !rested {
		a.Until, a.Since, a.Reason, a.Fault = until, now, reason, fault
	}
	if rested && a.Host != host {
		host = ""
	}
	a.Host = host
}

// rest returns the length of a stop after so many faults in a row: it doubles each time. The run's id adds up to a
// quarter.
func rest(first, most time.Duration, times int, run fleet.RunID) time.Duration {
	long := min(most, first<<min(times-1, 10))
	sum := 0
	for _, b := range []byte(run) {
		sum = (sum*31 + int(b)) % 1000
	}
	return long + long/4*time.Duration(sum)/1000
}

// judgeAgent updates an agent's state by a session's end, and settles the agent's deferred failures.
func (p Tx) judgeAgent(r *fleet.Run) {
	a := p.agent(r.Agent)
	j, ok := Judge(a, *r, p.Now())
	if !ok {
		return
	}
	if j.Works || j.Spares {
		p.letGo(r.Agent, j.Spares)
	}
	*r = j.Run
	p.putAgent(j.Agent)
}

func (p Tx) putAgent(a fleet.AgentState) {
	if a.Until.IsZero() {
		a.Since = time.Time{}
	}
	a.Others = fleet.Usage{} // the ranking keeps it
	p.Agents.Put(a)
}

// letGo settles an agent's deferred failures: they count as the work's, or as the agent's own.
func (p Tx) letGo(agent string, own bool) {
	held := p.Runs.Ask("agent", agent, "held", 1)
	p.Ahead(p.Tasks.Ask("task", held.Col("task")), p.Lessons.Ask("category", held.Col("category")))
	for _, r := range p.Runs.Where("agent", agent, "held", 1) {
		r.Deferred = false
		if own {
			r.Verdict.Grade, r.Verdict.Fault = nil, fleet.FaultAgent
			p.spare(r.Task)
		}
		p.Runs.Put(r)
		p.learnFrom(r.Run)
	}
}

// spare removes a failure that was the agent's own from a task's memory.
func (p Tx) spare(id fleet.TaskID) {
	if id == "" {
		return
	}
	if m, remembered := Spare(p.task(id)); remembered {
		p.Tasks.Put(m)
	} else {
		p.Tasks.Delete(m)
	}
}

// Spare removes a failure that was the agent's own from a task's memory. It reports false if nothing is left to
// remember.
func Spare(m fleet.TaskMemory) (fleet.TaskMemory, bool) {
	for _, count := range []*int{&m.Failures, &m.Sessions, &m.Taken, &m.Fruitless} {
		*count = max(0, *count-1)
	}
	return m, m.State != "" || m.Owed != "" || m.Failures > 0 || m.Taken > 0 || m.Rests > 0
}
