package web

import (
	"fmt"
	"net/http"
	"slices"

	"stint/internal/fleet"
	"stint/internal/inspect"
	h "stint/internal/markup"
	"stint/internal/review"
	"stint/internal/view"
)

// reviewBody is the work that waits for review.
type reviewBody struct {
	Target string
	Items  []review.Item // the first of them, in the order in which they are best looked at
	More   int
	Tasks  []fleet.Task // in review with no item
}

// mostItems is how many items a page lists: more than anybody looks through in a day.
const mostItems = 200

func (s *site) review(r *http.Request, e *inspect.Explainer) (content, error) {
	v := content{Title: "Review", Live: true, Events: "/events"}
	var (
		target review.Target
		items  []review.Item
		left   = map[fleet.RunID]string{}
	)
	if e.Work != nil {
		var err error
		if target, items, err = e.Review(r.Context()); err != nil {
			return content{}, err
		}
		if left, err = e.LeftBeside(r.Context(), items); err != nil {
			return content{}, err
		}
	}
	tasks, err := e.TasksInReview(r.Context(), items)
	if err != nil {
		return content{}, err
	}
	items = slices.DeleteFunc(items, func(i review.Item) bool { return !i.Open() })
	shown := items[:min(len(items), mostItems)]
	v.Body = &reviewBody{target.Name, shown, len(items) - len(shown), tasks}
	v.Object = view.Review(target, tasks, left, e.Now()).JSON(items)
	return v, nil
}

func (b *reviewBody) html(f frame) h.HTML {
	more := fmt.Sprintf("%d more wait: ", b.More)
	return h.Join(
		h.El("h1", "Review"),
		h.If(b.Target != "", h.El("p", "Work that ", bdi(b.Target), " does not have, the item first whose review frees most.")),
		h.El("p", "In a terminal, ", code("stint review show RUN"), " shows one, ", code("stint review land RUN"), " brings it into the target branch, and ",
			code("stint review reject RUN --reason TEXT"), " gives the next session the reason."),
		view.Item().HTML(slices.Concat(b.Items, view.Beside(b.Tasks)),
			view.Page{ID: "review", Caption: "Waiting for review", None: "Nothing waits for review.", Now: f.Now}),
		h.If(b.More > 0, h.El("p", more, code("stint review"))),
	)
}
