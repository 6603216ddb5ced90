package fleet

import (
	"fmt"
	"slices"
	"time"
)

// Scope is the reach of a budget: the whole fleet, one agent, one category.
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

// Terms are the settings for the sessions of an agent in a category.
type Terms struct {
	Agent   string
	Slots   int      // for that agent's sessions at once; 0: no limit
	Budgets []Budget // that hold for such a session
	Box     string   // that its session will be in, to be recorded
	Room    Room     // for what it leaves
	Pace    bool     // its plan is to last
}

// Spent is the use of a scope's sessions in a day. Sessions under way count with their expected
// use.
type Spent struct {
	Scope   Scope
	Runs    int
	Tokens  int64
	USD     float64
	Guessed float64 // of USD: computed, assumed, or expected of a session under way

	ReservedTokens int64 // of Tokens: for the sessions under way
	ReservedUSD    float64
}

// NextDay is when budgets begin anew: at midnight, UTC.
func NextDay(now time.Time) time.Time { return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1) }

// SpentBy picks the use of one scope from a list.
func SpentBy(list []Spent, scope Scope) Spent {
	for _, s := range list {
		if s.Scope == scope {
			return s
		}
	}
	return Spent{Scope: scope}
}

// Reset is a person's word that what a scope used until then counts no more.
type Reset struct {
	At     time.Time
	Spent  // what was struck out; what is reserved for sessions under way stays
	Reason string
}

