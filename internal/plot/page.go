// Package plot draws small charts as SVG, without scripts, fonts or anything else from
// outside, readable on light and dark ground. It is pure; whatever text it is given
// ends up as text, never as markup.
package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	width     = 900
	left      = 150 // room for the labels of the vertical axis
	right     = 190 // room for the legend
	top       = 44
	bottom    = 52
	legendRow = 20
	fontSize  = 13
)

// Series is what a legend names. A series that is in several pictures, beside others in
// each, is known again by its colour, which is a number from 0.
type Series struct {
	Name   string
	Colour int
}

// Chart is a part of a page.
type Chart interface {
	height() float64
	draw(c *canvas)
}

// Page is one SVG document with the charts one below the other.
func Page(charts ...Chart) []byte {
	total := 0.0
	for _, c := range charts {
		total += c.height()
	}
	p := &canvas{}
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %s" width="%d" font-family="sans-serif" font-size="%d">`+"\n",
		width, coordinate(total), width, fontSize)
	p.printf("<style>%s</style>\n", style)
	p.printf(`<rect class="ground" width="100%%" height="100%%"/>` + "\n")
	y := 0.0
	for _, c := range charts {
		p.printf(`<g transform="translate(0 %s)">`+"\n", coordinate(y))
		c.draw(p)
		p.printf("</g>\n")
		y += c.height()
	}
	p.printf("</svg>\n")
	return []byte(p.text.String())
}

// style is black on white, or the reverse where the reader's system is dark.
const style = `svg{color:#1d2126}.ground{fill:#fff}text{fill:currentColor}` +
	`.axis{stroke:currentColor;stroke-opacity:.6;fill:none}.grid{stroke:currentColor;stroke-opacity:.12}` +
	`.line{fill:none;stroke-width:1.8}.target{stroke:currentColor;stroke-width:2}.band{fill-opacity:.16;stroke:none}` +
	`@media(prefers-color-scheme:dark){svg{color:#e6e9ec}.ground{fill:#15181b}}`

// colours are of one lightness, so that they stand out on white and on black, and differ
// for those who cannot tell red from green as well (after Okabe and Ito, 2008).
func colour(i int) string {
	all := []string{"#d55e00", "#0080c8", "#009e73", "#cc6fa6", "#b58900", "#3fa7d6", "#8f7fe8", "#7d8590"}
	return all[i%len(all)]
}

// colours is how many there are.
const colours = 8

// dash tells lines apart that share a colour.
func dash(i int) string { return []string{"", "6 3", "2 3"}[i/colours%3] }

// canvas collects the document.
type canvas struct{ text strings.Builder }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.text, format, args...) }

// label writes text at a place; anchor is start, middle or end.
func (c *canvas) label(x, y float64, anchor, text string) {
	c.printf(`<text x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", coordinate(x), coordinate(y), anchor, escape(text))
}

func (c *canvas) title(x float64, text string) {
	c.printf(`<text x="%s" y="26" font-size="16" font-weight="bold">%s</text>`+"\n", coordinate(x), escape(text))
}

// legend names, in a row to the right of the chart, what looks as sample draws it around
// a place.
func (c *canvas) legend(row int, name string, sample func(x, y float64)) {
	y := float64(top + 8 + row*legendRow)
	sample(width-right+28, y)
	c.label(width-right+46, y+4, "start", shortened(name, 18)) // as many characters as there is room for
}

// stroke is a piece of a line.
func (c *canvas) stroke(x, y float64, i int) {
	c.printf(`<line class="line" x1="%s" x2="%s" y1="%s" y2="%s" stroke="%s" stroke-dasharray="%s"/>`+"\n",
		coordinate(x-12), coordinate(x+12), coordinate(y), coordinate(y), colour(i), dash(i))
}

// shortened fits a name into so many characters.
func shortened(name string, room int) string {
	if runes := []rune(name); len(runes) > room {
		return string(runes[:room-1]) + "…"
	}
	return name
}

// coordinate writes a number for SVG, which knows no NaN: that becomes 0.
func coordinate(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// escape makes text of what could be markup, and drops what XML cannot hold.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\t' || r == '\n':
			b.WriteByte(' ')
		case r < ' ' || r == 0xfffe || r == 0xffff:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
