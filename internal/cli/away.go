package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/view"
)

func newReviewAway(a *app) *cobra.Command {
	var (
		away fleet.Away
		end  bool
	)
	cmd := a.dry(&cobra.Command{
		Use:   "away",
		Short: "Note that nobody reviews for a while",
		Long: `Note that nobody reviews until a time, or until "stint review away --end". Meanwhile twice the
[review] limit may wait for review. Work that waits too long, or conflicts, does not stop new work.
No notice says that nobody reviews. A new call replaces the old one.`,
		Example: `  stint review away --until 2026-12-28 --reason "holidays"
  stint review away --end`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case end && away != (fleet.Away{}):
				return usage(errors.New("--end: not with --until or --reason"))
			case end:
				return a.reviewerBack(cmd.Context())
			}
			away.Reason = cmp.Or(away.Reason, "by "+a.user())
			until := `"stint review away --end"`
			if !away.Until.IsZero() {
				until = stamp(away.Until)
			}
			return a.with(cmd.Context(), writing, func(f opened) error {
				line := a.did("the reviewer is", "the reviewer would be") + " away until " + until + ": " + away.Reason
				return a.sayDone(f.Store.SetAway(cmd.Context(), away), view.Away(true, a.dryRun).JSON(away), line)
			})
		},
	})
	cmd.Flags().Var(comingFlag(&away.Until, a.Now), "until", "when the reviewer is back: a `TIME` such as monday, 2026-12-28, 2026-12-28T09:00:00Z or 7d (default: until --end)")
	cmd.Flags().Var(textFlag(&away.Reason), "reason", "why: a line of `TEXT` for other people")
	cmd.Flags().BoolVar(&end, "end", false, "somebody reviews again")
	return cmd
}

func (a *app) reviewerBack(ctx context.Context) error {
	return a.with(ctx, existing|record, func(f opened) (err error) {
		was := false
		if f.Recorded() {
			was, err = f.Store.ClearAway(ctx)
		}
		line := a.did("the reviewer is back", "the reviewer would be back")
		if !was {
			line = "the reviewer was not away"
		}
		return a.sayDone(err, view.Away(was, a.dryRun).JSON(fleet.Away{}), line)
	})
}
