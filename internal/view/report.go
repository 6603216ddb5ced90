package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/screen"
)

// Use sums up runs.
func Use() View[report.Use] {
	type use = report.Use
	return View[use]{
		Int("runs", "Runs", "", func(u use) int { return u.Runs }),
		Int("ended", "", "", func(u use) int { return u.Ended }),
		Int("spawned", "", "", func(u use) int { return u.Spawned }),
		Int("sessions", "Sessions", "", func(u use) int { return u.Sessions }),
		Int("", "Productive", "", use.Productive),
		ByName("outcomes", "integer", "", func(u use) map[fleet.Outcome]int { return u.Outcomes }),
		Int("graded", "", "", func(u use) int { return u.Graded }),
		Data("grade", "number or null", "the mean; null without any", func(u use) *float64 { return some(u.Graded > 0, u.Mean()) }),
		gradeInterval(func(u use) *[2]float64 {
			alone := u.Alone()
			return some(u.Graded > 0, [2]float64{alone.Low, alone.High})
		}),
		Number("noop_rate", "", use.NoopRate),
		Tokens("tokens", "Tokens", "", func(u use) int64 { return u.Tokens }),
		USD("usd", "Cost", "", func(u use) Money { return Money{USD: u.USD, Guessed: u.Guessed} }),
		Number("usd_estimated", "of usd: computed from prices, or assumed", func(u use) float64 { return u.Guessed }),
		Span("worked_seconds", "Worked", "", func(u use) time.Duration { return u.Worked }),
	}
}

func gradeInterval[T any](of func(T) *[2]float64) Field[T] {
	return Data("grade_interval", "list: number or null", "of these grades alone; null for categories, of which more is believed", of)
}

// ratio returns a category's sessions by its entitlement, or nil if it had none.
func ratio(c report.CategoryUse) *float64 {
	if c.Entitled <= 0 {
		return nil
	}
	return new(c.Ratio())
}

// some returns a known value, and else null.
func some[V any](known bool, v V) *V {
	if !known {
		return nil
	}
	return &v
}

// CategoryUse shows a category's sessions, and their results.
func CategoryUse() View[report.CategoryUse] {
	type use = report.CategoryUse
	return With(Use(), func(c use) report.Use { return c.Use },
		Word("category", "", "", func(c use) fleet.Category { return c.Category }),
		gradeInterval(func(use) *[2]float64 { return nil }),
		Number("part", "", func(c use) float64 { return c.Part }),
		Number("share", "", func(c use) float64 { return c.Share }),
		Number("entitled", "by the fires of that time, in sessions", func(c use) float64 { return c.Entitled }),
		Data("ratio", "number or null", "of the sessions to that; null: it was entitled to none", ratio),
		Word("judgement", "", "neglected or over-allocated", func(c use) report.Judgement { return c.Judgement }).OrNull(),
		Sub("believed", "of its mean grade; null: it is not in the configuration", View[report.Estimate]{
			Number("mean", "", func(e report.Estimate) float64 { return e.Mean }),
			Number("low", "", func(e report.Estimate) float64 { return e.Low }),
			Number("high", "", func(e report.Estimate) float64 { return e.High }),
		}, func(c use) *report.Estimate {
			if c.Believed == (report.Estimate{}) {
				return nil
			}
			return &c.Believed
		}),
		Figure("was", "", "the belief at the beginning; null: it had no grade", two, func(c use) *float64 { return c.Was }))
}

