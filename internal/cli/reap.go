package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/engine"
)

func newReap(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "reap",
		Short: "Close the runs whose session is gone, and release their claims",
		Long: `Close the runs whose session is gone as abandoned, release their claims and lanes, and
end sessions that outlived their supervisor and their timeout. Every fire does this first;
by hand it is needed only if nothing fires. No grade changes.`,
		Args: cobra.NoArgs,
		RunE: with(a.runReap, &dryRun),
	}
	addDryRun(cmd, &dryRun)
	return cmd
}

func (a *app) runReap(ctx context.Context, dryRun bool) error {
	return a.withEngine(ctx, accessFor(dryRun), nil, func(e *engine.Engine) error {
		reaped, err := e.Reap(ctx, dryRun)
		if a.asObject(reapObject(dryRun).JSON(reaped)) {
			return err
		}
		for _, r := range reaped {
			verb := "abandoned"
			switch {
			case dryRun:
				verb = "would abandon"
			case r.Reason == engine.ReasonDelivered:
				verb = "recorded"
			}
			fmt.Fprintf(a.Stdout, "%s run %s (%s): %s\n", verb, r.Run.ID, r.Run.Category, r.Reason)
		}
		fmt.Fprintf(a.Stdout, "reaped=%d\n", len(reaped))
		return err
	})
}
