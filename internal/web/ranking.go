package web

import (
	"encoding/json"
	"fmt"
	"net/http"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/rank"
	"stint/internal/screen"
	"stint/internal/view"
)

// fireBody shows a fire, with its ranking computed anew.
type fireBody struct {
	inspect.FireDetail
	Scores    h.HTML
	Sentences []string
	ByID      map[fleet.RunID]fleet.RunStatus // of the fire
	Others    []fleet.RunStatus               // runs of the fire that no choice names
	Last      bool                            // it is the latest fire
}

// ranking explains the fire that was asked for, or the latest.
func (s *site) ranking(r *http.Request, e *inspect.Explainer) (content, error) {
	id, err := fireNumber(r.URL.Query().Get("fire"))
	if err != nil {
		return content{}, err
	}
	last, err := e.LastFire(r.Context())
	if err != nil {
		return content{}, err
	}
	v := content{Title: "Ranking", Live: id == 0, Body: rankingBody{}, Object: view.Ranking(nil, nil).JSON(fleet.Fire{})}
	if id == 0 {
		id = last
	}
	if id == 0 {
		return v, nil
	}
	d, err := e.FireDetail(r.Context(), id)
	if err != nil {
		return content{}, err
	}
	b := newFireBody(d, id >= last)
	v.Title, v.Body, v.Object = fmt.Sprintf("Ranking of fire %d", id), rankingBody{b}, b.object()
	return v, nil
}

// rankingBody shows a fire's ranking. Without an id there is no fire yet.
type rankingBody struct{ fireBody }

func (b rankingBody) html(f frame) h.HTML {
	if b.ID == 0 {
		return h.Join(h.El("h1", "Ranking"), empty("No fire yet: ", code("stint select --explain"), " ranks now."))
	}
	var remarks []any
	if b.Result != nil && !b.Result.Followed {
		remarks = append(remarks, " ", h.El("strong.warn", "Another selector's ranking was followed; this is what stint would have ranked."))
	}
	if b.Result != nil && len(b.Result.Differences) > 0 {
		remarks = append(remarks, " ", h.El("strong.bad", "Ranked again it differs from the record: ", code("stint replay"), " says where."))
	}
	ranking := h.Join(b.Scores, sentences(b.Sentences))
	if b.Why != "" {
		ranking = b.unranked()
	}
	address := func(id fleet.FireID) string { return fmt.Sprintf("/ranking?fire=%d", id) }
	return h.Join(
		h.El("h1", "Ranking of fire ", link(fireAddress(b.ID), b.ID)),
		h.El("p", view.When(b.At, f.Now), h.If(b.Pool != "", ", pool "+b.Pool), ".", remarks),
		ranking,
		b.neighbours(address, h.Join(" ", link("/ranking", "Last"))),
	)
}

// unranked says why there is no ranking.
func (b fireBody) unranked() h.HTML {
	return h.El("p.error", "It cannot be ranked again: ", bdi(b.Why))
}

// neighbours links to the fires before and after, and to the latest by the given link.
func (b fireBody) neighbours(address func(fleet.FireID) string, last any) h.HTML {
	older := link(address(b.ID-1), h.Attr("rel", "prev"), h.Attr("id", "older"), "Fire ", b.ID-1)
	newer := link(address(b.ID+1), h.Attr("rel", "next"), "Fire ", b.ID+1)
	return pager(h.If(b.ID > 1, older), h.If(!b.Last, h.Join(newer, last)))
}

func (s *site) fire(r *http.Request, e *inspect.Explainer) (content, error) {
	id, err := fireNumber(part(r, "fire"))
	if err != nil {
		return content{}, err
	}
	last, err := e.LastFire(r.Context())
	if err != nil {
		return content{}, err
	}
	d, err := e.FireDetail(r.Context(), id)
	if err != nil {
		return content{}, err
	}
	b := newFireBody(d, id >= last)
	return content{Title: fmt.Sprintf("Fire %d", id), Live: b.Last, Body: b, Object: b.object()}, nil
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
		b.Sentences = d.Result.Selection.Sentences(rank.Figures)
		b.Scores = view.Scores(d.Result.Selection).HTML
	}
	return b
}

func (b fireBody) html(f frame) h.HTML {
	ranker := dash
	if b.Result != nil {
		if ranker = "another selector"; b.Result.Followed {
			ranker = "stint"
		}
	}
	failed := b.Count(fleet.StartFailed)
	return h.Join(
		h.El("h1", "Fire ", b.ID),
		h.El("dl.facts",
			fact("When", view.When(b.At, f.Now), " ", unit(screen.Stamp(b.At))),
			h.If(b.Pool != "", fact("Pool", b.Pool)),
			fact("Started", b.Count(fleet.Spawn), " of at most ", b.Workers),
			fact("Skipped", b.Count(fleet.Skip)),
			h.If(failed > 0, h.El("div", h.El("dt", "Did not start"), h.El("dd.bad", failed))),
			fact("Ranked by", ranker),
			fact("Seed", code(b.Seed))),
		h.If(b.Fallback != "", h.El("p.warn", "! The external selector was not followed: ", bdi(b.Fallback))),
		section("section", "choices", "Decisions and reasons", b.choices()),
		h.If(len(b.Others) > 0, section("section", "more", "Sessions that followed", runs(b.Others, "", f.Now))),
		section("section", "ranking", "Its ranking", b.replayed()),
		b.neighbours(fireAddress, nil),
	)
}

// replayed shows the ranking, computed anew.
func (b fireBody) replayed() h.HTML {
	if b.Why != "" {
		return b.unranked()
	}
	var parts []any
	if b.Result != nil {
		for _, d := range b.Result.Differences {
			parts = append(parts, h.El("p.bad", "✗ differs: ", d.Field, ": recorded ", bdi(d.Recorded), ", replayed ", bdi(d.Replayed)))
		}
	}
	return h.Join(parts, sentences(b.Sentences), b.Scores)
}

func (b fireBody) choices() h.HTML {
	type choice = fleet.Choice
	result := view.Cell("Result", "", func(c choice) any {
		r, found := b.ByID[c.Run]
		if !found {
			return dash
		}
		return h.Join(view.State(r.Sign()), h.If(r.Final() != nil, h.Join(" ", grade(r.Final()))))
	})
	return append(view.Choice(), result).HTML(b.Choices, view.Page{ID: "choices", Caption: "In order of decision"})
}

func (b fireBody) object() json.RawMessage {
	var runs []fleet.RunStatus
	for _, c := range b.Choices {
		if r, found := b.ByID[c.Run]; found {
			runs = append(runs, r)
		}
	}
	return view.Ranking(b.Result, append(runs, b.Others...)).JSON(b.Fire)
}
