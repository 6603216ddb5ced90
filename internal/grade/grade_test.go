package grade

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
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
		{"failed with commits", exited(1, ""), 3, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent exited with 1"}},
		{"died", killed, 1, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent died: killed"}},
		{"overran", overran, 1, fleet.Verdict{Outcome: fleet.Timeout, Grade: value(0.0), Reason: "the agent overran its time"}},
		{
			"silent",
			fleet.SessionExit{End: fleet.Overran, Detail: "it printed nothing for 10m0s"},
			1,
			fleet.Verdict{Outcome: fleet.Timeout, Grade: value(0.0), Reason: "the agent was stopped: it printed nothing for 10m0s"},
		},
		{"stopped", stopped, 1, fleet.Verdict{Outcome: fleet.Cancelled, Reason: "stopped before the agent was done"}},
		{"not started", absent, 0, fleet.Verdict{Outcome: fleet.Failed, Reason: `the agent did not start: "claude" is not in the agent's PATH ""`}},

		{"says productive", exited(0, claimsWork), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.9), Reason: "fixed it", TaskState: fleet.StateDone}},
		{"says noop", exited(0, `{"outcome":"noop"}`), 2, fleet.Verdict{Outcome: fleet.Noop, Reason: "the agent says so"}},
		{"says nothing", exited(0, `{"outcome":"nothing","task_state":"cancelled"}`), 0, fleet.Verdict{Outcome: fleet.Nothing, Reason: "the agent says so", TaskState: fleet.StateCancelled}},
		{"says failed", exited(0, `{"outcome":"failed","grade":0.5}`), 2, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the agent says so"}},
		{"says quota", exited(1, `{"outcome":"quota","quota":{"reset_at":"2026-06-26"}}`), 0, fleet.Verdict{Outcome: fleet.Quota, Reason: "the agent says so"}},
		{"productive without a grade", exited(0, `{"outcome":"productive"}`), 0, fleet.Verdict{Outcome: fleet.Productive, Reason: "the agent says so"}},
		{"productive with commits alone", exited(0, `{"outcome":"productive"}`), 2, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "the agent says so"}},
		{"a reason of many lines", exited(0, `{"outcome":"nothing","reason":"read\n\n- the log\t\n"}`), 0, fleet.Verdict{Outcome: fleet.Nothing, Reason: "read - the log"}},
		{"noop with a grade", exited(0, `{"outcome":"noop","grade":0.9}`), 0, fleet.Verdict{Outcome: fleet.Noop, Reason: "the agent says so"}},
		{"a grade alone", exited(0, `{"grade":0.25}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.25), Reason: "the agent says so"}},
		{"grade 0", exited(0, `{"grade":0}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.0), Reason: "the agent says so"}},
		{"grade 1", exited(0, `{"grade":1}`), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(1.0), Reason: "the agent says so"}},
		{"a reason alone", exited(0, `{"reason":"read the log"}`), 0, fleet.Verdict{Outcome: fleet.Noop, Reason: "read the log"}},
		{"a state alone", exited(0, `{"task_state":"ready_for_review"}`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit", TaskState: fleet.StateReview}},
		{"an alias for a state", exited(0, `{"task_state":"paused"}`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit", TaskState: fleet.StateBacklog}},
		{"fields of a later version", exited(0, `{"lessons":["a"],"tokens":1,"cost_usd":0.4,"later":{}}`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit"}},
		{"null", exited(0, `null`), 1, fleet.Verdict{Outcome: fleet.Productive, Grade: value(CommitGrade), Reason: "1 commit"}},

		{"the agent over its exit status", exited(1, claimsWork), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.9), Reason: "fixed it", TaskState: fleet.StateDone}},
		{"the agent over its death", ended(killed, claimsWork), 0, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.9), Reason: "fixed it", TaskState: fleet.StateDone}},
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
			if tt.want.Grade != nil && *tt.want.Grade == CommitGrade {
				tt.want.Parts["grade_work"] = CommitGrade
			}
			got := Judge(Evidence{Exit: tt.exit, Commits: tt.commits})
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("verdict (-got +want):\n%s", diff)
			}
		})
	}
}

// TestJudgeSpoiltResult has files that nobody can judge by: the outcome is what
// stint saw, nothing is graded, and the task is left alone.
func TestJudgeSpoiltResult(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	tests := []struct{ name, result, want string }{
		{"empty", " ", "unexpected end of JSON input"},
		{"no JSON", "done!", "invalid character 'd' looking for beginning of value"},
		{"a list", `[]`, "json: cannot unmarshal array into Go value of type grade.Result"},
		{"two values", `{} {}`, "invalid character '{' after top-level value"},
		{"wrong type", `{"grade":"0.5"}`, "json: cannot unmarshal string into Go struct field Result.grade of type float64"},
		{"unknown outcome", `{"outcome":"success","grade":1}`, `outcome "success": want one of [productive noop nothing failed quota]`},
		{"an outcome that is stint's", `{"outcome":"cancelled"}`, `outcome "cancelled": want one of [productive noop nothing failed quota]`},
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
			if got.Outcome != fleet.Productive || got.Grade != nil || got.TaskState != "" {
				t.Errorf("got %+v, want productive by its commit, and neither grade nor task state", got)
			}
			if want := "1 commit; not graded: result file: " + tt.want; !strings.HasPrefix(got.Reason, want) {
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
