package plot

import (
	"stint/internal/markup"
	"stint/internal/plain"
)

// Row is one line of marks.
type Row struct {
	Name   string
	Values []float64 // one per series
	Target float64   // what they are to be compared with
}

// Rows is a chart of marks on horizontal lines: of several series, row by row.
type Rows struct {
	Title, X string
	Target   string // what the legend calls the rows' targets; empty: there are none
	Series   []Series
	Rows     []Row
}

const (
	rowHeight = 24
	rowName   = 32  // characters: a category's name is no longer
	rowLeft   = 260 // room for one
)

func (r Rows) rowsHeight() int { return max(1, len(r.Rows)) * rowHeight }

func (r Rows) name() string { return r.Title }
func (r Rows) linked() bool { return false }

func (r Rows) height(room float64) float64 {
	legend := len(r.Series)
	if r.Target != "" {
		legend++
	}
	return room / width * float64(max(top+r.rowsHeight()+bottom, top+bottom+legend*legendRow))
}

func (r Rows) draw(c *canvas) { c.scale(func() { r.drawWide(c) }) }

func (r Rows) drawWide(c *canvas) {
	x, ticks := newAxis(0, r.high(), rowLeft, width-right)
	floor := top + r.rowsHeight()
	c.title(rowLeft, r.Title)
	for _, v := range ticks {
		c.rule("grid", x.at(v), top, x.at(v), float64(floor))
		c.label(x.at(v), float64(floor+18), "middle", number(v))
	}
	c.printf(`<path class="axis" d="M%d %dV%dH%d"/>`+"\n", rowLeft, top, floor, width-right)
	c.label((rowLeft+width-right)/2, float64(floor+40), "middle", r.X)
	for i, row := range r.Rows {
		y := float64(top) + (float64(i)+0.5)*rowHeight
		c.rule("grid", rowLeft, y, width-right, y)
		c.rowName(y+4, plain.Short(row.Name, rowName))
		if r.Target != "" {
			c.target(x.at(row.Target), y)
		}
		for j, v := range row.Values {
			c.mark(x.at(v), y, r.Series[j].Colour)
		}
	}
	for i, s := range r.Series {
		c.legend(i, s.Name, func(x, y float64) { c.mark(x, y, s.Colour) })
	}
	if r.Target != "" {
		c.legend(len(r.Series), r.Target, c.target)
	}
}

// high is the greatest of what is marked.
func (r Rows) high() (high float64) {
	for _, row := range r.Rows {
		for _, v := range row.Values {
			high = max(high, v)
		}
		if r.Target != "" {
			high = max(high, row.Target)
		}
	}
	return high
}

// rowName writes a row's name before it, smaller where it has many wide letters.
func (c *canvas) rowName(y float64, name string) {
	const gap = 8
	c.printf(`<text x="%d" y="%s" text-anchor="end"%s>%s</text>`+"\n", rowLeft-gap, Coordinate(y), fitted(name, rowLeft-2*gap), markup.Escape(name))
}

// fitted is the attribute that makes a text fit the room, if it is likely to be longer. It
// is the font's size, as not every viewer knows textLength.
func fitted(name string, room float64) string {
	length := textWidth(name)
	if length <= room {
		return ""
	}
	return ` font-size="` + Coordinate(fontSize*room/length) + `"`
}

// textWidth is what a text takes in common fonts of this size, and a little more.
func textWidth(text string) (length float64) {
	for _, r := range text {
		if r == 'm' || r == 'w' || r > 0x2000 {
			length += 13
		} else {
			length += 7.6
		}
	}
	return length
}

// target is an upright bar.
func (c *canvas) target(x, y float64) { c.rule("target", x, y-8, x, y+8) }

// mark is full, or hollow where a colour is used again.
func (c *canvas) mark(x, y float64, i int) {
	opacity := ".85"
	if i%(2*colours) >= colours {
		opacity = "0"
	}
	c.printf(`<circle cx="%s" cy="%s" r="4" fill="%s" fill-opacity="%s" stroke="%s"/>`+"\n",
		Coordinate(x), Coordinate(y), colour(i), opacity, colour(i))
}
