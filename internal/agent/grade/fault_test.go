package grade

import (
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestAFaultByTheResult believes the result file of an agent of which nothing else is known, or that is trusted.
func TestAFaultByTheResult(t *testing.T) {
	t.Parallel()
	const result = `{"outcome":"unavailable","reason":"no route"}`
	for name, tt := range map[string]struct {
		e       Evidence
		outcome fleet.Outcome
		fault   fleet.FaultKind
		reason  string
	}{
		"of any program": {Evidence{Exit: exited(0, result)}, fleet.Unavailable, fleet.FaultServer, "no route"},
		"without a word": {Evidence{Exit: exited(1, `{"outcome":"unavailable"}`)}, fleet.Unavailable, fleet.FaultServer, "the agent says that its service failed"},
		"after work":     {Evidence{Exit: exited(0, result), Commits: 1}, fleet.Productive, fleet.FaultServer, "1 commit"},
		"of one that shows nothing": {
			Evidence{Exit: exited(1, result), Transcript: &Transcript{}},
			fleet.Failed, "",
			"the agent exited with 1; the agent says that its service failed, and its output shows nothing of it",
		},
		"of a trusted one": {Evidence{Exit: exited(1, result), Transcript: &Transcript{}, Trusted: true}, fleet.Unavailable, fleet.FaultServer, "no route"},
	} {
		v := Judge(tt.e)
		if v.Outcome != tt.outcome || v.Fault != tt.fault || !strings.HasPrefix(v.Reason, tt.reason) {
			t.Errorf("%s: got %s, %q: %q", name, v.Outcome, v.Fault, v.Reason)
		}
		if v.Outcome == fleet.Unavailable && (v.Grade != nil || WantsOpinion(tt.e)) {
			t.Errorf("%s: it is graded", name)
		}
	}
}

func TestJudgeAtAFault(t *testing.T) {
	t.Parallel()
	const text = "login expired; run: claude /login"
	login, silent, long := &Fault{fleet.FaultLogin, text}, &Fault{fleet.FaultSilent, "no answer"}, &Fault{fleet.FaultContext, "too long"}
	killed, overran := fleet.SessionExit{End: fleet.Killed, Detail: "killed"}, fleet.SessionExit{End: fleet.Overran}
	tests := []struct {
		name    string
		exit    fleet.SessionExit
		commits int
		output  Transcript
		outcome fleet.Outcome
		grade   *float64
		fault   fleet.FaultKind
		reason  string
	}{
		{"exit status 1", exited(1, ""), 0, Transcript{Fault: login}, fleet.Unavailable, nil, fleet.FaultLogin, text},
		{"in its agent's eyes a failure", exited(0, ""), 0, Transcript{Fault: login, Success: value(false)}, fleet.Unavailable, nil, fleet.FaultLogin, text},
		{"overcome", exited(0, ""), 0, Transcript{Fault: login}, fleet.Noop, nil, "", "exit status 0 with no commit and no result file"},
		{"killed", killed, 0, Transcript{Fault: login}, fleet.Unavailable, nil, fleet.FaultLogin, text},
		{"trying until the end", overran, 0, Transcript{Fault: login}, fleet.Unavailable, nil, fleet.FaultLogin, text},
		{"stopped", fleet.SessionExit{End: fleet.Stopped}, 0, Transcript{Fault: login}, fleet.Cancelled, nil, "", "stopped before the agent was done"},
		{"not started", fleet.SessionExit{End: fleet.NoProcess, Detail: "x"}, 0, Transcript{Fault: login}, fleet.Failed, nil, "", "the agent did not start: x"},
		{"silent until the end", overran, 0, Transcript{Fault: silent}, fleet.Unavailable, nil, fleet.FaultSilent, "no answer; the agent overran its time"},
		{"silent, and crashed", exited(1, ""), 0, Transcript{Fault: silent}, fleet.Failed, value(0.0), "", "the agent exited with 1"},
		{"silent, and killed", killed, 0, Transcript{Fault: silent}, fleet.Failed, value(0.0), "", "the agent died: killed"},
		{"too long", exited(1, ""), 0, Transcript{Fault: long}, fleet.Failed, nil, fleet.FaultContext, "too long"},
		{
			"after work", exited(1, ""), 1,
			Transcript{Fault: login, Success: value(false), Retries: 9},
			fleet.Productive, value(0.5), fleet.FaultLogin,
			"1 commit, the agent reports that it failed, 9 retries; " + text,
		},
		{"a result of failure", exited(1, `{"outcome":"failed","reason":"out of luck"}`), 0, Transcript{Fault: login}, fleet.Unavailable, nil, fleet.FaultLogin, text},
		{"a result of nothing to do", exited(1, `{"outcome":"nothing"}`), 0, Transcript{Fault: login}, fleet.Nothing, nil, fleet.FaultLogin, "the agent says so"},
		{"a usage limit as well", exited(1, ""), 0, Transcript{Fault: login, Limit: &UsageLimit{Text: "w"}}, fleet.Quota, nil, "", "the agent exited with 1; it met a usage limit: w"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Evidence{Exit: tt.exit, Commits: tt.commits, Transcript: &tt.output}
			v := Judge(e)
			if v.Outcome != tt.outcome || v.Fault != tt.fault || v.Reason != tt.reason {
				t.Errorf("got %s, %q: %q\nwant %s, %q: %q", v.Outcome, v.Fault, v.Reason, tt.outcome, tt.fault, tt.reason)
			}
			must.Equal(t, "grade", v.Grade, tt.grade)
			if wants := WantsOpinion(e); wants && (v.Outcome == fleet.Unavailable || v.Fault.OfTask()) {
				t.Error("a grader is asked about a session that could not work")
			}
		})
	}
}
