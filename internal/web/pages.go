package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/view"
)

// pageRows bounds the rows of the past on a page. The next page begins with the id at which this one ends: nothing is
// counted or skipped.
const pageRows = 50

type claimsBody struct {
	Held    []fleet.Claim
	Denials []fleet.DeniedClaim // newest first
}

func (s *site) claims(r *http.Request, e *inspect.Explainer) (content, error) {
	var b claimsBody
	held, err := e.HeldClaims(r.Context())
	if err != nil {
		return content{}, err
	}
	b.Held = held
	if b.Denials, err = e.Denials(r.Context(), pageRows); err != nil {
		return content{}, err
	}
	return content{Title: "Claims", Live: true, Body: b, Object: view.Claims().JSON(view.Held(held))}, nil
}

func (b claimsBody) html(f frame) h.HTML {
	return h.Join(
		h.El("h1", "Claims"),
		view.ListedClaim().HTML(view.Held(b.Held), view.Page{ID: "claims", Caption: "Held now", None: "No claim is held.", Now: f.Now}),
		section("section", "denials", "Last denials", view.Denial().HTML(b.Denials, view.Page{
			ID: "denials", Caption: "Denied claims: the worker went on to another task or category, or ended", Now: f.Now,
			None: "No worker was ever denied a claim.",
		})),
	)
}

type firesBody struct {
	Fires []fleet.Fire
	Older string // the address of the page with older rows; empty: there are none
	Paged bool   // it is not the first page
}

func (s *site) fires(r *http.Request, e *inspect.Explainer) (content, error) {
	before, err := fireNumber(r.URL.Query().Get("before"))
	if err != nil {
		return content{}, err
	}
	list, err := e.Fires(r.Context(), store.FireQuery{Before: before, Brief: true, Limit: pageRows + 1})
	if err != nil {
		return content{}, err
	}
	b := firesBody{Paged: before != 0}
	if len(list) > pageRows {
		list = list[:pageRows]
		b.Older = fmt.Sprintf("/fires?before=%d", list[pageRows-1].ID)
	}
	b.Fires = list
	return content{Title: "Fires", Live: !b.Paged, Body: b, Object: view.Fires().JSON(list)}, nil
}

func (b firesBody) html(f frame) h.HTML {
	none := "No fire yet."
	if b.Paged {
		none = "There is none before that."
	}
	return h.Join(h.El("h1", "Fires"), fires(b.Fires, none, f.Now), newestAndOlder(b.Paged, "/fires", b.Older))
}

// fireNumber reads the number of a fire; empty is 0.
func fireNumber(text string) (fleet.FireID, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("fire %q: want a number of 1 or more: %w", plain.Line(text), fleet.ErrUsage)
	}
	return fleet.FireID(n), nil
}

type runsBody struct {
	Runs       []fleet.RunStatus
	Query      store.RunQuery
	Categories []fleet.Category
	Agents     []string
	Outcomes   []fleet.Outcome
	Older      string
	Filtered   bool
	Paged      bool
}

func (s *site) runs(r *http.Request, e *inspect.Explainer) (content, error) {
	q, err := runQuery(r.URL.Query())
	if err != nil {
		return content{}, err
	}
	b := runsBody{
		Query: q, Categories: withAsked(e.Config.CategoryNames(), q.Category), Agents: withAsked(e.Config.AgentNames(), q.Agent), Outcomes: fleet.Outcomes(),
		Paged: q.Before != "", Filtered: q.Category != "" || q.Task != "" || q.Outcome != "" || q.Agent != "" || q.Fire != 0,
	}
	q.Limit = pageRows + 1
	if b.Runs, err = e.Runs(r.Context(), q); err != nil {
		return content{}, err
	}
	if len(b.Runs) > pageRows {
		b.Runs = b.Runs[:pageRows]
		b.Older = "/runs?" + address(q, b.Runs[pageRows-1].ID)
	}
	return content{Title: "Runs", Live: !b.Paged, Body: b, Object: view.Runs().JSON(b.Runs)}, nil
}

