package grade

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// anyEvidence is a session that no grader speaks of.
func anyEvidence() *rapid.Generator[Evidence] {
	return rapid.Custom(func(t *rapid.T) Evidence {
		few := rapid.IntRange(0, 12)
		end := rapid.SampledFrom([]fleet.End{fleet.Exited, fleet.Exited, fleet.Exited, fleet.Killed, fleet.Overran, fleet.Stopped, fleet.NoProcess})
		e := Evidence{
			Exit:    fleet.SessionExit{End: end.Draw(t, "end"), Status: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "status")},
			Commits: few.Draw(t, "commits"),
		}
		if rapid.Bool().Draw(t, "changes known") {
			e.Changes = &Changes{
				Commits: few.Draw(t, "left"), Files: few.Draw(t, "files"), Tests: few.Draw(t, "tests"),
				Insertions: rapid.IntRange(0, 100).Draw(t, "insertions"), Deletions: few.Draw(t, "deletions"),
			}
		}
		if rapid.Bool().Draw(t, "a result") {
			e.Exit.Result = fmt.Appendf(nil, `{"grade":%v}`, rapid.Float64Range(0, 1).Draw(t, "claim"))
		}
		switch few.Draw(t, "check") {
		case 1, 2, 3:
			e.Check = &Check{}
		case 4, 5, 6:
			e.Check = &Check{Failure: "exit status 2"}
		case 7:
			e.Check = &Check{Fault: "not found"}
		}
		if rapid.Bool().Draw(t, "output read") {
			e.Transcript = &Transcript{
				Success:   rapid.Ptr(rapid.Bool(), true).Draw(t, "success"),
				ToolCalls: few.Draw(t, "calls"), ToolErrors: few.Draw(t, "errors"), Retries: few.Draw(t, "retries"),
			}
			if rapid.Bool().Draw(t, "walled") {
				e.Transcript.Limit = &UsageLimit{Throttled: rapid.Bool().Draw(t, "throttled"), Text: rapid.String().Draw(t, "text")}
			}
			if rapid.Bool().Draw(t, "faulted") {
				e.Transcript.Fault = &Fault{Kind: rapid.SampledFrom([]fleet.FaultKind{
					fleet.FaultLogin, fleet.FaultForbidden, fleet.FaultModel, fleet.FaultConnection, fleet.FaultServer, fleet.FaultCut, fleet.FaultSilent,
					fleet.FaultContext, fleet.FaultRefusal,
				}).Draw(t, "kind"), Text: rapid.String().Draw(t, "said")}
			}
		}
		return e
	})
}

// with is the evidence with another output.
func with(e Evidence, change func(*Transcript)) Evidence {
	o := Transcript{}
	if e.Transcript != nil {
		o = *e.Transcript
	}
	change(&o)
	e.Transcript = &o
	return e
}

func TestGradeIsTheSumOfItsTerms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := Judge(anyEvidence().Draw(t, "evidence"))
		sum := 0.0
		for name, value := range v.Parts {
			if strings.HasPrefix(name, "grade_") {
				sum += value
				mustBeATerm(t, strings.TrimPrefix(name, "grade_"), value)
			}
		}
		switch {
		case v.Grade == nil && sum != 0:
			t.Fatalf("not graded, with terms: %v", v.Parts)
		case v.Grade != nil && math.Abs(sum-*v.Grade) > 1e-9:
			t.Fatalf("grade %v of %v", *v.Grade, v.Parts)
		case v.Outcome == fleet.Productive && (*v.Grade < 0.05-1e-9 || *v.Grade > 0.86+1e-9):
			t.Fatalf("grade %v, want from 0.05 to 0.86", *v.Grade)
		}
	})
}

func mustBeATerm(t *rapid.T, name string, value float64) {
	i := slices.IndexFunc(Terms(), func(term Term) bool { return term.Name == name })
	if i < 0 || value < Terms()[i].From || value > Terms()[i].To {
		t.Fatalf("grade_%s is %v, want one of %v", name, value, Terms())
	}
}

