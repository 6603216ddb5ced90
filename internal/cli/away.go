package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/view"
)

type awayOptions struct {
	until  time.Time
	reason string
	end    bool
	dryRun bool
}

func newReviewAway(a *app) *cobra.Command {
	var o awayOptions
	cmd := &cobra.Command{
		Use:   "away",
		Short: "Say that nobody reviews for a while",
		Long: `Say that nobody reviews for a while. Until then, or until "stint review away --end", twice as
much may wait for review as [review] limit says, the age and the conflicts of what waits keep
no work from starting, and no notice says that nobody reviews. Saying it again replaces it.`,
		Example: `  stint review away --until 2026-12-28 --reason "holidays"
  stint review away --end`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.end && (o.reason != "" || !o.until.IsZero()):
				return usage(errors.New("--end: not with --until or --reason"))
			case o.end:
				return a.runBack(cmd.Context(), o.dryRun)
			}
			return a.runAway(cmd.Context(), o)
		},
	}
	cmd.Flags().Var(comingFlag(&o.until, a.Now), "until", "be back at this `TIME`, such as monday, 2026-12-28, 2026-12-28T09:00:00Z or 7d (default: with --end)")
	cmd.Flags().Var(textFlag(&o.reason), "reason", "why: a line of `TEXT` for other people")
	cmd.Flags().BoolVar(&o.end, "end", false, "somebody reviews again")
	addDryRun(cmd, &o.dryRun)
	return cmd
}

func (a *app) runAway(ctx context.Context, o awayOptions) error {
	away := fleet.Away{Until: o.until, Reason: cmp.Or(o.reason, "by "+a.user())}
	until := `"stint review away --end"`
	if !away.Until.IsZero() {
		until = stamp(away.Until)
	}
	err := a.withEngine(ctx, accessFor(o.dryRun), nil, func(e *engine.Engine) error { return e.Store.GoAway(ctx, away) })
	if err != nil {
		return err
	}
	a.sayLine(view.Away(true, o.dryRun).JSON(away), fmt.Sprintf("%s away until %s: %s", did(o.dryRun, "the reviewer is", "the reviewer would be"), until, away.Reason))
	return nil
}

func (a *app) runBack(ctx context.Context, dryRun bool) error {
	was := false
	err := a.withEngine(ctx, existing|accessFor(dryRun), nil, func(e *engine.Engine) (err error) {
		if !e.Recorded() {
			a.nothingYet()
			return nil
		}
		was, err = e.Store.ComeBack(ctx)
		return err
	})
	if err != nil {
		return err
	}
	line := did(dryRun, "the reviewer is back", "the reviewer would be back")
	if !was {
		line = "the reviewer was not away"
	}
	a.sayLine(view.Away(was, dryRun).JSON(fleet.Away{}), line)
	return nil
}
