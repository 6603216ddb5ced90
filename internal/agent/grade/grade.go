// Package grade judges a session from the evidence it left. It is pure, and never makes up a
// measurement: a session whose result cannot be read is not graded by what it left, and
// evidence that was not looked at moves no grade.
//
// Three witnesses are heard, the strongest first. A grader has the last word on outcome
// and grade. Then comes the evidence: what is left at the end, and a check of it. The
// agent's own word is believed where it says less than the evidence shows (failed, noop,
// nothing, quota); where it says more it moves the grade by a bounded amount, unless the
// operator trusts the agent. Stint's own sight (a time-out, a stop) outweighs all
// three. [Assess] says what usage limits change, and [Terms] what evidence is worth.
package grade

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Evidence has the facts about a session whose agent is gone. A nil pointer is
// something that nobody looked at.
type Evidence struct {
	Exit       fleet.SessionExit
	Commits    int      // made by this session
	Changes    *Changes // by this session, and nobody else
	Transcript *Transcript
	Check      *Check   // nil: there is none, or nothing to check
	Opinion    *Opinion // nil: no grader was asked
	Trusted    bool     // the operator trusts the agent: its own grade counts in full
	Left       []string // beside the commits of its branch, for people
	Words      string   // the agent's last; empty: none are known
	Landed     string   // the branch that has the work already, though nobody reviewed it; empty: none has
	Moved      string   // the branch that the workspace is on, where the session began on another; empty: it is the same
}

// Changes lists the changes to the workspace's files that are left at a session's end: commits and, where nobody else
// works in the folder, uncommitted changes.
type Changes struct {
	Commits       int    `json:"-"` // that stand
	Branch        string `json:"-"` // that holds the last of them; empty: none does
	Files         int    `json:"files"`
	Tests         int    `json:"tests" doc:"of the files, those with lines of its own"`
	Insertions    int    `json:"insertions" doc:"of its own"`
	Deletions     int    `json:"deletions"`
	Cut           bool   `json:"-"` // there are more files and lines than were counted
	fleet.Derived `json:"-"`
}

// Transcript has the figures of an agent's own output. A pointer is nil for what it does not say.
type Transcript struct {
	Success    *bool       `json:"success" doc:"the agent's flag for itself, if it came to its end"`
	ToolCalls  int         `json:"tool_calls"`
	ToolErrors int         `json:"tool_errors" doc:"of these calls"`
	Retries    int         `json:"retries" doc:"of requests to its model"`
	Usage      fleet.Usage `json:"-"`
	Limit      *UsageLimit `json:"quota" doc:"the usage limit that it did not get over"`
	Fault      *Fault      `json:"-"` // the same of its service, its login or its task
	Err        string      `json:"-"` // what went wrong, in the agent's words; empty: it does not say
}

// UsageLimit is a usage limit.
type UsageLimit struct {
	Throttled  bool          `json:"throttled" doc:"for seconds, and not until a reset"`
	ResetAt    time.Time     `json:"reset_at,omitzero" doc:"if it said when"`
	Told       bool          `json:"-"` // ResetAt is the word of the session's result file, and not of the agent's program
	RetryAfter time.Duration `json:"-"` // 0: it did not say
	Text       string        `json:"text" doc:"the agent's words"`
}

// Judgement is a verdict and what else the witnesses said.
type Judgement struct {
	Verdict fleet.Verdict
	Usage   fleet.Usage // by the agent's output, or else by the result file
	Limit   *UsageLimit // met by the session, whatever its outcome; with outcome quota never nil
	// Warnings say what a witness said that cannot be used, and so was not: a grader
	// that failed, an extra of the result file that is none.
	Warnings []string
}

// Judge gives the verdict without the rest of the judgement.
func Judge(e Evidence) fleet.Verdict { return Assess(e).Verdict }

// Assess hears all witnesses.
//
// A usage limit that ended the session is not the agent's failure: without work to
// show the outcome is quota, with no grade, whatever the exit status; not even that it
// sat there until its time was up counts. With work to show (a change that is left, or
// the word of a trusted agent) the session is judged by that, and neither exit status,
// failure flag nor retries count against it.
//
// The same holds for a fault of the agent's service or login, of which the outcome is
// unavailable, and for a task that is too long or refused, which has failed with no grade.
func Assess(e Evidence) Judgement {
	said := readResult(e.Exit)
	e = saysFault(e, said)
	j := Judgement{Usage: usage(e, said), Warnings: said.extras.warnings}
	v := byEvidence(e)
	switch e.Exit.End {
	case fleet.Stopped, fleet.NoProcess:
	case fleet.Overran:
		v = noted(v, said)
	case fleet.Exited, fleet.Killed:
		v = byResult(e, v, said)
		if e.Check != nil && e.Check.Fault != "" {
			v, j.Warnings = faulty(v, "check", e.Check.Fault, j.Warnings)
		}
		if e.Opinion != nil && judgeable(forgiven(v, e)) {
			v, j.Warnings = byOpinion(v, said, *e.Opinion, j.Warnings)
		}
	}
	if v.Outcome != fleet.Productive {
		v.Reason = leftBehind(v.Reason, e)
	}
	for _, left := range e.Left {
		v.Reason = annotate(v.Reason, line(left))
	}
	if e.Landed != "" {
		v.Reason = annotate(v.Reason, line(e.Landed)+" has it already, and nobody reviewed it")
	}
	if e.Moved != "" {
		v.Reason = annotate(v.Reason, "the workspace is on "+line(e.Moved)+" now")
	}
	if e.Exit.OOM > 0 {
		v.Reason = annotate(v.Reason, fmt.Sprintf("the kernel killed %d of its processes for want of memory", e.Exit.OOM))
	}
	if e.Exit.End == fleet.Exited {
		v.ExitStatus = &e.Exit.Status
	}
	j.Verdict = forgiven(v, e)
	j.Limit = limitMet(e, j.Verdict, said)
	return j
}

