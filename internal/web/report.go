package web

import (
	"fmt"
	"net/http"
	"time"

	"stint/internal/fleet"
	"stint/internal/inspect"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/report"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/wire"
)

type reportBody struct {
	report.Report
	Spans  []spanLink
	Charts []h.HTML
}

func (b reportBody) html(frame) h.HTML {
	parts := []any{h.El("h1", "Report"), h.El("p.spans", "Of", spanLinks("/report", "since", b.Spans), ": ", screen.Stamp(b.From), " to ", screen.Stamp(b.To))}
	if b.All.Runs == 0 {
		return h.Join(parts, empty("There were no runs in this time."))
	}
	findings := empty("Nothing stands out.")
	if len(b.Findings) > 0 {
		findings = h.El("ul.attention#findings", h.Each(b.Findings, func(f report.Finding) h.HTML {
			return h.El("li", hidden("span.warn", "!"), " ", bdi(f.Text))
		}))
	}
	return h.Join(parts, findings, b.facts(),
		h.Each(b.Charts, func(c h.HTML) h.HTML { return h.El("figure.timeline", c) }), b.categories(), b.merged())
}

func (b reportBody) facts() h.HTML {
	all := b.All
	return h.El("dl.facts",
		fact("Runs", fmt.Sprintf("%d, %d started by fires", all.Runs, all.Spawned)),
		fact("Sessions", all.Sessions, ", ", two(b.PerHour()), " an hour"),
		fact("At most at once", b.Audit.PeakConcurrency),
		fact("Mean grade", orDash(all.Graded > 0, fmt.Sprintf("%.2f of %d", all.Mean(), all.Graded))),
		fact("Did nothing", report.Percent(all.NoopRate())),
		fact("Tokens", plain.Count(all.Tokens)),
		fact("Cost", cost(all.USD, all.Guessed), h.If(all.Productive() > 0, ", "+cost(all.USDPerProductive(), 0)+" a productive run")),
		fact("Denials, pivots", fmt.Sprintf("%d, %d", b.Audit.Denials, b.Audit.Pivots)),
		fact("Lanes held twice", bad("span", len(b.Audit.Violations))),
		fact("Of neglected categories", fmt.Sprintf("%d of %d started by fires", b.NeglectedSpawned(), all.Spawned)))
}

func (b reportBody) categories() h.HTML {
	type use = report.CategoryUse
	return table[use]{
		selector: "table.cards#categories", region: "Categories",
		caption: "Categories; the mark on the bar is what fires entitled them to, and the interval is what the ranking believes of the mean grade, with 95 % certainty",
		columns: []column[use]{
			{"Category", "", func(c use) any { return link(ofCategory(c.Category), bdi(c.Category)) }},
			{"Sessions", "n", func(c use) any { return c.Sessions }},
			{"Entitled to", "n", func(c use) any { return fmt.Sprintf("%.1f", c.Entitled) }},
			{"Part of all", "", func(c use) any { return meter(c.Part, report.Percent(c.Part), target(c.Target)) }},
			{"Share", "n", func(c use) any { return report.Percent(c.Share) }},
			{"Verdict", "", func(c use) any {
				return orDash(c.Judgement != "", state(fleet.Sign{Mood: fleet.Ended, Mark: "!", Word: string(c.Judgement)}))
			}},
			{"Graded", "n", func(c use) any { return c.Graded }},
			{"Mean grade", "n", func(c use) any { return orDash(c.Graded > 0, two(c.Mean())) }},
			{"Believed", "", func(c use) any {
				return orDash(c.Believed.Mean != 0, h.Join(two(c.Believed.Mean), " ", unit("("+interval(c.Believed.Low, c.Believed.High)+")")))
			}},
			{"Did nothing", "n", func(c use) any { return report.Percent(c.NoopRate()) }},
			{"Tokens", "n", func(c use) any { return plain.Count(c.Tokens) }},
			{"Cost", "n", func(c use) any { return cost(c.USD, c.Guessed) }},
		},
	}.of(b.Categories)
}

// merged is what sessions cost for each change that is in the target.
func (b reportBody) merged() h.HTML {
	list := b.Decided()
	if len(list) == 0 {
		return h.HTML{}
	}
	type work = report.MergedWork
	return table[work]{
		selector: "table.cards#merged", region: "Merged work",
		caption: "Merged work; sessions and cost are of all, also of those whose work was not merged",
		columns: []column[work]{
			{"Category", "", func(w work) any { return link(ofCategory(w.Category), bdi(w.Category)) }},
			{"Agent", "", func(w work) any { return bdi(orDash(w.Agent != "", w.Agent)) }},
			{"Merged", "n", func(w work) any { return w.Merged }},
			{"Refused", "n", func(w work) any { return w.Refused }},
			{"Sessions each", "n", func(w work) any {
				_, sessions := w.PerMerged()
				return orDash(w.Merged > 0, fmt.Sprintf("%.1f", sessions))
			}},
			{"Cost each", "n", func(w work) any {
				usd, _ := w.PerMerged()
				return orDash(w.Merged > 0, cost(usd, 0))
			}},
			{"Stood 7 days", "n", func(w work) any { return w.Week.Text(dash) }},
			{"30 days", "n", func(w work) any { return w.Month.Text(dash) }},
		},
	}.of(list)
}

// report says what the fleet did in a span of time. It is not kept up to date: its figures
// change slowly, and are summed up anew at each look.
func (s *site) report(r *http.Request, e *inspect.Explainer) (view, error) {
	const day = 24 * time.Hour
	links, span, err := chosenSpan(r, "since", "7d", []namedSpan{{"24h", day}, {"7d", 7 * day}, {"30d", 30 * day}, {"all", 0}})
	if err != nil {
		return view{}, err
	}
	b, since := reportBody{Spans: links}, time.Unix(0, 0) // all of the record
	if span > 0 {
		since = e.Now().Add(-span)
	}
	if b.Report, err = e.Report(r.Context(), store.Span{From: since}); err != nil {
		return view{}, err
	}
	charts := b.Report.Charts(func(id fleet.RunID) string { return "/runs/" + string(id) })
	b.Charts = plain.Each(charts, func(c plot.Chart) h.HTML { return h.Trusted(plot.Fragment(c)) })
	return view{Title: "Report", Body: b, Object: wire.NewReport(e.Config.Fleet, b.Report)}, nil
}
