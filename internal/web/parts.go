package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/report"
	"stint/internal/screen"
)

// dash stands where there is nothing to show.
const dash = "–"

// orDash is a value that is known, and else a dash.
func orDash(known bool, value any) any {
	if known {
		return value
	}
	return dash
}

func bdi(text any) h.HTML { return h.El("bdi", text) }

func code(text any) h.HTML { return h.El("code", text) }

func unit(parts ...any) h.HTML { return h.El("span.unit", parts...) }

func empty(parts ...any) h.HTML { return h.El("p.empty", parts...) }

// link leads to another page.
func link(address string, parts ...any) h.HTML {
	return h.El("a", parts, h.Attr("href", address))
}

// query is the address of a page that is asked for one thing.
func query[Value ~string](path, name string, value Value) string {
	return path + "?" + url.Values{name: {string(value)}}.Encode()
}

func ofCategory[Category ~string](c Category) string { return query("/runs", "category", c) }

func linkToRun(id fleet.RunID) h.HTML { return link("/runs/"+string(id), id) }

func fireAddress(id fleet.FireID) string { return fmt.Sprintf("/fires/%d", id) }

// section is a part of a page with its title.
func section(selector, id, title string, parts ...any) h.HTML {
	return h.El(selector, h.Attr("aria-labelledby", "h-"+id), h.El("h2#h-"+id, title), parts)
}

// fact is an entry of a list of facts.
func fact(name string, parts ...any) h.HTML {
	return h.El("div", h.El("dt", name), h.El("dd", parts...))
}

// fullFact has the whole width of the list.
func fullFact(name string, parts ...any) h.HTML {
	return h.El("div.full", h.El("dt", name), h.El("dd", parts...))
}

func hidden(selector string, parts ...any) h.HTML {
	return h.El(selector, h.Attr("aria-hidden", "true"), parts)
}

func state(s fleet.Sign) h.HTML {
	return h.El("span.state."+string(s.Mood), hidden("span", s.Mark), " ", s.Word)
}

func grade(g *float64) any {
	if g == nil {
		return dash
	}
	return meter(*g, two(*g))
}

// meter is a part of 1 as a bar, with what else the bar shows, and its figure.
func meter(level float64, figure string, marks ...any) h.HTML {
	return h.El("span.grade", picture("meter", 8, rect("level", "", wide(level), 8), marks), figure)
}

// target is a mark on a meter.
func target(at float64) h.HTML { return rect("target", wide(at), "1", 8) }

// picture is a bar of a hundred units, on its ground.
func picture(class string, height int, parts ...any) h.HTML {
	box := h.Attr("viewBox", fmt.Sprintf("0 0 100 %d", height))
	return hidden("svg."+class, box, h.Attr("preserveAspectRatio", "none"), rect("ground", "", "100", height), parts)
}

// rect is a part of a picture; x may be left out.
func rect(class, x, width string, height int) h.HTML {
	return h.El("rect."+class, h.If(x != "", h.Attr("x", x)), h.Attr("width", width), h.Attr("height", fmt.Sprint(height)))
}

func holder(holder fleet.Holder) h.HTML {
	if run, ok := holder.Run(); ok {
		return link("/runs/"+string(run), "run ", run)
	}
	return bdi(holder)
}

func task(id fleet.TaskID) any { return orDash(id != "", link(query("/runs", "task", id), bdi(id))) }

// table shows each row as a card on a narrow screen, where the label of its column stands before a cell.
type table[Row any] struct {
	selector, region, caption string
	columns                   []column[Row]
	naming                    int                   // the column that names the row
	heads                     map[string]any        // of the columns whose head is not their label
	row                       func(Row) h.Attribute // of a row; nil: none
}

// column is one of a table. Classes of cells that align their text are those of its head, too.
type column[Row any] struct {
	label, class string
	cell         func(Row) any
}

func (t table[Row]) of(rows []Row) h.HTML {
	head := h.Each(t.columns, func(c column[Row]) h.HTML {
		name := "th"
		if first, _, _ := strings.Cut(c.class, "."); first == "n" || first == "wide" {
			name += "." + first
		}
		title, found := t.heads[c.label]
		if !found {
			title = c.label
		}
		return h.El(name, h.Attr("scope", "col"), title)
	})
	body := h.Each(rows, func(row Row) h.HTML {
		var cells []any
		if t.row != nil {
			cells = append(cells, t.row(row))
		}
		for i, c := range t.columns {
			name, scope := "td", h.Attribute{}
			if i == t.naming {
				name, scope = "th", h.Attr("scope", "row")
			}
			if c.class != "" {
				name += "." + c.class
			}
			cells = append(cells, h.El(name, scope, h.Attr("data-label", c.label), c.cell(row)))
		}
		return h.El("tr", cells...)
	})
	// It is moved by itself where it is wider than the screen.
	return h.El("div.scroll", h.Attr("tabindex", "0"), h.Attr("role", "region"), h.Attr("aria-label", t.region),
		h.El(t.selector, h.El("caption", t.caption), h.El("thead", h.El("tr", head)), h.El("tbody", body)))
}

