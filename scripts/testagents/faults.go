package main

import (
	"fmt"
	"strings"

	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/fleet"
)

// trouble is a service that fails, and what either program makes of it. A connection that
// ends is a fault of the connection to Claude Code and an answer that was cut to Codex.
type trouble struct {
	behaviour     behaviour
	claude, codex fleet.FaultKind // empty: it is a usage limit
}

func troubles() []trouble {
	return []trouble{
		{refuses, fleet.FaultLogin, fleet.FaultLogin},
		{expired, fleet.FaultLogin, fleet.FaultLogin},
		{forbidden, fleet.FaultForbidden, fleet.FaultForbidden},
		{noModel, fleet.FaultModel, fleet.FaultModel},
		{unreachable, fleet.FaultConnection, fleet.FaultConnection},
		{resets, fleet.FaultConnection, fleet.FaultCut},
		{breaks, fleet.FaultConnection, fleet.FaultCut},
		{fails, fleet.FaultServer, fleet.FaultServer},
		{badGateway, fleet.FaultServer, fleet.FaultServer},
		{crowded, fleet.FaultServer, fleet.FaultServer},
		{hangs, fleet.FaultSilent, fleet.FaultSilent},
		{tooLong, fleet.FaultContext, fleet.FaultContext},
		{declines, fleet.FaultRefusal, fleet.FaultRefusal},
		{noCredit, "", ""},
	}
}

// cli says how the account's program is to be understood.
func (a account) cli() preset.CLI {
	name, program, _ := strings.Cut(string(a), "-")
	return preset.Named(name).Of(program).CLI
}

// end is how a session of an account ends in the trouble.
func (t trouble) end(a account) end {
	kind := t.codex
	if a == claudeKey || a == claudePlan {
		kind = t.claude
	}
	e := end{"unavailable", kind, t.behaviour == hangs}
	switch {
	case kind == "":
		e.outcome = "quota"
	case kind.OfTask():
		e.outcome = "failed"
	}
	return e
}

// faults are the trials of an account with services that fail.
func faults(a account) (list []trial) {
	for _, t := range troubles() {
		c := trial{
			account: a, behaviour: t.behaviour, outcome: t.end(a).outcome, costs: a != codexKey, wrong: true,
			want: transcript.Summary{Success: new(false), Turns: 1},
		}
		if kind := t.end(a).fault; kind != "" {
			c.want.Fault = &transcript.Fault{Kind: kind}
		} else {
			c.want.Quota = &transcript.Quota{Kind: transcript.Exhausted}
		}
		if t.behaviour == declines && a != codexKey {
			c.want.Tokens = tokens(a, 1) // the model was asked, and said so
		}
		if c.stalls() { // it is stopped before it says how it went
			c.want.Success, c.want.Turns, c.costs, c.wrong = nil, 0, false, t.behaviour != hangs
		}
		list = append(list, c)
	}
	return list
}

// stalls reports whether the session only ends because its time is up: Codex waits for a
// network as long as it is let.
func (t trial) stalls() bool {
	return t.behaviour == hangs || t.behaviour == unreachable && t.account == codexKey
}

// told prints what is recorded of a session whose service failed, and reports what of it
// is not as it should be: a fault is never graded, and the reason begins with what
// happened and how it is fixed.
func (s session) told(r result) (list []string) {
	if !s.troubled() || s.account == anyProgram {
		return nil
	}
	grade := "no grade"
	if r.Grade != nil {
		grade = fmt.Sprintf("grade %g", *r.Grade)
		list = append(list, "it has a "+grade+", want none")
	}
	fmt.Printf("%s %s: %s, %s: %s\n", s.account, s.behaviour, r.Outcome, grade, r.Reason)
	if f := s.want.Fault; f != nil {
		if want := s.account.cli().Login.Advise(f.Kind, r.Reason).Sentence(); !strings.HasPrefix(r.Reason, want) {
			list = append(list, fmt.Sprintf("reason: got %q, want it to begin with %q", r.Reason, want))
		}
	}
	return list
}
