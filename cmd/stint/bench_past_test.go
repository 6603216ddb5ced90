package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// benchPast is a fleet that has run for long, in 20 categories, one of which is rare.
func benchPast(b *testing.B, runs int) bench {
	b.Helper()
	f := newBench(b, "true")
	f.categorize(b, 20)
	extend(b, filepath.Join(f.dir, "stint.toml"), "[category.rare]\n")
	f.fillTasks(b, 100, 20)
	f.fillHistory(b, runs, 20)
	return f
}

// BenchmarkStatus measures "stint status" in a fleet that has run for long, beside
// one that has run for two days; and at the largest beside a program that does nothing, which
// shows what the machine takes for any process.
func BenchmarkStatus(b *testing.B) {
	few := benchPast(b, 2_000)
	for _, n := range []int{2_000, 100_000, 1_000_000} {
		many := benchPast(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) { many.beside(b, few, "status") })
		if n == 1_000_000 {
			empty := emptyProgram(b)
			b.Run(fmt.Sprintf("%d/empty", n), func(b *testing.B) { many.besideNothing(b, empty, "status") })
		}
	}
}

// BenchmarkPast measures what leafs through the past, in a fleet that has run for two
// years beside one that has run for a week.
func BenchmarkPast(b *testing.B) {
	few, many := benchPast(b, 10_000), benchPast(b, 1_000_000)
	for name, args := range map[string][]string{
		"runs":         {"runs"},
		"runs/rare":    {"runs", "--category", "rare"},
		"runs/failed":  {"runs", "--outcome", "failed"},
		"why/category": {"why", "c7"},
		"audit/7d":     {"audit", "--since", "7d"},
		"report/7d":    {"report", "--since", "7d"},
	} {
		b.Run(name, func(b *testing.B) { many.beside(b, few, args...) })
	}
}

// BenchmarkAudit measures an audit of the whole record beside the sqlite3 shell that
// computes the same figures by SQL.
func BenchmarkAudit(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		f := benchPast(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			measure(b,
				func() time.Duration { return f.stint(b, 0, "audit") },
				func() time.Duration { return f.shellSums(b, sumsOfLanes, sumsOfDenials, sumsOfRuns) },
			).report(b)
		})
	}
}

// BenchmarkReport measures the same of a report, which is of more kinds of runs, and of
// them over time.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		f := benchPast(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			measure(b,
				func() time.Duration { return f.stint(b, 0, "report", "--since", "3650d") },
				func() time.Duration {
					return f.shellSums(b, sumsOfLanes, sumsOfDenials, sumsOfRuns, sumsOverTime)
				},
			).report(b)
		})
	}
}

// BenchmarkPage measures when the pages of a fleet that has run for ten weeks are complete in a
// browser, beside those of one that has run for a week.
func BenchmarkPage(b *testing.B) {
	binary, tab := newBench(b, "true").binary, startChromium(b).tab()
	many, few := showFleet(b, binary, 100_000), showFleet(b, binary, 10_000)
	many.serve()
	few.serve()
	few.enter(tab)
	for name, path := range many.pages() {
		b.Run(name, func(b *testing.B) {
			other := few.pages()[name]
			measure(b,
				func() time.Duration { return tab.open(many.url + path) },
				func() time.Duration { return tab.open(few.url + other) },
			).report(b)
		})
	}
}

// The queries of an audit, to be run without stint.
const (
	sumsOfLanes = `
select count(*), max(held) from (select sum(step) over (order by at, step rows unbounded preceding) as held from
	(select lane_at as at, 1 as step from runs where lane_at is not null union all select lane_left, -1 from runs where lane_left is not null));
select id, category, lane, lane_at from (select id, category, lane, lane_at, max(coalesce(lane_left, 1 << 62))
	over (partition by category, lane order by lane_at, id rows between unbounded preceding and 1 preceding) as busy from runs where lane_at is not null)
	where lane_at < busy;`
	sumsOfDenials = `
select count(*) from denials;
select count(*) from runs where lane_at is not null and id in (select run from denials);`
	sumsOfRuns = `
select count(*) from fires where fallback <> '';
select category, agent, source, outcome, fire is not null, epoch > 0, count(*), count(grade), total(grade), total(grade * grade),
	sum(tokens), total(usd), sum(ended_at - started_at)
	from runs group by 1, 2, 3, 4, 5, 6;`
	sumsOverTime = `
select created_at / 86400000, category, count(*), total(grade) from runs group by 1, 2;`
)

// shellSums runs the sqlite3 shell on statements that only read.
func (f bench) shellSums(b *testing.B, statements ...string) time.Duration {
	b.Helper()
	return f.timed(b, 0, f.command("sqlite3", "-batch", "-bail", "-readonly", f.database(), strings.Join(statements, "\n")))
}

// beside measures a command in this fleet beside the same in another.
func (f bench) beside(b *testing.B, other bench, args ...string) {
	b.Helper()
	measure(b,
		func() time.Duration { return f.stint(b, 0, args...) },
		func() time.Duration { return other.stint(b, 0, args...) },
	).report(b)
}
