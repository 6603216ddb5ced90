package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
)

func TestHarmlessID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"00000000-0000-4000-8000-000000000001", "ses_1aB", "a.b", "x"} {
		if !fleet.ValidConversationID(id) {
			t.Errorf("%q: got no, want yes", id)
		}
	}
	for _, id := range []string{"", "-", "--last", "..", ".x", "../x", "a b", "a\nb", "a=b", "$HOME", "*", "é", strings.Repeat("a", 101)} {
		if fleet.ValidConversationID(id) {
			t.Errorf("%q: got yes, want no", id)
		}
	}
}

func TestResumption(t *testing.T) {
	t.Parallel()
	run := func(id fleet.RunID, outcome fleet.Outcome, changes ...func(*fleet.Run)) fleet.Run {
		r := fleet.Run{ID: id, Agent: "claude", Category: "code", Branch: "stint/bob/0r1", Conversation: fleet.Conversation{ID: "c1"}}
		r.Host, r.Verdict.Outcome = "here", outcome
		for _, change := range changes {
			change(&r)
		}
		return r
	}
	resumed := func(r *fleet.Run) { r.Conversation.Resumes = "0r1" }
	committed := func(r *fleet.Run) { r.Commits = []string{"a1"} }
	exited := func(r *fleet.Run) { r.Verdict.ExitStatus = new(1) }
	alike := func(outcome fleet.Outcome, changes ...func(*fleet.Run)) []fleet.Run {
		changes = append(changes, resumed)
		return []fleet.Run{run("0r3", outcome, changes...), run("0r2", outcome, changes...), run("0r1", outcome)}
	}
	for name, tt := range map[string]struct {
		chain []fleet.Run
		set   func(*fleet.Resumption)
		id    fleet.RunID
		why   string
	}{
		"the first session":     {nil, nil, "", ""},
		"no id":                 {[]fleet.Run{run("0r1", fleet.Quota, func(r *fleet.Run) { r.Conversation.ID = "" })}, nil, "", ""},
		"a limit":               {[]fleet.Run{run("0r1", fleet.Quota)}, nil, "0r1", "run 0r1 met a usage limit"},
		"a limit after work":    {[]fleet.Run{run("0r1", fleet.Productive, func(r *fleet.Run) { r.QuotaUntil = time.Unix(1, 0) })}, nil, "0r1", "run 0r1 met a usage limit"},
		"a service":             {[]fleet.Run{run("0r1", fleet.Unavailable)}, nil, "0r1", "run 0r1 had no answer from its service or login"},
		"a time-out":            {[]fleet.Run{run("0r1", fleet.Timeout)}, nil, "0r1", "run 0r1 ran out of time"},
		"a stop":                {[]fleet.Run{run("0r1", fleet.Cancelled)}, nil, "0r1", "run 0r1 was stopped"},
		"a crash":               {[]fleet.Run{run("0r1", fleet.Abandoned)}, nil, "0r1", "run 0r1 crashed"},
		"a lost claim":          {[]fleet.Run{run("0r1", fleet.Lost)}, nil, "0r1", "run 0r1 lost its claim"},
		"a kill":                {[]fleet.Run{run("0r1", fleet.Failed)}, nil, "0r1", "run 0r1 was killed"},
		"a failure":             {[]fleet.Run{run("0r1", fleet.Failed, exited)}, nil, "", ""},
		"its end":               {[]fleet.Run{run("0r1", fleet.Productive)}, nil, "", ""},
		"uncommitted changes":   {[]fleet.Run{run("0r1", fleet.Productive)}, func(s *fleet.Resumption) { s.Left = true }, "0r1", "run 0r1 left uncommitted changes"},
		"a full context":        {[]fleet.Run{run("0r1", fleet.Failed, func(r *fleet.Run) { r.Verdict.Fault = fleet.FaultContext })}, nil, "", ""},
		"another agent":         {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Agent = "codex" }, "", "run 0r1 was of agent claude"},
		"another category":      {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Category = "docs" }, "", "run 0r1 was of category code"},
		"another host":          {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Host = "there" }, "", "run 0r1 was on another host"},
		"a program without":     {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Able = false }, "", ""},
		"a process that lives":  {[]fleet.Run{run("0r1", fleet.Abandoned)}, func(s *fleet.Resumption) { s.Lives = true }, "", "run 0r1 may still be at work"},
		"the workspace":         {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Own = false }, "", "run 0r1 worked in another folder"},
		"feedback":              {[]fleet.Run{run("0r3", fleet.Quota)}, func(s *fleet.Resumption) { s.Goes = "0r1" }, "0r3", "run 0r3 met a usage limit"},
		"feedback of others":    {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Goes = "0r0" }, "", "run 0r1 worked in another folder"},
		"rejected":              {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Decided = fleet.DecisionRejected }, "", "run 0r1 did work that is rejected"},
		"landed":                {[]fleet.Run{run("0r1", fleet.Quota)}, func(s *fleet.Resumption) { s.Decided = fleet.DecisionLanded }, "", "run 0r1 did work that is landed"},
		"in vain once":          {alike(fleet.Timeout)[1:], nil, "0r2", "run 0r2 ran out of time"},
		"in vain twice":         {alike(fleet.Timeout), nil, "", "run 0r3 ran out of time, as 2 sessions did that went on with its conversation"},
		"twice, with commits":   {alike(fleet.Timeout, committed), nil, "0r3", "run 0r3 ran out of time"},
		"twice in other ways":   {append([]fleet.Run{run("0r4", fleet.Abandoned, resumed)}, alike(fleet.Timeout)...), nil, "0r4", "run 0r4 crashed"},
		"any number of limits":  {alike(fleet.Quota), nil, "0r3", "run 0r3 met a usage limit"},
		"any number of outages": {alike(fleet.Unavailable), nil, "0r3", "run 0r3 had no answer from its service or login"},
	} {
		s := fleet.Resumption{Able: true, Agent: "claude", Category: "code", Host: "here", Own: true, Chain: slices.Clone(tt.chain)}
		if tt.set != nil {
			tt.set(&s)
		}
		if id, why := s.Decide(); id != tt.id || why != tt.why {
			t.Errorf("%s: got %q, %q, want %q, %q", name, id, why, tt.id, tt.why)
		}
	}
}
