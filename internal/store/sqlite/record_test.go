package sqlite

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storetest"
)

// TestRecordPlans holds the statements that read the past to an index each: what is shown
// often must cost what it shows, not what there is. None sorts what it then cuts off.
func TestRecordPlans(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t, storetest.Start))
	past := storetest.Start()
	type reads = func(table.Reader) error
	runs := func(q store.RunQuery) reads {
		return func(r table.Reader) error { return errOf(r.LastRuns(t.Context(), q)) }
	}
	denials := func(q store.DenialQuery) reads {
		return func(r table.Reader) error { return errOf(r.LastDenials(t.Context(), q)) }
	}
	const sorts = "USE TEMP B-TREE"
	for name, tt := range map[string]struct {
		ask   reads
		uses  string // a pattern
		sorts bool   // what it found, all of which it returns
	}{
		"runs, any":                    {ask: runs(store.RunQuery{}), uses: `^SCAN runs$`}, // from the end, up to the limit
		"runs, before":                 {ask: runs(store.RunQuery{Before: "0r1"}), uses: `PRIMARY KEY \(id<\?\)`},
		"runs, of a category":          {ask: runs(store.RunQuery{Category: "code"}), uses: `runs_category \(category=\?\)`},
		"runs, of a category, before":  {ask: runs(store.RunQuery{Category: "code", Before: "0r1"}), uses: `runs_category \(category=\? AND id<\?\)`},
		"runs, of a category, ended":   {ask: runs(store.RunQuery{Category: "code", Ended: true}), uses: `runs_category \(category=\?\)`},
		"runs, of a task":              {ask: runs(store.RunQuery{Task: "fix"}), uses: `runs_task \(task=\?\)`},
		"runs, of a task, before":      {ask: runs(store.RunQuery{Task: "fix", Before: "0r1"}), uses: `runs_task \(task=\? AND id<\?\)`},
		"runs, with an outcome":        {ask: runs(store.RunQuery{Outcome: fleet.Failed}), uses: `runs_outcome \(outcome=\?\)`},
		"runs, of an agent":            {ask: runs(store.RunQuery{Agent: "claude"}), uses: `runs_agent \(agent=\?\)`},
		"runs, of a fire":              {ask: runs(store.RunQuery{Fire: 7}), uses: `runs_fire \(fire=\?\)`},
		"runs, of a fire and category": {ask: runs(store.RunQuery{Fire: 7, Category: "code"}), uses: `runs_(fire|category) `},
		"runs, watched":                {ask: func(r table.Reader) error { return errOf(r.Watched(t.Context(), past, past, 9)) }, uses: `runs_work \(id>\?\)`},
		"tallies":                      {ask: func(r table.Reader) error { return errOf(r.Tallies(t.Context(), store.Span{From: past}, 0)) }, uses: `PRIMARY KEY \(id>\? AND id<\?\)`, sorts: true},
		"entitled":                     {ask: func(r table.Reader) error { return errOf(r.Entitled(t.Context(), store.Span{From: past})) }, uses: `fires_at \(at>\? AND at<\?\)$`},
		"lane holds":                   {ask: func(r table.Reader) error { return errOf(r.LaneHolds(t.Context(), past)) }, uses: `runs_lane \(lane_left>\?\)`, sorts: true},
		"denials, since":               {ask: func(r table.Reader) error { return errOf(r.DeniedClaims(t.Context(), past)) }, uses: `denials_at \(at>\?\)`},
		"denials, any":                 {ask: denials(store.DenialQuery{}), uses: `^SCAN denials$`},
		"denials, of a run":            {ask: denials(store.DenialQuery{Run: "0r1"}), uses: `denials_run \(run=\?\)`},
		"denials, of a key":            {ask: denials(store.DenialQuery{Key: "fix"}), uses: `denials_key \(key=\?\)`},
	} {
		asked := asked{}
		must.Do(t, tt.ask(table.Reader{Source: &asked}))
		var plan string
		for _, s := range asked {
			plan += d.plan(t, s.SQL) + "\n"
		}
		if !regexp.MustCompile("(?m)" + tt.uses).MatchString(plan) {
			t.Errorf("%s: got the plan below, want it to use %s:\n%s", name, tt.uses, plan)
		}
		if got := strings.Contains(plan, sorts); got != tt.sorts {
			t.Errorf("%s: got it sorted %v, want %v:\n%s", name, got, tt.sorts, plan)
		}
		if scans := strings.Contains(plan, "SCAN"); scans && !strings.HasSuffix(tt.uses, "$") {
			t.Errorf("%s: got the plan below, want no table read from end to end:\n%s", name, plan)
		}
	}
}

// TestSnapshotPlan has a look cost what stands, not what ever was: it goes by the indexes of claims
// that are not given back, and of runs that have not ended.
func TestSnapshotPlan(t *testing.T) {
	t.Parallel()
	d, asked := mustOpen(t, testOptions(t, storetest.Start)), asked{}
	must.Do(t, errOf(table.Reader{Source: &asked}.Snapshot(t.Context())))
	var plan []string
	for _, s := range asked {
		plan = append(plan, d.plan(t, s.SQL))
	}
	got := strings.Join(plan, "\n")
	for _, want := range []string{
		`SEARCH claims USING INDEX claims_expiry (expires_at>?)`, `SEARCH claims USING INDEX claims_open (holder>? AND holder<?)`,
		`SCAN runs USING INDEX runs_open`, `SEARCH runs USING INDEX runs_ended (category=? AND host=? AND ended_at<?)`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got the plan below, want %q in it:\n%s", want, got)
		}
	}
	if strings.Contains(got, "SCAN claims") {
		t.Errorf("got the plan below, want no table of the past read from end to end:\n%s", got)
	}
}

// asked is the statements that a source was asked to run.
type asked []table.Statement

func (a *asked) Read(_ context.Context, ask func(time.Time) []table.Statement) error {
	*a = append(*a, ask(storetest.Start())...)
	return nil
}

func errOf[T any](_ T, err error) error { return err }

// parameter is one that is not bound while a query is only explained.
var parameter = regexp.MustCompile(`[?$]\d*`)

// plan returns SQLite's plan for a query, a step a line.
func (d *DB) plan(t *testing.T, query string) string {
	t.Helper()
	var steps []string
	for _, row := range rowsOf(t, d, "explain query plan "+parameter.ReplaceAllString(query, "'1'")) {
		step, ok := row["detail"].(string)
		if !ok {
			t.Fatalf("got a step %v, want text", row)
		}
		steps = append(steps, step)
	}
	return strings.Join(steps, "\n")
}