// Audit shows whether the record keeps the fleet's promises.
func Audit() View[report.Audit] {
	type audit = report.Audit
	return View[audit]{
		Schema[audit]("stint/audit@1"),
		Int("peak_concurrency", "", "", func(a audit) int { return a.PeakConcurrency }),
		Int("total_acquisitions", "", "", func(a audit) int { return a.TotalAcquisitions }),
		Int("same_lock_violations", "", "", func(a audit) int { return len(a.Violations) }),
		Each("violations", "", View[report.Violation]{
			Word("category", "", "", func(v report.Violation) fleet.Category { return v.Category }),
			Int("lane", "", "", func(v report.Violation) int { return v.Lane }),
			Texts("runs", "", "", func(v report.Violation) []fleet.RunID { return []fleet.RunID{v.First, v.Second} }),
			At("at", "", "", func(v report.Violation) time.Time { return v.At }),
		}, func(a audit) []report.Violation { return a.Violations }),
		Each("overruns", "sessions that ended after their leases were over; there should be none", View[report.Overrun]{
			Word("run", "", "", func(o report.Overrun) fleet.RunID { return o.Run }),
			Word("host", "", "the identity of its machine, by whose word it ended", func(o report.Overrun) string { return o.Host }),
			Word("category", "", "", func(o report.Overrun) fleet.Category { return o.Category }),
			At("lease_over", "", "", func(o report.Overrun) time.Time { return o.LeaseOver }),
			At("ended", "", "", func(o report.Overrun) time.Time { return o.Ended }),
			Span("shared_seconds", "", "of the time between: others had its lane, or worked at its task",
				func(o report.Overrun) time.Duration { return o.Shared }),
		},
			func(a audit) []report.Overrun { return a.Overruns }),
		Int("denials", "", "", func(a audit) int { return a.Denials }),
		Int("pivots", "", "", func(a audit) int { return a.Pivots }),
		Int("runs", "", "that ended", func(a audit) int { return a.All.Ended }),
		ByName("outcomes", "integer", "", func(a audit) map[fleet.Outcome]int { return a.All.Outcomes }),
		Int("graded", "", "", func(a audit) int { return a.All.Graded }),
		Number("grade", "their mean; 0 without any", func(a audit) float64 { return a.All.Mean() }),
		Number("noop_rate", "", func(a audit) float64 { return a.All.NoopRate() }),
		Int("busy", "", "runs that found no lane or slot free", func(a audit) int { return a.All.Outcomes[fleet.Busy] }),
		Int("idle", "", "runs that found no workable task", func(a audit) int { return a.All.Outcomes[fleet.Idle] }),
		Int("safety_net", "", "runs for which the allow-list stood in for a payload", func(a audit) int { return a.SafetyNet }),
		Int("fallbacks", "", "fires for which the external selector failed", func(a audit) int { return a.Fallbacks }),
		Each("categories", "", CategoryUse(), func(a audit) []report.CategoryUse { return a.Categories }),
		Each("fruitless", "chosen, and never at work", View[report.Fruitless]{
			Word("category", "", "", func(f report.Fruitless) fleet.Category { return f.Category }),
			Int("runs", "", "", func(f report.Fruitless) int { return f.Runs }),
		}, func(a audit) []report.Fruitless { return a.Fruitless }),
		Each("failing", "tasks at which most sessions fail", View[report.Failing]{
			Word("task", "", "", func(f report.Failing) fleet.TaskID { return f.Task }),
			Word("category", "", "", func(f report.Failing) fleet.Category { return f.Category }),
			Int("sessions", "", "", func(f report.Failing) int { return f.Sessions }),
			Int("failed", "", "", func(f report.Failing) int { return f.Failed }),
			Text("reason", "", "of the last that failed", func(f report.Failing) string { return f.Reason }),
		}, func(a audit) []report.Failing { return a.Failing }),
		Each("discrepancies", "figures that do not add up; left out where there are none", View[fleet.Discrepancy]{
			Word("kind", "", "belief, account, budget, epoch or record", func(d fleet.Discrepancy) fleet.DiscrepancyKind { return d.Kind }),
			Text("subject", "", "whose figure it is", func(d fleet.Discrepancy) string { return d.Subject }),
			Text("figure", "", "", func(d fleet.Discrepancy) string { return d.Figure }),
			Text("stored", "", "", func(d fleet.Discrepancy) string { return d.Stored }),
			Text("recorded", "", "what it comes to by the record", func(d fleet.Discrepancy) string { return d.Recorded }),
		},
			func(a audit) []fleet.Discrepancy { return a.Off }).OrAbsent(),
	}
}

