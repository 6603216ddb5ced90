package grade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Result has the fields of the file in which an agent may grade its session, each of them
// optional. A field that cannot be read spoils the file. The file may also have the extras
// tokens, cost_usd and quota.reset_at. An extra that cannot be read is left out, with a warning.
type Result struct {
	Outcome   fleet.Outcome `json:"outcome"`
	Grade     *float64      `json:"grade"`
	Reason    string        `json:"reason"`
	TaskState string        `json:"task_state"`
}

// statement has the content of a result file, or its faults; the zero value means there is no file.
type statement struct {
	result Result
	extras extras
	err    error // the file is there, and nobody can judge by it
}

// declarable are the outcomes that an agent may give itself.
func declarable() []fleet.Outcome {
	return []fleet.Outcome{fleet.Productive, fleet.Noop, fleet.Nothing, fleet.Failed, fleet.Quota, fleet.Unavailable}
}

func readResult(e fleet.SessionExit) statement {
	switch {
	case e.Spoilt != "":
		return statement{err: errors.New(e.Spoilt)}
	case e.Result == nil:
		return statement{}
	}
	var s statement
	s.result, s.err = ParseResult(e.Result)
	if s.err != nil {
		s.result = Result{}
	}
	s.extras = parseExtras(e.Result)
	return s
}

// ParseResult reads a result file, strictly where it counts: an outcome an agent cannot have, or a
// grade that is none, spoils the whole file.
func ParseResult(data []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return Result{}, err
	}
	if err := checkClaim(r.Outcome, r.Grade, declarable()); err != nil {
		return Result{}, err
	}
	if r.TaskState != "" {
		state, err := fleet.ParseTaskState(r.TaskState)
		if err != nil {
			return Result{}, fmt.Errorf("task_state: %w", err)
		}
		r.TaskState = string(state)
	}
	if r.Outcome == "" && r.Grade != nil {
		r.Outcome = fleet.Productive
	}
	var err error
	r.Reason, err = parseReason(r.Reason)
	return r, err
}

// checkClaim refuses an outcome that is not the witness's to give, and a grade that is
// none.
func checkClaim(o fleet.Outcome, g *float64, known []fleet.Outcome) error {
	if o != "" && !slices.Contains(known, o) {
		return fmt.Errorf("outcome %q: want one of %s", o, fleet.Listed(known))
	}
	if g != nil && (*g < 0 || *g > 1) { // JSON has no NaN
		return fmt.Errorf("grade %v: want a number from 0 to 1", *g)
	}
	return nil
}

// parseReason makes a line of what models write, which is paragraphs.
func parseReason(s string) (string, error) {
	return fleet.ParseText("reason", strings.Join(strings.Fields(s), " "))
}

// byResult lets the result file speak to the verdict by evidence.
func byResult(e Evidence, v fleet.Verdict, said statement) fleet.Verdict {
	r := said.result
	switch {
	case said.err != nil:
		return unread(e, v, said.err)
	case r.Outcome == "":
	case r.Outcome == fleet.Unavailable: // by its fault, if there is one
		if !faulted(e) {
			v.Reason = annotate(v.Reason, "the agent says that its service failed, and its output shows nothing of it")
		}
		return v
	case e.Trusted:
		v = trusted(v, r)
	case r.Outcome == fleet.Quota && !saysLimit(e, said):
		// Else a word would spare a session its grader, and put its agent out of work.
		v.Reason = annotate(v.Reason, "the agent says that it met a usage limit, and its output shows none")
		return v
	case r.Outcome == fleet.Quota && worked(e):
		v = productive(e, nil)
		return stated(v, said, "the agent says that it met a usage limit")
	case r.Outcome != fleet.Productive:
		v.Outcome, v.Grade, v.Parts = r.Outcome, claimed(r.Outcome, r.Grade), withoutTerms(v.Parts)
		v.Reason = selfSaid
	case worked(e):
		v = productive(e, r.Grade)
	case v.Outcome == fleet.Failed || hindered(e):
		// It failed, or was stopped by a usage limit or a fault, has nothing to show, and says that it worked: neither that nor what
		// it says of its task is believed.
		if v.Outcome == fleet.Noop {
			v.Reason = noCommit
		}
		v.Reason = annotate(v.Reason, "the agent says that it was productive, and nothing of it can be seen")
		return v
	default:
		if v = productive(e, r.Grade); e.Commits == 0 {
			v.Reason = selfSaid
		}
		return stated(v, said, unseen)
	}
	return stated(v, said, "")
}

const (
	selfSaid = "the agent says so"
	noCommit = "exit status 0 with no commit"
	// unseen says why a claim counts little, and the operator's remedy.
	unseen = "nothing of it can be seen, so that the agent's word counts little (see trust and grader)"
)