// TestAClaimIsBounded has the same session with and without a grade of its own.
func TestAClaimIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvidence().Draw(t, "evidence")
		e.Exit.Result = []byte(`{"outcome":"productive"}`)
		silent := Judge(with(e, func(o *Transcript) { o.Success = nil }))
		e.Exit.Result = fmt.Appendf(nil, `{"grade":%v}`, rapid.Float64Range(0, 1).Draw(t, "claim"))
		claimed := Judge(with(e, func(o *Transcript) { o.Success = nil }))
		if silent.Outcome == fleet.Productive && math.Abs(*claimed.Grade-*silent.Grade) > claimWeight+1e-9 {
			t.Fatalf("%v without a claim, %v with one", *silent.Grade, *claimed.Grade)
		}
		claimed = Judge(e)
		if !worked(e) && claimed.Grade != nil && *claimed.Grade > 0.4+1e-9 {
			t.Fatalf("%v for nothing that can be seen", *claimed.Grade)
		}
	})
}

// TestMoreToSeeIsWorthMore compares two sessions of which one left more.
func TestMoreToSeeIsWorthMore(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]func(*Evidence){
		"one more line":    func(e *Evidence) { e.Changes.Insertions++ },
		"a test":           func(e *Evidence) { e.Changes.Tests++ },
		"a check passes":   func(e *Evidence) { e.Check = &Check{} },
		"a claim of all":   func(e *Evidence) { e.Exit.Result = []byte(`{"grade":1}`) },
		"a change at last": func(e *Evidence) { e.Changes.Files++ },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				e := anyEvidence().Draw(t, "evidence")
				if e.Changes == nil {
					e.Changes = &Changes{}
				}
				better := e
				changes := *e.Changes
				better.Changes = &changes
				more(&better)
				was, is := Judge(e), Judge(better)
				if was.Grade != nil && (is.Grade == nil || *is.Grade < *was.Grade-1e-9) {
					t.Fatalf("%+v, then %+v", was, is)
				}
			})
		})
	}
}

// TestTheBarForOneMore has what sessions mostly leave: the grade from which one more of
// the category follows is not that of every session that commits.
func TestTheBarForOneMore(t *testing.T) {
	t.Parallel()
	const bar = 0.65
	for name, test := range map[string]struct {
		e     Evidence
		meets bool
	}{
		"a line":                 {Evidence{Changes: &Changes{Insertions: 1}, Exit: exited(0, `{"grade":1}`)}, false},
		"a line, checked":        {Evidence{Changes: &Changes{Insertions: 1}, Check: &Check{}}, false},
		"a change":               {Evidence{Changes: &Changes{Insertions: 60}, Transcript: &Transcript{Success: value(true)}}, false},
		"much":                   {Evidence{Changes: &Changes{Insertions: 60000}, Transcript: &Transcript{Success: value(true)}}, false},
		"with its tests":         {Evidence{Changes: &Changes{Insertions: 60, Tests: 1}}, true},
		"checked":                {Evidence{Changes: &Changes{Insertions: 60}, Check: &Check{}}, true},
		"tests, the check fails": {Evidence{Changes: &Changes{Insertions: 60, Tests: 1}, Check: &Check{Failure: "x"}, Exit: exited(0, `{"grade":1}`)}, false},
		"tests, with trouble":    {Evidence{Changes: &Changes{Insertions: 60, Tests: 1}, Transcript: &Transcript{ToolCalls: 10, ToolErrors: 3}}, false},
	} {
		test.e.Exit.End, test.e.Commits, test.e.Changes.Commits, test.e.Changes.Files = fleet.Exited, 1, 1, 1
		if got := Judge(test.e); *got.Grade >= bar != test.meets {
			t.Errorf("%s: grade %v, want it to meet %v: %t", name, *got.Grade, bar, test.meets)
		}
	}
}

