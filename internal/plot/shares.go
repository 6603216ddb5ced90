package plot

import "stint/internal/plain"

// Shares compares, row by row, what something got of a whole with what it was to get.
type Shares struct {
	Title, X string
	Series   []Series // what the colours of the parts mean
	Target   string   // what the legend calls what was to be got
	Range    string   // and the range around that
	Shares   []Share
}

// Share is one row. All are parts of the whole, in [0,1].
type Share struct {
	Name      string
	Part      float64
	Target    float64
	Low, High float64 // the range around the target
	Colour    int
	Note      string // shown by a browser under the pointer
}

const shareHeight = 28

func (s Shares) name() string { return s.Title }
func (s Shares) linked() bool { return false }

func (s Shares) keys() (list []key) {
	for _, series := range s.Series {
		list = append(list, key{series.Name, square(series.Colour)})
	}
	return append(
		list,
		key{s.Target, func(c *canvas, x, y float64) { c.target(x, y) }},
		key{s.Range, func(c *canvas, x, y float64) {
			c.printf(`<rect class="range" x="%s" y="%s" width="16" height="16"/>`+"\n", Coordinate(x-8), Coordinate(y-8))
		}},
	)
}

func (s Shares) grid(room float64) grid {
	names := plain.Each(s.Shares, func(row Share) string { return row.Name })
	return newGrid(room, shareHeight, names, s.keys())
}

func (s Shares) height(room float64) float64 {
	return s.grid(room).floor() + footLine + footTitle
}

func (s Shares) draw(c *canvas) {
	g := s.grid(c.width)
	highest := 0.0
	for _, row := range s.Shares {
		highest = max(highest, row.Part, row.Target, min(1, row.High))
	}
	x, ticks := newAxis(0, highest, g.left, g.right)
	c.title(s.Title)
	c.keys(s.keys())
	for _, v := range ticks {
		c.rule("grid", x.at(v), g.high, x.at(v), g.floor())
		c.label(x.at(v), g.floor()+18, "middle", number(v*100)+"%")
	}
	c.label((g.left+g.right)/2, g.floor()+18+footTitle, "middle", s.X)
	g.rowNames(c)
	for i, row := range s.Shares {
		y := g.middle(i)
		low, high := x.at(max(0, row.Low)), x.at(min(x.high, row.High))
		c.printf(`<rect class="range" x="%s" y="%s" width="%s" height="20"/>`+"\n", Coordinate(low), Coordinate(y-10), Coordinate(max(0, high-low)))
		c.printf(`<rect class="bar" x="%s" y="%s" width="%s" height="10" rx="2" fill="%s">%s</rect>`+"\n",
			Coordinate(g.left), Coordinate(y-5), Coordinate(max(0, x.at(row.Part)-g.left)), colour(row.Colour), c.tooltip(row.Note))
		c.target(x.at(row.Target), y)
	}
}
