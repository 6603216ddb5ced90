package grade

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestJudgeByOpinion has one case for each witness that a grader outweighs, or does not.
func TestJudgeByOpinion(t *testing.T) {
	t.Parallel()
	const good = `{"grade":0.8,"reason":"neat","parts":{"tests":0.9}}`
	neat := map[string]float64{"commits": 1, "grader_tests": 0.9}
	plain := map[string]float64{"commits": 1}
	tests := []struct {
		name    string
		exit    fleet.SessionExit
		opinion Opinion
		want    fleet.Verdict
		asked   bool
	}{
		{"over evidence", exited(0, ""), Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.8), Reason: "neat", Parts: neat}, true},
		{"over its exit status", exited(1, ""), Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.8), Reason: "neat", Parts: neat}, true},
		{"without a reason", exited(0, ""), Opinion{Output: []byte(`{"outcome":"failed"}`)}, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the grader says so", Parts: plain}, true},
		{"noop", exited(0, ""), Opinion{Output: []byte(`{"outcome":"noop"}`)}, fleet.Verdict{Outcome: fleet.Noop, Reason: "the grader says so", Parts: plain}, true},
		{"beside a task state", exited(0, `{"task_state":"done","reason":"mine"}`), Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.8), Reason: "neat", Parts: neat, TaskState: fleet.StateDone}, true},
		{"over a grade of its own", exited(0, `{"grade":0.2,"reason":"mine"}`), Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.8), Reason: "neat", Parts: neat}, true},
		{"over a noop", exited(0, `{"outcome":"noop"}`), Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.8), Reason: "neat; the agent says noop", Parts: neat}, true},
		{"over a claim", exited(0, `{"grade":1,"task_state":"done"}`), Opinion{Output: []byte(`{"outcome":"noop"}`)}, fleet.Verdict{Outcome: fleet.Noop, Reason: "the grader says so; the agent says productive; the task is not taken for done", Parts: plain}, true},
		{"agrees that it failed", exited(0, `{"outcome":"failed","task_state":"cancelled"}`), Opinion{Output: []byte(`{"outcome":"failed"}`)}, fleet.Verdict{Outcome: fleet.Failed, Grade: value(0.0), Reason: "the grader says so", Parts: plain, TaskState: fleet.StateCancelled}, true},
		{"agrees that there was nothing to do", exited(0, `{"outcome":"nothing","task_state":"done"}`), Opinion{Output: []byte(`{"outcome":"nothing","reason":"so it is"}`)}, fleet.Verdict{Outcome: fleet.Nothing, Reason: "so it is", Parts: plain, TaskState: fleet.StateDone}, true},
		{"over a usage limit after work", exited(0, `{"outcome":"quota"}`), Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.8), Reason: "neat; the agent says quota", Parts: neat}, true},
		{"a spoilt result", exited(0, `{`), Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Productive, Grade: value(0.8), Reason: "neat; result file: unexpected end of JSON input", Parts: neat}, true},
		{"the time-out over it", fleet.SessionExit{End: fleet.Overran}, Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Timeout, Grade: value(0.0), Reason: "the agent overran its time", Parts: plain}, false},
		{"the stop over it", fleet.SessionExit{End: fleet.Stopped}, Opinion{Output: []byte(good)}, fleet.Verdict{Outcome: fleet.Cancelled, Reason: "stopped before the agent was done"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.exit.End == fleet.Exited {
				tt.want.ExitStatus = &tt.exit.Status
			}
			e := Evidence{Exit: tt.exit, Commits: 1}
			if got := WantsOpinion(e); got != tt.asked {
				t.Errorf("wants an opinion: got %v, want %v", got, tt.asked)
			}
			if tt.want.Outcome != fleet.Productive {
				tt.want.Reason += "; 1 commit left behind"
			}
			e.Opinion = &tt.opinion
			got := Assess(e)
			must.Equal(t, "verdict", got.Verdict, tt.want)
			if len(got.Warnings) > 0 {
				t.Errorf("got warnings %q, want none", got.Warnings)
			}
		})
	}
}