// TestGradeIsMonotone compares two sessions that differ in one thing, which does not
// make another session of it.
func TestGradeIsMonotone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ worse, better func(*Transcript) }{
		"one more tool error":       {func(o *Transcript) { o.ToolErrors++ }, func(*Transcript) {}},
		"one more failed tool call": {func(o *Transcript) { o.ToolErrors++; o.ToolCalls++ }, func(*Transcript) {}},
		"one more retry":            {func(o *Transcript) { o.Retries++ }, func(*Transcript) {}},
		"reported success":          {func(o *Transcript) { o.Success = nil }, func(o *Transcript) { o.Success = value(true) }},
		"reported failure":          {func(o *Transcript) { o.Success = value(false) }, func(o *Transcript) { o.Success = value(true) }},
		"more calls passed":         {func(*Transcript) {}, func(o *Transcript) { o.ToolCalls++ }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				e := anyEvidence().Draw(t, "evidence")
				worse, better := Judge(with(e, change.worse)), Judge(with(e, change.better))
				if worse.Grade != nil && better.Grade != nil && *worse.Grade > *better.Grade {
					t.Fatalf("%v over %v", *worse.Grade, *better.Grade)
				}
				if better.Outcome == fleet.Failed && worse.Outcome != fleet.Failed {
					t.Fatalf("%s made %s", worse.Outcome, better.Outcome)
				}
			})
		})
	}
}

