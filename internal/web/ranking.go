package web

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/replay"
	"stint/internal/selector"
	"stint/internal/store"
	"stint/internal/wire"
)

// fireBody is a fire, and its ranking as it comes out when it is ranked again.
type fireBody struct {
	engine.FireReport
	Result    *replay.Result // nil: it cannot be ranked again
	Why       string         // it cannot
	Scores    []scoreView
	Scale     string // what the bars' ends stand for
	Sentences []string
	Runs      map[fleet.RunID]engine.OpenRun // of the fire
	Others    []engine.OpenRun               // of these, those that no choice names
	Last      bool                           // there is none after it
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
func (s *site) ranking(r *http.Request, e *engine.Engine) (view, error) {
	id, err := fireNumber(r.URL.Query().Get("fire"))
	if err != nil {
		return view{}, err
	}
	last, err := lastFire(r.Context(), e)
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
	b, err := s.fireOf(r.Context(), e, id)
	if err != nil {
		return view{}, err
	}
	b.Last = id >= last
	v.Title, v.Body, v.Object = fmt.Sprintf("Ranking of fire %d", id), b, b.object()
	return v, nil
}

func (s *site) fire(r *http.Request, e *engine.Engine) (view, error) {
	id, err := fireNumber(part(r, "fire"))
	if err != nil {
		return view{}, err
	}
	last, err := lastFire(r.Context(), e)
	if err != nil {
		return view{}, err
	}
	b, err := s.fireOf(r.Context(), e, id)
	if err != nil {
		return view{}, err
	}
	b.Last = id >= last
	return view{Title: fmt.Sprintf("Fire %d", id), Live: b.Last, Events: "/events", Body: b, Object: b.object()}, nil
}

func lastFire(ctx context.Context, e *engine.Engine) (fleet.FireID, error) {
	if e.Store == nil {
		return 0, nil
	}
	fires, err := e.Store.LastFires(ctx, store.FireQuery{Brief: true, Limit: 1})
	if err != nil || len(fires) == 0 {
		return 0, err
	}
	return fires[0].ID, nil
}

// mostOfFire is how many runs of a fire are shown: more than it can start.
const mostOfFire = 200

func (s *site) fireOf(ctx context.Context, e *engine.Engine, id fleet.FireID) (b fireBody, err error) {
	if e.Store == nil || id == 0 {
		return b, fmt.Errorf("fire %d: %w", id, fleet.ErrNotFound)
	}
	if b.Fire, err = e.Store.Fire(ctx, id); err != nil {
		return b, err
	}
	runs, err := e.Runs(ctx, store.RunQuery{Fire: id, Limit: mostOfFire})
	if err != nil {
		return b, err
	}
	b.Runs = map[fleet.RunID]engine.OpenRun{}
	for _, r := range runs {
		b.Runs[r.ID] = r
	}
	named := map[fleet.RunID]bool{}
	for _, c := range b.Choices {
		named[c.Run] = true
	}
	for _, r := range runs {
		if !named[r.ID] {
			b.Others = append(b.Others, r)
		}
	}
	result, err := e.Replay(ctx, id)
	if err != nil {
		b.Why = err.Error()
		return b, nil //nolint:nilerr // an old record can be shown, if not ranked again
	}
	b.Result, b.Sentences = &result, result.Selection.Sentences(selector.Figures)
	b.Scores, b.Scale = scoresOf(result.Selection)
	return b, nil
}

func (b fireBody) object() wire.Ranking {
	var runs []engine.OpenRun
	for _, c := range b.Choices {
		if r, found := b.Runs[c.Run]; found {
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