// Usage is the known use of one session.
type Usage struct {
	Tokens *int64
	USD    *float64
	Cost   Cost     // where USD comes from; empty: it is not known
	Models []string // that it was billed for, sorted; empty: nothing names them
	// Windows are those of the plan of its agent's login, as it last heard of them.
	Windows []Window
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

// AgentState has the facts about an agent that all its sessions share.
type AgentState struct {
	Agent    string
	Until    time.Time // it cannot work before this; zero: it can
	Since    time.Time // when that was found out
	Reason   string    // why not
	Failures int       // in a row
	Limits   int       // usage limits met in a row
	Fault    FaultKind // why it cannot work; empty: it can, or met a usage limit
	Faults   int       // of its service or its login, met in a row
	Host     string    // of the login that failed; empty: it is no login, or that of several machines
	Category Category  // of the failures in a row; empty: there are none, or they are of several categories
	Probe    RunID     // the run that tries an agent which failed, or whose service did

	Bills  []Bill // of its last sessions that worked, newest first: what the next is expected to use
	Others Usage  // of a session of the fleet's other agents, in the mean

	Windows []Window // of its plan, by the login of each host
}

// Bill is the use that a session reported.
type Bill struct {
	Run RunID
	Usage
}

// BillsKept is the number of an agent's bills that count: so many follow a change of its prices
// within a day.
const BillsKept = 9

// The reserve for a session where no agent of the fleet has a known bill, and a budget binds it: some
// hours of work of a costly model, and no more than the budget has in a day. Without it, all
// that start before the first bill arrives would start for nothing.
const (
	FirstTokens = 2_000_000
	FirstUSD    = 5.0
)

// Expected estimates the use of the agent's next session under the budgets that hold for it: this
// much is reserved for it. Without a bill it goes by the other agents', and without any it is
// [FirstTokens] and [FirstUSD].
func (a AgentState) Expected(budgets []Budget) (tokens int64, usd float64) {
	t, u := a.bounds(budgets)
	return int64(t.mean()), u.mean()
}

// Doubtful are the bills that count as less than they were in what is expected.
func (a AgentState) Doubtful(budgets []Budget) (list []Bill) {
	t, u := a.bounds(budgets)
	for _, b := range a.Bills {
		if b.Tokens != nil && float64(*b.Tokens) > t.ceiling() || b.USD != nil && *b.USD > u.ceiling() {
			list = append(list, b)
		}
	}
	return list
}

func (a AgentState) bounds(budgets []Budget) (tokens, usd bounded) {
	tokens, usd = bounded{first: FirstTokens, others: FirstTokens}, bounded{first: FirstUSD, others: FirstUSD}
	if a.Others.Tokens != nil {
		tokens.others = float64(*a.Others.Tokens)
	}
	if a.Others.USD != nil {
		usd.others = *a.Others.USD
	}
	for _, b := range budgets {
		tokens.bind(float64(b.Tokens))
		usd.bind(b.USD)
	}
	for _, bill := range a.Bills {
		if bill.Tokens != nil {
			tokens.bills = append(tokens.bills, float64(*bill.Tokens))
		}
		if bill.USD != nil {
			usd.bills = append(usd.bills, *bill.USD)
		}
	}
	return tokens, usd
}

// bounded has the billed amounts of sessions in one unit, and the bound of a bill.
type bounded struct {
	bills  []float64
	first  float64 // expected of an agent where nobody has a bill
	others float64 // expected of one without a bill
	day    float64 // the least that a budget has for a day; 0: none binds
}

func (b *bounded) bind(day float64) {
	if day > 0 && (b.day == 0 || day < b.day) {
		b.day = day
	}
}

// mean is the expected use of the next session.
func (b bounded) mean() float64 {
	if len(b.bills) == 0 {
		return min(b.others, b.day) // where nothing binds, nothing need be kept
	}
	most, sum := b.ceiling(), 0.0
	for _, bill := range b.bills {
		sum += min(bill, most)
	}
	return sum / float64(len(b.bills))
}

// ceiling is the most that a bill counts as: five times the median, so that one bill that is absurd keeps nobody from work. While there
// are not three, the median is taken with what is expected where nobody has a bill.
func (b bounded) ceiling() float64 {
	const (
		outlier = 5 // sessions of one agent differ by less, day after day
		enough  = 3 // bills outvote one that is absurd
	)
	usual := slices.DeleteFunc(slices.Clone(b.bills), func(bill float64) bool { return bill == 0 })
	for len(usual) < enough {
		usual = append(usual, b.first)
	}
	slices.Sort(usual)
	return outlier * usual[len(usual)/2]
}

// FailuresToOpen is the number of failures in a row that stop an agent: a login that ran out, a
// program that was updated for the worse. After a pause one session may try it. The failures
// are the agent's then, and not the work's: they have no grade, and are no attempt at a task.
// Failures in one category alone stop the agent there: the work may be too hard, and its sessions elsewhere show it.
const FailuresToOpen = 5

// Rests reports whether the agent cannot work before some time to come.
func (a AgentState) Rests(now time.Time) bool { return now.Before(a.Until) && !Ahead(a.Since, now) }

// For returns the state for a category's sessions on one machine: each machine has a login of its own, and another's
// says nothing about this one. Nor do failures in another category alone.
func (a AgentState) For(c Category, host string) AgentState {
	if a.Failures >= FailuresToOpen && a.Category != "" && a.Category != c {
		if a.Failures = 0; a.Fault == FaultAgent { // else its service is at fault, for every category
			a.Until, a.Since, a.Reason, a.Fault, a.Probe = time.Time{}, time.Time{}, "", "", ""
		}
	}
	if a.Host != "" && a.Host != host {
		a.Until, a.Since, a.Reason, a.Fault, a.Faults, a.Probe = time.Time{}, time.Time{}, "", "", 0, ""
	}
	return a
}

// Blocked says why no session of the agent may start now, or "". Probing reports whether
// the run that it last let try is still under way.
func (a AgentState) Blocked(now time.Time, probing bool) string {
	switch {
	case a.Rests(now):
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

// Refuses is the outcome of a session that the agent cannot do, as it is [AgentState.Blocked].
func (a AgentState) Refuses(now time.Time) Outcome {
	if a.Fault == "" && a.Rests(now) {
		return Quota
	}
	return Unavailable
}
