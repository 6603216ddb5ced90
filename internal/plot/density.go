package plot

import (
	"math"
	"strings"

	"stint/internal/plain"
)

// Density shows what is believed of quantities in [0,1]: one curve a row, each as high as
// there is room, as what counts is where it is and how wide.
type Density struct {
	Title, X string
	Curves   []DensityCurve
}

// DensityCurve is a density over [0,1].
type DensityCurve struct {
	Series
	Points []Point // from left to right
	Mean   float64
	Note   string // shown by a browser under the pointer
}

const curveHeight = 40

func (d Density) name() string { return d.Title }
func (d Density) linked() bool { return false }

func (d Density) grid(room float64) grid {
	names := plain.Each(d.Curves, func(curve DensityCurve) string { return curve.Name })
	return newGrid(room, curveHeight, names, nil)
}

func (d Density) height(room float64) float64 {
	return d.grid(room).floor() + footLine + footTitle
}

func (d Density) draw(c *canvas) {
	g := d.grid(c.width)
	x := axis{0, 1, g.left, g.right}
	c.title(d.Title)
	c.unit(x, g, d.X)
	g.rowNames(c)
	for i, curve := range d.Curves {
		low := g.high + g.row*float64(i+1)
		c.rule("grid", g.left, low, g.right, low)
		curve.draw(c, x, low)
	}
}

// unit draws the axis from 0 to 1 below rows.
func (c *canvas) unit(x axis, g grid, title string) {
	for i := range 6 {
		v := float64(i) / 5
		c.rule("grid", x.at(v), g.high, x.at(v), g.floor())
		c.label(x.at(v), g.floor()+18, "middle", number(v))
	}
	c.label((x.start+x.end)/2, g.floor()+18+footTitle, "middle", title)
}

// draw draws the curve on its floor, with a stroke at the mean.
func (d DensityCurve) draw(c *canvas, x axis, floor float64) {
	highest := 0.0
	for _, p := range d.Points {
		if !math.IsInf(p.Y, 0) && !math.IsNaN(p.Y) {
			highest = max(highest, p.Y)
		}
	}
	if len(d.Points) == 0 || highest == 0 {
		return
	}
	y := axis{0, highest, floor, floor - curveHeight + 6}
	var path strings.Builder
	for i, p := range d.Points {
		path.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		path.WriteString(Coordinate(x.at(p.X)) + " " + Coordinate(y.at(min(p.Y, highest))))
	}
	line := path.String()
	c.printf(`<path class="area" fill="%s" d="%sL%s %sL%s %sZ">%s</path>`+"\n", colour(d.Colour), line,
		Coordinate(x.at(d.Points[len(d.Points)-1].X)), Coordinate(floor), Coordinate(x.at(d.Points[0].X)), Coordinate(floor), c.tooltip(d.Note))
	c.printf(`<path class="line" stroke="%s" d="%s"/>`+"\n", colour(d.Colour), line)
	mean := x.at(min(max(d.Mean, 0), 1))
	c.rule("target", mean, floor, mean, floor-8)
}
