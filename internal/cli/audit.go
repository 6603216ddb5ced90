package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/report"
)

func newAudit(a *app) *cobra.Command {
	var since spanValue
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compute from the record whether a lane was ever held twice",
		Long: `Compute from the record how many lanes were held at once at most, whether any was
ever held by two runs at once, how often workers were denied a claim and went on to
another category, how many runs did nothing, and what each category got of the
sessions against its share. A lane held twice is status 1.

SESSIONS are the runs that had a claim, whoever started them, and PART is theirs of all
sessions; SPAWNED are the runs that fires started.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runAudit(cmd.Context(), since)
		},
	}
	cmd.Flags().Var(&since, "since", "look back so far, such as 90m, 24h or 7d (default: all of the record)")
	return cmd
}

// auditObject is stint/audit@1.
type auditObject struct {
	Schema             string            `json:"schema"`
	PeakConcurrency    int               `json:"peak_concurrency"`
	TotalAcquisitions  int               `json:"total_acquisitions"`
	SameLockViolations int               `json:"same_lock_violations"`
	Violations         []violationObject `json:"violations"`
	Denials            int               `json:"denials"`
	Pivots             int               `json:"pivots"`
	Runs               int               `json:"runs"` // that ended
	NoopRate           float64           `json:"noop_rate"`
	SafetyNet          int               `json:"safety_net"` // runs for which the allow-list stood in for a payload
	Fallbacks          int               `json:"fallbacks"`  // fires for which the external selector failed
	Categories         []shareObject     `json:"categories"`
	Fruitless          []fruitlessObject `json:"fruitless"` // chosen, and never at work
}

type fruitlessObject struct {
	Category fleet.Category `json:"category"`
	Runs     int            `json:"runs"`
}

type shareObject struct {
	Category fleet.Category `json:"category"`
	Spawned  int            `json:"spawned"`  // by fires
	Sessions int            `json:"sessions"` // runs that had a claim, whoever started them
	Part     float64        `json:"part"`     // of all sessions
	Share    float64        `json:"share"`
}

type violationObject struct {
	Category fleet.Category `json:"category"`
	Lane     int            `json:"lane"`
	Runs     [2]fleet.RunID `json:"runs"`
	At       string         `json:"at"`
}

func (a *app) runAudit(ctx context.Context, since spanValue) error {
	return a.withEngine(ctx, reading, nil, func(e *engine.Engine) error {
		var r report.Audit
		if e.Store == nil {
			a.nothingYet()
		} else {
			var err error
			if r, err = e.Audit(ctx, since.before(a.Now())); err != nil {
				return err
			}
		}
		a.printAudit(r)
		if n := len(r.Violations); n > 0 {
			return fmt.Errorf("audit: lanes held by two runs at once: %d", n)
		}
		return nil
	})
}

func (a *app) printAudit(r report.Audit) {
	o := newAuditObject(r)
	if a.json {
		printJSON(a.Stdout, o)
		return
	}
	fmt.Fprintf(a.Stdout, "peak_concurrency=%d\ntotal_acquisitions=%d\nsame_lock_violations=%d\n",
		o.PeakConcurrency, o.TotalAcquisitions, o.SameLockViolations)
	fmt.Fprintf(a.Stdout, "denials=%d\npivots=%d\nruns=%d\nnoop_rate=%.3f\nsafety_net=%d\nfallbacks=%d\n",
		o.Denials, o.Pivots, o.Runs, o.NoopRate, o.SafetyNet, o.Fallbacks)
	for _, v := range o.Violations {
		fmt.Fprintf(a.Stdout, "violation: lane %s.%d by run %s and run %s from %s\n", v.Category, v.Lane, v.Runs[0], v.Runs[1], v.At)
	}
	for _, f := range r.Fruitless {
		fmt.Fprintln(a.Stdout, fruitlessLine(f))
	}
	rows := [][]string{{"CATEGORY", "SPAWNED", "SESSIONS", "PART", "SHARE"}}
	for _, c := range o.Categories {
		rows = append(rows, []string{string(c.Category), fmt.Sprint(c.Spawned), fmt.Sprint(c.Sessions), fmt.Sprintf("%.3f", c.Part), fmt.Sprintf("%.3f", c.Share)})
	}
	table(a.Stdout, rows)
}

// fruitlessLine is the alarm about a category that never gets to work.
func fruitlessLine(f report.Fruitless) string {
	return fmt.Sprintf("alarm: all %d runs of %s ended busy, denied or idle: nothing is learnt of it", f.Runs, f.Category)
}

func newAuditObject(r report.Audit) auditObject {
	o := auditObject{
		Schema: "stint/audit@1", PeakConcurrency: r.PeakConcurrency, TotalAcquisitions: r.TotalAcquisitions,
		SameLockViolations: len(r.Violations), Violations: []violationObject{},
		Denials: r.Denials, Pivots: r.Pivots, Runs: r.Runs, NoopRate: r.NoopRate(),
		SafetyNet: r.SafetyNet, Fallbacks: r.Fallbacks, Categories: []shareObject{}, Fruitless: []fruitlessObject{},
	}
	for _, v := range r.Violations {
		o.Violations = append(o.Violations, violationObject{v.Category, v.Lane, [2]fleet.RunID{v.First, v.Second}, stamp(v.At)})
	}
	for _, f := range r.Fruitless {
		o.Fruitless = append(o.Fruitless, fruitlessObject(f))
	}
	for _, c := range r.Categories {
		o.Categories = append(o.Categories, shareObject(c))
	}
	return o
}
