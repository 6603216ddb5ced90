package engine_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"stint/internal/agent/grade"
	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/survey"
	"stint/internal/testkit/must"
)

// TestTableOfFaults compares the outcomes of the recorded logs of the real programs with a table.
func TestTableOfFaults(t *testing.T) {
	t.Parallel()
	const path = "testdata/faults.txt"
	got := row("the service", "agent", "outcome", "what it is called") + tableOfFaults(t)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o600))
	}
	if want := string(must.Get(os.ReadFile(path))(t)); got != want {
		t.Errorf("got\n%s\nwant, as %s says (go test ./internal/engine -update)\n%s", got, path, want)
	}
}

func row(service, agent, outcome, what string) string {
	return fmt.Sprintf("%-21s  %-6s  %-11s  %s\n", service, agent, outcome, what)
}

func tableOfFaults(t *testing.T) string {
	t.Helper()
	var rows strings.Builder
	for _, service := range []struct{ log, says string }{
		{"refused", "key not known (401)"},
		{"expired", "login expired (401)"},
		{"forbidden", "not allowed (403)"},
		{"no-model", "no such model (404)"},
		{"unreachable", "connection refused"},
		{"reset", "connection reset"},
		{"broken", "answer cut off"},
		{"failing", "server error (500)"},
		{"bad-gateway", "bad gateway (502)"},
		{"overloaded", "overloaded (529, 503)"},
		{"hang", "no answer in time"},
		{"too-long", "prompt too long (400)"},
		{"declined", "request refused"},
		{"throttled", "rate limit (429)"},
		{"quota", "plan used up (429)"},
		{"no-credit", "no credit left"},
	} {
		var says []string
		for _, agent := range []struct {
			name, prefix string
		}{{"claude", "claude-subscriber-"}, {"codex", "codex-"}} {
			v, what := verdictOn(t, config.Preset(agent.name).CLI, agent.prefix+service.log+".log", service.log == "hang")
			if v.Grade != nil {
				t.Errorf("%s %s: got grade %v, want none", agent.name, service.log, *v.Grade)
			}
			says = append(says, row(service.says, agent.name, string(v.Outcome), cmp.Or(what, "usage limit")))
		}
		if both := strings.Replace(says[0], "claude", "both  ", 1); both == strings.Replace(says[1], "codex ", "both  ", 1) {
			says = []string{both}
		}
		rows.WriteString(strings.Join(says, ""))
	}
	return rows.String()
}

// verdictOn grades a session that printed a recorded log.
func verdictOn(t *testing.T, cli preset.CLI, log string, overran bool) (v fleet.Verdict, what string) {
	t.Helper()
	f := must.Get(os.Open("../agent/transcript/testdata/" + log))(t)
	defer f.Close()
	s := must.Get(transcript.Read(cli, f, time.Date(2026, 11, 21, 12, 35, 0, 0, time.UTC)))(t)
	e := grade.Evidence{Exit: fleet.SessionExit{End: fleet.Exited, Status: 1}, Transcript: &grade.Transcript{Success: s.Success}}
	if overran {
		e.Exit = fleet.SessionExit{End: fleet.Overran}
	}
	if s.Quota != nil {
		e.Transcript.Limit = &grade.UsageLimit{Throttled: s.Quota.Kind == transcript.Throttled}
	}
	if s.Fault != nil {
		e.Transcript.Fault = survey.FaultOf(cli, *s.Fault)
		what = cli.Login.Advise(s.Fault.Kind, s.Fault.Text).What
		if !strings.HasPrefix(e.Transcript.Fault.Text, what) {
			t.Errorf("%s: %q does not begin with %q", log, e.Transcript.Fault.Text, what)
		}
	}
	return grade.Judge(e), what
}
