package plot

import (
	"math"
	"strings"
	"time"

	"stint/internal/markup"
)

// Dots shows quantities in [0,1] over time, and how their mean went.
type Dots struct {
	Title, Y string
	From, To time.Time
	Series   []Series // what the colours of the dots mean
	Dots     []Dot
	Mean     []DotMean
	Average  string // what the legend calls the mean; empty: it does not
}

// Dot is one quantity, or the mean of several.
type Dot struct {
	At     time.Time
	Value  float64
	Of     int // how many it stands for, which its area shows
	Colour int
	Title  string // shown by a browser under the pointer
}

// DotMean is the mean at a time, and between what it is likely to be.
type DotMean struct {
	At               time.Time
	Value, Low, High float64
}

const (
	dotsHeight = 220
	dotsLeft   = 64
)

func (d Dots) name() string { return d.Title }
func (d Dots) linked() bool { return false }

func (d Dots) keys() (list []key) {
	for _, s := range d.Series {
		list = append(list, key{s.Name, func(c *canvas, x, y float64) { c.dot(x, y, 4.5, s.Colour, "") }})
	}
	if d.Average != "" {
		list = append(list, key{d.Average, func(c *canvas, x, y float64) {
			c.printf(`<path class="mean" d="M%s %sh14"/>`+"\n", Coordinate(x-7), Coordinate(y))
		}})
	}
	return list
}

func (d Dots) high(room float64) float64 { return titleLine + legendHeight(room, d.keys()) + 8 }

func (d Dots) height(room float64) float64 { return d.high(room) + dotsHeight + footLine + 4 }

func (d Dots) draw(c *canvas) {
	high := d.high(c.width)
	floor := high + dotsHeight
	y := axis{0, 1, floor, high}
	start, end := float64(dotsLeft), c.width-2*margin
	c.title(d.Title)
	c.keys(d.keys())
	for i := range 6 {
		v := float64(i) / 5
		c.rule("grid", start, y.at(v), end, y.at(v))
		c.label(start-8, y.at(v)+4, "end", number(v))
	}
	c.printf(`<text transform="translate(22 %s) rotate(-90)" text-anchor="middle">%s</text>`+"\n", Coordinate((high+floor)/2), markup.Escape(d.Y))
	x := newTimes(d.From, d.To, start, end)
	x.ticks(c, high, floor)
	c.around(d.Mean, x, y)
	for _, dot := range d.Dots {
		// A dot for four has twice the radius of one for one, up to what hides others.
		c.dot(x.place(dot.At), y.at(dot.Value), min(9, 2.5*math.Sqrt(float64(max(1, dot.Of)))), dot.Colour, dot.Title)
	}
	c.average(d.Mean, x, y)
}

func (c *canvas) dot(x, y, radius float64, i int, title string) {
	c.printf(`<circle class="dot" cx="%s" cy="%s" r="%s" fill="%s" stroke="%s">%s</circle>`+"\n",
		Coordinate(x), Coordinate(y), Coordinate(radius), colour(i), colour(i), c.tooltip(title))
}

// around draws between what the mean is likely to be.
func (c *canvas) around(mean []DotMean, x times, y axis) {
	if len(mean) < 2 {
		return
	}
	var upper, lower strings.Builder
	for i, m := range mean {
		upper.WriteString("L" + Coordinate(x.place(m.At)) + " " + Coordinate(y.at(m.High)))
		back := mean[len(mean)-1-i]
		lower.WriteString("L" + Coordinate(x.place(back.At)) + " " + Coordinate(y.at(back.Low)))
	}
	c.printf(`<path class="around" d="M%s%sZ"/>`+"\n", strings.TrimPrefix(upper.String(), "L"), lower.String())
}

// average draws how the mean went.
func (c *canvas) average(mean []DotMean, x times, y axis) {
	if len(mean) < 2 {
		return
	}
	var b strings.Builder
	for _, m := range mean {
		b.WriteString("L" + Coordinate(x.place(m.At)) + " " + Coordinate(y.at(m.Value)))
	}
	c.printf(`<path class="mean" d="M%s"/>`+"\n", strings.TrimPrefix(b.String(), "L"))
}
