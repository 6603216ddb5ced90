package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/engine"
)

func newReap(a *app) *cobra.Command {
	return a.dry(&cobra.Command{
		Use:   "reap",
		Short: "Close the runs whose session is gone, and release their claims",
		Long: `Close the runs whose session is gone as abandoned, release their claims and lanes, and
end sessions that outlived their supervisor and their timeout. Every fire does this first;
by hand it is needed only if nothing fires. No grade changes.`,
		RunE: a.open(writing, func(ctx context.Context, f opened, _ []string) error {
			reaped, err := f.Reap(ctx, a.dryRun)
			if a.asObject(reapObject(a.dryRun).JSON(reaped)) {
				return err
			}
			for _, r := range reaped {
				verb := a.did("abandoned", "would abandon")
				if r.Reason == engine.ReasonDelivered && !a.dryRun {
					verb = "recorded"
				}
				fmt.Fprintf(a.Stdout, "%s run %s (%s): %s\n", verb, r.Run.ID, r.Run.Category, r.Reason)
			}
			fmt.Fprintf(a.Stdout, "reaped=%d\n", len(reaped))
			return err
		}),
	})
}
