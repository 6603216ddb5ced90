package web

import (
	"fmt"
	"net/url"
	"time"

	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/report"
	"stint/internal/view"
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

func scores(b fireBody) h.HTML {
	type score = scoreView
	return h.Join(
		view.View[score]{
			view.Cell("Category", "", func(s score) any {
				return h.Join(h.If(s.Place > 0, fmt.Sprintf("%d. ", s.Place)), bdi(s.Category), h.If(s.Picked, h.Join(" ", view.State(fleet.Sign{Mood: fleet.Good, Mark: "▶", Word: "picked"}))))
			}),
			view.Cell("Score", ".n", func(s score) any {
				if !s.Score.In {
					return h.El("span.state.dull", "out")
				}
				return three(s.Value)
			}),
			view.Cell("Made of", ".wide", func(s score) any {
				return view.Picture("parts", 10, h.Each(s.Bars, func(b barView) h.HTML { return view.Rect("part-"+b.Class, b.X, b.Width, 10) }))
			}),
			view.Cell("Believed", ".belief", func(s score) any {
				belief := h.El("rect.range", h.Attr("x", s.Low), h.Attr("y", "3"), h.Attr("width", s.Width), h.Attr("height", "4"))
				return h.Join(view.Picture("parts", 10, belief, view.Rect("mean", s.Mean, "1", 10)), " ", two(s.Explain.Mean), " ",
					unit("("+interval(s.Explain.Low, s.Explain.High)+")"))
			}),
			view.Cell("Drew", ".n", func(s score) any { return three(s.Explain.TS) }),
			view.Cell("Debt", ".n", func(s score) any { return signed(s.Explain.Div) }),
			view.Cell("Load", ".n", func(s score) any { return signed(s.Explain.Plateau) }),
			view.Cell("Season", ".n", func(s score) any { return signed(s.Explain.Season) }),
			view.Cell("Lessons", ".n", func(s score) any { return signed(s.Explain.LOO) }),
			view.Cell("Share", ".n", func(s score) any { return report.Percent(s.Explain.Share) }),
			view.Cell("Tasks", ".n", func(s score) any { return s.Explain.Tasks }),
			view.Cell("Next", ".text", func(s score) any {
				if s.Next == nil {
					return dash
				}
				return view.OfTask(s.Next.ID).HTML()
			}),
		}.HTML(b.Scores, view.Page{
			ID: "scores", Class: ".scores", Caption: "Scores and their parts, in units of grade; the bars are from " + b.Scale,
			Row: func(i int) h.Attribute {
				switch {
				case !b.Scores[i].Score.In:
					return h.Attr("class", "out")
				case b.Scores[i].Picked:
					return h.Attr("class", "picked")
				}
				return h.Attribute{}
			},
		}),
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

// signed is a part of a score; one that would show as nothing is a dash.
func signed(x float64) string {
	if text := fmt.Sprintf("%+.3f", x); text != "+0.000" && text != "-0.000" {
		return text
	}
	return dash
}