func (b runsBody) html(f frame) h.HTML {
	none := "Nothing has run yet."
	if b.Filtered || b.Paged {
		none = "No such run."
	}
	fire := fmt.Sprint(b.Query.Fire)
	return h.Join(
		h.El("h1", "Runs"),
		h.El("form.filter#filter", h.Attr("method", "get"), h.Attr("action", "/runs"),
			choose("Category", "category", b.Categories, b.Query.Category),
			choose("Outcome", "outcome", b.Outcomes, b.Query.Outcome),
			choose("Agent", "agent", b.Agents, b.Query.Agent),
			h.El("label", "Task ", h.El("input", h.Attr("name", "task"), h.Attr("value", string(b.Query.Task)), h.Attr("autocomplete", "off"), h.Attr("spellcheck", "false"))),
			h.If(b.Query.Fire != 0, h.El("input", h.Attr("type", "hidden"), h.Attr("name", "fire"), h.Attr("value", fire))),
			h.El("button", "Show"), h.If(b.Filtered, h.Join(" ", link("/runs", "all")))),
		h.If(b.Query.Fire != 0, h.El("p", "Of ", link(fireAddress(b.Query.Fire), "fire "+fire), ".")),
		runs(b.Runs, none, f.Now),
		newestAndOlder(b.Paged, "/runs", b.Older),
	)
}

// choose returns a form's choice of a name, or of any.
func choose[Name ~string](label, name string, list []Name, asked Name) h.HTML {
	options := h.Each(list, func(n Name) h.HTML {
		return h.El("option", h.Attr("value", string(n)), h.Flag("selected", n == asked), n)
	})
	return h.El("label", label+" ", h.El("select", h.Attr("name", name), h.El("option", h.Attr("value", ""), "any"), options))
}

// withAsked adds the name that was asked for to the choices. The record has names that the configuration no longer has,
// and the form must say what the page shows.
func withAsked[Name ~string](names []Name, asked Name) []Name {
	if asked == "" || slices.Contains(names, asked) {
		return names
	}
	return append(slices.Clone(names), asked)
}

// runQuery reads a form's query for runs. An empty field matches any run.
func runQuery(v url.Values) (q store.RunQuery, err error) {
	q = store.RunQuery{
		Task: fleet.TaskID(v.Get("task")), Outcome: fleet.Outcome(v.Get("outcome")), Agent: v.Get("agent"),
	}
	if q.Outcome != "" && !slices.Contains(fleet.Outcomes(), q.Outcome) {
		return q, fmt.Errorf("outcome %q: no run ends so: %w", plain.Line(string(q.Outcome)), fleet.ErrUsage)
	}
	var wrong [3]error
	if text := v.Get("category"); text != "" {
		q.Category, wrong[0] = fleet.ParseCategory(text)
	}
	if text := v.Get("before"); text != "" {
		q.Before, wrong[1] = fleet.ParseRunID(text)
	}
	q.Fire, wrong[2] = fireNumber(v.Get("fire"))
	if err := errors.Join(wrong[:]...); err != nil {
		return q, fmt.Errorf("%w: %w", err, fleet.ErrUsage)
	}
	return q, nil
}

// address returns the query of the page that begins before a run.
func address(q store.RunQuery, before fleet.RunID) string {
	v := url.Values{}
	for name, value := range map[string]string{
		"category": string(q.Category), "task": string(q.Task), "outcome": string(q.Outcome), "agent": q.Agent, "before": string(before),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Fire != 0 {
		v.Set("fire", fmt.Sprint(q.Fire))
	}
	return v.Encode()
}

// part returns the last part of a request's path, without ".json".
func part(r *http.Request, name string) string {
	return strings.TrimSuffix(r.PathValue(name), ".json")
}
