package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/wire"
)

func newBudget(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Show what was used today, the limits, and the reserves",
		Long: `Show, for the fleet, each agent and each category, what was used today (UTC), what the
budget allows, and how much is reserved for sessions under way; and for each agent what its
next session will reserve, computed from its last bills. A bill that was too high to count
in full is listed: "stint help budgets".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.budgetShow(cmd.Context()) },
	}
	var (
		reason textValue
		dryRun bool
	)
	reset := &cobra.Command{
		Use:   "reset SCOPE",
		Short: "Remove today's use from a budget's account",
		Long: `Remove what a scope used today from its account: fleet, agent:NAME or category:NAME.
Reserves of sessions under way stay, and runs keep their bills. After the reset of an
agent, its earlier bills no longer count for what its next session reserves. A wrong bill
is on three accounts: its agent's, its category's and the fleet's. The reset is recorded
with its reason, and "stint budget" lists those of today.`,
		Example: `  stint budget reset agent:claude --reason "the bill of a million was a typo"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.budgetReset(cmd.Context(), fleet.Scope(args[0]), string(reason), dryRun)
		},
	}
	reset.Flags().Var(&reason, "reason", "why: a line of `text` for other people")
	addDryRun(reset, &dryRun)
	cmd.AddCommand(reset)
	return cmd
}

// budgetObject is stint/budget@1.
type budgetObject struct {
	Schema string        `json:"schema"`
	Until  *string       `json:"until"` // when the day ends
	Scopes []scopeObject `json:"scopes"`
	Next   []nextObject  `json:"next"`
	Resets []resetObject `json:"resets"` // of today
}

type scopeObject struct {
	wire.Spent
	MostRuns   int     `json:"most_runs"` // 0: no limit
	MostTokens int64   `json:"most_tokens"`
	MostUSD    float64 `json:"most_usd"`
}

// nextObject is what is reserved for the next session of an agent.
type nextObject struct {
	Agent    string       `json:"agent"`
	Tokens   int64        `json:"tokens"`
	USD      float64      `json:"usd"`
	Bills    int          `json:"bills"`    // that it goes by
	Doubtful []billObject `json:"doubtful"` // those of them that count as less than they were
}

type billObject struct {
	Run    fleet.RunID `json:"run"`
	Tokens *int64      `json:"tokens"`
	USD    *float64    `json:"usd"`
}

type resetObject struct {
	At     *string     `json:"at"`
	Scope  fleet.Scope `json:"scope"`
	DryRun bool        `json:"dry_run,omitempty"`
	Runs   int         `json:"runs"` // struck out
	Tokens int64       `json:"tokens"`
	USD    float64     `json:"usd"`
	Reason string      `json:"reason"`
}

func newReset(r fleet.Reset) resetObject {
	return resetObject{At: wire.Time(r.At), Scope: r.Scope, Runs: r.Runs, Tokens: r.Tokens, USD: r.USD, Reason: r.Reason}
}

func (a *app) budgetShow(ctx context.Context) error {
	return a.withStore(ctx, reading, func(c *config.Config, s store.Store) error {
		today := a.Now().UTC().Truncate(24 * time.Hour)
		var (
			snapshot store.Snapshot
			resets   []fleet.Reset
			err      error
		)
		if s == nil {
			a.nothingYet()
		} else if snapshot, err = s.Snapshot(ctx); err == nil {
			resets, err = s.BudgetResets(ctx, today)
		}
		if err != nil {
			return err
		}
		o := budgetObject{
			Schema: "stint/budget@1", Until: wire.Time(today.AddDate(0, 0, 1)),
			Scopes: []scopeObject{}, Next: []nextObject{}, Resets: []resetObject{},
		}
		for _, b := range c.AllBudgets() {
			o.Scopes = append(o.Scopes, scopeObject{wire.Spent(fleet.SpentBy(snapshot.Spent, b.Scope)), b.Runs, b.Tokens, b.USD})
		}
		for _, agent := range slices.Sorted(maps.Keys(c.Agents)) {
			o.Next = append(o.Next, newNext(snapshot.Agent(agent), c.Budgets("", agent)))
		}
		for _, r := range resets {
			o.Resets = append(o.Resets, newReset(r))
		}
		if a.json {
			printJSON(a.Stdout, o)
			return nil
		}
		a.printBudget(o)
		return nil
	})
}

