package report

import (
	"fmt"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/plot"
)

// Charts returns the charts that have something to show. Link returns the address of a run's page; nil:
// there is none.
func (p Report) Charts(link func(fleet.RunID) string) (list []plot.Chart) {
	if t := p.Timeline(link); len(t.Rows) > 0 {
		list = append(list, t)
	}
	if d := p.Grades(); len(d.Dots) > 0 {
		list = append(list, d)
	}
	return list
}

// Timeline draws the lanes and the fires. Link returns the address of a run's page; nil: there is none.
func (p Report) Timeline(link func(fleet.RunID) string) plot.Timeline {
	t := plot.Timeline{
		Title: "Lanes", From: p.LanesFrom(), To: p.To, Mark: "fire", Series: MoodSeries(),
	}
	if t.From.After(p.From) && !p.AllRuns {
		t.Title = fmt.Sprintf("Lanes, the last %d runs", len(p.Runs))
	}
	for _, l := range p.Lanes {
		row := plot.TimelineRow{Name: fmt.Sprintf("%s.%d", l.Category, l.Number)}
		for _, h := range l.Held {
			row.Spans = append(row.Spans, h.span(link))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, f := range p.Fires {
		t.Marks = append(t.Marks, plot.TimelineMark{At: f.At, Title: fmt.Sprintf("fire %d, %s", f.ID, plain.Stamp(f.At))})
	}
	return t
}

func (h Held) span(link func(fleet.RunID) string) plot.TimelineSpan {
	sign := h.Outcome.Sign()
	s := plot.TimelineSpan{
		From: h.AcquiredAt, To: h.ReleasedAt, Open: h.ReleasedAt.IsZero(), Colour: MoodColour(sign.Mood), Title: sign.Word,
	}
	if h.Grade != nil {
		s.Title += fmt.Sprintf(" %.2f", *h.Grade)
	}
	if h.Task != "" {
		s.Title += ", " + string(h.Task)
	}
	s.Title += fmt.Sprintf(", run %s, %s", h.Run, plain.Stamp(h.AcquiredAt))
	if link != nil {
		s.Link = link(h.Run)
	}
	return s
}

// MoodColour returns the colour of a mood in every picture.
func MoodColour(m fleet.Mood) int {
	switch m {
	case fleet.Good:
		return plot.Green
	case fleet.Vain:
		return plot.Ochre
	case fleet.Bad:
		return plot.Vermilion
	case fleet.Ended:
		return plot.Violet
	case fleet.NoWork:
		return plot.Grey
	case fleet.Alive, fleet.Coming:
	}
	return plot.Sky
}

// MoodSeries is the legend of the colours of runs.
func MoodSeries() (list []plot.Series) {
	for _, m := range fleet.Moods() {
		var words []string
		for _, o := range fleet.Outcomes() {
			if o.Sign().Mood == m {
				words = append(words, string(o))
			}
		}
		if m == fleet.Alive {
			words = []string{string(fleet.RunRunning)}
		}
		list = append(list, plot.Series{Name: strings.Join(words, ", "), Colour: MoodColour(m)})
	}
	return list
}

// Grades draws the mean grades of categories step by step, and how the mean of all went.
func (p Report) Grades() plot.Dots {
	d := plot.Dots{Title: "Grades over time", Y: "grade", From: p.From, To: p.To, Average: "mean, and its 95 % interval"}
	if !p.First.IsZero() {
		d.From = p.First
	}
	colours := map[fleet.Category]int{}
	for i, c := range p.Categories {
		colours[c.Category] = i
		if c.Graded > 0 {
			d.Series = append(d.Series, plot.Series{Name: string(c.Category), Colour: i})
		}
	}
	for _, s := range p.Steps {
		from := plain.Latest(s.From, d.From)
		middle := from.Add(min(s.From.Add(p.Step).Sub(from), d.To.Sub(from)) / 2)
		for _, c := range s.Categories {
			if c.Graded == 0 {
				continue
			}
			d.Dots = append(d.Dots, plot.Dot{
				At: middle, Value: c.Mean(), Of: c.Graded, Colour: colours[c.Category],
				Title: fmt.Sprintf("%s: %.2f of %d from %s", c.Category, c.Mean(), c.Graded, plain.Stamp(s.From)),
			})
		}
	}
	for _, a := range p.Averages() {
		e := a.Alone()
		d.Mean = append(d.Mean, plot.DotMean{At: a.At, Value: e.Mean, Low: e.Low, High: e.High})
	}
	return d
}