// stated is the verdict with what the result says beside outcome and grade.
func stated(v fleet.Verdict, said statement, note string) fleet.Verdict {
	if said.result.Reason != "" {
		v.Reason = said.result.Reason
	}
	if note != "" {
		v.Reason = annotate(v.Reason, note)
	}
	v.TaskState = fleet.TaskState(said.result.TaskState)
	return v
}

// unread is the verdict where the result file cannot be read. The evidence is graded all the
// same, unless the agent's own grade was to count.
func unread(e Evidence, v fleet.Verdict, err error) fleet.Verdict {
	if v.Outcome == fleet.Noop {
		// It wrote a result: that there was nothing to do is not known.
		v.Outcome, v.Reason = fleet.Failed, noCommit
	}
	note := "result file: " + brief(err)
	if e.Trusted || v.Outcome != fleet.Productive {
		v.Grade, v.Parts = nil, withoutTerms(v.Parts)
		note = "not graded: " + note
	}
	v.Reason = annotate(v.Reason, note)
	return v
}

// trusted is the verdict by the word of an agent that the operator trusts.
func trusted(v fleet.Verdict, r Result) fleet.Verdict {
	if r.Outcome != fleet.Productive || r.Grade != nil || v.Outcome != fleet.Productive {
		v.Grade, v.Parts = claimed(r.Outcome, r.Grade), withoutTerms(v.Parts)
		if r.Outcome == fleet.Productive && r.Grade != nil {
			v.Parts[fleet.TermPrefix+"claim"] = *r.Grade
		}
	} // else its work is evidence all the same
	v.Outcome, v.Reason = r.Outcome, selfSaid
	return v
}

// noted returns the verdict on a session that overran, whatever its result says; the task's
// state is the one that the agent reports.
func noted(v fleet.Verdict, said statement) fleet.Verdict {
	v.TaskState = fleet.TaskState(said.result.TaskState)
	if said.err != nil {
		// Most likely it was cut short while it wrote; it overran all the same.
		v.Reason = annotate(v.Reason, "result file: "+brief(said.err))
	}
	return v
}

// claimed is the grade that goes with an outcome; only work done and failure have one.
func claimed(o fleet.Outcome, g *float64) *float64 {
	if o == fleet.Productive {
		return g // nil stays ungraded: nobody measured it
	}
	if o == fleet.Failed {
		return new(0.0)
	}
	return nil
}

// extras has the fields of a result file beside the grade.
type extras struct {
	usage    fleet.Usage
	resetAt  *time.Time
	warnings []string
}

const (
	maxTokens = 1e12 // no session uses so many; sums of days stay far from overflowing
	maxUSD    = 1e6
)

// parseExtras reads each extra by itself: that one is unusable does not cost the
// session its grade, nor the others.
func parseExtras(data []byte) extras {
	var raw struct {
		Tokens  json.RawMessage `json:"tokens"`
		CostUSD json.RawMessage `json:"cost_usd"`
		Quota   json.RawMessage `json:"quota"`
	}
	if json.Unmarshal(data, &raw) != nil {
		return extras{} // no object at all
	}
	var x extras
	x.usage.Tokens = extra(&x, "tokens", raw.Tokens, parseTokens)
	x.usage.USD = extra(&x, "cost_usd", raw.CostUSD, parseUSD)
	x.resetAt = extra(&x, "quota", raw.Quota, parseReset)
	return x
}

// extra returns a field's value; nil if it is absent, null or of another kind.
func extra[T any](x *extras, name string, raw json.RawMessage, parse func([]byte) (T, error)) *T {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	value, err := parse(raw)
	if err != nil {
		x.warnings = append(x.warnings, "result file: "+name+": "+brief(err))
		return nil
	}
	return &value
}

func parseTokens(raw []byte) (int64, error) {
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil {
		return 0, err
	}
	if n < 0 || n > maxTokens {
		return 0, fmt.Errorf("%d: want a number of tokens", n)
	}
	return n, nil
}

func parseUSD(raw []byte) (float64, error) {
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return 0, err
	}
	if f < 0 || f > maxUSD {
		return 0, fmt.Errorf("%v: want an amount in dollars", f)
	}
	return f, nil
}

func parseReset(raw []byte) (time.Time, error) {
	var quota struct {
		ResetAt string `json:"reset_at"`
	}
	if err := json.Unmarshal(raw, &quota); err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, quota.ResetAt)
	if err != nil {
		return time.Time{}, fmt.Errorf("reset_at %q: want a time such as 2026-06-26T00:25:19Z", quota.ResetAt)
	}
	return at.UTC(), nil
}
