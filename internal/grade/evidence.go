package grade

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"stint/internal/fleet"
)

// The grade by evidence is a sum, each term of which is a part of the verdict:
//
//	grade_work         0.7  commits that change something
//	                   0.5  changed files without a commit, or commits without a change
//	grade_success     ±0.1  the agent's own flag, if it has one
//	grade_tool_errors −0.2  × the share of its tool calls that failed
//	grade_retries     −0.1  × the retries of its model, of which 5 or more are all
//
// It is from 0.1 to 0.8: evidence alone proves neither the worst, which is for agents
// that fail, nor the best, which somebody has to have judged. The other parts
// (commits, files, tool_calls, tool_errors, retries) are the counts it was made from.
const (
	// CommitGrade is for a session that committed and said nothing of its own worth:
	// above the prior's mean of 0.5, and well below the best an agent can claim with a
	// reason.
	CommitGrade = 0.7
	// ScantGrade is the prior's mean: something was done, and nobody can tell what
	// it is worth. It moves a belief neither way.
	ScantGrade = 0.5

	// An agent's word on itself is worth less than what can be seen: with it, work at
	// its best is still short of a good claim with a reason.
	flagWeight = 0.1
	// A session whose every tool call failed, and which committed all the same, is
	// worth no more than one that left its work lying about.
	toolErrorWeight = 0.2
	// Retries cost time and are seldom the agent's fault.
	retryWeight = 0.1
	// manyRetries are as bad as it gets: past them a request is mostly given up.
	manyRetries = 5
)

// termPrefix begins the names of the parts that add up to the grade.
const termPrefix = "grade_"

// byEvidence judges without a result file and without an opinion.
func byEvidence(e Evidence) fleet.Verdict {
	switch e.Exit.End {
	case fleet.Stopped:
		return fleet.Verdict{Outcome: fleet.Cancelled, Reason: "stopped before the agent was done"}
	case fleet.NoProcess:
		// Nothing was tried, so there is nothing to grade.
		return fleet.Verdict{Outcome: fleet.Failed, Reason: "the agent did not start: " + e.Exit.Detail}
	case fleet.Overran, fleet.Killed, fleet.Exited:
	}
	if worked(e) && hindered(e) {
		return productive(e)
	}
	switch {
	case e.Exit.End == fleet.Overran:
		return failure(e, fleet.Timeout, overrun(e.Exit))
	case e.Exit.End == fleet.Killed:
		return failure(e, fleet.Failed, "the agent died: "+e.Exit.Detail)
	case e.Exit.Status != 0:
		return failure(e, fleet.Failed, fmt.Sprintf("the agent exited with %d", e.Exit.Status))
	case worked(e):
		return productive(e)
	case e.Transcript != nil && flag(e.Transcript.Success) < 0:
		return failure(e, fleet.Failed, "the agent exited with 0, and reports that it failed")
	}
	return fleet.Verdict{Outcome: fleet.Noop, Parts: counts(e), Reason: "exit status 0 with no commit and no result file"}
}

// overrun says what the agent had too much of: its time, or silence.
func overrun(e fleet.SessionExit) string {
	if e.Detail != "" {
		return "the agent was stopped: " + e.Detail
	}
	return "the agent overran its time"
}

// worked reports whether the session left anything in the repository.
func worked(e Evidence) bool {
	return e.Commits > 0 || e.Changes != nil && e.Changes.Files > 0
}

func failure(e Evidence, o fleet.Outcome, reason string) fleet.Verdict {
	return fleet.Verdict{Outcome: o, Grade: new(0.0), Parts: counts(e), Reason: reason}
}

// productive grades work that was seen.
func productive(e Evidence) fleet.Verdict {
	list := terms(e)
	sum, parts := 0.0, counts(e)
	for _, t := range list {
		sum += t.value
		parts[termPrefix+t.name] = t.value
	}
	return fleet.Verdict{Outcome: fleet.Productive, Grade: new(thousandths(sum)), Parts: parts, Reason: found(e)}
}

// term is one addend of a grade.
type term struct {
	name  string
	value float64
}

// terms are what the grade of work is the sum of. What a usage limit did to the
// session is left out.
func terms(e Evidence) []term {
	list := []term{{"work", workTerm(e)}}
	if e.Transcript == nil {
		return list
	}
	o := *e.Transcript
	forgive := hindered(e)
	if f := flag(o.Success); f > 0 || f < 0 && !forgive {
		list = append(list, term{"success", flagWeight * float64(f)})
	}
	if o.ToolErrors > 0 {
		// A call that was missed counts as one that failed: there are at least as many.
		rate := float64(o.ToolErrors) / float64(max(o.ToolErrors, o.ToolCalls))
		list = append(list, term{"tool_errors", -thousandths(toolErrorWeight * rate)})
	}
	if o.Retries > 0 && !forgive {
		list = append(list, term{"retries", -thousandths(retryWeight * float64(min(o.Retries, manyRetries)) / manyRetries)})
	}
	return list
}

func workTerm(e Evidence) float64 {
	if e.Commits > 0 && (e.Changes == nil || e.Changes.Files > 0) {
		return CommitGrade
	}
	return ScantGrade
}

// thousandths rounds to what a person reads, so that the sum of the parts is the grade.
func thousandths(f float64) float64 { return math.Round(f*1000) / 1000 }

// counts are the parts that a grade is made from, as far as they were counted.
func counts(e Evidence) map[string]float64 {
	parts := map[string]float64{"commits": float64(e.Commits)}
	if e.Changes != nil {
		parts["files"] = float64(e.Changes.Files)
	}
	if o := e.Transcript; o != nil {
		parts["tool_calls"], parts["tool_errors"], parts["retries"] = float64(o.ToolCalls), float64(o.ToolErrors), float64(o.Retries)
	}
	return parts
}

// withoutTerms are the parts of a verdict whose grade is somebody else's.
func withoutTerms(parts map[string]float64) map[string]float64 {
	parts = maps.Clone(parts)
	maps.DeleteFunc(parts, func(name string, _ float64) bool { return strings.HasPrefix(name, termPrefix) })
	return parts
}

// found says what there is to see of the work.
func found(e Evidence) string {
	reason := plural(e.Commits, "commit")
	switch {
	case e.Changes == nil:
	case e.Commits == 0:
		reason = plural(e.Changes.Files, "file") + " changed without a commit"
	case e.Changes.Files == 0:
		reason += " without a change"
	default:
		reason += " in " + plural(e.Changes.Files, "file")
	}
	if e.Transcript == nil {
		return reason
	}
	if f := flag(e.Transcript.Success); f > 0 {
		reason += ", the agent reports success"
	} else if f < 0 {
		reason += ", the agent reports that it failed"
	}
	if n := e.Transcript.ToolErrors; n > 0 {
		reason += fmt.Sprintf(", %d of %s failed", n, plural(max(n, e.Transcript.ToolCalls), "tool call"))
	}
	if n := e.Transcript.Retries; n > 0 {
		reason += ", " + plural(n, "retry")
	}
	if hindered(e) {
		reason += "; " + hindrance(e)
	}
	return reason
}