func newNext(state fleet.AgentState, budgets []fleet.Budget) nextObject {
	o := nextObject{Agent: state.Agent, Bills: len(state.Bills), Doubtful: []billObject{}}
	o.Tokens, o.USD = state.Expected(budgets)
	for _, b := range state.Doubtful(budgets) {
		o.Doubtful = append(o.Doubtful, billObject{b.Run, b.Tokens, b.USD})
	}
	return o
}

func (a *app) printBudget(o budgetObject) {
	rows := [][]string{{"TODAY", "RUNS", "TOKENS", "USD", "RESERVED", "RESERVED-USD"}}
	for _, s := range o.Scopes {
		rows = append(rows, []string{
			string(s.Scope), ofMost(fmt.Sprint(s.Runs), fmt.Sprint(s.MostRuns), s.MostRuns > 0),
			ofMost(plain.Count(s.Tokens), plain.Count(s.MostTokens), s.MostTokens > 0),
			ofMost(screen.USD(s.USD, s.Guessed > 0), screen.USD(s.MostUSD, false), s.MostUSD > 0),
			plain.Count(s.ReservedTokens), screen.USD(s.ReservedUSD, false),
		})
	}
	a.table(rows)
	for _, n := range o.Next {
		why := fmt.Sprintf("the mean of its last %d bills", n.Bills)
		switch n.Bills {
		case 0:
			why = "no bill of it is known yet"
		case 1:
			why = "as its last one was billed for"
		}
		fmt.Fprintf(a.Stdout, "The next session of %s reserves %s tokens and %.2f USD: %s.\n", plain.Text(n.Agent), plain.Count(n.Tokens), n.USD, why)
		for _, b := range n.Doubtful {
			fmt.Fprintf(a.Stdout, "  Run %s was billed for %s: for this it counts as less.\n", b.Run, billText(b))
		}
	}
	for _, r := range o.Resets {
		fmt.Fprintln(a.Stdout, plain.Text("Reset "+deref(r.At)+": "+resetText(r)))
	}
}

// ofMost is a figure of what it may be at most.
func ofMost(value, most string, bound bool) string {
	if bound {
		return value + " of " + most
	}
	return value
}

func billText(b billObject) string {
	var words []string
	if b.Tokens != nil {
		words = append(words, plain.Count(*b.Tokens)+" tokens")
	}
	if b.USD != nil {
		words = append(words, fmt.Sprintf("%.2f USD", *b.USD))
	}
	return strings.Join(words, " and ")
}

func resetText(r resetObject) string {
	return fmt.Sprintf("%s: %d runs, %s tokens and %.2f USD struck out: %s", r.Scope, r.Runs, plain.Count(r.Tokens), r.USD, r.Reason)
}

func (a *app) budgetReset(ctx context.Context, scope fleet.Scope, reason string, dryRun bool) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	var known []string
	for _, b := range c.AllBudgets() {
		known = append(known, string(b.Scope))
	}
	if !slices.Contains(known, string(scope)) {
		return fleet.WithHint(usage(fmt.Errorf("there is no budget of %q", scope)), "want one of: "+strings.Join(known, ", "))
	}
	if reason == "" {
		reason = "by " + a.user()
	}
	if there, err := a.hasStore(ctx, c); err != nil {
		return err
	} else if !there {
		a.nothingYet()
		return fmt.Errorf("nothing was used of the budget of %s: %w", scope, fleet.ErrNothing)
	}
	return a.withStoreOf(ctx, c, accessFor(dryRun), func(_ *config.Config, s store.Store) error {
		before, err := s.ResetBudget(ctx, scope, reason)
		if err != nil {
			return err
		}
		o := newReset(fleet.Reset{At: a.Now(), Spent: before, Reason: reason})
		if o.DryRun = dryRun; a.json {
			printJSON(a.Stdout, struct {
				Schema string `json:"schema"`
				resetObject
			}{"stint/budget-reset@1", o})
			return nil
		}
		fmt.Fprintln(a.Stdout, plain.Text(dry(dryRun)+resetText(o)))
		return nil
	})
}
