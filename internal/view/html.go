package view

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/plot"
)

// dash stands for a missing value in a page.
const dash = "–"

// HTML shows the name, as a link if it has a page.
func (r Ref) HTML() h.HTML {
	name := h.El("bdi", r.ID)
	switch {
	case r.ID == "":
		return h.Join(dash)
	case r.Path == "":
		return name
	}
	return h.El("a", h.Attr("href", r.Path), name)
}

// When shows how long ago a time was, and under the pointer the exact time. A script keeps it up to date.
func When(t, now time.Time) any {
	if t.IsZero() {
		return dash
	}
	stamp := plain.Stamp(t)
	return h.El("time", h.Attr("datetime", stamp), h.Attr("title", stamp), h.Attr("data-at", fmt.Sprint(t.UnixMilli())), plain.Ago(t, now))
}

// HTML shows the duration. A script keeps it up to date while it grows.
func (s Stretch) HTML(now time.Time) any {
	switch {
	case s.From.IsZero():
		return dash
	case !s.To.IsZero():
		return plain.Span(s.To.Sub(s.From))
	}
	stamp := "since " + plain.Stamp(s.From)
	return h.El("time", h.Attr("title", stamp), h.Attr("data-since", fmt.Sprint(s.From.UnixMilli())), plain.Span(now.Sub(s.From)))
}

// State shows a sign in its colour.
func State(s fleet.Sign) h.HTML {
	return h.El("span.state."+string(s.Mood), h.El("span", h.Attr("aria-hidden", "true"), s.Mark), " ", s.Word)
}

// Meter draws a part of 1 as a bar, with marks and a figure.
func Meter(level float64, figure string, marks ...any) h.HTML {
	return h.El("span.grade", Picture("meter", 8, Rect("level", "", hundredth(level), 8), marks), figure)
}

// Target draws a mark on a meter.
func Target(at float64) h.HTML { return Rect("target", hundredth(at), "1", 8) }

// Picture draws a bar of a hundred units on its background.
func Picture(class string, height int, parts ...any) h.HTML {
	box := h.Attr("viewBox", fmt.Sprintf("0 0 100 %d", height))
	stretched := h.Attr("preserveAspectRatio", "none")
	return h.El("svg."+class, h.Attr("aria-hidden", "true"), box, stretched, Rect("ground", "", "100", height), parts)
}

// Rect draws a part of a picture. X may be empty.
func Rect(class, x, width string, height int) h.HTML {
	return h.El("rect."+class, h.If(x != "", h.Attr("x", x)), h.Attr("width", width), h.Attr("height", fmt.Sprint(height)))
}

// hundredth converts a part of 1 into the units of a picture.
func hundredth(part float64) string { return plot.Coordinate(100 * min(max(part, 0), 1)) }