// or is the table, or what to say where there are no rows.
func (t table[Row]) or(rows []Row, none string) h.HTML {
	if len(rows) == 0 {
		return empty(none)
	}
	return t.of(rows)
}

func runs(list []fleet.RunStatus, now time.Time) h.HTML {
	type run = fleet.RunStatus
	t := table[run]{selector: "table.cards#runs", region: "Newest first", caption: "Newest first", columns: []column[run]{
		{"Run", "", func(r run) any { return linkToRun(r.ID) }},
		{"When", "", func(r run) any { return when(r.CreatedAt, now) }},
		{"Category", "", func(r run) any { return r.Category }},
		{"Task", "text.more", func(r run) any { return task(r.Task) }},
		{"Agent", "more", func(r run) any { return bdi(orDash(r.Agent != "", r.Agent)) }},
		{"Took", "n.more", func(r run) any { return took(r, now) }},
		{"Outcome", "", func(r run) any { return state(r.Sign()) }},
		{"Grade", "", func(r run) any { return grade(r.Verdict.Grade) }},
		{"Why", "text.more", func(r run) any { return bdi(r.Verdict.Reason) }},
	}}
	if slices.ContainsFunc(list, func(r run) bool { return r.Machine != "" }) {
		t.columns = append(t.columns, column[run]{"Machine", "more", func(r run) any { return bdi(orDash(r.Machine != "", r.Machine)) }})
	}
	return t.of(list)
}

func fires(list []fleet.Fire, now time.Time) h.HTML {
	type fire = fleet.Fire
	return table[fire]{selector: "table.cards#fires", region: "Newest first", caption: "Newest first", columns: []column[fire]{
		{"Fire", "", func(f fire) any { return link(fireAddress(f.ID), f.ID) }},
		{"When", "", func(f fire) any { return when(f.At, now) }},
		{"Started", "n.more", func(f fire) any { return f.Count(fleet.Spawn) }},
		{"Skipped", "n.more", func(f fire) any { return f.Count(fleet.Skip) }},
		{"Failed", "n.more", func(f fire) any { return bad("strong", f.Count(fleet.StartFailed)) }},
		{"Started", "text", func(f fire) any {
			return h.Join(started(f), h.If(f.Fallback != "", h.Join(" ", h.El("span.warn", "! ", bdi(f.Fallback)))))
		}},
	}}.of(list)
}

// started are the choices of a fire that became sessions.
func started(f fleet.Fire) any {
	var list []any
	for _, c := range f.Choices {
		if c.Decision == fleet.Spawn {
			list = append(list, h.If(len(list) > 0, ", "), link("/runs/"+string(c.Run), bdi(c.Category)))
		}
	}
	return orDash(len(list) > 0, h.Join(list...))
}

// bad is a number that ought to be 0.
func bad(name string, n int) any {
	if n == 0 {
		return n
	}
	return h.El(name+".bad", n)
}

func scores(b fireBody) h.HTML {
	type score = scoreView
	return h.Join(
		table[score]{
			selector: "table.cards.scores#scores", region: "Scores", caption: "Scores and their parts, in units of grade",
			heads: map[string]any{"Made of": h.Join("Made of ", unit("("+b.Scale+")")), "Believed": "Believed of its mean grade", "Owed": "Debt"},
			row: func(s score) h.Attribute {
				switch {
				case !s.Score.In:
					return h.Attr("class", "out")
				case s.Picked:
					return h.Attr("class", "picked")
				}
				return h.Attribute{}
			},
			columns: []column[score]{
				{"Category", "", func(s score) any {
					return h.Join(h.If(s.Place > 0, fmt.Sprintf("%d. ", s.Place)), bdi(s.Category), h.If(s.Picked, h.Join(" ", state(fleet.Sign{Mood: fleet.Good, Mark: "▶", Word: "picked"}))))
				}},
				{"Score", "n", func(s score) any {
					if !s.Score.In {
						return h.El("span.state.dull", "out")
					}
					return three(s.Value)
				}},
				{"Made of", "wide", func(s score) any {
					return picture("parts", 10, h.Each(s.Bars, func(b barView) h.HTML { return rect("part-"+b.Class, b.X, b.Width, 10) }))
				}},
				{"Believed", "belief", func(s score) any {
					belief := h.El("rect.range", h.Attr("x", s.Low), h.Attr("y", "3"), h.Attr("width", s.Width), h.Attr("height", "4"))
					return h.Join(picture("parts", 10, belief, rect("mean", s.Mean, "1", 10)), " ", two(s.Explain.Mean), " ",
						unit("("+interval(s.Explain.Low, s.Explain.High)+")"))
				}},
				{"Drew", "n", func(s score) any { return three(s.Explain.TS) }},
				{"Owed", "n", func(s score) any { return signed(s.Explain.Div) }},
				{"Load", "n", func(s score) any { return signed(s.Explain.Plateau) }},
				{"Season", "n", func(s score) any { return signed(s.Explain.Season) }},
				{"Lessons", "n", func(s score) any { return signed(s.Explain.LOO) }},
				{"Share", "n", func(s score) any { return report.Percent(s.Explain.Share) }},
				{"Tasks", "n", func(s score) any { return s.Explain.Tasks }},
				{"Next", "text", func(s score) any {
					if s.Next == nil {
						return dash
					}
					return task(s.Next.ID)
				}},
			},
		}.of(b.Scores),
		h.El("p.legend", key("ts", "draw"), key("div", "owed"), key("plateau", "load"), key("season", "season"), key("loo", "lessons")),
	)
}

