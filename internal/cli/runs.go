package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/store"
	"stint/internal/view"
)

type runsOptions struct {
	limit                           int
	fire                            fleet.FireID
	category, task, outcome, before string
	host                            string
	since, until                    time.Time
}

func newRuns(a *app) *cobra.Command {
	var o runsOptions
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs, newest first",
		Long: `List the runs, newest first: the last 20, or those that the flags select. For the next
page, give --before the last run of this one.`,
		Example: `  stint runs --category code --outcome failed --since 7d
  stint runs --task fix-login -n 3 --json`,
		Args: cobra.NoArgs,
		RunE: with(a.runRuns, &o),
	}
	f := cmd.Flags()
	f.VarP(countFlag(&o.limit), "limit", "n", "list the last `N` (default 20)")
	f.StringVar(&o.category, "category", "", "those of one `CATEGORY`")
	f.StringVar(&o.task, "task", "", "those at one `TASK`")
	f.StringVar(&o.outcome, "outcome", "", "those of this `OUTCOME`, such as failed")
	f.StringVar(&o.host, "host", "", "those on one `HOST`, see stint host list")
	f.Var(pastFlag(&o.since, a.Now), "since", sinceUsage)
	f.Var(pastFlag(&o.until, a.Now), "until", untilUsage)
	f.Var(countFlag(&o.fire), "fire", "those of one `FIRE`")
	f.StringVar(&o.before, "before", "", "those that were made before this `RUN`")
	return cmd
}

func (a *app) runRuns(ctx context.Context, o runsOptions) error {
	q, err := o.query()
	if err != nil {
		return err
	}
	return a.withPast(ctx, func(e *inspect.Explainer) error {
		if q.Host, err = hostID(ctx, e, o.host); err != nil {
			return err
		}
		if o.before != "" {
			r, err := resolveRun(ctx, e.Fleet, o.before, q.Host)
			if err != nil {
				return err
			}
			q.Before = r.ID
		}
		if first := fleet.NewRunID(o.until.Add(time.Millisecond), 0); !o.until.IsZero() && (q.Before == "" || first < q.Before) {
			q.Before = first // an id begins with its time
		}
		list, err := e.Runs(ctx, q)
		if err != nil {
			return err
		}
		list = sinceOf(o.since, list, func(r fleet.RunStatus) time.Time { return r.CreatedAt })
		if len(list) == 0 {
			// A category that left the configuration still has a record.
			if err := knownCategory(e.Config, o.category); err != nil {
				return err
			}
		}
		if len(list) == 0 && e.Recorded() && !a.json {
			fmt.Fprintln(a.Stderr, "stint: no such run")
		}
		show(a, view.Runs().JSON(list), view.Run(), list)
		return nil
	})
}

func (o runsOptions) query() (q store.RunQuery, err error) {
	q = store.RunQuery{
		Category: fleet.Category(o.category), Outcome: fleet.Outcome(o.outcome), Fire: o.fire, Limit: cmp.Or(o.limit, usualLimit),
	}
	if o.task != "" {
		if q.Task, err = fleet.ParseTaskID(o.task); err != nil {
			return q, usage(err)
		}
	}
	if known := fleet.Outcomes(); o.outcome != "" && !slices.Contains(known, q.Outcome) {
		return q, fleet.WithHint(usage(fmt.Errorf("outcome %q: there is none of that name", o.outcome)),
			fleet.Meant(o.outcome, known, "the outcomes are "+fleet.Listed(known)))
	}
	return q, nil
}
