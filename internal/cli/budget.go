package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/view"
)

func newBudget(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Show what was used today, the limits, and the reserves",
		Long: `Show today's use (UTC), the limits, and the reserves of sessions under way, for the fleet, each
agent and each category. For an agent also show what its next session will reserve, computed from
its last bills, and the use of its plan's windows, as its last session heard from the service. Bills
too high to count in full are listed: "stint help agents".`,
		RunE: a.open(reading|record, func(ctx context.Context, f opened, _ []string) error {
			b, err := f.Budget(ctx)
			if err == nil && !a.asObject(view.Budget().JSON(b)) {
				a.printBudget(b)
			}
			return err
		}),
	}
	var reason string
	reset := a.dry(&cobra.Command{
		Use:   "reset SCOPE",
		Short: "Remove today's use from a budget's account",
		Long: `Remove what a scope used today from its account: fleet, agent:NAME or category:NAME.
Reserves of sessions under way stay, and runs keep their bills. A wrong bill is on three
accounts: its agent's, its category's and the fleet's. The reset is recorded with its reason.`,
		Example: `  stint budget reset agent:claude --reason "the bill of a million was a typo"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.budgetReset(cmd.Context(), fleet.Scope(args[0]), cmp.Or(reason, "by "+a.user()))
		},
	})
	reset.Flags().Var(textFlag(&reason), "reason", "why: a line of `TEXT` for other people")
	cmd.AddCommand(reset)
	return cmd
}

func (a *app) printBudget(b inspect.Budget) {
	a.print(view.Account().Table(b.Accounts, a.Now(), a.style()))
	for _, n := range b.Next {
		why := fmt.Sprintf("the mean of its last %d bills", n.Bills)
		switch n.Bills {
		case 0:
			why = "no bill of it is known yet"
		case 1:
			why = "as its last one was billed for"
		}
		a.prose("The next session of %s reserves %s tokens and %s: %s.",
			n.Agent, plain.Count(n.Tokens), screen.Money{USD: n.USD, Guessed: n.USD}, why)
		for _, bill := range n.Doubtful {
			a.prose("  Run %s was billed for %s: for this it counts as less.", bill.Run, billText(bill))
		}
	}
	for _, n := range b.Next {
		if len(n.Windows) > 0 {
			a.prose("%s: %s", n.Agent, fleet.WindowsText(n.Windows))
		}
	}
	for _, r := range b.Resets {
		a.prose("Reset %s: %s", stamp(r.At), resetText(r))
	}
}

func billText(b fleet.Bill) string {
	var words []string
	if b.Tokens != nil {
		words = append(words, plain.Count(*b.Tokens)+" tokens")
	}
	if b.USD != nil {
		words = append(words, screen.Money{USD: *b.USD}.String())
	}
	return strings.Join(words, " and ")
}

func resetText(r fleet.Reset) string {
	return fmt.Sprintf("%s: %d runs, %s tokens and %s struck out: %s", r.Scope, r.Runs, plain.Count(r.Tokens),
		screen.Money{USD: r.USD, Guessed: r.Guessed}, r.Reason)
}

func (a *app) budgetReset(ctx context.Context, scope fleet.Scope, reason string) error {
	check := func(e *engine.Engine) error {
		known := plain.Each(e.Config.AllBudgets(), func(b fleet.Budget) string { return string(b.Scope) })
		if !slices.Contains(known, string(scope)) {
			return fleet.WithHint(usage(fmt.Errorf("there is no budget of %q", scope)), "want one of: "+strings.Join(known, ", "))
		}
		return nil
	}
	return a.with(ctx, existing|record, func(f opened) error {
		if !f.Recorded() {
			return fmt.Errorf("nothing was used of the budget of %s: %w", scope, fleet.ErrNothing)
		}
		before, err := f.Store.ResetBudget(ctx, scope, reason)
		r := fleet.Reset{At: a.Now(), Spent: before, Reason: reason}
		return a.sayDone(err, view.Reset(a.dryRun).JSON(r), a.dryMark()+resetText(r))
	}, check)
}
