package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/view"
)

func newAudit(a *app) *cobra.Command {
	span := store.Span{From: time.Unix(0, 0)} // all of the record
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check the record for lanes held twice; sum up shares and denials",
		Long: `Check the record. The audit shows the most lanes held at once, whether two runs ever held one
lane, how often claims were denied, how many runs did nothing, found no free lane (busy) or no task
(idle), and each category's sessions beside its entitlement. The status is 1 if a lane was held
twice. An overrun is a session that ended after its lease. The status is also 1 if another run had
its lane or its task by then.

Without --since and --until the audit also computes anew, from all events, runs and fires on record,
the ranking's belief about each category, its account, the budgets of days and the epochs of claims.
If a figure differs, somebody else changed it or the store is damaged: status 1.

SESSIONS are the runs that had a claim, PART their part of all sessions, and SPAWNED those that
fires started. ENTITLED is the category's entitlement in the fires of that time. SHARE is its
target part of all sessions when every category can start.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if span.Over(span.From) {
				return usage(errors.New("--until: want a time after --since"))
			}
			return a.with(cmd.Context(), reading|record, func(f opened) error { return a.runAudit(cmd.Context(), f, span) })
		},
	}
	cmd.Flags().Var(pastFlag(&span.From, a.Now), "since",
		"begin at this `TIME`, such as 24h, 7d, yesterday, monday or 2026-11-21 (default: all of the record)")
	cmd.Flags().Var(pastFlag(&span.To, a.Now), "until", "end before this `TIME` (default: now)")
	return cmd
}

func (a *app) runAudit(ctx context.Context, f opened, span store.Span) error {
	r, err := f.Audit(ctx, span)
	if err != nil {
		return err
	}
	if span.From.Unix() == 0 && span.To.IsZero() {
		if r.Off, err = f.Discrepancies(ctx); err != nil {
			return err
		}
	}
	a.printAudit(r)
	var errs []error
	if n := len(r.Violations); n > 0 {
		errs = append(errs, fmt.Errorf("audit: lanes held by two runs at once: %d", n))
	}
	if n := r.Shared(); n > 0 {
		errs = append(errs, fleet.WithHint(fmt.Errorf("audit: sessions that worked on while others had their lane or their task: %d", n),
			"a host slept, or a supervisor was stopped, for longer than the lease; their work is not graded"))
	}
	if n := len(r.Off); n > 0 {
		errs = append(errs, fleet.WithHint(fmt.Errorf("audit: figures that do not add up: %d", n),
			"find out who else writes "+f.Config.State+", and put a copy of the store back, or begin with a new state folder"))
	}
	return errors.Join(errs...)
}

func (a *app) printAudit(r report.Audit) {
	if a.asObject(view.Audit().JSON(r)) {
		return
	}
	fmt.Fprintf(a.Stdout, "peak_concurrency=%d\ntotal_acquisitions=%d\nsame_lock_violations=%d\noverruns=%d\n",
		r.PeakConcurrency, r.TotalAcquisitions, len(r.Violations), len(r.Overruns))
	fmt.Fprintf(a.Stdout, "denials=%d\npivots=%d\nruns=%d\nnoop_rate=%.3f\nbusy=%d\nidle=%d\nsafety_net=%d\nfallbacks=%d\n",
		r.Denials, r.Pivots, r.All.Ended, r.All.NoopRate(), r.All.Outcomes[fleet.Busy], r.All.Outcomes[fleet.Idle], r.SafetyNet, r.Fallbacks)
	for _, v := range r.Violations {
		a.prose("violation: lane %s.%d by run %s and run %s from %s", v.Category, v.Lane, v.First, v.Second, plain.Stamp(v.At))
	}
	for _, v := range r.Overruns {
		a.prose("overrun: run %s worked %s longer than its lease, until %s; others had its lane or its task for %s of that",
			v.Run, plain.Span(v.Ended.Sub(v.LeaseOver)), plain.Stamp(v.Ended), plain.Span(v.Shared))
	}
	for _, d := range r.Off {
		a.prose("does not add up: %s", d)
	}
	for _, f := range r.Fruitless {
		a.prose("alarm: %s", f.Why())
	}
	for _, c := range r.Categories {
		if c.Judgement != rank.Fair {
			a.prose("alarm: %s", c.Why())
		}
	}
	for _, f := range r.Failing {
		a.prose("alarm: task %s keeps failing: %s", f.Task, f.Why())
	}
	if len(r.Categories) > 1 { // one is not ranked
		a.print(view.Shares(r.Categories).Lines(a.style()))
	}
}
