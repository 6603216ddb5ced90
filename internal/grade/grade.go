// Package grade judges a session from the evidence it left: the result file, if
// the agent wrote one, else its commits and exit status. It is pure. What nobody
// measured is never made up: a session whose result cannot be read is not
// graded.
package grade

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// CommitGrade is the grade of a session that committed and said nothing of its
// own worth: above the prior's mean of 0.5, and well below the best an agent can
// claim with a reason.
const CommitGrade = 0.7

// Evidence is what is known of a session once its agent is gone.
type Evidence struct {
	Exit    fleet.SessionExit
	Commits int // made by this session
}

// Result is the file an agent may write, every field optional.
type Result struct {
	Outcome   fleet.Outcome `json:"outcome"`
	Grade     *float64      `json:"grade"`
	Reason    string        `json:"reason"`
	TaskState string        `json:"task_state"`
}

// Judge gives the verdict. What stint itself saw (a time-out, a stop) outweighs
// what the agent wrote; what the agent wrote outweighs commits and exit status.
func Judge(e Evidence) fleet.Verdict {
	v := byEvidence(e)
	if e.Exit.End == fleet.Exited {
		v.ExitStatus = &e.Exit.Status
	}
	if e.Exit.End == fleet.Stopped || e.Exit.End == fleet.NoProcess || e.Exit.Result == nil && e.Exit.Spoilt == "" {
		return v
	}
	r, err := readResult(e.Exit)
	switch {
	case err != nil && e.Exit.End == fleet.Overran:
		// Most likely it was cut short while it wrote; it overran all the same.
		v.Reason += "; result file: " + brief(err)
		return v
	case err != nil:
		// The agent meant to be judged by its result, which nobody can read.
		v.Grade = nil
		v.Reason += "; not graded: result file: " + brief(err)
		return v
	}
	v.TaskState = fleet.TaskState(r.TaskState)
	if e.Exit.End == fleet.Overran {
		return v
	}
	return byResult(v, r)
}

// brief is as much of an error as a person wants to read: it may quote all that
// the agent wrote.
func brief(err error) string {
	const most = 300
	text := err.Error()
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// byEvidence judges without a result file.
func byEvidence(e Evidence) fleet.Verdict {
	commits := map[string]float64{"commits": float64(e.Commits)}
	switch e.Exit.End {
	case fleet.Stopped:
		return fleet.Verdict{Outcome: fleet.Cancelled, Reason: "stopped before the agent was done"}
	case fleet.NoProcess:
		// Nothing was tried, so there is nothing to grade.
		return fleet.Verdict{Outcome: fleet.Failed, Reason: "the agent did not start: " + e.Exit.Detail}
	case fleet.Overran:
		return graded(fleet.Timeout, 0, commits, "the agent overran its time")
	case fleet.Killed:
		return graded(fleet.Failed, 0, commits, "the agent died: "+e.Exit.Detail)
	case fleet.Exited:
	}
	switch {
	case e.Exit.Status != 0:
		return graded(fleet.Failed, 0, commits, fmt.Sprintf("the agent exited with %d", e.Exit.Status))
	case e.Commits > 0:
		return graded(fleet.Productive, CommitGrade, commits, plural(e.Commits, "commit"))
	default:
		return fleet.Verdict{Outcome: fleet.Noop, Parts: commits, Reason: "exit status 0 with no commit and no result file"}
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// byResult lets the result file speak, over the verdict by evidence.
func byResult(v fleet.Verdict, r Result) fleet.Verdict {
	if r.Outcome == "" && r.Grade != nil {
		r.Outcome = fleet.Productive
	}
	if r.Outcome != "" {
		if r.Grade == nil && v.Outcome == fleet.Productive {
			r.Grade = v.Grade // its commits are evidence all the same
		}
		v.Outcome = r.Outcome
		v.Grade = resultGrade(r)
		v.Reason = "the agent says so"
	}
	if r.Reason != "" {
		v.Reason = r.Reason
	}
	return v
}

// resultGrade is the grade that goes with an outcome; only work done and failure
// have one.
func resultGrade(r Result) *float64 {
	if r.Outcome == fleet.Productive {
		return r.Grade // nil stays ungraded: nobody measured it
	}
	if r.Outcome == fleet.Failed {
		return new(0.0)
	}
	return nil
}

// declarable are the outcomes that an agent may give itself.
func declarable() []fleet.Outcome {
	return []fleet.Outcome{fleet.Productive, fleet.Noop, fleet.Nothing, fleet.Failed, fleet.Quota}
}

func graded(o fleet.Outcome, g float64, parts map[string]float64, reason string) fleet.Verdict {
	return fleet.Verdict{Outcome: o, Grade: &g, Parts: parts, Reason: reason}
}

// readResult reads a result file strictly where it counts: an outcome an agent
// cannot have, or a grade that is none, spoils the whole file.
func readResult(e fleet.SessionExit) (Result, error) {
	if e.Spoilt != "" {
		return Result{}, errors.New(e.Spoilt)
	}
	var r Result
	if err := json.Unmarshal(e.Result, &r); err != nil {
		return Result{}, err
	}
	if r.Outcome != "" && !slices.Contains(declarable(), r.Outcome) {
		return Result{}, fmt.Errorf("outcome %q: want one of %v", r.Outcome, declarable())
	}
	if r.Grade != nil && (*r.Grade < 0 || *r.Grade > 1) { // JSON has no NaN
		return Result{}, fmt.Errorf("grade %v: want a number from 0 to 1", *r.Grade)
	}
	if r.TaskState != "" {
		state, err := fleet.ParseTaskState(r.TaskState)
		if err != nil {
			return Result{}, fmt.Errorf("task_state: %w", err)
		}
		r.TaskState = string(state)
	}
	r.Reason = strings.Join(strings.Fields(r.Reason), " ") // models write paragraphs
	if _, err := fleet.ParseText("reason", r.Reason); err != nil {
		return Result{}, err
	}
	return r, nil
}