// Report shows the work of a fleet.
func Report(name fleet.Name) View[report.Report] {
	type rep = report.Report
	return View[rep]{
		Schema[rep]("stint/report@1"),
		Word("fleet", "", "", func(rep) fleet.Name { return name }),
		At("from", "", "", func(r rep) time.Time { return r.From }),
		At("to", "", "", func(r rep) time.Time { return r.To }),
		At("first", "", "when the first run was created; null: there is none", func(r rep) time.Time { return r.First }).OrNull(),
		Each("findings", "", View[report.Finding]{
			Word("kind", "", `violation, fruitless, failing, stuck, agent, neglected, over-allocated, noop, grades-changed, endless, fallback or
				safety-net`,
				func(f report.Finding) report.FindingKind { return f.Kind }),
			Word("category", "", "null: the whole fleet", func(f report.Finding) fleet.Category { return f.Category }).OrNull(),
			Text("text", "", "", func(f report.Finding) string { return f.Text }),
		}, func(r rep) []report.Finding { return r.Findings }),
		Number("sessions_per_hour", "", rep.PerHour),
		Number("sessions_per_day", "", rep.PerDay),
		Data("usd_per_productive", "number or null", "of all runs; null: none was productive",
			func(r rep) *float64 { return some(r.All.Productive() > 0, r.All.USDPerProductive()) }),
		Int("respawns", "", "", func(r rep) int { return r.Respawns }),
		Int("neglected_spawned", "", "spawned runs of neglected categories", rep.NeglectedSpawned),
		Part("audit", "", Audit(), func(r rep) report.Audit { return r.Audit }),
		Part("all", "", Use(), func(r rep) report.Use { return r.All }),
		Each("categories", "", CategoryUse(), func(r rep) []report.CategoryUse { return r.Categories }),
		Each("agents", "", With(Use(), func(a report.AgentUse) report.Use { return a.Use },
			Word("agent", "", "", func(a report.AgentUse) string { return a.Agent })), func(r rep) []report.AgentUse { return r.Agents }),
		Each("categories_agents", "", With(Use(), func(p report.PairUse) report.Use { return p.Use },
			Word("category", "", "", func(p report.PairUse) fleet.Category { return p.Category }),
			Word("agent", "", "", func(p report.PairUse) string { return p.Agent })), func(r rep) []report.PairUse { return r.Pairs }),
		Each("merged", "by category and agent, of the latest 1500 runs", MergedWork(), func(r rep) []report.MergedWork { return r.Merged }),
		Each("reviewed", "the latest first", Decision(), func(r rep) []report.Reviewed { return r.Reviewed }),
		Span("step_seconds", "", "", func(r rep) time.Duration { return r.Step }),
		Each("steps", "that had runs", With(Use(), func(s report.Step) report.Use { return s.Use },
			At("from", "", "", func(s report.Step) time.Time { return s.From })), func(r rep) []report.Step { return r.Steps }),
	}
}

