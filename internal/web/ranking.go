package web

import (
	"fmt"
	"math"
	"net/http"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/selector"
	"stint/internal/wire"
)

// fireBody is a fire, and its ranking as it comes out when it is ranked again.
type fireBody struct {
	inspect.FireDetail
	Scores    []scoreView
	Scale     string // what the bars' ends stand for
	Sentences []string
	ByID      map[fleet.RunID]fleet.RunStatus // of the fire
	Others    []fleet.RunStatus               // of these, those that no choice names
	Last      bool                            // there is none after it
}

// scoreView is a category's line of a ranking.
type scoreView struct {
	selector.Score
	selector.Explain
	Picked bool
	Place  int // from 1; 0: it is out
	Bars   []barView
	// The belief, on a scale of its own: from 0 to 1, as grades are.
	Low, Width, Mean string
}

// barView is one part of a score as a bar, in the hundred units of the picture's width.
type barView struct{ Class, X, Width string }

// ranking explains the last fire, or the one that is asked for.
func (s *site) ranking(r *http.Request, e *inspect.Explainer) (view, error) {
	id, err := fireNumber(r.URL.Query().Get("fire"))
	if err != nil {
		return view{}, err
	}
	last, err := e.LastFire(r.Context())
	if err != nil {
		return view{}, err
	}
	v := view{Title: "Ranking", Live: id == 0, Events: "/events", Body: fireBody{}, Object: wire.NewRanking(fleet.Fire{}, nil, nil)}
	if id == 0 {
		id = last
	}
	if id == 0 {
		return v, nil
	}
	d, err := e.FireDetail(r.Context(), id)
	if err != nil {
		return view{}, err
	}
	b := newFireBody(d, id >= last)
	v.Title, v.Body, v.Object = fmt.Sprintf("Ranking of fire %d", id), b, b.object()
	return v, nil
}

func (s *site) fire(r *http.Request, e *inspect.Explainer) (view, error) {
	id, err := fireNumber(part(r, "fire"))
	if err != nil {
		return view{}, err
	}
	last, err := e.LastFire(r.Context())
	if err != nil {
		return view{}, err
	}
	d, err := e.FireDetail(r.Context(), id)
	if err != nil {
		return view{}, err
	}
	b := newFireBody(d, id >= last)
	return view{Title: fmt.Sprintf("Fire %d", id), Live: b.Last, Events: "/events", Body: b, Object: b.object()}, nil
}

// newFireBody lays out a fire.
func newFireBody(d inspect.FireDetail, last bool) fireBody {
	b := fireBody{FireDetail: d, ByID: map[fleet.RunID]fleet.RunStatus{}, Last: last}
	named := map[fleet.RunID]bool{}
	for _, c := range d.Choices {
		named[c.Run] = true
	}
	for _, r := range d.Runs {
		if b.ByID[r.ID] = r; !named[r.ID] {
			b.Others = append(b.Others, r)
		}
	}
	if d.Result != nil {
		b.Sentences = d.Result.Selection.Sentences(selector.Figures)
		b.Scores, b.Scale = scoresOf(d.Result.Selection)
	}
	return b
}

func (b fireBody) object() wire.Ranking {
	var runs []fleet.RunStatus
	for _, c := range b.Choices {
		if r, found := b.ByID[c.Run]; found {
			runs = append(runs, r)
		}
	}
	return wire.NewRanking(b.Fire, b.Result, append(runs, b.Others...))
}

// scoresOf draws the scores to one scale: terms that add to a score to the right of nothing,
// terms that take from it to the left.
func scoresOf(s selector.Selection) (list []scoreView, scale string) {
	low, high := 0.0, 1.0
	for _, c := range s.Scores {
		above, below := 0.0, 0.0
		for _, p := range partsOf(c) {
			above, below = above+max(p.value, 0), below+min(p.value, 0)
		}
		low, high = min(low, below), max(high, above)
	}
	at := func(v float64) string { return plot.Coordinate((v - low) / (high - low) * 100) }
	wide := func(v float64) string { return plot.Coordinate(math.Abs(v) / (high - low) * 100) }
	for i, c := range s.Scores {
		v := scoreView{Score: c, Explain: c.Explain(s.Settings), Picked: c.Picked}
		if c.In {
			v.Place = i + 1
		}
		v.Low, v.Width, v.Mean = plot.Coordinate(100*v.Explain.Low), plot.Coordinate(100*(v.Explain.High-v.Explain.Low)), plot.Coordinate(100*v.Explain.Mean)
		right, left := 0.0, 0.0
		for _, p := range partsOf(c) {
			switch {
			case p.value > 0:
				v.Bars = append(v.Bars, barView{p.class, at(right), wide(p.value)})
				right += p.value
			case p.value < 0:
				left += p.value
				v.Bars = append(v.Bars, barView{p.class, at(left), wide(p.value)})
			}
		}
		list = append(list, v)
	}
	return list, plain.Line(fmt.Sprintf("%.2f to %.2f", low, high))
}

type scorePart struct {
	class string
	value float64
}

func partsOf(c selector.Score) []scorePart {
	return []scorePart{{"ts", c.TS}, {"div", c.Div}, {"loo", c.Components.LOO}, {"season", c.Season}, {"plateau", c.Plateau}}
}