// WantsOpinion reports whether a grader is asked: of every session that worked, which is
// not one that stint stopped, or that a usage limit or a fault of its service ended.
func WantsOpinion(e Evidence) bool {
	if e.Exit.End != fleet.Exited && e.Exit.End != fleet.Killed {
		return false
	}
	e.Opinion = nil
	return judgeable(Judge(e))
}

// judgeable reports whether a session came to work, so that there is something to judge.
func judgeable(v fleet.Verdict) bool {
	return v.Outcome != fleet.Quota && v.Outcome != fleet.Unavailable && !(v.Fault != "" && blank(v))
}

// WantsCheck reports whether there is work left to check.
func WantsCheck(e Evidence) bool {
	return worked(e) && WantsOpinion(e) && Judge(e).Outcome == fleet.Productive
}

// blank reports whether there is no work to show.
func blank(v fleet.Verdict) bool {
	return v.Outcome == fleet.Failed || v.Outcome == fleet.Noop || v.Outcome == fleet.Timeout
}

// forgiven is the verdict on a session that a usage limit or a fault kept from working,
// if one did, and else v. One that worked before it met the fault has it on record.
func forgiven(v fleet.Verdict, e Evidence) fleet.Verdict {
	switch {
	case faulted(e) && !walled(e) && blank(v):
		return excused(v, e)
	case faulted(e) && !walled(e):
		v.Fault = e.Transcript.Fault.Kind
		return v
	case !walled(e) || !blank(v):
		return v
	}
	v.Outcome, v.Grade = fleet.Quota, nil
	v.Reason = annotate(v.Reason, e.Transcript.Limit.met())
	return v
}

// met says that a session ran into the limit.
func (w UsageLimit) met() string {
	if text := strings.TrimSpace(line(w.Text)); text != "" {
		return "it met a usage limit: " + text
	}
	return "it met a usage limit"
}

// walled reports whether a usage limit ended the session. A throttle of seconds is got over: it
// counts only against an agent that failed by itself.
func walled(e Evidence) bool {
	if e.Transcript == nil || e.Transcript.Limit == nil {
		return false
	}
	switch e.Exit.End {
	case fleet.Stopped, fleet.NoProcess:
		return false
	case fleet.Overran: // throttled from the first request to the last, it never came to work
		return !e.Transcript.Limit.Throttled || e.Commits+e.Transcript.ToolCalls == 0 && e.Transcript.Usage.Tokens == nil
	case fleet.Killed:
		return !e.Transcript.Limit.Throttled
	case fleet.Exited:
	}
	return !e.Transcript.Limit.Throttled || e.Exit.Status != 0 || flag(e.Transcript.Success) < 0
}

// limitMet is the rate limit that the record of the agent should have. When it ends, the agent's program knows best, and then
// the result file.
func limitMet(e Evidence, v fleet.Verdict, said statement) *UsageLimit {
	var w UsageLimit
	switch {
	case e.Transcript != nil && e.Transcript.Limit != nil:
		w = *e.Transcript.Limit
	case !saysLimit(e, said) || v.Outcome != fleet.Quota && !worked(e):
		return nil // a reset without a limit is the end of an allowance that is not used up
	default:
		w.Text = v.Reason
	}
	if at := said.extras.resetAt; at != nil && w.ResetAt.IsZero() && w.RetryAfter == 0 && (v.Outcome == fleet.Quota || saysLimit(e, said)) {
		w.ResetAt, w.Told, w.Throttled = *at, true, false
	}
	return &w
}

// saysLimit reports whether the result file has a usage limit, and is believed: a program
// that reports its limits itself has met none that it did not report.
func saysLimit(e Evidence, said statement) bool {
	return said.result.Outcome == fleet.Quota && (e.Trusted || e.Transcript == nil || e.Transcript.Limit != nil)
}

// usage counts however the session ended: it was paid for. The program that was billed
// knows; a model's own figures may be made up, to get round a budget or to use it up.
func usage(e Evidence, said statement) fleet.Usage {
	var u fleet.Usage
	if t := e.Transcript; t != nil {
		if n := t.Usage.Tokens; n != nil && *n >= 0 && *n <= maxTokens {
			u.Tokens = n
		}
		if c := t.Usage.USD; c != nil && *c >= 0 && *c <= maxUSD {
			u.USD = c
		}
	}
	wrote := said.extras.usage
	if u.Tokens == nil && u.USD == nil {
		return wrote
	}
	return u
}

// flag is 1, -1, or 0 where there is none.
func flag(b *bool) int {
	switch {
	case b == nil:
		return 0
	case *b:
		return 1
	}
	return -1
}

const (
	// maxReason is as much as the store takes, see [fleet.ParseText].
	maxReason = 4096
	// maxQuote is as much of what a witness wrote as a person wants to read in an
	// error: an error may quote all of it.
	maxQuote = 300
)

// annotate adds a note to a reason. Excess length is cut from the reason, which the note
// explains.
func annotate(reason, note string) string {
	if room := maxReason - len("; ") - len(note); len(reason) > room {
		reason = fleet.Clipped(reason, room)
	}
	return reason + "; " + note
}

// brief is an error as a person may read it.
func brief(err error) string { return line(err.Error()) }

// line is s as a short line that is safe to print.
func line(s string) string { return plain.Line(fleet.Clipped(s, maxQuote)) }
