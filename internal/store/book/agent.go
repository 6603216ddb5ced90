package book

import (
	"fmt"
	"time"

	"stint/internal/fleet"
)

const (
	// firstLimit is the rest of an agent that met a usage limit and did not say when that ends.
	// Each further limit doubles the rest, up to maxLimit.
	firstLimit, maxLimit = 15 * time.Minute, 6 * time.Hour
	// lastingRest is the rest of an agent whose login or model needs a person: then one
	// session tries whether somebody came.
	lastingRest = time.Hour
	// firstFault is the rest of an agent whose service failed in a way that passes.
	// Each further fault doubles the rest, up to maxFault.
	firstFault, maxFault = 2 * time.Minute, time.Hour
	// openTime is the rest of an agent that failed again and again.
	openTime = 30 * time.Minute
)

// Judgement is the verdict of a session's end on its agent.
type Judgement struct {
	Agent fleet.AgentState
	Run   fleet.Run // as it is to be recorded
	// The fate of its earlier failures that were held back; with neither they stay so.
	Works  bool // the agent works: they count for the work
	Spares bool // they are the agent's own: they have no grade, and are no attempt at a task
}

// Judge takes the end of a session into what is known of its agent: a usage limit, a fault of its
// service, a failure, or that it works. A failure is held back until more is known: when the agent
// works again it counts for the work, when the agent fails as often as opens its breaker it is the
// agent's. So is every failure from then on, until the agent works. Failures in one category alone stop the agent in
// that category: the work may be too hard for it, and its next session elsewhere shows that. Judge reports false if
// the end says nothing of the agent.
func Judge(a fleet.AgentState, r fleet.Run, now time.Time) (j Judgement, ok bool) {
	if r.Key == "" || r.Verdict.Internal { // no agent was at work
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

// fail notes a failure.
func (j *Judgement) fail(now time.Time) {
	a, v := &j.Agent, &j.Run.Verdict
	if v.Fault.OfTask() && j.Run.Task != "" {
		return // its service works, and the task is to blame
	}
	if a.Failures == 0 {
		a.Category = j.Run.Category
	} else if a.Category != j.Run.Category {
		if a.Category = ""; a.Fault == fleet.FaultAgent {
			a.Until = time.Time{} // a rest in one category becomes one in all, for this failure
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

// work notes that the agent works.
func (j *Judgement) work(now time.Time) {
	a := &j.Agent
	a.Failures, a.Category, j.Works = 0, "", true
	j.answer(now)
	if !limited(*a, now) && a.Faults == 0 { // one that began before the rest says nothing of it
		a.Limits, a.Until, a.Reason, a.Fault, a.Host = 0, time.Time{}, "", "", ""
	}
	if j.Run.QuotaUntil.After(now) { // it did its work, and then met one
		j.limit(now)
	}
	if f := j.Run.Verdict.Fault; f != "" && !f.OfTask() {
		j.fault(now)
	}
}

// limit notes a usage limit: until the agent's own word, or for twice as long as the last
// time, from 15 minutes to 6 hours. The last digits of the run's id spread the ends, so
// that fleets with one login do not all come back in the same second. Sessions that were
// under way when the first of them met it meet the same limit, not one more.
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

// limited reports whether a usage limit that was met still holds.
func limited(a fleet.AgentState, now time.Time) bool { return a.Limits > 0 && a.Rests(now) }

// fault notes that the agent's service or login failed: it rests for an hour where a person
// has to act, and else for twice as long as the last time, from 2 minutes to an hour.
// Sessions that were under way when the first of them met it meet the same fault. A login that fails on
// one machine stops the sessions there alone, until another machine's fails as well.
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

// answer notes that the agent's service works, by the word of the session that tries it:
// one that began before the rest says nothing of it.
func (j *Judgement) answer(now time.Time) {
	if a := &j.Agent; a.Faults > 0 && a.Probe == j.Run.ID && !a.Rests(now) {
		a.Faults, a.Fault, a.Reason, a.Until, a.Host = 0, "", "", time.Time{}, ""
	}
}

// rest keeps the agent from work until then, if nothing does so for longer: on one machine, or on all.
func (j *Judgement) rest(now, until time.Time, reason string, fault fleet.FaultKind, host string) {
	a := &j.Agent
	rested := a.Rests(now) && (a.Fault != fleet.FaultAgent || a.Category == "") // a rest in one category gives way to one in all
	if until.After(a.Until) || !rested {
		a.Until, a.Since, a.Reason, a.Fault = until, now, reason, fault
	}
	if rested && a.Host != host {
		host = ""
	}
	a.Host = host
}

// rest returns the rest of an agent that met something so many times in a row: twice as long
// each time, and up to a quarter more, which depends on the run alone.
func rest(first, most time.Duration, times int, run fleet.RunID) time.Duration {
	long := min(most, first<<min(times-1, 10))
	sum := 0
	for _, b := range []byte(run) {
		sum = (sum*31 + int(b)) % 1000
	}
	return long + long/4*time.Duration(sum)/1000
}

// judgeAgent takes the end of a session into what is known of its agent, and of the failures of
// that agent which were held back.
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
	a.Others = fleet.Usage{} // the ranking has it
	p.Agents.Put(a)
}

// letGo has the failures of an agent that were held back count for the work, or makes them the
// agent's own.
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

// spare takes a failure that was the agent's own out of what is remembered of a task.
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

// Spare takes a failure that was the agent's own out of what is remembered of a task. It reports
// false if there is nothing left to remember.
func Spare(m fleet.TaskMemory) (fleet.TaskMemory, bool) {
	for _, count := range []*int{&m.Failures, &m.Sessions, &m.Taken, &m.Fruitless} {
		*count = max(0, *count-1)
	}
	return m, m.State != "" || m.Owed != "" || m.Failures > 0 || m.Taken > 0 || m.Rests > 0
}
