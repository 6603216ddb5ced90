package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/view"
)

func newFires(a *app) *cobra.Command {
	var since time.Time
	q := store.FireQuery{Brief: true}
	cmd := &cobra.Command{
		Use:   "fires",
		Short: "List the fires, newest first, and why one started nothing",
		Long: `List the fires, newest first: the last 20, or those that the flags select. A fire that
started nothing is listed with its reasons, each with the categories it applies to. "stint
why FIRE" explains a fire in sentences, and "stint replay FIRE" ranks it again. For the
next page, give --before the last fire of this one.`,
		Example: `  stint fires --since yesterday
  stint fires --pool monitoring -n 5 --json`,
		RunE: a.open(reading|record, func(ctx context.Context, f opened, _ []string) error {
			if _, known := f.Config.Pools[q.Pool]; q.Pool != "" && !known {
				return fleet.WithHint(usage(fmt.Errorf("pool %q is not in %s", q.Pool, f.Config.Path)),
					"the pools are "+fleet.Listed(f.Config.PoolNames()))
			}
			q.Limit = cmp.Or(q.Limit, usualLimit)
			list, err := f.Fires(ctx, q)
			list = sinceOf(since, list, func(f fleet.Fire) time.Time { return f.At })
			return show(a, view.Fires().JSON(list), view.Fire(), list, err, "no such fire")
		}),
	}
	f := cmd.Flags()
	f.VarP(countFlag(&q.Limit), "limit", "n", "list the last `N` (default 20)")
	f.Var(pastFlag(&since, a.Now), "since", sinceUsage)
	f.Var(pastFlag(&q.Until, a.Now), "until", untilUsage)
	f.StringVar(&q.Pool, "pool", "", "those of one `POOL`")
	f.Var(countFlag(&q.Before), "before", "those before this `FIRE`")
	return cmd
}

const (
	// usualLimit bounds the runs, and the fires, that are listed.
	usualLimit = 20
	sinceUsage = "those from this `TIME` on, such as 24h, 7d, yesterday, monday or 2026-11-21 (default: all of the record)"
	untilUsage = "those up to this `TIME`"
)