// key says what a colour of the scores' bars stands for.
func key(class, name string) h.HTML { return h.Join(h.El("span.key.part-"+class), " ", name, " ") }

func sentences(list []string) h.HTML {
	return h.El("ul.sentences#sentences", h.Each(list, func(s string) h.HTML { return h.El("li", bdi(s)) }))
}

// pager leads to the pages before and after one.
func pager(parts ...any) h.HTML {
	return h.El("nav.pager", h.Attr("aria-label", "Older and newer"), parts)
}

// newestAndOlder is the pager of a list that goes on at an address.
func newestAndOlder(paged bool, first, older string) h.HTML {
	return pager(h.If(paged, link(first, "Newest")), h.If(older != "", link(older, h.Attr("rel", "next"), h.Attr("id", "older"), "Older")))
}

// when is a time as pages show it: how long ago, and the exact time when the pointer is on it.
// A script keeps it up to date.
func when(t, now time.Time) any {
	if t.IsZero() {
		return dash
	}
	stamp := screen.Stamp(t)
	return h.El("time", h.Attr("datetime", stamp), h.Attr("title", stamp), h.Attr("data-at", fmt.Sprint(t.UnixMilli())), plain.Ago(t, now))
}

// since is a length of time that still grows.
func since(t, now time.Time) any {
	if t.IsZero() {
		return dash
	}
	return h.El("time", h.Attr("title", "since "+screen.Stamp(t)), h.Attr("data-since", fmt.Sprint(t.UnixMilli())), plain.Span(now.Sub(t)))
}

// took is how long a run took, or has taken.
func took(r fleet.RunStatus, now time.Time) any {
	if r.StartedAt.IsZero() || r.EndedAt.IsZero() {
		return since(r.StartedAt, now)
	}
	return plain.Span(r.EndedAt.Sub(r.StartedAt))
}

// untilTimeout is how much of its time an open run has used.
func untilTimeout(r fleet.RunStatus, now time.Time) any {
	if r.Timeout == 0 || r.StartedAt.IsZero() {
		return nil
	}
	seconds := func(d time.Duration) string { return fmt.Sprint(int64(d.Seconds())) }
	return h.Join(" ", unit("of "+plain.Span(r.Timeout)), " ", h.El("progress",
		h.Attr("max", seconds(r.Timeout)), h.Attr("value", seconds(now.Sub(r.StartedAt))),
		h.Attr("data-since", fmt.Sprint(r.StartedAt.UnixMilli())), h.Attr("aria-label", "part of its time-out")))
}

// count is a number, known or not.
func count(n *int64) string {
	if n == nil {
		return dash
	}
	return plain.Count(*n)
}

func two(x float64) string { return fmt.Sprintf("%.2f", x) }

func three(x float64) string { return fmt.Sprintf("%.3f", x) }

func interval(low, high float64) string { return two(low) + "–" + two(high) }

// wide is a part of 1 in the units of a picture.
func wide(part float64) string { return plot.Coordinate(100 * min(max(part, 0), 1)) }

// signed is a part of a score; one that would show as nothing is a dash.
func signed(x float64) string {
	if text := fmt.Sprintf("%+.3f", x); text != "+0.000" && text != "-0.000" {
		return text
	}
	return dash
}

// cost is an amount, with a mark if a part that shows is an estimate.
func cost(usd, guessed float64) string {
	text := fmt.Sprintf("$%.2f", usd)
	if guessed >= 0.005 {
		text = "≈" + text
	}
	return text
}
