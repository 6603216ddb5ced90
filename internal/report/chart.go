package report

import (
	"fmt"
	"math"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/plot"
)

// Timeline draws the lanes and the fires. Link is where a run's page is; nil: there is none.
func (p Report) Timeline(link func(fleet.RunID) string) plot.Timeline {
	t := plot.Timeline{
		Title: "Lanes", From: p.LanesFrom(), To: p.To, Mark: "fire", Series: OutcomeSeries(),
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
		t.Marks = append(t.Marks, plot.TimelineMark{At: f.At, Title: fmt.Sprintf("fire %d, %s", f.ID, f.At.UTC().Format(time.RFC3339))})
	}
	return t
}

func (h Held) span(link func(fleet.RunID) string) plot.TimelineSpan {
	outcome := string(h.Outcome)
	if outcome == "" {
		outcome = "open"
	}
	s := plot.TimelineSpan{
		From: h.AcquiredAt, To: h.ReleasedAt, Open: h.ReleasedAt.IsZero(), Colour: OutcomeColour(h.Outcome), Title: outcome,
	}
	if h.Grade != nil {
		s.Title += fmt.Sprintf(" %.2f", *h.Grade)
	}
	if h.Task != "" {
		s.Title += ", " + string(h.Task)
	}
	s.Title += fmt.Sprintf(", run %s, %s", h.Run, h.AcquiredAt.UTC().Format(time.RFC3339))
	if link != nil {
		s.Link = link(h.Run)
	}
	return s
}

// OutcomeColour is how an outcome looks in every picture.
func OutcomeColour(o fleet.Outcome) int {
	switch o {
	case fleet.Productive:
		return plot.Green
	case fleet.Noop, fleet.Nothing:
		return plot.Ochre
	case fleet.Failed, fleet.Timeout, fleet.Lost, fleet.Abandoned:
		return plot.Vermilion
	case fleet.Quota, fleet.Unavailable, fleet.Cancelled:
		return plot.Violet
	case fleet.Busy, fleet.RunDenied, fleet.Idle:
		return plot.Grey
	}
	return plot.Sky // open
}

// OutcomeSeries is the legend of the outcomes' colours.
func OutcomeSeries() []plot.Series {
	return []plot.Series{
		{Name: "productive", Colour: OutcomeColour(fleet.Productive)},
		{Name: "noop, nothing", Colour: OutcomeColour(fleet.Noop)},
		{Name: "failed, timeout, lost", Colour: OutcomeColour(fleet.Failed)},
		{Name: "quota, unavailable, cancelled", Colour: OutcomeColour(fleet.Quota)},
		{Name: "no work", Colour: OutcomeColour(fleet.Idle)},
		{Name: "open", Colour: OutcomeColour("")},
	}
}

// Shares draws what each category got of the sessions.
func (p Report) Shares() plot.Shares {
	s := plot.Shares{
		Title: "Share of the sessions", X: "part of all sessions", Target: "share", Range: "floor to cap",
		Series: []plot.Series{{Name: "got", Colour: plot.Blue}, {Name: "neglected or over-allocated", Colour: plot.Vermilion}},
	}
	for _, c := range p.Categories {
		highest := 1.0
		if p.Cap > 0 {
			highest = p.Cap * c.Share
		}
		colour := plot.Blue
		if c.Judgement != Fair {
			colour = plot.Vermilion
		}
		s.Shares = append(s.Shares, plot.Share{
			Name: string(c.Category), Part: c.Part, Target: c.Share, Low: p.Floor * c.Share, High: highest, Colour: colour,
			Note: fmt.Sprintf("%s: %d sessions, %s of all; its share is %s", c.Category, c.Sessions, Percent(c.Part), Percent(c.Share)),
		})
	}
	return s
}

// Densities draws what the grades say of each category that has any.
func (p Report) Densities() plot.Density {
	d := plot.Density{Title: "Mean grade, as the grades tell", X: "mean grade"}
	for i, c := range p.Categories {
		if c.Graded == 0 {
			continue
		}
		low, high := c.Interval()
		d.Curves = append(d.Curves, plot.DensityCurve{
			Series: plot.Series{Name: string(c.Category), Colour: i}, Points: densityPoints(c.Posterior()), Mean: c.Mean(),
			Note: fmt.Sprintf("%s: %.2f of %d grades, %.2f to %.2f", c.Category, c.Mean(), c.Graded, low, high),
		})
	}
	return d
}

// densityPoints are close where the density is, however narrow that is.
func densityPoints(b bandit.Beta) (list []plot.Point) {
	const points = 120
	reach := max(0.02, 5*b.SD())
	low, high := max(0, b.Mean()-reach), min(1, b.Mean()+reach)
	for i := range points + 1 {
		x := low + (high-low)*float64(i)/points
		list = append(list, plot.Point{X: x, Y: density(b, x)})
	}
	return list
}

// density is that of a Beta distribution whose parameters are at least 1, at a place in
// [0,1]. It is not scaled to an area of 1, as only its shape is drawn; its logarithm is
// taken off at the mode, where it is highest, so that it can be held.
func density(b bandit.Beta, x float64) float64 {
	mode := 0.5
	if b.A+b.B > 2 {
		mode = (b.A - 1) / (b.A + b.B - 2)
	}
	return math.Exp(logKernel(b, x) - logKernel(b, mode))
}

func logKernel(b bandit.Beta, x float64) float64 {
	return times(b.A-1, math.Log(x)) + times(b.B-1, math.Log1p(-x))
}

// times is a product that is 0 where the first factor is, even if the other is infinite.
func times(factor, log float64) float64 {
	if factor == 0 {
		return 0
	}
	return factor * log
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
		for _, c := range s.Categories {
			if c.Graded == 0 {
				continue
			}
			d.Dots = append(d.Dots, plot.Dot{
				At: s.From.Add(p.Step / 2), Value: c.Mean(), Of: c.Graded, Colour: colours[c.Category],
				Title: fmt.Sprintf("%s: %.2f of %d from %s", c.Category, c.Mean(), c.Graded, s.From.UTC().Format(time.RFC3339)),
			})
		}
	}
	for _, a := range p.Averages() {
		low, high := a.Interval()
		d.Mean = append(d.Mean, plot.DotMean{At: a.At, Value: a.Mean(), Low: low, High: high})
	}
	return d
}
