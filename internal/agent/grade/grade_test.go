package grade

import (
	"slices"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func exited(status int, result string) fleet.SessionExit {
	return ended(fleet.SessionExit{End: fleet.Exited, Status: status}, result)
}

// ended is an exit with a result file, unless that is empty.
func ended(e fleet.SessionExit, result string) fleet.SessionExit {
	if result != "" {
		e.Result = []byte(result)
	}
	return e
}

func value[T any](v T) *T { return &v }

// TestJudge has one case for each way to an outcome, and for each pair of
// witnesses that disagree. The parts are always the commits, or none, and with a grade by
// commits what it is the sum of.
func TestJudge(t *testing.T) {
	t.Parallel()
	stopped := fleet.SessionExit{End: fleet.Stopped}
	overran := fleet.SessionExit{End: fleet.Overran}
	killed := fleet.SessionExit{End: fleet.Killed, Detail: "killed"}
	absent := fleet.SessionExit{End: fleet.NoProcess, Detail: `"claude" is not in the agent's PATH ""`}
	const claimsWork = `{"outcome":"productive","grade":0.9,"reason":"fixed it","task_state":"done"}`
	tests := []struct {
		name    string
		exit    fleet.SessionExit
		commits int
		want    fleet.Verdict
	}{
		{"commits", exited(0, ""), 2, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "2 commits"}},
		{"one commit", exited(0, ""), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit"}},
		{"nothing to show", exited(0, ""), 0, fleet.Verdict{Outcome: fleet.Noop, Reason: "exit status 0 with no commit and no result file"}},
		{"failed", exited(7, ""), 0, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent exited with 7"}},
		{"failed with commits", exited(1, ""), 3, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent exited with 1; 3 commits left behind"}},
		{"died", killed, 1, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent died: killed; 1 commit left behind"}},
		{"overran", overran, 1, fleet.Verdict{Outcome: fleet.Timeout, Grade: value(0.0), Reason: "the agent overran its time; 1 commit left behind"}},
		{
			"silent",
			fleet.SessionExit{End: fleet.Overran, Detail: "it printed nothing for 10m0s"},
			1,
			fleet.Verdict{Outcome: fleet.Timeout, Grade: value(0.0), Reason: "the agent was stopped: it printed nothing for 10m0s; 1 commit left behind"},
		},
		{"stopped", stopped, 1, fleet.Verdict{Outcome: fleet.Cancelled, Reason: "stopped before the agent was done; 1 commit left behind"}},
		{"not started", absent, 0, fleet.Verdict{Outcome: fleet.Failed, Reason: `the agent did not start: "claude" is not in the agent's PATH ""`}},

		{"says productive", exited(0, claimsWork), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.38), Reason: "fixed it; " + unseen, TaskState: fleet.StateDone}},
		{"says productive, with commits", exited(0, claimsWork), 2, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.58), Reason: "fixed it", TaskState: fleet.StateDone}},
		{"says noop", exited(0, `{"outcome":"noop"}`), 2, fleet.Verdict{Outcome: fleet.Noop, Reason: "the agent says so; 2 commits left behind"}},
		{"says nothing", exited(0, `{"outcome":"nothing","task_state":"cancelled"}`), 0, fleet.Verdict{Outcome: fleet.Nothing, Reason: "the agent says so", TaskState: fleet.StateCancelled}},
		{"says failed", exited(0, `{"outcome":"failed","grade":0.5}`), 2, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent says so; 2 commits left behind"}},
		{"says quota", exited(1, `{"outcome":"quota","quota":{"reset_at":"2026-06-26"}}`), 0, fleet.Verdict{Outcome: fleet.Quota, Reason: "the agent says so"}},
		{"productive without a grade", exited(0, `{"outcome":"productive"}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.3), Reason: "the agent says so; " + unseen}},
		{"productive with commits alone", exited(0, `{"outcome":"productive"}`), 2, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "2 commits"}},
		{"a reason of many lines", exited(0, `{"outcome":"nothing","reason":"read\n\n- the log\t\n"}`), 0, fleet.Verdict{Outcome: fleet.Nothing, Reason: "read - the log"}},
		{"noop with a grade", exited(0, `{"outcome":"noop","grade":0.9}`), 0, fleet.Verdict{Outcome: fleet.Noop, Reason: "the agent says so"}},
		{"a grade alone", exited(0, `{"grade":0.25}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.25), Reason: "the agent says so; " + unseen}},
		{"grade 0", exited(0, `{"grade":0}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.2), Reason: "the agent says so; " + unseen}},
		{"grade 1", exited(0, `{"grade":1}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.4), Reason: "the agent says so; " + unseen}},
		{"a reason alone", exited(0, `{"reason":"read the log"}`), 0, fleet.Verdict{Outcome: fleet.Noop, Reason: "read the log"}},
		{"a state alone", exited(0, `{"task_state":"ready_for_review"}`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit", TaskState: fleet.StateReview}},
		{"an alias for a state", exited(0, `{"task_state":"paused"}`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit", TaskState: fleet.StateBacklog}},
		{"fields of a later version", exited(0, `{"lessons":["a"],"tokens":1,"cost_usd":0.4,"later":{}}`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit"}},
		{"null", exited(0, `null`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit"}},

		{"its exit status over the agent", exited(1, claimsWork), 0, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent exited with 1; the agent says that it was productive, and nothing of it can be seen"}},
		{"its death over the agent", ended(killed, claimsWork), 0, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent died: killed; the agent says that it was productive, and nothing of it can be seen"}},
		{"its commits over its exit status", exited(1, claimsWork), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.58), Reason: "fixed it", TaskState: fleet.StateDone}},
		{"the time-out over the agent", ended(overran, claimsWork), 0, fleet.Verdict{Outcome: fleet.Timeout, Grade: value(0.0), Reason: "the agent overran its time", TaskState: fleet.StateDone}},
		{"the stop over the agent", ended(stopped, claimsWork), 0, fleet.Verdict{Outcome: fleet.Cancelled, Reason: "stopped before the agent was done"}},
		{
			"the time-out over a result cut short", ended(overran, `{"outcome":"prod`), 0,
			fleet.Verdict{Outcome: fleet.Timeout, Grade: value(0.0), Reason: "the agent overran its time; result file: unexpected end of JSON input"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.exit.End == fleet.Exited {
				tt.want.ExitStatus = &tt.exit.Status
			}
			if tt.exit.End != fleet.Stopped && tt.exit.End != fleet.NoProcess {
				tt.want.Parts = map[string]float64{"commits": float64(tt.commits)}
			}
			if tt.want.Outcome == fleet.Productive { // the claim makes the difference
				work := 0.3
				if tt.commits > 0 {
					work = CommitGrade
				}
				tt.want.Parts["grade_work"] = work
				if claim := thousandths(*tt.want.Grade - work); claim != 0 {
					tt.want.Parts["grade_claim"] = claim
				}
			}
			got := Judge(Evidence{Exit: tt.exit, Commits: tt.commits})
			must.Equal(t, "verdict", got, tt.want)
		})
	}
}

// TestJudgeSpoiltResult has files that nobody can judge by: outcome and grade are by what
// stint saw, and the task is left alone.
func TestJudgeSpoiltResult(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	tests := []struct{ name, result, want string }{
		{"empty", " ", "unexpected end of JSON input"},
		{"no JSON", "done!", "invalid character 'd' looking for beginning of value"},
		{"a list", `[]`, "json: cannot unmarshal array into Go value of type grade.Result"},
		{"two values", `{} {}`, "invalid character '{' after top-level value"},
		{"wrong type", `{"grade":"0.5"}`, "json: cannot unmarshal string into Go struct field Result.grade of type float64"},
		{"unknown outcome", `{"outcome":"success","grade":1}`, `outcome "success": want one of productive, noop, nothing, failed, quota`},
		{"an outcome that is stint's", `{"outcome":"cancelled"}`, `outcome "cancelled": want one of productive, noop, nothing, failed, quota`},
		{"grade too high", `{"grade":1.01}`, "grade 1.01: want a number from 0 to 1"},
		{"grade too low", `{"grade":-0.01}`, "grade -0.01: want a number from 0 to 1"},
		{"grade that is none", `{"grade":1e999}`, "json: cannot unmarshal number 1e999 into Go struct field Result.grade of type float64"},
		{"unknown state", `{"task_state":"finished","outcome":"productive","grade":1}`, `task_state: state "finished": want one of `},
		{"terminal codes", `{"reason":"\u001b[2J"}`, `reason "\x1b[2J": control characters are not allowed`},
		{"a long outcome", `{"outcome":"` + long + `"}`, "outcome "},
		{"a long state", `{"task_state":"` + long + `"}`, "task_state"},
		{"a long reason", `{"reason":"` + long + `"}`, "reason: 1048576 bytes, want at most 4096"},
		{"a long grade", `{"grade":1` + strings.Repeat("0", 1<<20) + `}`, "json: cannot unmarshal number 1000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Judge(Evidence{Exit: exited(0, tt.result), Commits: 1})
			if got.Outcome != fleet.Productive || *got.Grade != CommitGrade || got.TaskState != "" {
				t.Errorf("got %+v, want productive by its commit, and no task state", got)
			}
			if want := "1 commit; result file: " + tt.want; !strings.HasPrefix(got.Reason, want) {
				t.Errorf("got  %.300s\nwant %s", got.Reason, want)
			}
			if _, err := fleet.ParseText("reason", got.Reason); err != nil {
				t.Errorf("got a reason that cannot be shown: %.100s", err)
			}
		})
	}
	t.Run("unreadable", func(t *testing.T) {
		t.Parallel()
		got := Judge(Evidence{Exit: fleet.SessionExit{End: fleet.Exited, Status: 2, Spoilt: "not a regular file"}})
		if want := "the agent exited with 2; not graded: result file: not a regular file"; got.Reason != want || got.Grade != nil || got.Outcome != fleet.Failed {
			t.Errorf("got %+v, want failed, not graded, because %q", got, want)
		}
	})
}

// TestJudgeTrusted has an agent whose own grade counts in full.
func TestJudgeTrusted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		exit    fleet.SessionExit
		commits int
		want    fleet.Verdict
	}{
		{"a grade", exited(0, `{"grade":0.9,"task_state":"done"}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.9), Reason: "the agent says so", TaskState: fleet.StateDone}},
		{"over its commits", exited(0, `{"grade":0.2}`), 3, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.2), Reason: "the agent says so"}},
		{"over its death", ended(fleet.SessionExit{End: fleet.Killed}, `{"grade":0.9}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.9), Reason: "the agent says so"}},
		{"without a grade", exited(0, `{"outcome":"productive"}`), 0, fleet.Verdict{Outcome: fleet.Productive, Reason: "the agent says so"}},
		{"spoilt", exited(0, `{`), 1, fleet.Verdict{Outcome: fleet.Productive, Reason: "1 commit; not graded: result file: unexpected end of JSON input"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.exit.End == fleet.Exited {
				tt.want.ExitStatus = &tt.exit.Status
			}
			tt.want.Parts = map[string]float64{"commits": float64(tt.commits)}
			if tt.want.Grade != nil {
				tt.want.Parts["grade_claim"] = *tt.want.Grade
			}
			got := Judge(Evidence{Exit: tt.exit, Commits: tt.commits, Trusted: true})
			must.Equal(t, "verdict", got, tt.want)
		})
	}
}

// FuzzJudge lets an agent write anything: the grade is none or from 0 to 1, and
// what is shown to people is a line of text.
func FuzzJudge(f *testing.F) {
	f.Add([]byte(`{"outcome":"productive","grade":0.5,"reason":"r","task_state":"done"}`), uint8(0))
	f.Add([]byte(`{"outcome":"\u001b","task_state":"\u0000"}`), uint8(1))
	f.Add([]byte(`{"grade":1e308}`), uint8(0))
	ends := []fleet.End{fleet.Exited, fleet.Killed, fleet.Overran, fleet.Stopped, fleet.NoProcess}
	f.Fuzz(func(t *testing.T, result []byte, end uint8) {
		v := Judge(Evidence{Exit: fleet.SessionExit{End: ends[int(end)%len(ends)], Result: result}})
		if v.Grade != nil && !(*v.Grade >= 0 && *v.Grade <= 1) {
			t.Errorf("got grade %v, want none or one from 0 to 1", *v.Grade)
		}
		if !slices.Contains(append(declarable(), fleet.Timeout, fleet.Cancelled), v.Outcome) {
			t.Errorf("got outcome %q, which no session has", v.Outcome)
		}
		if _, err := fleet.ParseText("reason", v.Reason); err != nil {
			t.Error(err)
		}
		if _, err := fleet.ParseTaskState(string(v.TaskState)); err != nil {
			t.Error(err)
		}
	})
}
