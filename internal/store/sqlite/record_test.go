package sqlite

import (
	"regexp"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/storetest"
	"stint/internal/store/table"
)

// TestRecordPlans holds the statements that read the past to an index each: what is shown
// often must cost what it shows, not what there is. None sorts what it then cuts off.
func TestRecordPlans(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t, storetest.Start))
	allRuns := table.Runs().Select(nil, "").SQL
	runs := func(q store.RunQuery) string {
		tail, _ := lastRuns(q)
		return allRuns + tail
	}
	denials := func(q store.DenialQuery) string {
		tail, _ := lastDenials(q)
		return allDenials + tail
	}
	const sorts = "USE TEMP B-TREE"
	for name, tt := range map[string]struct {
		query string
		uses  string // a pattern
		sorts bool   // what it found, all of which it returns
	}{
		"runs, any":                    {query: runs(store.RunQuery{}), uses: `^SCAN runs$`}, // from the end, up to the limit
		"runs, before":                 {query: runs(store.RunQuery{Before: "0r1"}), uses: `PRIMARY KEY \(id<\?\)`},
		"runs, of a category":          {query: runs(store.RunQuery{Category: "code"}), uses: `runs_category \(category=\?\)`},
		"runs, of a category, before":  {query: runs(store.RunQuery{Category: "code", Before: "0r1"}), uses: `runs_category \(category=\? AND id<\?\)`},
		"runs, of a category, ended":   {query: runs(store.RunQuery{Category: "code", Ended: true}), uses: `runs_category \(category=\?\)`},
		"runs, of a task":              {query: runs(store.RunQuery{Task: "fix"}), uses: `runs_task \(task=\?\)`},
		"runs, of a task, before":      {query: runs(store.RunQuery{Task: "fix", Before: "0r1"}), uses: `runs_task \(task=\? AND id<\?\)`},
		"runs, with an outcome":        {query: runs(store.RunQuery{Outcome: fleet.Failed}), uses: `runs_outcome \(outcome=\?\)`},
		"runs, of an agent":            {query: runs(store.RunQuery{Agent: "claude"}), uses: `runs_agent \(agent=\?\)`},
		"runs, of a fire":              {query: runs(store.RunQuery{Fire: 7}), uses: `runs_fire \(fire=\?\)`},
		"runs, of a fire and category": {query: runs(store.RunQuery{Fire: 7, Category: "code"}), uses: `runs_(fire|category) `},
		"runs, watched":                {query: allRuns + watched, uses: `runs_work \(id>\?\)`},
		"tallies":                      {query: talliesSince, uses: `PRIMARY KEY \(id>\?\)`, sorts: true},
		"entitled":                     {query: entitledSince, uses: `fires_at \(at>\?\)$`, sorts: true},
		"lane holds":                   {query: holdsSince, uses: `lane_holds_end \(released_at>\?\)`, sorts: true},
		"denials, since":               {query: allDenials + denialsSince, uses: `denials_at \(at>\?\)`},
		"denials, any":                 {query: denials(store.DenialQuery{}), uses: `^SCAN denials$`},
		"denials, of a run":            {query: denials(store.DenialQuery{Run: "0r1"}), uses: `denials_run \(run=\?\)`},
		"denials, of a key":            {query: denials(store.DenialQuery{Key: "fix"}), uses: `denials_key \(key=\?\)`},
	} {
		plan := d.plan(t, tt.query)
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

// parameter is one that is not bound while a query is only explained.
var parameter = regexp.MustCompile(`[?$]\d*`)

// plan is how SQLite is going to answer a query, a step a line.
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
