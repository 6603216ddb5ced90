package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/view"
)

// usualReport is the time that a report covers.
const usualReport = 7 * 24 * time.Hour

func newReport(a *app) *cobra.Command {
	var (
		span store.Span
		by   []report.Key
		csv  bool
	)
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Sum up work, cost and problems",
		Long: `Sum up what the fleet did and what it cost, by category and agent. First come the
problems: lanes held twice, categories that never get to work, or get far less or more than
their entitlement, tasks and agents that keep failing, too many runs that did nothing, and
an external selector that failed. Last comes what landed and what was rejected, and by whom.

ENTITLED are the sessions to which the fires of that time entitled a category, by the shares
of the categories that could start. RATIO is its sessions divided by that, PART its part of
all sessions, and the mark on the bar its entitlement. MEAN is the mean of the grades of that
time, BELIEVED the 95% interval of the ranking's belief, WAS what it believed at the
beginning, and ALONE the 95% interval by an agent's own grades of that time.
Tokens and cost are counted if agents report them.

--csv prints the lists of --json as one table after RFC 4180. The column kind names a row's list:
all, categories, agents, categories_agents, merged, or steps, each a 60th of the time.

--by splits sessions, tokens and cost by day, category, agent and host, or any of these. A day
is a whole day in UTC, as for budgets; a run counts for the day on which it was made.
`,
		Example: `  stint report
  stint report --by day,agent --since 2d
  stint report --csv | sqlite3 :memory: '.import --csv /dev/stdin r' 'select category, ratio from r where kind = "categories"'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			switch span.From = cmp.Or(span.From, cmp.Or(span.To, a.Now()).Add(-usualReport)); {
			case a.json && csv:
				return usage(errors.New("want one of --json and --csv"))
			case span.Over(span.From):
				return usage(errors.New("--until: want a time after --since"))
			}
			return a.with(ctx, reading|record, func(f opened) error {
				if len(by) > 0 {
					p, err := f.Spending(ctx, span, by)
					if err != nil || csv {
						return a.printCSV(view.Spending(f.Config.Fleet, p.By).JSON(p), err, "parts")
					}
					a.say(view.Spending(f.Config.Fleet, p.By).JSON(p), func(s screen.Style) []string { return view.SpendingTable(p, s) })
					return nil
				}
				r, err := f.Report(ctx, span)
				if err != nil || csv {
					return a.printCSV(view.Report(f.Config.Fleet).JSON(r), err, "all", "categories", "agents", "categories_agents", "merged", "steps")
				}
				a.say(view.Report(f.Config.Fleet).JSON(r), func(s screen.Style) []string {
					tables := plain.Each(view.ReportTables(r), func(t view.Shown) []string { return t.Lines(s) })
					return screen.Report(s, f.Config.Fleet, r, tables...)
				})
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.Var(pastFlag(&span.From, a.Now), "since", "begin at this `TIME`, such as 24h, 30d, yesterday, monday or 2026-11-21; 0: all of the record (default: 7d before the end)")
	flags.Var(pastFlag(&span.To, a.Now), "until", "end before this `TIME` (default: now)")
	flags.Var(byFlag(&by), "by", "what was used instead, by `KEY,…` of day, category, agent, host")
	flags.BoolVar(&csv, "csv", false, "print a table for a spreadsheet")
	return cmd
}

// printCSV prints a table for a spreadsheet, unless what it is of failed.
func (a *app) printCSV(object json.RawMessage, err error, lists ...string) error {
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	text, err := view.CSV(object, lists...)
	_, _ = a.Stdout.Write(text) // an output that fails says so at the end
	return err
}

// byFlag is --by: keys to split by, each once.
func byFlag(to *[]report.Key) *flagValue[[]report.Key] {
	return &flagValue[[]report.Key]{to, "KEYS", "", func(s string) (keys []report.Key, err error) {
		for word := range strings.SplitSeq(s, ",") {
			if !slices.Contains(report.Keys(), report.Key(word)) || slices.Contains(keys, report.Key(word)) {
				return nil, fmt.Errorf("want some of %s, each once, with commas between", fleet.Listed(report.Keys()))
			}
			keys = append(keys, report.Key(word))
		}
		return keys, nil
	}}
}