func TestJudgeByEvidence(t *testing.T) {
	t.Parallel()
	good, bad := value(true), value(false)
	tests := []struct {
		name   string
		e      Evidence
		want   fleet.Outcome
		grade  *float64
		reason string
		terms  map[string]float64
	}{
		{
			"another branch is checked out",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 1, Branch: "fix"}, Moved: "fix"},
			fleet.Productive, value(0.5), "1 commit in 1 file; the workspace is on fix now",
			map[string]float64{"grade_work": 0.5},
		},
		{
			"a process was killed for want of memory",
			Evidence{Exit: fleet.SessionExit{OOM: 2}},
			fleet.Noop, nil, "exit status 0 with no commit and no result file; the kernel killed 2 of its processes for want of memory", nil,
		},
		{
			"too much to be counted",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 2000, Insertions: 9000, Cut: true}},
			fleet.Productive, value(0.58), "1 commit in 2000 files or more",
			map[string]float64{"grade_work": 0.5, "grade_size": 0.08},
		},
		{
			"all is well",
			Evidence{Commits: 2, Changes: &Changes{Commits: 2, Files: 5, Tests: 2, Insertions: 30, Deletions: 12}, Transcript: &Transcript{Success: good, ToolCalls: 40}},
			fleet.Productive, value(0.71), "2 commits in 5 files, the agent reports success",
			map[string]float64{"grade_work": 0.5, "grade_size": 0.08, "grade_tests": 0.08, "grade_success": 0.05},
		},
		{
			"with trouble",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 1, Insertions: 1}, Transcript: &Transcript{ToolCalls: 40, ToolErrors: 10, Retries: 2}},
			fleet.Productive, value(0.457), "1 commit in 1 file, 10 of 40 tool calls failed, 2 retries",
			map[string]float64{"grade_work": 0.5, "grade_size": 0.002, "grade_tool_errors": -0.025, "grade_retries": -0.02},
		},
		{
			"as bad as it gets",
			Evidence{Changes: &Changes{Files: 3}, Transcript: &Transcript{Success: bad, ToolErrors: 7, Retries: 99}},
			fleet.Productive, value(0.3), "3 files changed without a commit, the agent reports that it failed, 7 of 7 tool calls failed, 99 retries",
			map[string]float64{"grade_work": 0.5, "grade_success": -0.05, "grade_tool_errors": -0.1, "grade_retries": -0.05},
		},
		{
			"a check that passes",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 1, Insertions: 50}, Check: &Check{}},
			fleet.Productive, value(0.68), "1 commit in 1 file, the check passes",
			map[string]float64{"grade_work": 0.5, "grade_size": 0.08, "grade_check": 0.1},
		},
		{
			"a check that fails",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 1, Insertions: 50}, Check: &Check{Failure: "run make: exit status 2: \x1b[2J"}},
			fleet.Productive, value(0.38), "1 commit in 1 file, the check fails (run make: exit status 2: \ufffd[2J)",
			map[string]float64{"grade_work": 0.5, "grade_size": 0.08, "grade_check": -0.2},
		},
		{
			"a check that cannot start",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 1, Insertions: 50}, Check: &Check{Fault: "make: not found"}},
			fleet.Productive, value(0.58), "1 commit in 1 file; check: make: not found",
			map[string]float64{"grade_work": 0.5, "grade_size": 0.08},
		},
		{"empty commits", Evidence{Commits: 2, Changes: &Changes{Commits: 2}}, fleet.Noop, nil, "2 commits without a change that is left", nil},
		{"taken back", Evidence{Commits: 2, Changes: &Changes{Commits: 2, Derived: fleet.Derived{TakenBack: true}}}, fleet.Noop, nil, "2 commits without a change that is left: its revert follows", nil},
		{
			"a copy",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 9, Derived: fleet.Derived{Copies: 1, CopyOf: "1a2b3c4d5e"}}},
			fleet.Productive, value(0.5), "1 commit in 9 files, a copy of 1a2b3c4",
			map[string]float64{"grade_work": 0.5},
		},
		{
			"a copy, and work of its own",
			Evidence{Commits: 2, Changes: &Changes{Commits: 2, Files: 2, Tests: 1, Insertions: 20, Derived: fleet.Derived{Copies: 1, CopyOf: "1a2b3c4d5e"}}},
			fleet.Productive, value(0.62), "2 commits in 2 files, one a copy of 1a2b3c4",
			map[string]float64{"grade_work": 0.5, "grade_size": 0.04, "grade_tests": 0.08},
		},
		{
			"copies",
			Evidence{Commits: 3, Changes: &Changes{Commits: 3, Files: 2, Derived: fleet.Derived{Copies: 2, CopyOf: "1a2b3c4d5e"}}},
			fleet.Productive, value(0.5), "3 commits in 2 files, 2 of them copies, the last of 1a2b3c4",
			map[string]float64{"grade_work": 0.5},
		},
		{
			"renamed",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 2, Derived: fleet.Derived{Renamed: true}}},
			fleet.Productive, value(0.5), "1 commit in 2 files, only renamed",
			map[string]float64{"grade_work": 0.5},
		},
		{
			"generated",
			Evidence{Commits: 1, Changes: &Changes{Commits: 1, Files: 1, Derived: fleet.Derived{Generated: 1}}},
			fleet.Productive, value(0.5), "1 commit in 1 file, 1 generated file",
			map[string]float64{"grade_work": 0.5},
		},
		{"reset away", Evidence{Commits: 2, Changes: &Changes{}}, fleet.Noop, nil, "2 commits, of which none is left", nil},
		{
			"success is no evidence",
			Evidence{Changes: &Changes{}, Transcript: &Transcript{Success: good, ToolCalls: 9}},
			fleet.Noop, nil, "exit status 0 with no commit and no result file", nil,
		},
		{
			"its own failure",
			Evidence{Transcript: &Transcript{Success: bad}},
			fleet.Failed, value(0.0), "the agent exited with 0, and reports that it failed", nil,
		},
		{
			"success against its exit status",
			Evidence{Commits: 1, Exit: fleet.SessionExit{Status: 1}, Transcript: &Transcript{Success: good}},
			fleet.Failed, value(0.0), "the agent exited with 1; 1 commit left behind", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.e.Exit.End = fleet.Exited
			v := Judge(tt.e)
			terms := maps.Clone(v.Parts)
			maps.DeleteFunc(terms, func(name string, _ float64) bool { return !strings.HasPrefix(name, "grade_") })
			if tt.terms == nil {
				tt.terms = map[string]float64{}
			}
			got := fleet.Verdict{Outcome: v.Outcome, Grade: v.Grade, Reason: v.Reason, Parts: terms}
			must.Equal(t, "verdict", got, fleet.Verdict{Outcome: tt.want, Grade: tt.grade, Reason: tt.reason, Parts: tt.terms})
		})
	}
}

