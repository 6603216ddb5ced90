package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/store"
	"stint/internal/view"
)

type firesOptions struct {
	limit  int
	before fleet.FireID
	since  time.Time
	until  time.Time
	pool   string
}

func newFires(a *app) *cobra.Command {
	var o firesOptions
	cmd := &cobra.Command{
		Use:   "fires",
		Short: "List the fires, newest first, and why one started nothing",
		Long: `List the fires, newest first: the last 20, or those that the flags select. A fire that
started nothing is listed with its reasons, each with the categories it applies to. "stint
why FIRE" explains a fire in sentences, and "stint replay FIRE" ranks it again. For the
next page, give --before the last fire of this one.`,
		Example: `  stint fires --since yesterday
  stint fires --pool monitoring -n 5 --json`,
		Args: cobra.NoArgs,
		RunE: with(a.runFires, &o),
	}
	f := cmd.Flags()
	f.VarP(countFlag(&o.limit), "limit", "n", "list the last `N` (default 20)")
	f.Var(pastFlag(&o.since, a.Now), "since", sinceUsage)
	f.Var(pastFlag(&o.until, a.Now), "until", untilUsage)
	f.StringVar(&o.pool, "pool", "", "those of one `POOL`")
	f.Var(countFlag(&o.before), "before", "those before this `FIRE`")
	return cmd
}

const (
	// usualLimit is how many runs, and fires, are listed.
	usualLimit = 20
	sinceUsage = "those from this `TIME` on, such as 24h, 7d, yesterday, monday or 2026-11-21 (default: all of the record)"
	untilUsage = "those up to this `TIME`"
)

func (a *app) runFires(ctx context.Context, o firesOptions) error {
	return a.withPast(ctx, func(e *inspect.Explainer) error {
		if _, known := e.Config.Pools[o.pool]; o.pool != "" && !known {
			return fleet.WithHint(usage(fmt.Errorf("pool %q is not in %s", o.pool, e.Config.Path)), "the pools are "+fleet.Listed(e.Config.PoolNames()))
		}
		q := store.FireQuery{Before: o.before, Pool: o.pool, Until: o.until, Brief: true, Limit: cmp.Or(o.limit, usualLimit)}
		list, err := e.Fires(ctx, q)
		if err != nil {
			return err
		}
		list = sinceOf(o.since, list, func(f fleet.Fire) time.Time { return f.At })
		if len(list) == 0 && e.Recorded() && !a.json {
			fmt.Fprintln(a.Stderr, "stint: no such fire")
		}
		show(a, view.Fires().JSON(list), view.Fire(), list)
		return nil
	})
}
