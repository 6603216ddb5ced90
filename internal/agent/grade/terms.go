package grade

import "stint/internal/fleet"

// Term is one addend of a grade by evidence, the part "grade_NAME" of a verdict.
type Term struct {
	Name     string
	From, To float64 // what it can be, beside 0 where there is nothing to go by
	Rule     string
}

// The grade by evidence is a sum of terms. A change that somebody made and nobody looked
// at is worth what a belief begins with, and moves it neither way. To reach the grade
// from which one more session follows (0.65), it takes two things that can be seen: a
// change of some size together with its tests, or with a check that passes. Evidence
// alone proves neither the worst, which is for agents that fail, nor the best, which
// somebody has to have judged.
const (
	// CommitGrade is the prior's mean: something was done, and nobody knows what it is worth.
	CommitGrade = 0.5
	// unseenGrade is below the prior's mean by more than a claim can add.
	unseenGrade = 0.3

	// A line is less than a real change, and a change of ten screens no more than one of
	// one: bulk is not to be rewarded.
	sizeWeight, manyLines = 0.08, 40
	testsWeight           = 0.08
	// A check passes mostly because it passed before; that it fails is the session's doing.
	passWeight, failWeight = 0.1, 0.2
	// The agent's word on itself is worth less than what can be seen.
	claimWeight, flagWeight = 0.1, 0.05
	// A session whose every tool call failed has mostly met refusals.
	toolErrorWeight = 0.1
	// Retries cost time and are seldom the agent's fault.
	retryWeight = 0.05
	// manyRetries are as bad as it gets: past them a request is mostly given up.
	manyRetries = 5
)

// Terms are all there are, in the order in which they are explained.
func Terms() []Term {
	return []Term{
		{"work", unseenGrade, CommitGrade, "0.5: a change is left; 0.3: only the agent reports one"},
		{"size", 0, sizeWeight, "by the lines that it wrote, at most 40"},
		{"tests", testsWeight, testsWeight, "it wrote lines of a test, by the file's name"},
		{"check", -failWeight, passWeight, "the category's check passes (+0.1) or fails (-0.2)"},
		{"claim", -claimWeight, claimWeight, "the agent's own grade: 0 is -0.1, 1 is +0.1"},
		{"success", -flagWeight, flagWeight, "the agent's own flag, where it gave no grade"},
		{"tool_errors", -toolErrorWeight, 0, "by the share of its tool calls that failed"},
		{"retries", -retryWeight, 0, "by the retries of its model, at most 5"},
	}
}

// term is one addend of a grade.
type term struct {
	name  string
	value float64
}

// terms returns the terms whose sum is the grade of work; claim is the agent's own grade, if it
// gave one. The effects of a usage limit are left out.
func terms(e Evidence, claim *float64) []term {
	list := []term{{"work", unseenGrade}}
	if worked(e) {
		list[0].value = CommitGrade
	}
	add := func(name string, value float64) {
		if value = thousandths(value); value != 0 {
			list = append(list, term{name, value})
		}
	}
	if c := e.Changes; c != nil && worked(e) {
		add("size", sizeWeight*float64(min(c.Insertions+c.Deletions, manyLines))/manyLines)
		if c.Tests > 0 {
			add("tests", testsWeight)
		}
	}
	if c := e.Check; c != nil && c.Fault == "" && worked(e) {
		if c.Failure == "" {
			add("check", passWeight)
		} else {
			add("check", -failWeight)
		}
	}
	if claim != nil {
		add("claim", claimWeight*(2**claim-1))
	} else if t := e.Transcript; t != nil && (!hindered(e) || flag(t.Success) > 0) {
		add("success", flagWeight*float64(flag(t.Success)))
	}
	if t := e.Transcript; t != nil {
		if t.ToolErrors > 0 {
			// A call that was missed counts as one that failed: there are at least as many.
			add("tool_errors", -toolErrorWeight*float64(t.ToolErrors)/float64(max(t.ToolErrors, t.ToolCalls)))
		}
		if t.Limit == nil && t.Fault == nil {
			add("retries", -retryWeight*float64(min(t.Retries, manyRetries))/manyRetries)
		}
	}
	return list
}

// Check has the result of the category's own check of a session's work.
type Check struct {
	Failure string // empty: it passed
	Fault   string // why nothing is known of it: it could not be run; empty: it was
}

// productive grades work that was seen, or only claimed.
func productive(e Evidence, claim *float64) fleet.Verdict {
	sum, parts := 0.0, counts(e)
	for _, t := range terms(e, claim) {
		sum += t.value
		parts[fleet.TermPrefix+t.name] = t.value
	}
	return fleet.Verdict{Outcome: fleet.Productive, Grade: new(thousandths(sum)), Parts: parts, Reason: found(e)}
}