func TestJudgeCounts(t *testing.T) {
	t.Parallel()
	e := Evidence{
		Exit: fleet.SessionExit{End: fleet.Exited, Status: 1}, Commits: 1, Changes: &Changes{Files: 2, Insertions: 30, Deletions: 4},
		Transcript: &Transcript{ToolCalls: 9, ToolErrors: 1, Retries: 3},
	}
	want := map[string]float64{"commits": 1, "files": 2, "lines": 34, "tool_calls": 9, "tool_errors": 1, "retries": 3}
	must.Equal(t, "parts", Judge(e).Parts, want)
}

// TestJudgeAtAUsageLimit has each way to end at one.
func TestJudgeAtAUsageLimit(t *testing.T) {
	t.Parallel()
	const text = "try again at 7 pm"
	exhausted, throttled := &UsageLimit{Text: text}, &UsageLimit{Text: text, Throttled: true}
	overran := fleet.SessionExit{End: fleet.Overran}
	killed := fleet.SessionExit{End: fleet.Killed, Detail: "killed"}
	tests := []struct {
		name    string
		exit    fleet.SessionExit
		commits int
		output  Transcript
		want    fleet.Outcome
		grade   *float64
		reason  string
	}{
		{"exit status 0", exited(0, ""), 0, Transcript{Limit: exhausted}, fleet.Quota, nil, "exit status 0 with no commit and no result file; it met a usage limit: " + text},
		{"in its agent's eyes a success", exited(0, ""), 0, Transcript{Limit: exhausted, Success: value(true)}, fleet.Quota, nil, "exit status 0 with no commit and no result file; it met a usage limit: " + text},
		{"exit status 1", exited(1, ""), 0, Transcript{Limit: exhausted, Success: value(false)}, fleet.Quota, nil, "the agent exited with 1; it met a usage limit: " + text},
		{"killed", killed, 0, Transcript{Limit: exhausted}, fleet.Quota, nil, "the agent died: killed; it met a usage limit: " + text},
		{"waiting for the reset", overran, 0, Transcript{Limit: exhausted}, fleet.Quota, nil, "the agent overran its time; it met a usage limit: " + text},
		{"stopped", fleet.SessionExit{End: fleet.Stopped}, 0, Transcript{Limit: exhausted}, fleet.Cancelled, nil, "stopped before the agent was done"},

		{"after work", exited(1, ""), 1, Transcript{Limit: exhausted, Success: value(false), Retries: 9}, fleet.Productive, value(0.5), "1 commit, the agent reports that it failed, 9 retries; it met a usage limit: " + text},
		{"after work, waiting", overran, 1, Transcript{Limit: exhausted}, fleet.Productive, value(0.5), "1 commit; it met a usage limit: " + text},
		{"a result of work", exited(1, `{"outcome":"productive","grade":0.9}`), 0, Transcript{Limit: exhausted}, fleet.Quota, nil, "the agent exited with 1; the agent says that it was productive, and nothing of it can be seen; it met a usage limit: " + text},
		{"a result of work, exit status 0", exited(0, `{"grade":0.9}`), 0, Transcript{Limit: exhausted}, fleet.Quota, nil, "exit status 0 with no commit; the agent says that it was productive, and nothing of it can be seen; it met a usage limit: " + text},
		{"a result of work, with a commit", exited(1, `{"grade":0.9}`), 1, Transcript{Limit: exhausted}, fleet.Productive, value(0.58), "1 commit; it met a usage limit: " + text},
		{"a result of nothing to do", exited(1, `{"outcome":"nothing"}`), 0, Transcript{Limit: exhausted}, fleet.Nothing, nil, "the agent says so"},
		{"a result of failure", exited(1, `{"outcome":"failed","reason":"out of tokens"}`), 0, Transcript{Limit: exhausted}, fleet.Quota, nil, "out of tokens; it met a usage limit: " + text},
		{"a result that is spoilt", exited(1, `{`), 0, Transcript{Limit: exhausted}, fleet.Quota, nil, "the agent exited with 1; not graded: result file: unexpected end of JSON input; it met a usage limit: " + text},

		{"throttled, and over it", exited(0, ""), 0, Transcript{Limit: throttled}, fleet.Noop, nil, "exit status 0 with no commit and no result file"},
		{"throttled, and failed", exited(1, ""), 0, Transcript{Limit: throttled}, fleet.Quota, nil, "the agent exited with 1; it met a usage limit: " + text},
		{"throttled, and says it failed", exited(0, ""), 0, Transcript{Limit: throttled, Success: value(false)}, fleet.Quota, nil, "the agent exited with 0, and reports that it failed; it met a usage limit: " + text},
		{"throttled, and overran", overran, 1, Transcript{Limit: throttled}, fleet.Timeout, value(0.0), "the agent overran its time; 1 commit left behind"},
		{"throttled from first to last", overran, 0, Transcript{Limit: throttled}, fleet.Quota, nil, "the agent overran its time; it met a usage limit: " + text},
		{"without a word", exited(1, ""), 0, Transcript{Limit: &UsageLimit{}}, fleet.Quota, nil, "the agent exited with 1; it met a usage limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Evidence{Exit: tt.exit, Commits: tt.commits, Transcript: &tt.output}
			j := Assess(e)
			got := fleet.Verdict{Outcome: j.Verdict.Outcome, Grade: j.Verdict.Grade, Reason: j.Verdict.Reason}
			must.Equal(t, "verdict", got, fleet.Verdict{Outcome: tt.want, Grade: tt.grade, Reason: tt.reason})
			must.Equal(t, "limit", j.Limit, tt.output.Limit)
			if tt.want == fleet.Quota && WantsOpinion(e) {
				t.Error("a grader is asked about a session that met a limit")
			}
		})
	}
}

