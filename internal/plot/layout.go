package plot

import (
	"time"

	"stint/internal/markup"
	"stint/internal/plain"
)

// Charts in rows have the rows' names beside them where there is room, and else above.
const (
	margin    = 12 // at both sides
	minName   = 80 // room for names beside
	maxName   = 220
	rowName   = 32 // characters: a category's name is no longer
	nameLine  = 18 // above
	titleLine = 36
	footLine  = 26 // for the labels below
	footTitle = 18
	letter    = 7.2 // what a letter takes in common fonts of this size
)

// grid places the rows of a chart.
type grid struct {
	above      bool // the names are
	names      []string
	left, high float64
	right, row float64
}

// newGrid lays out rows below a title and a legend.
func newGrid(room, row float64, names []string, keys []key) grid {
	g := grid{above: room < width, high: titleLine + legendHeight(room, keys), right: room - 2*margin, row: row, names: names}
	if g.above {
		g.left = margin
		g.row += nameLine
		return g
	}
	g.left = minName
	for _, name := range names {
		g.left = max(g.left, margin+2*nameGap+textWidth(plain.Short(name, rowName)))
	}
	g.left = min(g.left, maxName)
	return g
}

// nameGap is between a name and its row.
const nameGap = 8

// floor is the end of the rows.
func (g grid) floor() float64 { return g.high + g.row*float64(max(1, len(g.names))) }

// middle is that of a row's place for drawing, without its name.
func (g grid) middle(i int) float64 {
	y := g.high + g.row*float64(i)
	if g.above {
		return y + (g.row+nameLine)/2
	}
	return y + g.row/2
}

// rowNames writes the rows' names.
func (g grid) rowNames(c *canvas) {
	for i, name := range g.names {
		name = plain.Short(name, rowName)
		if g.above {
			c.label(margin, g.high+g.row*float64(i)+nameLine-5, "start", name)
			continue
		}
		c.printf(`<text x="%s" y="%s" text-anchor="end"%s>%s</text>`+"\n",
			Coordinate(g.left-nameGap), Coordinate(g.middle(i)+4), fitted(name, g.left-2*nameGap), markup.Escape(name))
	}
}

// key is an entry of a legend.
type key struct {
	name   string
	sample func(c *canvas, x, y float64) // draws around a place
}

// square is the sample of a filled colour.
func square(i int) func(*canvas, float64, float64) {
	return func(c *canvas, x, y float64) {
		c.printf(`<rect class="bar" x="%s" y="%s" width="12" height="12" rx="2" fill="%s"/>`+"\n", Coordinate(x-6), Coordinate(y-6), colour(i))
	}
}

// keys draws a legend below the title, in as many lines as it takes.
func (c *canvas) keys(keys []key) {
	walk(c.width, keys, func(k key, x, y float64) {
		k.sample(c, x+6, titleLine+y+8)
		c.label(x+18, titleLine+y+12, "start", plain.Short(k.name, rowName))
	})
}

func legendHeight(room float64, keys []key) float64 {
	if len(keys) == 0 {
		return 0
	}
	last := 0.0
	walk(room, keys, func(_ key, _, y float64) { last = y })
	return last + legendRow + 6
}

// walk gives each entry its place.
func walk(room float64, keys []key, place func(k key, x, y float64)) {
	x, y := float64(margin), 0.0
	for _, k := range keys {
		const sample, gap = 18, 18
		length := sample + letter*float64(len([]rune(plain.Short(k.name, rowName)))) + gap
		if x > margin && x+length > room {
			x, y = margin, y+legendRow
		}
		place(k, x, y)
		x += length
	}
}

// times maps instants to coordinates.
type times struct {
	axis
	from time.Time
	to   time.Time
}

func newTimes(from, to time.Time, start, end float64) times {
	if !to.After(from) {
		to = from.Add(time.Minute)
	}
	return times{axis{0, to.Sub(from).Seconds(), start, end}, from, to}
}

func (a times) place(t time.Time) float64 { return a.at(t.Sub(a.from).Seconds()) }

// ticks draws the times at which the clock of Greenwich is round, as many as there is room
// for, from the upper end of the rows to the lower.
func (a times) ticks(c *canvas, high, floor float64) {
	const label = 62 // room for one
	step := a.step(int((a.end - a.start) / label))
	for t := a.from.UTC().Truncate(step); !t.After(a.to); t = t.Add(step) {
		if t.Before(a.from) {
			continue
		}
		x, text := a.place(t), tickTime(t, step)
		c.rule("grid", x, high, x, floor)
		half := textWidth(text) / 2
		c.label(min(max(x, half), c.width-half), floor+18, "middle", text)
	}
}

// step is the least round one with at most so many ticks.
func (a times) step(most int) time.Duration {
	const day = 24 * time.Hour
	steps := []time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour,
		6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day,
	}
	for _, s := range steps {
		if a.to.Sub(a.from)/s < time.Duration(max(1, most)) {
			return s
		}
	}
	const year = 364 // days: whole weeks, as the steps before
	years := int(a.to.Sub(a.from)/(year*day))/max(1, most) + 1
	return time.Duration(years*year) * day
}

// tickTime is the day at midnight, and else the time of the day.
func tickTime(t time.Time, step time.Duration) string {
	switch {
	case step >= 91*24*time.Hour:
		return t.Format("Jan 2006")
	case t.Hour() == 0 && t.Minute() == 0:
		return t.Format("2 Jan")
	default:
		return t.Format("15:04")
	}
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

// textWidth estimates the width of a text in common fonts of this size, a little too high.
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
