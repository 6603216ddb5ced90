package plot

import (
	"math"
	"strings"

	"stint/internal/markup"
)

// Point is one point of a line, and how far the true value may be from it: NaN when
// nobody knows.
type Point struct{ X, Y, Spread float64 }

// Line is a series of points, from left to right.
type Line struct {
	Series
	Points []Point
}

// Lines is a chart of lines with bands.
type Lines struct {
	Title, X, Y string
	Lines       []Line
}

const plotHeight = 320

func (l Lines) name() string { return l.Title }
func (l Lines) linked() bool { return false }

func (l Lines) height(room float64) float64 {
	return room / width * max(top+plotHeight+bottom, float64(top+bottom+len(l.Lines)*legendRow))
}

func (l Lines) draw(c *canvas) { c.scale(func() { l.drawWide(c) }) }

func (l Lines) drawWide(c *canvas) {
	x, xs, y, ys := l.axes()
	c.title(left, l.Title)
	for _, v := range ys {
		c.rule("grid", left, y.at(v), width-right, y.at(v))
		c.label(left-8, y.at(v)+4, "end", number(v))
	}
	for _, v := range xs {
		c.label(x.at(v), top+plotHeight+18, "middle", number(v))
	}
	c.printf(`<path class="axis" d="M%d %dV%dH%d"/>`+"\n", left, top, top+plotHeight, width-right)
	c.label((left+width-right)/2, top+plotHeight+40, "middle", l.X)
	c.printf(`<text transform="translate(24 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", top+plotHeight/2, markup.Escape(l.Y))
	for _, line := range l.Lines {
		c.band(line, x, y)
	}
	for _, line := range l.Lines {
		c.printf(`<path class="line" stroke="%s" stroke-dasharray="%s" d="%s"/>`+"\n", colour(line.Colour), dash(line.Colour), path(line.Points, x, y, 0))
	}
	for i, line := range l.Lines {
		c.legend(i, line.Name, func(x, y float64) { c.stroke(x, y, line.Colour) })
	}
}

// axes cover all points and bands. Where no point is below 0, nothing that is drawn is:
// a band that reaches there describes the estimate, not what can be.
func (l Lines) axes() (x axis, xs []float64, y axis, ys []float64) {
	lowX, highX, highY, lowY, negative := math.Inf(1), math.Inf(-1), 0.0, 0.0, false
	for _, line := range l.Lines {
		for _, p := range line.Points {
			lowX, highX = min(lowX, p.X), max(highX, p.X)
			lowY, highY = min(lowY, p.Y-p.spread()), max(highY, p.Y+p.spread())
			negative = negative || p.Y < 0
		}
	}
	if !negative {
		lowY = max(lowY, 0)
	}
	x, xs = newAxis(min(lowX, 0), highX, left, width-right)
	y, ys = newAxis(lowY, highY, top+plotHeight, top)
	return x, xs, y, ys
}

func (p Point) spread() float64 {
	if math.IsNaN(p.Spread) {
		return 0
	}
	return p.Spread
}

func (c *canvas) band(l Line, x, y axis) {
	back := make([]Point, len(l.Points))
	for j, p := range l.Points {
		back[len(back)-1-j] = p
	}
	upper, lower := path(l.Points, x, y, 1), path(back, x, y, -1)
	if upper == "" {
		return
	}
	c.printf(`<path class="band" fill="%s" d="%sL%sZ"/>`+"\n", colour(l.Colour), upper, strings.TrimPrefix(lower, "M"))
}

// path goes through the points, each moved by so many times its spread, and not below the
// axis.
func path(points []Point, x, y axis, spreads float64) string {
	var b strings.Builder
	for i, p := range points {
		step := "L"
		if i == 0 {
			step = "M"
		}
		b.WriteString(step + Coordinate(x.at(p.X)) + " " + Coordinate(y.at(max(y.low, p.Y+spreads*p.spread()))))
	}
	return b.String()
}
