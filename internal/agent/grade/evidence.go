package grade

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

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
		return productive(e, nil)
	}
	switch {
	case e.Exit.End == fleet.Overran:
		return failure(e, fleet.Timeout, overrun(e.Exit))
	case e.Exit.End == fleet.Killed:
		return failure(e, fleet.Failed, "the agent died: "+e.Exit.Detail)
	case e.Exit.Status != 0:
		return failure(e, fleet.Failed, fmt.Sprintf("the agent exited with %d", e.Exit.Status))
	case worked(e):
		return productive(e, nil)
	case e.Transcript != nil && flag(e.Transcript.Success) < 0:
		return failure(e, fleet.Failed, "the agent exited with 0, and reports that it failed")
	}
	return fleet.Verdict{Outcome: fleet.Noop, Parts: counts(e), Reason: found(e)}
}

// overrun says what the agent had too much of: its time, or silence.
func overrun(e fleet.SessionExit) string {
	if e.Detail != "" {
		return "the agent was stopped: " + e.Detail
	}
	return "the agent overran its time"
}

// worked reports whether the session left a change in the repository. Commits whose changes are
// unknown count as a change.
func worked(e Evidence) bool {
	if e.Changes == nil {
		return e.Commits > 0
	}
	return e.Changes.Files > 0
}

// leftBehind is the reason of a session that came to nothing, with the commits that stand
// all the same: nobody is to lose sight of them.
func leftBehind(reason string, e Evidence) string {
	if !worked(e) {
		return reason
	}
	n, where := e.Commits, ""
	if e.Changes != nil {
		n = e.Changes.Commits
		if e.Changes.Branch != "" {
			where = " on branch " + line(e.Changes.Branch)
		}
	}
	if n == 0 {
		return reason // files without a commit
	}
	return annotate(reason, plain.Plural(n, "commit")+" left behind"+where)
}

func failure(e Evidence, o fleet.Outcome, reason string) fleet.Verdict {
	if e.Words != "" {
		reason += " (it said: " + line(e.Words) + ")"
	}
	return fleet.Verdict{Outcome: o, Grade: new(0.0), Parts: counts(e), Reason: reason}
}

// thousandths rounds to what a person reads, so that the sum of the parts is the grade.
func thousandths(f float64) float64 { return math.Round(f*1000) / 1000 }

// counts are the parts that a grade is made from, as far as they were counted.
func counts(e Evidence) map[string]float64 {
	parts := map[string]float64{"commits": float64(e.Commits)}
	if e.Changes != nil {
		parts["files"], parts["lines"] = float64(e.Changes.Files), float64(e.Changes.Insertions+e.Changes.Deletions)
	}
	if o := e.Transcript; o != nil {
		parts["tool_calls"], parts["tool_errors"], parts["retries"] = float64(o.ToolCalls), float64(o.ToolErrors), float64(o.Retries)
	}
	return parts
}

// withoutTerms are the parts of a verdict whose grade is somebody else's.
func withoutTerms(parts map[string]float64) map[string]float64 {
	parts = maps.Clone(parts)
	maps.DeleteFunc(parts, func(name string, _ float64) bool { return strings.HasPrefix(name, fleet.TermPrefix) })
	return parts
}

// worthLess says why a change is worth less than its commits look like.
func (c Changes) worthLess() (why string) {
	switch original := line(c.CopyOf[:min(len(c.CopyOf), 7)]); {
	case c.TakenBack:
		return ": its revert follows"
	case c.Copies == 1 && c.Commits == 1:
		why = ", a copy of " + original
	case c.Copies == 1:
		why = ", one a copy of " + original
	case c.Copies > 1:
		why = fmt.Sprintf(", %d of them copies, the last of %s", c.Copies, original)
	}
	if c.Renamed {
		why += ", only renamed"
	}
	if c.Generated > 0 {
		why += ", " + plain.Plural(c.Generated, "generated file")
	}
	return why
}

// found says what there is to see of the work.
func found(e Evidence) string {
	reason := plain.Plural(e.Commits, "commit")
	switch {
	case e.Commits == 0 && !worked(e):
		return noCommit + " and no result file"
	case e.Changes == nil:
	case e.Commits == 0:
		reason = plain.Plural(e.Changes.Files, "file") + " changed without a commit"
	case e.Changes.Files == 0 && e.Changes.Commits == 0:
		reason += ", of which none is left"
	case e.Changes.Files == 0:
		reason += " without a change that is left"
	default:
		reason += " in " + plain.Plural(e.Changes.Files, "file")
		if e.Changes.Cut {
			reason += " or more"
		}
	}
	if e.Changes != nil {
		reason += e.Changes.worthLess()
	}
	if c := e.Check; c != nil && c.Fault == "" && c.Failure == "" {
		reason += ", the check passes"
	} else if c != nil && c.Fault == "" {
		reason += ", the check fails (" + line(c.Failure) + ")"
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
		reason += fmt.Sprintf(", %d of %s failed", n, plain.Plural(max(n, e.Transcript.ToolCalls), "tool call"))
	}
	if n := e.Transcript.Retries; n > 0 {
		reason += ", " + plain.Plural(n, "retry")
	}
	if hindered(e) {
		reason += "; " + hindrance(e)
	}
	return reason
}
