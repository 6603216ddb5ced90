package inspect

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Budget has the usage of one day, UTC, beside the budgets.
type Budget struct {
	Until    time.Time // when the day ends
	Accounts []Account
	Next     []NextSession
	Resets   []fleet.Reset // of the day
}

// Account has the usage of one budget.
type Account struct {
	fleet.Spent
	Most fleet.Budget
}

// NextSession has the reserve for an agent's next session.
type NextSession struct {
	Agent    string
	Tokens   int64
	USD      float64
	Bills    int            // that it goes by
	Doubtful []fleet.Bill   // those of them that count as less than they were
	Windows  []fleet.Window // of the login here
}

// Budget reads today's use.
func (e *Explainer) Budget(ctx context.Context) (Budget, error) {
	today := e.Now().UTC().Truncate(24 * time.Hour)
	b := Budget{Until: fleet.NextDay(today)}
	var snapshot store.Snapshot
	if e.Store != nil {
		var err error
		if snapshot, err = e.Store.Snapshot(ctx); err != nil {
			return b, err
		}
		if b.Resets, err = e.Store.BudgetResets(ctx, today); err != nil {
			return b, err
		}
	}
	for _, most := range e.Config.AllBudgets() {
		b.Accounts = append(b.Accounts, Account{fleet.SpentBy(snapshot.Spent, most.Scope), most})
	}
	for _, agent := range e.Config.AgentNames() {
		state, budgets := snapshot.Agent(agent), e.Config.Budgets("", agent)
		n := NextSession{Agent: agent, Bills: len(state.Bills), Doubtful: state.Doubtful(budgets), Windows: state.Open(e.Here.Host, e.Now())}
		n.Tokens, n.USD = state.Expected(budgets)
		b.Next = append(b.Next, n)
	}
	return b, nil
}