// MergedWork shows the cost of sessions for each change that the target has.
func MergedWork() View[report.MergedWork] {
	type work = report.MergedWork
	per := func(w work) (usd *Money, sessions *float64) {
		cost, each := w.PerMerged()
		return some(w.Merged > 0, Money{USD: cost, Guessed: w.Guessed}), some(w.Merged > 0, each)
	}
	stood := func(s report.Standing) *float64 { return some(s.Due > 0, float64(s.Stood)/float64(s.Due)) }
	return View[work]{
		TextLink("category", "Category", "", func(w work) Ref { return OfCategory(w.Category) }),
		Word("agent", "Agent", "", func(w work) string { return w.Agent }),
		Int("sessions", "", "those whose work was rejected or left included", func(w work) int { return w.Sessions }),
		Number("usd", "of all of them", func(w work) float64 { return w.USD }),
		Int("merged", "Merged", "whose work is in the target, with changes or without", func(w work) int { return w.Merged }),
		Int("refused", "Refused", "whose work was rejected or reverted", func(w work) int { return w.Refused }),
		Figure("sessions_per_merged", "Sessions each", "", one, func(w work) *float64 { _, n := per(w); return n }),
		Price("usd_per_merged", "Cost each", "", func(w work) *Money { usd, _ := per(w); return usd }),
		Figure("stood_7d", "Stood 7d", "share of the work merged a week ago that stood so long; null: there is none", report.Percent,
			func(w work) *float64 { return stood(w.Week) }),
		Figure("stood_30d", "30d", "the same of 30 days", report.Percent, func(w work) *float64 { return stood(w.Month) }),
	}
}

// Shares shows the categories' sessions, drawn to the largest.
func Shares(list []report.CategoryUse) Shown {
	type use = report.CategoryUse
	largest := 0.0
	for _, c := range list {
		largest = max(largest, c.Part, c.Target)
	}
	return View[use]{
		TextLink("", "Category", "", func(c use) Ref { return OfCategory(c.Category) }),
		Int("", "Spawned", "", func(c use) int { return c.Spawned }),
		Int("", "Sessions", "", func(c use) int { return c.Sessions }),
		Figure("", "Entitled", "", one, func(c use) *float64 { return &c.Entitled }),
		Figure("", "Ratio", "", two, ratio),
		Share("", "Share", "", func(c use) float64 { return c.Share }).Wide(),
		Bar("Part", func(c use) Level { return Level{c.Part, c.Target, largest, c.Judgement != ""} }),
		Word("", "Verdict", "", func(c use) string {
			return strings.TrimSuffix(string(c.Judgement), "-allocated") // there is little room
		}).Warn(),
	}.shows(list, Page{ID: "shares", Caption: "Categories: their sessions; the mark on the bar is what fires entitled them to"})
}

// useRow holds the results of runs, and an estimate of their mean grade.
type useRow struct {
	name  Ref
	known report.Estimate
	was   *float64
	report.Use
}

// grades shows the results of runs. Known is the title of the estimate of their mean grade.
func grades(of, known string) View[useRow] {
	return View[useRow]{
		TextLink("", of, "", func(u useRow) Ref { return u.name }),
		Int("", "Grades", "", func(u useRow) int { return u.Graded }),
		Figure("", "Mean", "", two, func(u useRow) *float64 { return some(u.Graded > 0, u.Mean()) }),
		Interval(known, func(u useRow) report.Estimate { return u.known }),
		Share("", "Noop", "", func(u useRow) float64 { return u.NoopRate() }),
		Tokens("", "Tokens", "", func(u useRow) int64 { return u.Tokens }),
		USD("", "Cost", "", func(u useRow) Money { return Money{USD: u.USD, Guessed: u.Guessed} }),
	}
}

// ReportTables returns the tables of a report. A category's interval is the ranking's belief about the mean grade, with
// 95 % certainty. An agent's goes by its grades alone.
func ReportTables(r report.Report) (all []Shown) {
	var categories, agents []useRow
	for _, c := range r.Categories {
		categories = append(categories, useRow{OfCategory(c.Category), c.Believed, c.Was, c.Use})
	}
	for _, a := range r.Agents {
		agents = append(agents, useRow{Ref{ID: a.Agent}, a.Alone(), nil, a.Use})
		for _, p := range r.Pairs {
			if p.Agent == a.Agent && len(r.Categories) > 1 {
				agents = append(agents, useRow{Ref{ID: "  " + string(p.Category)}, p.Alone(), nil, p.Use})
			}
		}
	}
	if len(r.Categories) > 1 {
		all = append(all, Shares(r.Categories))
	}
	was := Figure("", "Was", "", two, func(u useRow) *float64 { return u.was })
	return append(all,
		slices.Insert(grades("Category", "Believed"), 4, was).shows(categories, Page{
			ID: "categories", Caption: "Categories: their grades, and what the ranking believes of the mean",
		}),
		grades("Agent", "Alone").shows(agents, Page{ID: "agents", Caption: "Agents: their grades, in all and by category"}),
		MergedWork().shows(r.Decided(), Page{
			ID: "merged", Caption: "Merged work; sessions and cost are of all, also of those whose work was not merged",
		}),
		Decision().shows(r.Reviewed[:min(len(r.Reviewed), maxReviewed)], Page{
			ID: "reviewed", Caption: "What landed and what was rejected, the latest first", Now: r.To,
		}))
}

