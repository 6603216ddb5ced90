package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/selector"
)

type selectOptions struct {
	workers  countValue
	category string
	seed     seedValue
	explain  bool
}

func newSelect(a *app) *cobra.Command {
	var o selectOptions
	cmd := &cobra.Command{
		Use:   "select",
		Short: "Rank the categories of work and print the ranking",
		Long: `Rank the categories of work by one Thompson draw each: a random draw from what
is believed of the category's mean grade, Beta(1+S, 1+n-S) after n graded runs
whose grades add up to S. Categories without a workable task, or whose lanes are
in use, are left out with the reason. A category with an active task leads.

Nothing is written. The same store, clock and seed give the same ranking.`,
		Example: `  stint select --explain
  stint select --json --seed 7 | stint fanout --selector - --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runSelect(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.VarP(&o.workers, "workers", "n", "mark the best `N` as what a fire would start (default fanout.workers of the config)")
	f.StringVar(&o.category, "category", "", "rank this category alone, allowed for fires or not")
	f.Var(&o.seed, "seed", "seed of the draws, an unsigned 64-bit number (default: by chance)")
	f.BoolVar(&o.explain, "explain", false, "show for every category what its score is made of")
	return cmd
}

func (a *app) runSelect(ctx context.Context, o selectOptions) error {
	return a.withEngine(ctx, reading, nil, func(e *engine.Engine) error {
		workers := o.workers.or(e.Config.Fanout.Workers)
		s, err := e.Select(ctx, engine.SelectOptions{Category: fleet.Category(o.category), Seed: o.seed.seed})
		if err != nil {
			return err
		}
		switch {
		case a.json:
			printJSON(a.Stdout, s.Payload())
		case o.explain:
			a.printExplain(s, workers)
		default:
			a.printRanking(s, workers)
		}
		if len(s.Ranked()) == 0 {
			return fleet.WithHint(fmt.Errorf("no category to start: %w", fleet.ErrNothing), "stint select --explain says why")
		}
		return nil
	})
}

func (a *app) printRanking(s selector.Selection, workers int) {
	for i, c := range s.Ranked() {
		next := ""
		if c.Next != nil {
			next = fmt.Sprintf("  %s (%s)", c.Next.ID, c.Next.State)
		}
		fmt.Fprintf(a.Stdout, "%s %2d  %.3f  %s%s\n", mark(i < workers), i+1, c.Score, c.Category, plain(next))
	}
	fmt.Fprintf(a.Stdout, "tier=%d seed=%d\n", s.Tier, s.Seed)
}

// mark points at what a fire would start.
func mark(start bool) string {
	if start {
		return "*"
	}
	return " "
}

func (a *app) printExplain(s selector.Selection, workers int) {
	rows := [][]string{{"", "CATEGORY", "SCORE", "TS", "MEAN", "BETA", "TASKS", "NEXT", "REASON"}}
	for i, c := range s.Scores {
		score, next := "-", "-"
		if c.In {
			score = fmt.Sprintf("%.3f", c.Score)
		}
		if c.Next != nil {
			next = string(c.Next.ID)
		}
		rows = append(rows, []string{
			mark(c.In && i < workers), string(c.Category), score, fmt.Sprintf("%.3f", c.TS), fmt.Sprintf("%.3f", c.Beta.Mean()),
			fmt.Sprintf("%.2f,%.2f", c.Beta.A, c.Beta.B), strconv.Itoa(c.Tasks), next, c.Reason,
		})
	}
	table(a.Stdout, rows)
	for _, b := range s.Blocked {
		reason := b.Reason
		if b.Claim != nil {
			reason += " by " + string(b.Claim.Holder) + " until " + stamp(b.Claim.ExpiresAt)
		}
		fmt.Fprintf(a.Stdout, "blocked: %s (%s): %s\n", plain(string(b.Task.ID)), b.Task.Category, plain(reason))
	}
	fmt.Fprintf(a.Stdout, "tier=%d seed=%d\n", s.Tier, s.Seed)
}
