package web

import (
	"fmt"
	"net/http"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/view"
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
		h.Each(b.Charts, func(c h.HTML) h.HTML { return h.El("figure.timeline", c) }),
		h.Each(view.ReportTables(b.Report), func(t view.Shown) h.HTML { return t.HTML }))
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
		fact("Cost", view.Money{USD: all.USD, Guessed: all.Guessed},
			h.If(all.Productive() > 0, fmt.Sprintf(", %s a productive run", view.Money{USD: all.USDPerProductive(), Guessed: all.Guessed}))),
		fact("Denials, pivots", fmt.Sprintf("%d, %d", b.Audit.Denials, b.Audit.Pivots)),
		fact("Lanes held twice", bad("span", len(b.Audit.Violations))),
		fact("Of neglected categories", fmt.Sprintf("%d of %d started by fires", b.NeglectedSpawned(), all.Spawned)))
}

// report shows the fleet's work in a span of time. The page does not refresh by itself: its figures change slowly, and
// each look sums them up anew.
func (s *site) report(r *http.Request, e *inspect.Explainer) (content, error) {
	const day = 24 * time.Hour
	links, span, err := chosenSpan(r, "since", "7d", []namedSpan{{"24h", day}, {"7d", 7 * day}, {"30d", 30 * day}, {"all", 0}})
	if err != nil {
		return content{}, err
	}
	b, since := reportBody{Spans: links}, time.Unix(0, 0) // the whole record
	if span > 0 {
		since = e.Now().Add(-span)
	}
	if b.Report, err = e.Report(r.Context(), store.Span{From: since}); err != nil {
		return content{}, err
	}
	charts := b.Report.Charts(func(id fleet.RunID) string { return "/runs/" + string(id) })
	b.Charts = plain.Each(charts, func(c plot.Chart) h.HTML { return h.Trusted(plot.Fragment(c)) })
	return content{Title: "Report", Body: b, Object: view.Report(e.Config.Fleet).JSON(b.Report)}, nil
}
