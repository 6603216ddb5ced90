package main

import (
	"fmt"
	"slices"
	"time"

	"stint/internal/agent/transcript"
)

// account is an agent with a way to log in.
type account string

const (
	claudeKey  account = "claude"            // pays by the token
	claudePlan account = "claude-subscriber" // has a plan, with an allowance that is reported
	codexKey   account = "codex"
	anyProgram account = "command"
)

// trial is one session, and what should come of it.
type trial struct {
	account   account
	behaviour behaviour
	outcome   string
	want      transcript.Summary // without what differs from run to run: session, error, cost
	costs     bool               // the agent says what it cost
	wrong     bool               // it says what went wrong
	clone     bool               // it works in one of its own
	refused   bool               // the kernel refuses namespaces of users
}

func (t trial) String() string {
	text := fmt.Sprintf("%s %s", t.account, t.behaviour)
	if t.clone {
		text += ", in a clone"
	}
	if t.refused {
		text += ", without namespaces"
	}
	return text
}

// troubled reports whether its service fails.
func (t trial) troubled() bool { return t.want.Fault != nil || t.want.Quota != nil }

func (t trial) works() bool { return question{behaviour: t.behaviour}.works() }

// cases are all trials. The stub says what a model used up: one answer is one request, a tool
// call one more.
func cases(resetAt time.Time) []trial {
	var list []trial
	for _, a := range []account{claudeKey, claudePlan, codexKey} {
		once := tokens(a, 1)
		twice := tokens(a, 2)
		turns := func(claude int) int {
			if a == codexKey {
				return 1 // of the prompt, not of the model
			}
			return claude
		}
		costs := a != codexKey
		used := transcript.Quota{Kind: transcript.Exhausted, ResetAt: resetAt.UTC()}
		if a == claudeKey {
			used = transcript.Quota{Kind: transcript.Throttled} // who pays by the token has no allowance
		}
		slow := transcript.Quota{Kind: transcript.Throttled}
		list = append(list,
			trial{a, answers, "noop", transcript.Summary{Tokens: once, Success: new(true), Turns: turns(1)}, costs, false, false, false},
			// The command makes a commit without a change, which is not work.
			trial{a, usesTool, "noop", transcript.Summary{Tokens: twice, Success: new(true), Turns: turns(2), ToolCalls: 1}, costs, false, false, false},
			trial{a, failsTool, "noop", transcript.Summary{Tokens: twice, Success: new(true), Turns: turns(2), ToolCalls: 1, ToolErrors: 1}, costs, false, false, false},
			trial{a, walled, "quota", transcript.Summary{Success: new(false), Turns: 1, Quota: &used}, costs, true, false, false},
			trial{a, throttled, "quota", transcript.Summary{Success: new(false), Turns: 1, Quota: &slow}, costs, true, false, false},
			trial{a, stalls, "timeout", cutShort(a), false, false, false, false},
		)
		list = append(list, faults(a)...)
	}
	for _, a := range []account{claudeKey, codexKey} {
		escaping := list[slices.IndexFunc(list, func(t trial) bool { return t.account == a && t.behaviour == usesTool })]
		escaping.behaviour, escaping.outcome = escapes, "failed" // a link in the place of the result
		refused := escaping
		refused.refused = true
		list = append(list, escaping, refused)
		for _, b := range []behaviour{usesTool, failsTool} {
			i := slices.IndexFunc(list, func(t trial) bool { return t.account == a && t.behaviour == b })
			t := list[i]
			t.clone = true
			list = append(list, t)
		}
		for _, b := range []behaviour{works, worksTools} {
			for _, worktree := range []bool{false, true} {
				turns := 5
				if a == codexKey {
					turns = 1
				}
				list = append(list, trial{
					a, b, "productive",
					transcript.Summary{Tokens: tokens(a, 5), Success: new(true), Turns: turns, ToolCalls: 4},
					a != codexKey, false, worktree, false,
				})
			}
		}
	}
	for _, a := range []account{claudeKey, codexKey} {
		list = append(list, trial{account: a, behaviour: limits, clone: true})
	}
	// A call that no rule and no folder allows is refused, and counted.
	list = append(list, trial{claudeKey, oversteps, "noop", transcript.Summary{
		Tokens: tokens(claudeKey, 2), Success: new(true), Turns: 2, ToolCalls: 1, ToolErrors: 1, Denied: 1,
	}, true, false, false, false})
	back := transcript.Quota{Kind: transcript.Exhausted, ResetAt: resetAt.UTC()}
	return append(list,
		trial{anyProgram, usesTool, "productive", transcript.Summary{}, false, false, false, false},
		trial{anyProgram, walled, "quota", transcript.Summary{Quota: &back}, false, false, false, false},
	)
}

// tokens are those of so many requests.
func tokens(a account, requests int64) transcript.Tokens {
	t := transcript.Tokens{Input: inputTokens * requests, Output: outputTokens * requests, CacheRead: cachedTokens * requests}
	if a == codexKey {
		t.Input -= t.CacheRead
	}
	return t
}

// cutShort has the output's figures of a session that is killed after one answer: claude
// prints the usage of an answer as it begins, codex none before the end of the turn.
func cutShort(a account) transcript.Summary {
	if a == codexKey {
		return transcript.Summary{ToolCalls: 1}
	}
	s := transcript.Summary{Tokens: tokens(a, 1), Turns: 1, ToolCalls: 1}
	s.Tokens.Output = 1
	return s
}
