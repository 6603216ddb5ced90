package web

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/wire"
)

// pageRows is how many rows of the past a page shows. The next page begins where it ends,
// by id: nothing is counted, and nothing is read to be left out.
const pageRows = 50

type claimsBody struct {
	Held    []fleet.Claim
	Denials []fleet.DeniedClaim // newest first
}

func (s *site) claims(r *http.Request, e *inspect.Explainer) (view, error) {
	var b claimsBody
	held, err := e.HeldClaims(r.Context())
	if err != nil {
		return view{}, err
	}
	b.Held = held
	if b.Denials, err = e.Denials(r.Context(), pageRows); err != nil {
		return view{}, err
	}
	return view{Title: "Claims", Live: true, Events: "/events", Body: b, Object: wire.NewClaims(held)}, nil
}

type firesBody struct {
	Fires []fleet.Fire
	Older string // the address of the page before; empty: there is none
	Paged bool   // this is not the first
}

func (s *site) fires(r *http.Request, e *inspect.Explainer) (view, error) {
	before, err := fireNumber(r.URL.Query().Get("before"))
	if err != nil {
		return view{}, err
	}
	list, err := e.Fires(r.Context(), store.FireQuery{Before: before, Brief: true, Limit: pageRows + 1})
	if err != nil {
		return view{}, err
	}
	b := firesBody{Paged: before != 0}
	if len(list) > pageRows {
		list = list[:pageRows]
		b.Older = fmt.Sprintf("/fires?before=%d", list[pageRows-1].ID)
	}
	b.Fires = list
	return view{Title: "Fires", Live: !b.Paged, Events: "/events", Body: b, Object: wire.NewFires(list)}, nil
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

func (s *site) runs(r *http.Request, e *inspect.Explainer) (view, error) {
	q, err := runQuery(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	b := runsBody{
		Query: q, Categories: withAsked(e.Config.CategoryNames(), q.Category), Agents: withAsked(agentNames(e), q.Agent), Outcomes: fleet.Outcomes(),
		Paged: q.Before != "", Filtered: q.Category != "" || q.Task != "" || q.Outcome != "" || q.Agent != "" || q.Fire != 0,
	}
	q.Limit = pageRows + 1
	if b.Runs, err = e.Runs(r.Context(), q); err != nil {
		return view{}, err
	}
	if len(b.Runs) > pageRows {
		b.Runs = b.Runs[:pageRows]
		b.Older = "/runs?" + address(q, b.Runs[pageRows-1].ID)
	}
	return view{Title: "Runs", Live: !b.Paged, Events: "/events", Body: b, Object: wire.NewRuns(b.Runs)}, nil
}

// withAsked adds what is asked for to the names to choose from: the record knows some that
// the configuration has no more, and the form must say what the page shows.
func withAsked[Name ~string](names []Name, asked Name) []Name {
	if asked == "" || slices.Contains(names, asked) {
		return names
	}
	return append(slices.Clone(names), asked)
}

// runQuery reads what runs are asked for. A field that a form leaves empty is not asked for.
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

// address is the query of the page that begins before a run.
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

// part is the last part of a request's path, without what asks for JSON.
func part(r *http.Request, name string) string {
	return strings.TrimSuffix(r.PathValue(name), ".json")
}

func agentNames(e *inspect.Explainer) []string { return slices.Sorted(maps.Keys(e.Config.Agents)) }
