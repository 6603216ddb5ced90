package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/view"
)

func newRuns(a *app) *cobra.Command {
	var (
		q            store.RunQuery
		before, host string
		since, until time.Time
	)
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs, newest first",
		Long: `List the runs, newest first: the last 20, or those that the flags select. For the next
page, give --before the last run of this one.`,
		Example: `  stint runs --category code --outcome failed --since 7d
  stint runs --task fix-login -n 3 --json`,
		RunE: a.open(reading|record, func(ctx context.Context, f opened, _ []string) (err error) {
			q.Limit = cmp.Or(q.Limit, usualLimit)
			if q.Host, err = hostID(ctx, f, host); err != nil {
				return err
			}
			if before != "" {
				r, err := resolveRun(ctx, f.Reader, before, q.Host)
				if err != nil {
					return err
				}
				q.Before = r.ID
			}
			if first := fleet.NewRunID(until.Add(time.Millisecond), 0); !until.IsZero() && (q.Before == "" || first < q.Before) {
				q.Before = first // an id begins with its time
			}
			list, err := f.Runs(ctx, q)
			list = sinceOf(since, list, func(r fleet.RunStatus) time.Time { return r.CreatedAt })
			if err == nil && len(list) == 0 {
				err = knownCategory(f.Config, string(q.Category)) // one that left the configuration still has a record
			}
			return show(a, view.Runs().JSON(list), view.Run(), list, err, "no such run")
		}),
	}
	f := cmd.Flags()
	f.VarP(countFlag(&q.Limit), "limit", "n", "list the last `N` (default 20)")
	f.StringVar((*string)(&q.Category), "category", "", "those of one `CATEGORY`")
	f.Var(taskFlag(&q.Task), "task", "those at one `TASK`")
	f.Var(outcomeFlag(&q.Outcome), "outcome", "those of this `OUTCOME`, such as failed")
	f.StringVar(&host, "host", "", "those on one `HOST`, see stint host list")
	f.Var(pastFlag(&since, a.Now), "since", sinceUsage)
	f.Var(pastFlag(&until, a.Now), "until", untilUsage)
	f.Var(countFlag(&q.Fire), "fire", "those of one `FIRE`")
	f.StringVar(&before, "before", "", "those that were made before this `RUN`")
	return cmd
}
