package report

import (
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plot"
)

//go:embed page.css
var pageStyle string

const pageHead = `
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
`

// Page is the report as one HTML document, which needs nothing else and runs nothing.
func (p Report) Page(name fleet.Name) []byte {
	first := h.If(!p.First.IsZero(), "; first run "+minute(p.First))
	body := []any{h.El("h1", name), h.El("p.soft", minute(p.From), " to ", minute(p.To), first)}
	if p.All.Runs == 0 {
		body = append(body, h.El("p", "There were no runs in this time."))
	} else {
		body = append(body, p.findingList(), p.figures(), h.Each(p.Charts(nil), func(c plot.Chart) h.HTML {
			return h.El("figure", h.Trusted(plot.Fragment(c)))
		}), p.categoryTable(), p.agentTable(), p.mergedTable(), p.outcomeTable(), h.El("p.soft", "The interval of an agent is of these grades alone, that of a uniform prior, "+
			"Beta(1+Σg, 1+n−Σg) of n grades g: grades in [0,1] vary no more than successes and failures do, so that it is rather too wide than too narrow."))
	}
	return []byte(h.Join(h.Trusted("<!doctype html>\n"), h.El("html", h.Attr("lang", "en"),
		h.El("head", h.Trusted(pageHead), h.El("title", name, ": report to ", minute(p.To)), h.El("style", h.Trusted("\n"+pageStyle+plot.Style+"\n"))),
		h.El("body", h.El("main", body)))).String())
}

func (p Report) findingList() h.HTML {
	if len(p.Findings) == 0 {
		return h.El("p", "Nothing stands out.")
	}
	return h.El("ul.findings", h.Each(p.Findings, func(f Finding) h.HTML { return h.El("li", f.Text) }))
}

func (p Report) figures() h.HTML {
	all, audit := p.All, p.Audit
	fact := func(name string, value any) h.HTML { return h.El("div", h.El("dt", name), h.El("dd", value)) }
	return h.El("dl",
		fact("runs", all.Runs),
		fact("sessions", all.Sessions),
		fact("sessions an hour", two(p.PerHour())),
		fact("at most at once", audit.PeakConcurrency),
		fact("productive", all.Productive()),
		fact("NOOP rate", Percent(all.NoopRate())),
		fact("mean grade", orDash(all.Graded > 0, two(all.Mean()))),
		fact("tokens", grouped(all.Tokens)),
		fact("USD", two(all.USD)),
		fact("USD a productive run", orDash(all.Productive() > 0, two(all.USDPerProductive()))),
		fact("lanes held twice", len(audit.Violations)),
		fact("denials, pivots", fmt.Sprintf("%d, %d", audit.Denials, audit.Pivots)),
		fact("respawns", p.Respawns),
		fact("fallbacks", audit.Fallbacks),
		fact("safety net", audit.SafetyNet),
		fact("neglected, of spawned", fmt.Sprintf("%d of %d", p.NeglectedSpawned(), all.Spawned)))
}

func (p Report) categoryTable() h.HTML {
	return pageTable("Categories", "Part and share are of all sessions; the ratio is of the sessions to what fires entitled it to; the interval is what the ranking believes of the mean grade, with 95 % certainty.",
		columns("category", "spawned", "sessions", "entitled", "ratio", "part", "share", textColumn("judgement"), "grades", "mean", "believed", "NOOP", "tokens", "USD"),
		h.Each(p.Categories, func(c CategoryUse) h.HTML {
			return pageRow(c.Category, cells(c.Spawned, c.Sessions, one(c.Entitled), orDash(c.Entitled != 0, two(c.Ratio())), Percent(c.Part), Percent(c.Share)),
				h.El("td.text.alarm", c.Judgement), c.Use.cells(c.Believed))
		}))
}

