package screen_test

import (
	"testing"
	"time"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/screen"
	"stint/internal/view"
)

// reported is a week in which one category got too much, and one nothing.
func reported() report.Report {
	const step = 168 * time.Minute
	o := report.Options{From: before(60 * step), To: noon(), Step: step, Settings: rank.Defaults(), AllRuns: true}
	o.Before = map[fleet.Category]rank.Beta{"code": {A: 9, B: 11}, "docs": {A: 2, B: 2}}
	o.Beliefs = map[fleet.Category]rank.Beta{"code": {A: 30, B: 20}, "cross-repo-maintenance": {A: 1, B: 1}, "docs": {A: 6, B: 1.5}, "triage": {A: 0.8, B: 1.2}}
	r := report.Record{
		Shares:    map[fleet.Category]float64{"code": 0.25, "cross-repo-maintenance": 0.25, "docs": 0.25, "triage": 0.25},
		Entitled:  map[fleet.Category]float64{"code": 41.5, "cross-repo-maintenance": 20.25, "docs": 28, "triage": 22.25},
		Fallbacks: 1,
	}
	for i := range 60 {
		from := o.From.Add(time.Duration(i) * step)
		tally := func(c fleet.Category, agent string, outcome fleet.Outcome, runs int, grade float64) {
			t := fleet.Tally{
				From: from, Category: c, Agent: agent, Outcome: outcome, Source: fleet.FromSelected, Fired: true, Claimed: outcome != fleet.Idle,
				Runs: runs, Tokens: 150_000, USD: 1.25, Worked: 40 * time.Minute,
			}
			if outcome == fleet.Productive {
				t.Graded, t.Grades = runs, grade*float64(runs)
			}
			if outcome == fleet.Noop {
				t.Empty = runs
			}
			r.Tallies = append(r.Tallies, t)
		}
		if i%20 < 5 {
			continue // a night
		}
		tally("code", "claude", fleet.Productive, 1+i%3, 0.4+float64(i%5)/10)
		if i%3 == 0 {
			tally("cross-repo-maintenance", "codex", fleet.Noop, 1, 0)
		}
		if i%6 == 0 {
			tally("docs", "claude", fleet.Productive, 1, 0.9)
		}
		if i%9 == 0 {
			tally("triage", "an agent with a \x1b[31mlong name", fleet.Idle, 1, 0)
		}
	}
	r.Denials = make([]fleet.DeniedClaim, 3)
	done := report.New(r, o)
	done.Merged = []report.MergedWork{
		{Category: "code", Agent: "claude", Sessions: 60, USD: 75, Merged: 12, Refused: 5, Week: report.Standing{Due: 8, Stood: 7}},
		{Category: "cross-repo-maintenance", Agent: "codex", Sessions: 3, USD: 2, Refused: 1},
		{Category: "docs", Agent: "claude", Sessions: 9, USD: 12}, // nothing became of it yet
	}
	done.Reviewed = []report.Reviewed{
		{Run: "01kw1sykt000001f", Category: "code", Task: "fix-login", Decision: fleet.DecisionLanded, By: "alice", At: before(hour), As: "0123456789abcdef"},
		{Run: "01kw1sws7000001f", Category: "docs", Decision: fleet.DecisionRejected, By: "bob", At: before(26 * hour), Reason: "it says the same as the manual"},
	}
	return done
}

// drawn is a report with its tables.
func drawn(s screen.Style, name fleet.Name, r report.Report) []string {
	var tables [][]string
	for _, table := range view.ReportTables(r) {
		tables = append(tables, table.Lines(s))
	}
	return screen.Report(s, name, r, tables...)
}

func TestReport(t *testing.T) {
	t.Parallel()
	each(t, "report", func(s screen.Style) []string { return drawn(s, "alpha", reported()) })
	golden(t, "report-coloured.txt", drawn(screen.Style{Width: 80, Colour: true}, "alpha", reported()))
}

func TestReportOfNothing(t *testing.T) {
	t.Parallel()
	r := report.New(report.Record{}, report.Options{From: before(time.Hour), To: noon(), Step: time.Minute})
	each(t, "report-nothing", func(s screen.Style) []string { return drawn(s, "alpha", r) })
}
