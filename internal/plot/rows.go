package plot

// Row is one line of marks.
type Row struct {
	Name   string
	Values []float64 // one per series
}

// Rows is a chart of marks on horizontal lines: of several series, row by row.
type Rows struct {
	Title, X string
	Series   []string
	Rows     []Row
}

const rowHeight = 24

func (r Rows) rowsHeight() int { return max(1, len(r.Rows)) * rowHeight }

func (r Rows) height() float64 {
	return float64(max(top+r.rowsHeight()+bottom, top+bottom+len(r.Series)*legendRow))
}

func (r Rows) draw(c *canvas) {
	high := 0.0
	for _, row := range r.Rows {
		for _, v := range row.Values {
			high = max(high, v)
		}
	}
	x, ticks := newAxis(0, high, left, width-right)
	floor := top + r.rowsHeight()
	c.title(r.Title)
	for _, v := range ticks {
		c.printf(`<line class="grid" x1="%s" x2="%s" y1="%d" y2="%d"/>`+"\n", coordinate(x.at(v)), coordinate(x.at(v)), top, floor)
		c.label(x.at(v), float64(floor+18), "middle", number(v))
	}
	c.printf(`<path class="axis" d="M%d %dV%dH%d"/>`+"\n", left, top, floor, width-right)
	c.label((left+width-right)/2, float64(floor+40), "middle", r.X)
	for i, row := range r.Rows {
		y := float64(top) + (float64(i)+0.5)*rowHeight
		c.printf(`<line class="grid" x1="%d" x2="%d" y1="%s" y2="%s"/>`+"\n", left, width-right, coordinate(y), coordinate(y))
		c.label(left-8, y+4, "end", shortened(row.Name))
		for j, v := range row.Values {
			c.mark(x.at(v), y, j)
		}
	}
	c.legend(r.Series)
}

// mark is full, or hollow where a colour is used again.
func (c *canvas) mark(x, y float64, i int) {
	opacity := ".85"
	if i >= colours {
		opacity = "0"
	}
	c.printf(`<circle cx="%s" cy="%s" r="4" fill="%s" fill-opacity="%s" stroke="%s"/>`+"\n",
		coordinate(x), coordinate(y), colour(i), opacity, colour(i))
}
