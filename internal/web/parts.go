package web

import (
	"fmt"
	"net/url"
	"time"

	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/view"
)

// dash stands for a value that is missing.
const dash = "–"

// orDash returns the value if it is known, else a dash.
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

// query returns the address of a page, with one parameter.
func query[Value ~string](path, name string, value Value) string {
	return path + "?" + url.Values{name: {string(value)}}.Encode()
}

func ofCategory[Category ~string](c Category) string { return query("/runs", "category", c) }

func fireAddress(id fleet.FireID) string { return fmt.Sprintf("/fires/%d", id) }

// section is a part of a page with its title.
func section(selector, id, title string, parts ...any) h.HTML {
	return h.El(selector, h.Attr("aria-labelledby", "h-"+id), h.El("h2#h-"+id, title), parts)
}

// fact is an entry of a list of facts.
func fact(name string, parts ...any) h.HTML {
	return h.El("div", h.El("dt", name), h.El("dd", parts...))
}

// fullFact is a fact as wide as the whole list.
func fullFact(name string, parts ...any) h.HTML {
	return h.El("div.full", h.El("dt", name), h.El("dd", parts...))
}

func hidden(selector string, parts ...any) h.HTML {
	return h.El(selector, h.Attr("aria-hidden", "true"), parts)
}

func grade(g *float64) any {
	if g == nil {
		return dash
	}
	return view.Meter(*g, two(*g))
}

func runs(list []fleet.RunStatus, none string, now time.Time) h.HTML {
	return view.Run().HTML(list, view.Page{ID: "runs", Caption: "Newest first", None: none, Now: now})
}

func fires(list []fleet.Fire, none string, now time.Time) h.HTML {
	return view.Fire().HTML(list, view.Page{ID: "fires", Caption: "Newest first", None: none, Now: now})
}

// bad is a number that ought to be 0.
func bad(name string, n int) any {
	if n == 0 {
		return n
	}
	return h.El(name+".bad", n)
}

func sentences(list []string) h.HTML {
	return h.El("ul.sentences#sentences", h.Each(list, func(s string) h.HTML { return h.El("li", bdi(s)) }))
}

// pager links to the pages before and after one.
func pager(parts ...any) h.HTML {
	return h.El("nav.pager", h.Attr("aria-label", "Older and newer"), parts)
}

// newestAndOlder links to a list's first page and to the page with older rows.
func newestAndOlder(paged bool, first, older string) h.HTML {
	return pager(h.If(paged, link(first, "Newest")), h.If(older != "", link(older, h.Attr("rel", "next"), h.Attr("id", "older"), "Older")))
}

// untilTimeout shows the share of its time that an open run has used.
func untilTimeout(r fleet.RunStatus, now time.Time) any {
	if r.Timeout == 0 || r.StartedAt.IsZero() {
		return nil
	}
	seconds := func(d time.Duration) string { return fmt.Sprint(int64(d.Seconds())) }
	return h.Join(" ", unit("of "+plain.Span(r.Timeout)), " ", h.El("progress",
		h.Attr("max", seconds(r.Timeout)), h.Attr("value", seconds(now.Sub(r.StartedAt))),
		h.Attr("data-since", fmt.Sprint(r.StartedAt.UnixMilli())), h.Attr("aria-label", "part of its time-out")))
}

// count shows a number, or a dash.
func count(n *int64) string {
	if n == nil {
		return dash
	}
	return plain.Count(*n)
}

func two(x float64) string { return fmt.Sprintf("%.2f", x) }

// signed shows a part of a score; a dash if it rounds to 0.
func signed(x float64) string {
	if text := fmt.Sprintf("%+.3f", x); text != "+0.000" && text != "-0.000" {
		return text
	}
	return dash
}
