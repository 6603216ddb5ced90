package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/report"
	"stint/internal/wire"
)

type reportBody struct {
	report.Report
	Spans  []spanLink
	Charts []template.HTML
}

// reportSpans are what a report may be about; that without a span is all of the record.
func reportSpans() []namedSpan {
	const day = 24 * time.Hour
	return []namedSpan{{"24h", day}, {"7d", 7 * day}, {"30d", 30 * day}, {"all", 0}}
}

// report says what the fleet did in a span of time. It is not kept up to date: its figures
// change slowly, and are summed up anew at each look.
func (s *site) report(r *http.Request, e *inspect.Explainer) (view, error) {
	name := cmp.Or(r.URL.Query().Get("since"), "7d")
	b, since, found := reportBody{}, time.Unix(0, 0), false
	for _, p := range reportSpans() {
		b.Spans = append(b.Spans, spanLink{p.name, p.name == name})
		if p.name == name && p.span > 0 {
			since = e.Now().Add(-p.span)
		}
		found = found || p.name == name
	}
	if !found {
		return view{}, fmt.Errorf("since %q: want 24h, 7d, 30d or all: %w", plain.Line(name), fleet.ErrUsage)
	}
	var err error
	if b.Report, err = e.Report(r.Context(), since); err != nil {
		return view{}, err
	}
	for _, c := range b.Report.Charts(func(id fleet.RunID) string { return "/runs/" + string(id) }) {
		b.Charts = append(b.Charts, template.HTML(plot.Fragment(c))) //nolint:gosec // plot makes text of all that it is given
	}
	return view{Title: "Report", Body: b, Object: wire.NewReport(e.Config.Fleet, b.Report)}, nil
}
