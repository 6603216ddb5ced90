package table_test

import (
	"context"
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// asked is the statements that a source was asked to run. It has no rows.
type asked []table.Statement

func (a *asked) Read(_ context.Context, ask func(time.Time) []table.Statement) error {
	*a = append(*a, ask(time.UnixMilli(1_700_000_000_000))...)
	return nil
}

// forbidden lists the words that one of the stores does not know, or understands in another way.
func forbidden() []*regexp.Regexp {
	var list []*regexp.Regexp
	for _, pattern := range []string{
		`\?|[:@]\w|::`, "[`\"\\[]", // other places, casts and quotes
		`\b(json_\w+|iif|ifnull|total|greatest|least|group_concat|string_agg|printf|(uni|jul)\w+|date|datetime|strftime|now) ?\(`,
		`\b(indexed|rowid|sqlite_\w+|pragma|autoincrement|ilike|like|glob|interval|lateral|distinct on|or replace)\b`,
		`\bx''`,
		`\b(max|min)\((\([^()]*\)|[^(),])*,`, // of two values
		`\bsum\((\([^()]*\)|[^()])* (=|<|>|<>|in|or|and) `, // of a condition
		`\bis\b`, // but of null and distinct from
	} {
		list = append(list, regexp.MustCompile("(?i)"+pattern))
	}
	return list
}

// understood matches the allowed words that look forbidden.
var understood = regexp.MustCompile(`'[^']*'|is (not )?(null|distinct from)|case when .*? end`)

var place = regexp.MustCompile(`\$(\d+)`)

// TestCommonSQL holds every statement that reads to the SQL that all stores understand alike.
func TestCommonSQL(t *testing.T) {
	t.Parallel()
	var (
		list asked
		r    = table.Reader{Source: &list}
		ctx  = t.Context()
		at   = time.UnixMilli(1_600_000_000_000)
	)
	calls := map[string]func(){
		"Check":        func() { _, _, _ = r.Check(ctx, "k") },
		"BudgetResets": func() { _, _ = r.BudgetResets(ctx, at) },
		"DeniedClaims": func() { _, _ = r.DeniedClaims(ctx, at) },
		"Entitled":     func() { _, _ = r.Entitled(ctx, store.Span{From: at}) },
		"FailedTasks":  func() { _, _ = r.FailedTasks(ctx, store.Span{From: at}, 3) },
		"Fallbacks":    func() { _, _ = r.Fallbacks(ctx, store.Span{From: at, To: at}) },
		"Feedback":     func() { _, _ = r.Feedback(ctx) },
		"Fire":         func() { _, _ = r.Fire(ctx, 1) },
		"GradeChanges": func() { _, _ = r.GradeChanges(ctx, store.ChangeQuery{Category: "c", Run: "0r1", Since: at, Limit: 1}) },
		"EachLaneHold": func() { _ = r.EachLaneHold(ctx, at, nil) },
		"LaneHolds":    func() { _, _ = r.LaneHolds(ctx, at) },
		"LastDenials":  func() { _, _ = r.LastDenials(ctx, store.DenialQuery{Run: "0r1", Key: "k", Limit: 1}) },
		"LastFires": func() {
			_, _ = r.LastFires(ctx, store.FireQuery{Before: 1, Pool: "p", Until: at, Brief: true, Limit: 1})
			_, _ = r.LastFires(ctx, store.FireQuery{Limit: 1})
		},
		"LastRuns": func() {
			_, _ = r.LastRuns(ctx, store.RunQuery{
				IDs: []fleet.RunID{"0r1", "0r2"}, Before: "0r3", Category: "c", Task: "t", Outcome: fleet.Failed, Agent: "a", Host: "h", Fire: 1, Ended: true, Limit: 1,
			})
			_, _ = r.LastRuns(ctx, store.RunQuery{Limit: 1})
			_, _ = r.LastRuns(ctx, store.RunQuery{Category: "c", Landed: true, Limit: 1})
		},
		"Hosts":      func() { _, _, _ = r.Hosts(ctx) },
		"Ledger":     func() { _, _ = r.Ledger(ctx) },
		"LessonUses": func() { _, _ = r.LessonUses(ctx, "0r1") },
		"List": func() {
			for _, l := range []store.Listing{{}, {All: true}, {Holder: "h"}, {All: true, Holder: "h"}} {
				_, _ = r.List(ctx, l)
			}
		},
		"Places":      func() { _, _, _ = r.Places(ctx) },
		"ReviewTimes": func() { _, _ = r.ReviewTimes(ctx, at) },
		"Reviews": func() {
			_, _ = r.Reviews(ctx)
			_, _ = r.Reviews(ctx, "0r1", "0r2")
		},
		"Run":       func() { _, _ = r.Run(ctx, "0r1") },
		"RankingAt": func() { _, _ = r.RankingAt(ctx, at) },
		"Snapshot":  func() { _, _ = r.Snapshot(ctx) },
		"Overran":   func() { _, _ = r.Overran(ctx, at) },
		"Tail":      func() { _, _, _ = r.Tail(ctx, "0r1") },
		"Tallies":   func() { _, _ = r.Tallies(ctx, store.Span{From: at, To: at}, time.Hour) },
		"Watched":   func() { _, _ = r.Watched(ctx, at, at, 1) },
	}
	for m := range reflect.TypeFor[table.Reader]().Methods() {
		call, known := calls[m.Name]
		if !known {
			if m.Name != "Read" {
				t.Errorf("%s: got no call of it here, want one", m.Name)
			}
			continue
		}
		list = nil
		call()
		if len(list) == 0 {
			t.Errorf("%s: got no statement", m.Name)
		}
		for _, s := range list {
			if found := misunderstood(s.SQL); found != "" {
				t.Errorf("%s: got %q, which not every store understands, in:\n%s", m.Name, found, s.SQL)
			}
			if got := places(s.SQL); got != len(s.Args) {
				t.Errorf("%s: got %d places in their order for %d values in:\n%s", m.Name, got, len(s.Args), s.SQL)
			}
		}
	}
}

func misunderstood(sql string) string {
	sql = understood.ReplaceAllString(sql, "''")
	for _, pattern := range forbidden() {
		if found := pattern.FindString(sql); found != "" {
			return found
		}
	}
	return ""
}

// TestMisunderstood has the patterns find something of each kind.
func TestMisunderstood(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"a = ?", "a = ?1", "a = :name", "a::text", `a = "b"`, "select value from json_each($1)", "iif(a, 1, 0)", "total(a)", "x'00'", "max(a - b, 0)",
		"sum(a = 'b')", "sum(a in (1, 2))", "a is b", "a is not $1", "date(a, 'unixepoch')", "from a indexed by b", "insert or replace into a",
	} {
		if misunderstood(sql) == "" {
			t.Errorf("got nothing in %q", sql)
		}
	}
}

// places counts the places of a statement; -1 if they do not first appear in their order.
func places(sql string) (n int) {
	for _, p := range place.FindAllStringSubmatch(sql, -1) {
		if i, _ := strconv.Atoi(p[1]); i == n+1 {
			n++
		} else if i > n {
			return -1
		}
	}
	return n
}