// maxReviewed bounds the decisions in a report for people; "stint review --landed" lists more.
const maxReviewed = 20

// Decision shows a decision about a run's work.
func Decision() View[report.Reviewed] {
	type decision = report.Reviewed
	return View[decision]{
		Age("at", "", func(d decision) time.Time { return d.At }),
		Link("run", "Run", "", func(d decision) Ref { return OfRun(d.Run) }),
		Word("category", "Category", "", func(d decision) fleet.Category { return d.Category }),
		TextLink("task", "Task", "", func(d decision) Ref { return OfTask(d.Task) }).Wide(),
		Word("decision", "Decision", "landed or rejected", func(d decision) string { return string(d.Decision) }),
		Word("by", "By", "a user's name, forge or git", func(d decision) string { return d.By }),
		Word("landed_as", "", "the target's commit; null: nobody knows, or it was rejected", func(d decision) string { return d.As }).OrNull(),
		Text("reason", "", "of a rejection", func(d decision) string { return d.Reason }),
		Text("", "As, or why", "", func(d decision) string { return cmp.Or(d.Reason, d.As[:min(len(d.As), 12)]) }),
	}
}

// spendingRow is one part of the spending, or its sum.
type spendingRow struct {
	report.Part
	all bool
}

// spendingParts shows spending split by some keys. Programs get null for the other keys.
func spendingParts(by []report.Key) (v View[spendingRow]) {
	docs := map[report.Key]string{report.ByDay: "UTC", report.ByAgent: "empty: none was chosen", report.ByHost: "the machine's name"}
	for _, k := range report.Keys() {
		at := slices.Index(by, k)
		v = append(v, Data(string(k), "text or null", docs[k], func(p spendingRow) *string {
			if at < 0 {
				return nil
			}
			return new(p.Text(k))
		}))
	}
	for i, k := range by {
		v = append(v, Word("", string(k), "", func(p spendingRow) string {
			switch {
			case !p.all:
				return p.Text(k)
			case i == 0:
				return "all"
			}
			return " "
		}))
	}
	return append(v, With(Use(), func(p spendingRow) report.Use { return p.Use })...)
}

func spendingRows(s report.Spending) []spendingRow {
	return plain.Each(s.Parts, func(p report.Part) spendingRow { return spendingRow{Part: p} })
}

// SpendingTable lays out a split as a table. Its last line is the sum.
func SpendingTable(s report.Spending, style screen.Style) []string {
	return spendingParts(s.By).Table(append(spendingRows(s), spendingRow{report.Part{Use: s.All}, true}), s.To, style)
}

// Spending shows the spending of runs, split by some keys.
func Spending(name fleet.Name, by []report.Key) View[report.Spending] {
	type spending = report.Spending
	return View[spending]{
		Schema[spending]("stint/spending@1"),
		Word("fleet", "", "", func(spending) fleet.Name { return name }),
		At("from", "", "", func(s spending) time.Time { return s.From }),
		At("to", "", "", func(s spending) time.Time { return s.To }),
		Texts("by", "", "of day, category, agent and host", func(s spending) []report.Key { return s.By }),
		Part("all", "", Use(), func(s spending) report.Use { return s.All }),
		Each("parts", "", spendingParts(by), spendingRows),
	}
}
