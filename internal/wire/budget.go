package wire

import (
	"stint/internal/fleet"
	"stint/internal/inspect"
)

// Budget is stint/budget@1.
type Budget struct {
	Schema string        `json:"schema"`
	Until  *string       `json:"until"` // when the day ends
	Scopes []Scope       `json:"scopes"`
	Next   []NextSession `json:"next"`
	Resets []Reset       `json:"resets"` // of today
}

// Scope is what a budget is for: what was used of it, and its limits.
type Scope struct {
	Spent
	MostRuns   int     `json:"most_runs"` // 0: no limit
	MostTokens int64   `json:"most_tokens"`
	MostUSD    float64 `json:"most_usd"`
}

// NextSession is what is reserved for the next session of an agent.
type NextSession struct {
	Agent    string  `json:"agent"`
	Tokens   int64   `json:"tokens"`
	USD      float64 `json:"usd"`
	Bills    int     `json:"bills"`    // that it goes by
	Doubtful []Bill  `json:"doubtful"` // those of them that count as less than they were
}

// Bill is what a run was billed for.
type Bill struct {
	Run    fleet.RunID `json:"run"`
	Tokens *int64      `json:"tokens"`
	USD    *float64    `json:"usd"`
}

// Reset is a budget's account that was emptied.
type Reset struct {
	At     *string     `json:"at"`
	Scope  fleet.Scope `json:"scope"`
	DryRun bool        `json:"dry_run,omitempty"`
	Runs   int         `json:"runs"` // struck out
	Tokens int64       `json:"tokens"`
	USD    float64     `json:"usd"`
	Reason string      `json:"reason"`
}

// BudgetReset is stint/budget-reset@1.
type BudgetReset struct {
	Schema string `json:"schema"`
	Reset
}

// NewBudget is what was used today, as JSON.
func NewBudget(b inspect.Budget) Budget {
	return Budget{
		"stint/budget@1", Time(b.Until),
		each(b.Accounts, func(a inspect.Account) Scope { return Scope{Spent(a.Spent), a.Most.Runs, a.Most.Tokens, a.Most.USD} }),
		each(b.Next, func(n inspect.NextSession) NextSession {
			bill := func(b fleet.Bill) Bill { return Bill{b.Run, b.Tokens, b.USD} }
			return NextSession{n.Agent, n.Tokens, n.USD, n.Bills, each(n.Doubtful, bill)}
		}),
		each(b.Resets, newReset),
	}
}

func newReset(r fleet.Reset) Reset {
	return Reset{At: Time(r.At), Scope: r.Scope, Runs: r.Runs, Tokens: r.Tokens, USD: r.USD, Reason: r.Reason}
}

// NewBudgetReset is one reset, as JSON.
func NewBudgetReset(r fleet.Reset, dryRun bool) BudgetReset {
	o := BudgetReset{"stint/budget-reset@1", newReset(r)}
	o.DryRun = dryRun
	return o
}