// TestJudgeFallsBackLoudly has graders that nobody can judge by.
func TestJudgeFallsBackLoudly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxOpinion-100)
	tests := []struct{ name, output, fault, want string }{
		{"failed", `{"grade":1}`, "run judge: exit status 1: no \x1b[2J\nmodel", "run judge: exit status 1: no \ufffd[2J model"},
		{"silent", "", "", "want an object of JSON"},
		{"no JSON", "0.8", "", "want an object of JSON"},
		{"null", "null", "", "want an object of JSON"},
		{"a list", `[{"grade":1}]`, "", "want an object of JSON"},
		{"cut short", `{"grade":1`, "", "unexpected EOF"},
		{"two", `{"grade":1}{"grade":0}`, "", "want one object of JSON and nothing behind it"},
		{"with a log", `{"grade":1} done`, "", "want one object of JSON and nothing behind it"},
		{"empty", `{}`, "", "neither a grade nor an outcome"},
		{"a wrong name", `{"score":1}`, "", `json: unknown field "score"`},
		{"another schema", `{"schema":"stint/grade@2","grade":1}`, "", `schema "stint/grade@2": want "stint/grade@1", or none`},
		{"text for a grade", `{"grade":"0.8"}`, "", "json: cannot unmarshal string into Go struct field OpinionObject.grade of type float64"},
		{"too high", `{"grade":8}`, "", "grade 8: want a number from 0 to 1"},
		{"too low", `{"grade":-0.1}`, "", "grade -0.1: want a number from 0 to 1"},
		{"an outcome that is stint's", `{"outcome":"timeout"}`, "", `outcome "timeout": want one of productive, noop, nothing, failed`},
		{"an outcome that stops an agent", `{"outcome":"quota"}`, "", `outcome "quota": want one of productive, noop, nothing, failed`},
		{"productive for what", `{"outcome":"productive"}`, "", "outcome productive without a grade"},
		{"a contradiction", `{"outcome":"noop","grade":0.8}`, "", "outcome noop with grade 0.8"},
		{"a good failure", `{"outcome":"failed","grade":0.8}`, "", "outcome failed with grade 0.8"},
		{"terminal codes", `{"grade":1,"reason":"\u001b[2J"}`, "", `reason "\x1b[2J": control characters are not allowed`},
		{"a long reason", `{"grade":1,"reason":"` + long + `"}`, "", "reason: 65436 bytes, want at most 4096"},
		{"a long part", `{"grade":1,"parts":{"` + long + `":1}}`, "", "a part's name of 65436 bytes, want 1 to 60"},
		{"many parts", `{"grade":1,"parts":{` + manyParts(31) + `}}`, "", "31 parts, want at most 30"},
		{"a hostile part", `{"grade":1,"parts":{"\u001b":1}}`, "", `part "\x1b": control characters are not allowed`},
		{"a flood", `{"grade":1,"reason":"` + long + long + `"}`, "", "130895 bytes, want at most 65536"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Assess(Evidence{Exit: exited(0, ""), Commits: 1, Opinion: &Opinion{Output: []byte(tt.output), Fault: tt.fault}})
			if got.Verdict.Outcome != fleet.Productive || *got.Verdict.Grade != CommitGrade {
				t.Errorf("got %+v, want productive by its commit", got.Verdict)
			}
			if want := "1 commit; grader: " + tt.want; got.Verdict.Reason != want {
				t.Errorf("got  %.300s\nwant %s", got.Verdict.Reason, want)
			}
			must.Equal(t, "warnings", got.Warnings, []string{"grader: " + tt.want})
		})
	}
}

