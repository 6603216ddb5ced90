package fleet

import (
	"fmt"
	"time"
)

// Scope is what a budget is for: the whole fleet, one agent, one category.
type Scope string

// FleetScope is the scope of every session.
const FleetScope Scope = "fleet"

// AgentScope is the scope of an agent's sessions.
func AgentScope(agent string) Scope { return Scope("agent:" + agent) }

// CategoryScope is the scope of a category's sessions.
func CategoryScope(c Category) Scope { return Scope("category:" + string(c)) }

// Budget bounds what the sessions of a scope may use in one day, which begins at
// midnight UTC. A bound of 0 is none.
type Budget struct {
	Scope  Scope
	Runs   int
	Tokens int64
	USD    float64
}

// Gone says which bound one more session would break that uses so much, or "". The first
// session of a day may start whatever it is expected to use: else one that was very
// expensive would keep all others out, and the mean would never fall again.
func (b Budget) Gone(s Spent, tokens int64, usd float64) string {
	switch {
	case b.Runs > 0 && s.Runs+1 > b.Runs:
		return fmt.Sprintf("budget of %s: %d of %d runs today", b.Scope, s.Runs, b.Runs)
	case b.Tokens > 0 && (s.Tokens >= b.Tokens || s.Tokens > 0 && s.Tokens+tokens > b.Tokens):
		return fmt.Sprintf("budget of %s: %d of %d tokens today, and a session takes about %d", b.Scope, s.Tokens, b.Tokens, tokens)
	case b.USD > 0 && (s.USD >= b.USD || s.USD > 0 && s.USD+usd > b.USD):
		return fmt.Sprintf("budget of %s: %.2f of %.2f USD today, and a session takes about %.2f", b.Scope, s.USD, b.USD, usd)
	}
	return ""
}

// Spent is what the sessions of a scope used in a day, with what those under way are
// expected to.
type Spent struct {
	Scope   Scope
	Runs    int
	Tokens  int64
	USD     float64
	Guessed float64 // of USD: computed, assumed, or expected of a session under way
}

// Usage is what one session used, as far as it is known.
type Usage struct {
	Tokens *int64
	USD    *float64
	Cost   Cost     // where USD comes from; empty: it is not known
	Models []string // that it was billed for, sorted; empty: nothing names them
}

// Cost says where the cost of a session comes from.
type Cost string

const (
	CostReported Cost = "reported" // by its agent, on its output or in its result file
	CostComputed Cost = "computed" // from its tokens and the configured prices
	CostAssumed  Cost = "assumed"  // what its agent's sessions cost on average: no better is known
)

// Estimated reports whether a cost is stint's own figure.
func (c Cost) Estimated() bool { return c == CostComputed || c == CostAssumed }

// AgentState is what is known of an agent that all its sessions share.
type AgentState struct {
	Agent    string
	Until    time.Time // it cannot work before this; zero: it can
	Reason   string    // why not
	Failures int       // in a row
	Walls    int       // usage limits met in a row
	Fault    FaultKind // why it cannot work; empty: it can, or met a usage limit
	Faults   int       // of its service or its login, met in a row
	Probe    RunID     // the run that tries an agent which failed, or whose service did

	MeanTokens, MeanUSD float64 // of a session: what the next is expected to use
}

// FailuresToOpen is how many failures in a row stop an agent: a login that ran out, a
// program that was updated for the worse. After a pause one session may try it.
const FailuresToOpen = 5

// Blocked says why no session of the agent may start now, or "". Probing reports whether
// the run that it last let try is still under way.
func (a AgentState) Blocked(now time.Time, probing bool) string {
	switch {
	case now.Before(a.Until):
		return a.Reason + " (until " + a.Until.UTC().Format(time.RFC3339) + ")"
	case a.Failures >= FailuresToOpen && probing:
		return fmt.Sprintf("it failed %d times in a row, and run %s tries it", a.Failures, a.Probe)
	case a.Faults > 0 && probing:
		return fmt.Sprintf("%s (run %s tries it)", a.Reason, a.Probe)
	}
	return ""
}

// Tried reports whether only one session may try the agent once it has rested.
func (a AgentState) Tried() bool { return a.Failures >= FailuresToOpen || a.Faults > 0 }

// Refuses is how a session ends that the agent cannot do, as it is [AgentState.Blocked].
func (a AgentState) Refuses(now time.Time) Outcome {
	if a.Fault == "" && now.Before(a.Until) {
		return Quota
	}
	return Unavailable
}
