package web

import (
	"fmt"
	"html/template"
	"reflect"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/report"
	"stint/internal/screen"
)

// functions are what the templates may call. Text of other people goes through line.
func functions() template.FuncMap {
	return template.FuncMap{
		"line":     func(v any) string { return plain.Line(fmt.Sprint(v)) },
		"stamp":    screen.Stamp,
		"span":     plain.Span,
		"count":    count,
		"when":     when,
		"since":    since,
		"took":     took,
		"seconds":  func(d time.Duration) int64 { return int64(d.Seconds()) },
		"grade":    func(g float64) string { return fmt.Sprintf("%.2f", g) },
		"one":      func(n float64) string { return fmt.Sprintf("%.1f", n) },
		"exact":    func(g float64) string { return fmt.Sprintf("%.3f", g) },
		"signed":   signed,
		"interval": func(e report.Estimate) string { return fmt.Sprintf("%.2f–%.2f", e.Low, e.High) },
		"percent":  report.Percent,
		"wide":     func(p float64) string { return plot.Coordinate(100 * min(max(p, 0), 1)) },
		"money":    func(usd float64) string { return fmt.Sprintf("$%.2f", usd) },
		"about":    about,
		"outcome":  fleet.Outcome.Sign,
		"lane":     screen.LaneName,
		"runOf":    func(h fleet.Holder) fleet.RunID { id, _ := h.Run(); return id },
		"deref":    func(g *float64) float64 { return *g },
		"spawned":  func(d fleet.Decision) bool { return d == fleet.Spawn },
		"started":  startedBy,
		"plus":     func(n fleet.FireID, by int64) fleet.FireID { return n + fleet.FireID(by) },
		"minus":    func(a, b int64) int64 { return a - b },
		"size":     func(list any) int64 { return int64(reflect.ValueOf(list).Len()) },
		"pages":    pages,
		"list":     list,
	}
}

// count is a number, known or not.
func count(n any) string {
	switch n := n.(type) {
	case *int64:
		if n == nil {
			return "–"
		}
		return plain.Count(*n)
	case int64:
		return plain.Count(n)
	case int:
		return plain.Count(int64(n))
	}
	return fmt.Sprint(n)
}

// when is a time as pages show it: how long ago, and the exact time when the pointer is on it.
// A script keeps it up to date.
func when(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s" data-at="%d">%s</time>`, //nolint:gosec // all of it is made of times
		screen.Stamp(t), screen.Stamp(t), t.UnixMilli(), plain.Ago(t, now)))
}

// since is a length of time that still grows.
func since(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time title="since %s" data-since="%d">%s</time>`, //nolint:gosec // all of it is made of times
		screen.Stamp(t), t.UnixMilli(), plain.Span(now.Sub(t))))
}

// took is how long a run took, or has taken.
func took(r fleet.RunStatus, now time.Time) template.HTML {
	switch {
	case r.StartedAt.IsZero():
		return "–"
	case r.EndedAt.IsZero():
		return since(r.StartedAt, now)
	default:
		return template.HTML(plain.Span(r.EndedAt.Sub(r.StartedAt))) //nolint:gosec // a length of time
	}
}

// startedBy are the choices of a fire that became sessions.
func startedBy(f fleet.Fire) (list []fleet.Choice) {
	for _, c := range f.Choices {
		if c.Decision == fleet.Spawn {
			list = append(list, c)
		}
	}
	return list
}

type pageLink struct{ Path, Name string }

// pages are what the navigation leads to.
func pages() []pageLink {
	return []pageLink{{"/", "Status"}, {"/ranking", "Ranking"}, {"/claims", "Claims"}, {"/fires", "Fires"}, {"/runs", "Runs"}, {"/report", "Report"}}
}

// list gives a template several values: names and values in turn.
func list(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}

// signed is a part of a score; one that would show as nothing is a dash.
func signed(x float64) string {
	if text := fmt.Sprintf("%+.3f", x); text != "+0.000" && text != "-0.000" {
		return text
	}
	return "–"
}

// about is the mark of an amount of which a part that shows is an estimate.
func about(guessed float64) string {
	if guessed >= 0.005 {
		return "≈"
	}
	return ""
}
