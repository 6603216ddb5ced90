package view

import (
	"fmt"
	"math"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/rank"
)

// scoreRow is one category in a ranking.
type scoreRow struct {
	rank.Score
	rank.Explain
}

// term is a part of a score, with a colour in the page.
type term struct {
	name, class string
	of          func(rank.Explain) float64
}

func terms() []term {
	return []term{
		{"Drew", "ts", func(e rank.Explain) float64 { return e.TS }},
		{"Lessons", "loo", func(e rank.Explain) float64 { return e.LOO }},
		{"Season", "season", func(e rank.Explain) float64 { return e.Season }},
		{"Load", "plateau", func(e rank.Explain) float64 { return e.Plateau }},
		{"Price", "price", func(e rank.Explain) float64 { return e.Price }},
		{"Debt", "div", func(e rank.Explain) float64 { return e.Div }},
	}
}

// Scores shows the terms of scores, in units of grade, and by how many sessions each category is below its floor or
// above its cap. The page draws all to one scale.
func Scores(s rank.Selection) Shown {
	rows := plain.Each(s.Scores, func(c rank.Score) scoreRow { return scoreRow{c, c.Explain(s.Settings)} })
	low, high := 0.0, 1.0
	for _, r := range rows {
		below, above := r.ends()
		low, high = min(low, below), max(high, above)
	}
	v := View[scoreRow]{
		TextLink("", "Category", "", func(r scoreRow) Ref { return OfCategory(r.Category) }),
		Sign("Starts", func(r scoreRow) (s fleet.Sign) {
			if r.Picked {
				s = fleet.Spawn.Sign()
				s.Word = "yes" // a ranking starts nothing by itself
			}
			return s
		}),
		Figure("", "Score", "", three, func(r scoreRow) *float64 {
			if !r.Score.In {
				return nil
			}
			return &r.Value
		}),
		Cell("Made of", ".wide", func(r scoreRow) any { return r.bars(low, high) }),
		Interval("Believed", func(r scoreRow) report.Estimate { return report.Estimate{Mean: r.Mean, Low: r.Low, High: r.High} }),
	}
	for _, t := range terms() {
		v = append(v, Figure("", t.name, "", signed, func(r scoreRow) *float64 {
			if x := t.of(r.Explain); math.Abs(x) >= 0.0005 {
				return &x
			}
			return nil
		}))
	}
	v = append(v,
		Share("", "Share", "", func(r scoreRow) float64 { return r.Explain.Share }),
		Figure("", "Floor", "", one, func(r scoreRow) *float64 { return &r.Deficit }),
		Figure("", "Cap", "", one, func(r scoreRow) *float64 { return &r.Surplus }),
		Int("", "Tasks", "", func(r scoreRow) int { return r.Explain.Tasks }),
		TextLink("", "Next", "", func(r scoreRow) (next Ref) {
			if r.Next != nil {
				next = OfTask(r.Next.ID)
			}
			return next
		}))
	shown := v.shows(rows, Page{
		ID: "scores", Class: ".scores", Caption: fmt.Sprintf("Scores and their parts, in units of grade; the bars are from %.2f to %.2f", low, high),
		Row: func(i int) h.Attribute {
			switch {
			case !rows[i].Score.In:
				return h.Attr("class", "out")
			case rows[i].Picked:
				return h.Attr("class", "picked")
			}
			return h.Attribute{}
		},
	})
	shown.HTML = h.Join(shown.HTML, h.El("p.legend", h.Each(terms(), func(t term) h.HTML {
		return h.Join(h.El("span.key.part-"+t.class), " ", t.name, " ")
	})))
	return shown
}

func three(x float64) string { return fmt.Sprintf("%.3f", x) }

func signed(x float64) string { return fmt.Sprintf("%+.3f", x) }

// ends sums up the terms below and above 0.
func (r scoreRow) ends() (below, above float64) {
	for _, t := range terms() {
		x := t.of(r.Explain)
		below, above = below+min(x, 0), above+max(x, 0)
	}
	return below, above
}

// bars draws the terms above 0 one after the other to the right, and those below 0 to the left.
func (r scoreRow) bars(low, high float64) h.HTML {
	at := func(x float64) string { return plot.Coordinate(100 * x / (high - low)) }
	left, right := 0.0, 0.0
	return Picture("parts", 10, h.Each(terms(), func(t term) (bar h.HTML) {
		x := t.of(r.Explain)
		switch {
		case x > 0:
			bar = Rect("part-"+t.class, at(right-low), at(x), 10)
			right += x
		case x < 0:
			left += x
			bar = Rect("part-"+t.class, at(left-low), at(-x), 10)
		}
		return bar
	}))
}
