package grade

import (
	"cmp"

	"stint/internal/fleet"
)

// Fault is an error of an agent's service, of its login, or of what it was asked.
type Fault struct {
	Kind fleet.FaultKind
	Text string // what happened, how a person fixes it, and the agent's own words
}

// faulted reports whether such a fault ended the session. An agent that reports one and
// then ends well has got over it. That nobody ever answered counts only once the session's
// time was up: an agent that ends before may never have asked.
func faulted(e Evidence) bool {
	if e.Transcript == nil || e.Transcript.Fault == nil {
		return false
	}
	switch e.Exit.End {
	case fleet.Stopped, fleet.NoProcess:
		return false
	case fleet.Overran:
		return true
	case fleet.Killed, fleet.Exited:
	}
	if e.Transcript.Fault.Kind == fleet.FaultSilent {
		return false
	}
	return e.Exit.End == fleet.Killed || e.Exit.Status != 0 || flag(e.Transcript.Success) < 0
}

// saysFault is the evidence with a failure of its service that the result file has, and is believed as a usage limit is: a
// program that reports its faults itself has met none that it did not report. It rests the agent for minutes, an hour at most.
func saysFault(e Evidence, said statement) Evidence {
	if said.result.Outcome != fleet.Unavailable || e.Transcript != nil && !e.Trusted {
		return e
	}
	var t Transcript
	if e.Transcript != nil {
		t = *e.Transcript
	}
	if t.Fault == nil {
		t.Fault = &Fault{fleet.FaultServer, cmp.Or(said.result.Reason, "the agent says that its service failed")}
	}
	t.Success = new(false)
	e.Transcript = &t
	return e
}

// excused is the verdict on a session that a fault kept from working. A fault of the service or
// the login is not the agent's and not the task's. A task that is too long or refused has
// failed, but that says nothing of how good work of its category is.
func excused(v fleet.Verdict, e Evidence) fleet.Verdict {
	f := e.Transcript.Fault
	v.Outcome, v.Grade, v.Fault, v.Reason = fleet.Unavailable, nil, f.Kind, f.Text
	if f.Kind.OfTask() {
		v.Outcome = fleet.Failed
	}
	if f.Kind == fleet.FaultSilent {
		v.Reason = annotate(v.Reason, overrun(e.Exit))
	}
	return v
}

// hindered reports whether a usage limit or a fault ended the session.
func hindered(e Evidence) bool { return walled(e) || faulted(e) }

// hindrance says what did.
func hindrance(e Evidence) string {
	if walled(e) {
		return e.Transcript.Limit.met()
	}
	return e.Transcript.Fault.Text
}