func (p Report) agentTable() h.HTML {
	row := func(agent string, category fleet.Category, u Use) h.HTML {
		return pageRow(orDash(agent != "", agent), h.El("td.text", category), cells(u.Runs, u.Sessions, one(u.Worked.Hours())), u.cells(u.Alone()))
	}
	return pageTable("Agents", "By agent, and by category and agent; the interval is of these grades alone.",
		columns("agent", textColumn("category"), "runs", "sessions", "hours", "grades", "mean", "95 %", "NOOP", "tokens", "USD"),
		h.Each(p.Agents, func(a AgentUse) h.HTML { return row(a.Agent, "all", a.Use) }),
		h.Each(p.Pairs, func(a PairUse) h.HTML { return row(a.Agent, a.Category, a.Use) }))
}

func (p Report) mergedTable() h.HTML {
	list := p.Decided()
	if len(list) == 0 {
		return h.HTML{}
	}
	return pageTable("Merged work", "Sessions and cost for each change that is in the target, with those whose work was not merged; the shares of merged work that stood for so long.",
		columns("category", textColumn("agent"), "sessions", "merged", "refused", "sessions each", "USD each", "stood 7 days", "30 days"),
		h.Each(list, func(w MergedWork) h.HTML {
			usd, sessions := w.PerMerged()
			return pageRow(w.Category, h.El("td.text", orDash(w.Agent != "", w.Agent)), cells(w.Sessions, w.Merged, w.Refused,
				orDash(w.Merged > 0, one(sessions)), orDash(w.Merged > 0, two(usd)), w.Week.Text("–"), w.Month.Text("–")))
		}))
}

func (p Report) outcomeTable() h.HTML {
	return pageTable("Outcomes", "How runs ended.", columns("outcome", "runs", "part"), h.Each(p.All.Ends(), func(c OutcomeCount) h.HTML {
		return pageRow(c.Outcome, cells(c.Runs, Percent(c.Part)))
	}))
}

func pageTable(title, caption string, columns []any, rows ...any) h.HTML {
	table := h.El("table", h.El("caption", caption), h.El("thead", h.El("tr", columns)), h.El("tbody", rows))
	return h.Join(h.El("h2", title), h.El("div.scroll", table))
}

// columns are the heads of a table's columns.
func columns(heads ...any) []any {
	for i, head := range heads {
		if name, ok := head.(string); ok {
			heads[i] = h.El("th", h.Attr("scope", "col"), name)
		}
	}
	return heads
}

func textColumn(name string) h.HTML {
	return h.El("th", h.Attr("scope", "col"), h.Attr("class", "text"), name)
}

func pageRow(name any, cells ...any) h.HTML {
	return h.El("tr", h.El("th", h.Attr("scope", "row"), name), cells)
}

func cells(values ...any) h.HTML {
	return h.Each(values, func(v any) h.HTML { return h.El("td", v) })
}

// cells are the columns that all tables of use end with.
func (u Use) cells(e Estimate) h.HTML {
	return cells(u.Graded, orDash(u.Graded > 0, two(u.Mean())), orDash(e.High != 0, two(e.Low)+"–"+two(e.High)),
		Percent(u.NoopRate()), grouped(u.Tokens), two(u.USD))
}

// orDash is a value that is known, and else a dash.
func orDash(known bool, value any) any {
	if known {
		return value
	}
	return "–"
}

func one(v float64) string { return fmt.Sprintf("%.1f", v) }

func two(v float64) string { return fmt.Sprintf("%.2f", v) }

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Charts are those that there is something to show in. Link is where a run's page is; nil:
// there is none.
func (p Report) Charts(link func(fleet.RunID) string) (list []plot.Chart) {
	if t := p.Timeline(link); len(t.Rows) > 0 {
		list = append(list, t)
	}
	if s := p.Shares(); len(s.Shares) > 0 {
		list = append(list, s)
	}
	if d := p.Densities(); len(d.Curves) > 0 {
		list = append(list, d, p.Grades())
	}
	return list
}

// grouped writes a number with a space before each thousand.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}
