package plot

import (
	"fmt"
	"slices"
	"time"

	"stint/internal/markup"
	"stint/internal/plain"
)

// Timeline shows what went on when: each row is a place in which one thing after the other
// happens.
type Timeline struct {
	Title    string
	From, To time.Time
	Rows     []TimelineRow
	Marks    []TimelineMark
	Series   []Series // what the colours of the spans mean
	Mark     string   // what the legend calls the marks; empty: it does not
}

// TimelineRow is one lane.
type TimelineRow struct {
	Name  string
	Spans []TimelineSpan // in any order
}

// TimelineSpan lasts from one time to another.
type TimelineSpan struct {
	From, To time.Time
	Colour   int
	Open     bool   // not over: it lasts to the end of the chart
	Title    string // shown by a browser under the pointer
	Link     string // to a path of the same site; others are dropped
}

// TimelineMark marks an instant, across all rows.
type TimelineMark struct {
	At    time.Time
	Title string
}

const (
	laneHeight = 26
	barHeight  = 16
	// thin is the width, in units of the picture, below which spans that follow each other
	// become one, and dense how near they must be.
	thin, dense = 0.5, 0.5
	// fewMarks are drawn through all rows; more would hide what is in them.
	fewMarks = 60
)

func (t Timeline) name() string { return t.Title }

func (t Timeline) linked() bool {
	return slices.ContainsFunc(t.Rows, func(r TimelineRow) bool {
		return slices.ContainsFunc(r.Spans, func(s TimelineSpan) bool { return markup.Local(s.Link) })
	})
}

func (t Timeline) keys() (list []key) {
	for _, s := range t.Series {
		list = append(list, key{s.Name, square(s.Colour)})
	}
	if t.Mark != "" {
		list = append(list, key{t.Mark, func(c *canvas, x, y float64) { c.tick(x, y+4, "") }})
	}
	return list
}

func (t Timeline) grid(room float64) grid {
	names := plain.Each(t.Rows, func(r TimelineRow) string { return r.Name })
	g := newGrid(room, laneHeight, names, t.keys())
	g.high += 8 // for the marks
	return g
}

func (t Timeline) height(room float64) float64 { return t.grid(room).floor() + footLine + 4 }

func (t Timeline) draw(c *canvas) {
	g := t.grid(c.width)
	x := newTimes(t.From, t.To, g.left, g.right)
	c.title(t.Title)
	c.keys(t.keys())
	for i := range t.Rows {
		c.printf(`<rect class="lane" x="%s" y="%s" width="%s" height="%d" rx="2"/>`+"\n",
			Coordinate(g.left), Coordinate(g.middle(i)-barHeight/2), Coordinate(g.right-g.left), barHeight)
	}
	x.ticks(c, g.high, g.floor())
	t.marks(c, x, g)
	g.rowNames(c)
	for i, row := range t.Rows {
		for _, b := range bars(row.Spans, x) {
			b.draw(c, g.middle(i)-barHeight/2)
		}
	}
}

// marks are ticks above the rows, and lines through them where they are few. Those that
// fall together become one.
func (t Timeline) marks(c *canvas, x times, g grid) {
	marks := slices.SortedStableFunc(slices.Values(t.Marks), func(a, b TimelineMark) int { return a.At.Compare(b.At) })
	marks = slices.DeleteFunc(marks, func(m TimelineMark) bool { return m.At.Before(x.from) || m.At.After(x.to) })
	few, near := len(marks) <= fewMarks, thin
	if !few {
		near = 4 // so that each tick can be seen
	}
	for i := 0; i < len(marks); {
		first, at := marks[i], x.place(marks[i].At)
		n := 1
		for i+n < len(marks) && x.place(marks[i+n].At)-at < near {
			n++
		}
		i += n
		if few {
			c.rule("mark", at, g.high, at, g.floor())
		}
		title := first.Title
		if n > 1 {
			title = fmt.Sprintf("%s, and %d more", title, n-1)
		}
		c.tick(at, g.high, title)
	}
}

// tick is a small triangle that points down at a place.
func (c *canvas) tick(x, y float64, title string) {
	c.printf(`<path class="tick" d="M%s %sl-3 -7h6Z">%s</path>`+"\n", Coordinate(x), Coordinate(y), c.tooltip(title))
}

// tooltip is the text that a browser shows under the pointer. Narrow screens are touched, and have
// none.
func (c *canvas) tooltip(title string) string {
	if title == "" || c.width < width {
		return ""
	}
	return "<title>" + markup.Escape(title) + "</title>"
}

// bar is a span, or several too thin to be seen apart, as it is drawn.
type bar struct {
	TimelineSpan
	start, end float64
	spans      int
}

// bars returns the bars to draw of a row. There are no more of them than the picture has room for,
// however many spans there are.
func bars(spans []TimelineSpan, x times) (list []bar) {
	counts := map[int]int{} // spans of a colour in the last bar, when it is of several
	for _, s := range slices.SortedStableFunc(slices.Values(spans), func(a, b TimelineSpan) int { return a.From.Compare(b.From) }) {
		if s.Open || s.To.After(x.to) {
			s.To = x.to
		}
		if s.From.After(x.to) || s.To.Before(x.from) || s.To.Before(s.From) {
			continue
		}
		b := bar{s, x.place(s.From), x.place(s.To), 1}
		if len(list) == 0 || !list[len(list)-1].takes(b) {
			clear(counts)
			counts[s.Colour] = 1
			list = append(list, b)
			continue
		}
		last := &list[len(list)-1]
		counts[s.Colour]++
		if n := counts[last.Colour]; counts[s.Colour] > n {
			last.Colour = s.Colour
		}
		last.spans++
		last.end = max(last.end, b.end)
		last.To = plain.Latest(last.To, s.To)
		last.Open = last.Open || s.Open
	}
	return list
}

// takes reports whether both are so thin, and so near, that they are drawn as one, which is
// never wider than a bar must be to be seen.
func (b bar) takes(next bar) bool {
	return max(b.end-b.start, next.end-b.start) < 2*thin && next.end-next.start < thin && next.start-b.end < dense &&
		(b.spans > 1 || b.end-b.start < thin)
}

// draw draws a bar of at least one unit, as part of a link where it has one.
func (b bar) draw(c *canvas, y float64) {
	class, title, linked := "bar", b.Title, markup.Local(b.Link)
	if b.Open {
		class += " open"
	}
	if b.spans > 1 {
		title = fmt.Sprintf("%d from %s to %s", b.spans, plain.Stamp(b.From), plain.Stamp(b.To))
		linked = false
	}
	if linked {
		c.printf(`<a href="%s" aria-label="%s">`, markup.Escape(b.Link), markup.Escape(title))
	}
	c.printf(`<rect class="%s" x="%s" y="%s" width="%s" height="%d" fill="%s">%s</rect>`,
		class, Coordinate(b.start), Coordinate(y), Coordinate(max(1, b.end-b.start)), barHeight, colour(b.Colour), c.tooltip(title))
	if linked {
		c.printf("</a>")
	}
	c.printf("\n")
}
