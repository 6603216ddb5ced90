package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"stint/internal/explain/replay"
	"stint/internal/fleet"
	"stint/internal/view"
)

func newReplay(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "replay FIRE",
		Short: "Rank a recorded fire again, and compare",
		Long: `Rank and decide a recorded fire again from the inputs that were stored with it, and
compare: "identical", or every difference and status 1. A fire that followed another
selector's payload is decided by that payload; what stint would have ranked is shown
beside it. Nothing is written.`,
		Example: "  stint replay 12",
		RunE: a.open(reading, func(ctx context.Context, f opened, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return usage(fmt.Errorf("fire %q: want a number of 1 or more", args[0]))
			}
			r, err := f.Replay(ctx, fleet.FireID(id))
			if errors.Is(err, fleet.ErrNotFound) {
				return fleet.WithHint(err, "stint fires lists the fires")
			}
			if err != nil {
				return err
			}
			if !a.asObject(view.Replay().JSON(r)) {
				a.printReplay(r)
			}
			if n := len(r.Differences); n > 0 {
				return fmt.Errorf("replay fire %d: differences from the record: %d", id, n)
			}
			return nil
		}),
	}
}

func (a *app) printReplay(r replay.Result) {
	fmt.Fprintf(a.Stdout, "fire %d at %s\n", r.Fire.ID, stamp(r.Fire.At))
	choices := view.DecidedAgain(r)
	for i, c := range choices {
		if r.Fire.Choice(c.Category).Decision == fleet.StartFailed {
			choices[i].Decision = fleet.StartFailed // which no ranking decides
		}
	}
	a.print(view.Choice().Table(choices, a.Now(), a.style()))
	if !r.Followed {
		fmt.Fprintf(a.Stdout, "it followed another selector's payload; stint would have ranked:\n")
		a.printRanking(r.Selection)
	}
	for _, d := range r.Differences {
		a.prose("differs: %s: recorded %s, replayed %s", d.Field, d.Recorded, d.Replayed)
	}
	if len(r.Differences) == 0 {
		fmt.Fprintln(a.Stdout, "identical")
	}
}
