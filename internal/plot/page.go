// Package plot draws small charts as SVG, without scripts, fonts or anything else from
// outside, readable on light and dark ground and on a phone. It is pure; any text that it is
// given ends up as text, never as markup.
package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"stint/internal/markup"
	"stint/internal/plain"
)

const (
	width     = 900
	narrow    = 400 // of a chart for a phone, whose screen is about as wide
	left      = 150 // room for the labels of the vertical axis
	right     = 190 // room for the legend
	legendRow = 20
	fontSize  = 13
)

// Series is an entry of a legend. A series that is in several pictures, beside others in
// each, is known again by its colour, which is a number from 0.
type Series struct {
	Name   string
	Colour int
}

// The colours, by name. A series may have a greater number, too, and then shares one.
const (
	Vermilion = iota
	Blue
	Green
	Pink
	Ochre
	Sky
	Violet
	Grey
)

// Point is one point of a curve.
type Point struct{ X, Y float64 }

// Chart is a part of a page, as wide as there is room.
type Chart interface {
	name() string
	linked() bool // whether parts of it are links
	height(width float64) float64
	draw(c *canvas)
}

// Fragment is the charts one below the other, as a part of an HTML page that holds [Style]
// or links to it: the picture itself has neither styles nor scripts, so that a page may
// forbid them. It is there twice, the second time for narrow screens; the style shows one.
func Fragment(charts ...Chart) []byte {
	p := &canvas{}
	for _, size := range []struct {
		width float64
		class string
	}{{width, "plot-wide"}, {narrow, "plot-narrow"}} {
		p.width = size.width
		p.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="plot %s" role="%s" viewBox="0 0 %s %s" font-family="sans-serif" font-size="%d">`+"\n",
			size.class, role(charts), Coordinate(p.width), Coordinate(total(charts, p.width)), fontSize)
		p.printf("<title>%s</title>\n", markup.Escape(strings.Join(plain.Each(charts, Chart.name), "; ")))
		p.stack(charts)
		p.printf("</svg>\n")
	}
	return []byte(p.text.String())
}

// role is the picture's role for a screen reader: one that holds links may not be an image, as those
// would be hidden.
func role(charts []Chart) string {
	if slices.ContainsFunc(charts, Chart.linked) {
		return "group"
	}
	return "img"
}

func total(charts []Chart, width float64) (sum float64) {
	for _, c := range charts {
		sum += c.height(width)
	}
	return sum
}

// Style is the CSS for a page that holds fragments. The picture's text has the colour of the
// text around it.
const Style = `.plot{max-width:100%;height:auto}.plot-wide{width:100%}.plot-narrow{width:100%;display:none}` +
	`.plot text{fill:currentColor}.plot .faint{fill-opacity:.65}` +
	`.plot .axis{stroke:currentColor;stroke-opacity:.6;fill:none}.plot .grid{stroke:currentColor;stroke-opacity:.12}` +
	`.plot .target{stroke:currentColor;stroke-width:2}` +
	`.plot .lane{fill:currentColor;fill-opacity:.05}.plot .range{fill:currentColor;fill-opacity:.13}` +
	`.plot .bar{fill-opacity:.9}.plot .open{stroke:currentColor;stroke-width:1;stroke-dasharray:3 2}` +
	`.plot a:hover .bar,.plot a:focus .bar{stroke:currentColor;stroke-width:2}` +
	`.plot .mark{stroke:currentColor;stroke-opacity:.18}.plot .tick{fill:currentColor;fill-opacity:.6}` +
	`.plot .dot{fill-opacity:.55}.plot .mean{fill:none;stroke:currentColor;stroke-width:2}` +
	`.plot .around{fill:currentColor;fill-opacity:.12}` +
	`@media(max-width:600px){.plot-wide{display:none}.plot-narrow{display:block}}`

// colours are of one lightness, so that they stand out on white and on black, and differ
// for those who cannot distinguish red from green as well (after Okabe and Ito, 2008).
func colour(i int) string {
	all := []string{"#d55e00", "#0080c8", "#009e73", "#cc6fa6", "#b58900", "#3fa7d6", "#8f7fe8", "#7d8590"}
	return all[max(i, 0)%len(all)]
}

// canvas collects the document.
type canvas struct {
	text  strings.Builder
	width float64
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.text, format, args...) }

// stack draws the charts one below the other.
func (c *canvas) stack(charts []Chart) {
	y := 0.0
	for _, chart := range charts {
		c.printf(`<g transform="translate(0 %s)">`+"\n", Coordinate(y))
		chart.draw(c)
		c.printf("</g>\n")
		y += chart.height(c.width)
	}
}

// rule draws a straight line.
func (c *canvas) rule(class string, x1, y1, x2, y2 float64) {
	c.printf(`<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`+"\n", class, Coordinate(x1), Coordinate(x2), Coordinate(y1), Coordinate(y2))
}

// label writes text at a place; anchor is start, middle or end.
func (c *canvas) label(x, y float64, anchor, text string) {
	c.printf(`<text x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", Coordinate(x), Coordinate(y), anchor, markup.Escape(text))
}

func (c *canvas) title(text string) {
	c.printf(`<text x="%s" y="26" font-size="16" font-weight="bold">%s</text>`+"\n", Coordinate(margin), markup.Escape(text))
}

// Coordinate writes a number for SVG, which knows no NaN: that becomes 0.
func Coordinate(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}