// manyParts are the fields of an object.
func manyParts(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"p%d":1`, i)
	}
	return strings.Join(fields, ",")
}

// TestJudgeKeepsAFaultInView has a reason that leaves no room for it.
func TestJudgeKeepsAFaultInView(t *testing.T) {
	t.Parallel()
	long := `{"outcome":"productive","reason":"` + strings.Repeat("é", 2048) + `"}`
	got := Judge(Evidence{Exit: exited(0, long), Commits: 1, Opinion: &Opinion{Fault: "gone"}}).Reason
	if _, err := fleet.ParseText("reason", got); err != nil || !strings.HasSuffix(got, "é…; grader: gone") {
		t.Errorf("got %d bytes, …%q, %v, want the reason cut", len(got), got[len(got)-30:], err)
	}
}

func TestParseGradingTakesASchema(t *testing.T) {
	t.Parallel()
	got, err := ParseGrading([]byte("\n" + `{"schema":"stint/grade@1","grade":0,"outcome":"failed"}` + "\n"))
	if err != nil || got.Outcome != fleet.Failed || *got.Grade != 0 {
		t.Errorf("got %+v, %v, want failed with grade 0", got, err)
	}
}

func TestCaseEncode(t *testing.T) {
	t.Parallel()
	reset := time.Date(2026, 6, 26, 0, 25, 19, 0, time.UTC)
	full := Case{
		Run: "0run", Category: "code", Workspace: "/w", Revisions: []string{"abc"}, Diff: "+x\n", DiffCut: true, Files: fleet.FilesOf("/s", "0run"),
		Task: &fleet.Task{ID: "fix", Title: "Fix \"it\"", Path: "/w/tasks/fix.md", SuccessCriterion: "tests pass"},
	}
	e := Evidence{
		Exit: exited(1, "{\"outcome\":\"productive\"}\xff"), Commits: 1, Changes: &Changes{Commits: 1, Files: 1, Insertions: 2, Deletions: 3},
		Check: &Check{Failure: "exit status 2"},
		Transcript: &Transcript{
			Success: value(true), ToolCalls: 4, ToolErrors: 1, Retries: 2,
			Usage: fleet.Usage{Tokens: value(int64(9)), USD: value(0.5)}, Limit: &UsageLimit{ResetAt: reset, Text: "w"},
		},
		Opinion: &Opinion{Output: []byte(`{"grade":1}`)}, // not what the grader is to repeat
	}
	const want = `{"schema":"stint/evidence@1","run":"0run","category":"code","workspace":"/w","revisions":["abc"],"diff":"+x\n","diff_cut":true,` +
		`"task":{"id":"fix","title":"Fix \"it\"","success_criterion":"tests pass","path":"/w/tasks/fix.md"},` +
		`"outcome":"productive","grade":0.335,"reason":"1 commit in 1 file, the check fails (exit status 2), the agent reports success, 1 of 4 tool calls failed, 2 retries; it met a usage limit: w; result file: invalid character 'ÿ' after top-level value",` +
		`"end":"exited","exit_status":1,"commits":1,` +
		`"changes":{"files":1,"tests":0,"insertions":2,"deletions":3},"check":{"passed":false,"detail":"exit status 2"},"result":"{\"outcome\":\"productive\"}\ufffd","prompt":"/s/runs/0run/prompt","log":"/s/runs/0run/log",` +
		`"transcript":{"success":true,"tool_calls":4,"tool_errors":1,"retries":2,"quota":{"throttled":false,"reset_at":"2026-06-26T00:25:19Z","text":"w"},"tokens":9,"cost_usd":0.5}}`
	mustEncode(t, full, e, want)
	const least = `{"schema":"stint/evidence@1","run":"0run","category":"code","workspace":"","revisions":null,"diff":"","diff_cut":false,"task":null,` +
		`"outcome":"noop","grade":null,"reason":"exit status 0 with no commit and no result file","end":"exited","exit_status":0,"commits":0,"changes":null,"check":null,"result":null,"prompt":"","log":"","transcript":null}`
	mustEncode(t, Case{Run: "0run", Category: "code"}, Evidence{Exit: exited(0, "")}, least)
}

func mustEncode(t *testing.T, c Case, e Evidence, want string) {
	t.Helper()
	got := must.Get(c.Encode(e))(t)
	must.Equal(t, "evidence", string(got), want)
}

// FuzzOpinion lets a grader print anything: the verdict is one that can be stored and
// shown, and one it cannot use leaves the evidence's.
func FuzzOpinion(f *testing.F) {
	f.Add([]byte(`{"grade":0.8,"outcome":"productive","reason":"r","parts":{"a":1}}`), "", "")
	f.Add([]byte(`{"outcome":"\u001b"}`), "", `{"outcome":"productive"}`)
	f.Add([]byte(nil), "run judge: \x1b\xff", `{"lessons":[1],"tokens":-1}`)
	f.Fuzz(func(t *testing.T, output []byte, fault, result string) {
		e := Evidence{Exit: exited(0, result), Commits: 1}
		without := Judge(e)
		e.Opinion = &Opinion{Output: output, Fault: fault}
		j := Assess(e)
		v := j.Verdict
		if v.Grade != nil && !(*v.Grade >= 0 && *v.Grade <= 1) {
			t.Errorf("got grade %v, want none or one from 0 to 1", *v.Grade)
		}
		if _, err := fleet.ParseText("reason", v.Reason); err != nil {
			t.Error(err)
		}
		for _, warning := range j.Warnings {
			if _, err := fleet.ParseText("warning", warning); err != nil {
				t.Error(err)
			}
		}
		if _, err := json.Marshal(v.Parts); err != nil {
			t.Errorf("parts that cannot be stored: %v", err)
		}
		if _, err := e.Opinion.parse(); err != nil && (v.Outcome != without.Outcome || !cmp.Equal(v.Grade, without.Grade)) {
			t.Errorf("got %+v from a grader without an opinion, want %+v", v, without)
		}
		if _, err := (Case{}).Encode(e); err != nil {
			t.Error(err)
		}
	})
}
