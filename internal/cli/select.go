package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/view"
)

func newSelect(a *app) *cobra.Command {
	var (
		o       inspect.SelectOptions
		explain bool
	)
	cmd := &cobra.Command{
		Use:   "select",
		Short: "Rank the categories of work and print the ranking",
		Long: `Rank the categories of work, and mark with * what a fire would start. The score of a
category is a sum, in units of grade, that --explain shows:

  drew     a random draw from the belief about its mean grade (Thompson sampling)
  lessons  the effect of today's lessons, beside those of the graded sessions
  season   the effect of the time of day, if grades follow it
  load     the cost of its recent load, if grades fall with load
  price    what its sessions use, while the fleet's budget or the slots bind
  debt     (sessions below its floor - sessions above its cap) / v

Categories that cannot start are left out with the reason. A category with an active task leads,
unless it is over its cap. The same store, clock and seed give the same ranking.`,
		Example: `  stint select --explain
  stint select --json --seed 7 | stint fanout --selector - --dry-run`,
		RunE: a.open(reading, func(ctx context.Context, f opened, _ []string) error {
			s, err := f.Select(ctx, o)
			if err != nil {
				return err
			}
			switch {
			case a.json:
				printJSON(a.Stdout, s.Payload())
			case explain:
				a.printExplain(s)
			default:
				a.printRanking(s)
			}
			if len(s.Ranked()) == 0 {
				return fmt.Errorf("no category to start: %w", fleet.ErrNothing)
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.VarP(countFlag(&o.Workers), "workers", "n", "mark the best `N` as what a fire would start (default the pool's workers, or fanout.workers, of the config)")
	f.StringVar(&o.Pool, "pool", "", "rank the categories of this `POOL` (default that of --category, or else "+config.DefaultPool+")")
	f.StringVar((*string)(&o.Category), "category", "", "rank this `CATEGORY` alone, allowed for fires or not")
	f.Var(seedFlag(&o.Seed), "seed", "seed of the draws, an unsigned 64-bit number (default: by chance)")
	f.BoolVar(&explain, "explain", false, "show for every category what its score is made of, and why it is in or out")
	return cmd
}

// printRanking lists the categories that can start; where there is none, why each cannot.
func (a *app) printRanking(s rank.Selection) {
	if len(s.Ranked()) == 0 {
		a.printSentences(s)
	}
	for i, c := range s.Ranked() {
		next := ""
		if c.Next != nil {
			next = fmt.Sprintf("  %s (%s)", c.Next.ID, c.Next.State)
		}
		place := fmt.Sprintf(" %2d  %.3f ", i+1, c.Value)
		if c.Alone {
			place = ""
		}
		fmt.Fprintf(a.Stdout, "%s%s %s%s\n", mark(c.Picked), place, c.Category, plain.Text(next))
	}
}

func (a *app) printSentences(s rank.Selection) {
	for _, sentence := range s.Sentences(rank.Figures) {
		a.prose("%s", sentence)
	}
}

// mark points at what a fire would start.
func mark(start bool) string {
	if start {
		return "*"
	}
	return " "
}

func (a *app) printExplain(s rank.Selection) {
	if !s.Alone() {
		a.print(append(view.Scores(s).Lines(a.style()), ""))
	}
	a.printSentences(s)
	for _, b := range s.Blocked {
		reason := b.Reason
		if b.Holder != "" {
			reason += " by " + string(b.Holder) + " until " + stamp(*b.ExpiresAt)
		}
		a.prose("blocked: %s (%s): %s", b.ID, b.Category, reason)
	}
}