// TestJudgeByAWordOfALimit has agents say themselves that they met one.
func TestJudgeByAWordOfALimit(t *testing.T) {
	t.Parallel()
	const says = `{"outcome":"quota","reason":"until noon","quota":{"reset_at":"2026-06-26T12:00:00Z"}}`
	noon := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name     string
		evidence Evidence
		want     fleet.Outcome
		grade    *float64
		reason   string
		wall     *UsageLimit
		asked    bool // its grader
	}{
		{"of whose output nothing is known", Evidence{}, fleet.Quota, nil, "until noon", &UsageLimit{ResetAt: noon, Told: true, Text: "until noon"}, false},
		{
			"after work",
			Evidence{Commits: 1},
			fleet.Productive, value(0.5), "until noon; the agent says that it met a usage limit",
			&UsageLimit{ResetAt: noon, Told: true, Text: "until noon; the agent says that it met a usage limit"}, true,
		},
		{
			"whose output tells of none",
			Evidence{Transcript: &Transcript{ToolCalls: 1}},
			fleet.Noop, nil,
			"exit status 0 with no commit and no result file; the agent says that it met a usage limit, and its output shows none", nil, true,
		},
		{
			"after work, whose output tells of none",
			Evidence{Commits: 1, Transcript: &Transcript{ToolCalls: 1}},
			fleet.Productive, value(0.5),
			"1 commit; the agent says that it met a usage limit, and its output shows none", nil, true,
		},
		{"that is trusted", Evidence{Trusted: true, Transcript: &Transcript{}}, fleet.Quota, nil, "until noon", &UsageLimit{ResetAt: noon, Told: true, Text: "until noon"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.evidence.Exit = exited(0, says)
			j := Assess(tt.evidence)
			got := fleet.Verdict{Outcome: j.Verdict.Outcome, Grade: j.Verdict.Grade, Reason: j.Verdict.Reason}
			must.Equal(t, "verdict", got, fleet.Verdict{Outcome: tt.want, Grade: tt.grade, Reason: tt.reason})
			must.Equal(t, "limit", j.Limit, tt.wall)
			if WantsOpinion(tt.evidence) != tt.asked {
				t.Errorf("its grader is asked: %t", !tt.asked)
			}
		})
	}
}
