package why

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Run has the facts about one run.
type Run struct {
	Run     fleet.RunStatus
	Now     time.Time
	Choice  *fleet.Choice // what its fire decided; nil: no fire planned it
	Ranked  string        // what the fire's ranking says of the category it was started for; may be empty
	First   fleet.TaskID  // the task that its fire saw first in its category; may be empty
	Before  fleet.RunID   // that it follows; may be empty
	Denials []fleet.DeniedClaim
}

// Answer says what the facts of a run do not: why it was started, why this task, and why it
// has no grade.
func (r Run) Answer() Answer {
	a := Answer{Kind: OfRun, Subject: string(r.Run.ID), Verdict: string(r.Run.Verdict.Outcome), Lead: []string{r.state()}}
	if r.Run.State != fleet.RunEnded {
		a.Verdict = string(r.Run.State)
	}
	a.add("Why it was started", r.started()...)
	a.add("Why this task", r.picked()...)
	if c := r.Run.Conversation; c.Resumes != "" {
		a.add("Its conversation", sentence("It goes on with conversation %s: %s", c.ID, c.Why))
	} else if c.Why != "" {
		a.add("Its conversation", sentence("It began a new one: %s", c.Why))
	}
	if v := r.graded(); v != "" {
		a.add("Its grade", v)
	}
	return a
}

// state says where the run is, or how it ended.
func (r Run) state() string {
	run := r.Run
	name := fmt.Sprintf("Run %s of %s", run.ID, run.Category)
	switch r.Run.State {
	case fleet.RunEnded:
		return sentence("%s ended %s at %s%s", name, run.Verdict.Outcome, moment(run.EndedAt, r.Now), tail(run.Verdict.Reason))
	case fleet.RunCrashed:
		const closed = "the next fire, or stint reap, closes it as abandoned"
		if run.StartedAt.IsZero() {
			return sentence("%s was planned at %s and never began: %s", name, moment(run.CreatedAt, r.Now), closed)
		}
		return sentence("%s began at %s and crashed: %s", name, moment(run.StartedAt, r.Now), closed)
	case fleet.RunWaiting:
		return sentence("%s begins once its category has rested, at %s", name, moment(run.NotBefore, r.Now))
	case fleet.RunPlanned:
		return sentence("%s is about to begin", name)
	case fleet.RunRunning, fleet.RunSuspended:
	}
	if r.Run.Timeout > 0 {
		return sentence("%s began at %s, and may take until %s", name, moment(run.StartedAt, r.Now), plain.Stamp(run.StartedAt.Add(r.Run.Timeout)))
	}
	return sentence("%s began at %s", name, moment(run.StartedAt, r.Now))
}

// tail appends a reason, if there is one.
func tail(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (r Run) started() []string {
	switch run := r.Run; {
	case run.Source == fleet.FromRespawn && r.Before != "":
		return []string{sentence("It follows run %s, whose grade was good enough for one more session of its category; it is number %d of that chain", r.Before, run.ChainDepth+1)}
	case run.Source == fleet.FromRespawn:
		return []string{sentence("It follows a session of its category whose grade was good enough for one more; it is number %d of that chain", run.ChainDepth+1)}
	case run.Fire == 0:
		return []string{"A person started it by hand: no fire ranked it."}
	case r.Ranked != "":
		return []string{r.Ranked}
	case r.Choice != nil:
		return []string{sentence("The fire's reason for %s was: %s", r.Choice.Category, r.Choice.Reason)}
	}
	return nil
}

func (r Run) picked() (list []string) {
	run := r.Run
	for _, d := range r.Denials {
		list = append(list, sentence("In %s it was denied %q by %s at %s", d.Category, d.Key, d.Holder, plain.Stamp(d.At)))
	}
	if r.Choice != nil && r.Choice.Category != run.Category {
		list = append(list, sentence("So it went on from %s to %s, the next of its fire that could be started", r.Choice.Category, run.Category))
	}
	switch {
	case run.Task == "" && run.Key != "":
		list = append(list, sentence("It worked without a task, under a claim on its lane at epoch %d", run.Epoch))
	case run.Task == "" && !run.EndedAt.IsZero():
		list = append(list, "It came to no task.")
	case run.Task == "":
		list = append(list, "It has no task yet.")
	case r.Choice != nil && r.Choice.Task == run.Task:
		list = append(list, sentence("It took %q, at epoch %d: the selector that its fire followed chose that task", run.Task, run.Epoch))
	case r.First == run.Task:
		list = append(list, sentence("It took %q, at epoch %d: the first of its category when the fire ranked", run.Task, run.Epoch))
	case r.First != "" && r.Choice != nil && r.Choice.Category == run.Category:
		list = append(list, sentence("It took %q, at epoch %d: %q came first when the fire ranked, but this when the session picked", run.Task, run.Epoch, r.First))
	default:
		list = append(list, sentence("It took %q, at epoch %d: it came first when the session picked, or was asked for", run.Task, run.Epoch))
	}
	return list
}

// graded says why the run has no grade, or one that does not count yet; empty: it has one.
func (r Run) graded() string {
	v := r.Run.Verdict
	switch {
	case r.Run.State != fleet.RunEnded:
	case v.Fault == fleet.FaultAgent:
		return sentence("It has none: agent %s failed %d times in a row, or more, so the failure is the agent's: it is no attempt at a task, and does not change the ranking of %s", r.Run.Agent, fleet.FailuresToOpen, r.Run.Category)
	case r.Run.Deferred:
		return sentence("It counts once agent %s has worked again: %d failures in a row would be the agent's, not the work's", r.Run.Agent, fleet.FailuresToOpen)
	case v.Grade != nil:
	case v.Outcome == fleet.Failed && v.Fault.OfTask():
		return sentence("It has none: a task that is too long or refused counts as an attempt at the task, and does not change the ranking of %s", r.Run.Category)
	case v.Outcome == fleet.Failed || v.Outcome == fleet.Timeout || v.Outcome == fleet.Productive:
		return "It has none: the agent did not work, or its result could not be judged."
	default:
		return sentence("It has none, like every run that ends %s, and does not change the ranking of %s", v.Outcome, r.Run.Category)
	}
	return ""
}
