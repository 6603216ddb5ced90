package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/review"
	"stint/internal/view"
)

// reviewBody shows the work that waits for review.
type reviewBody struct {
	Target string
	Items  []review.Item // the first of them, best first
	More   int
	Tasks  []fleet.Task // in review, without an item
}

// maxItems bounds the items on a page: nobody looks through more in a day.
const maxItems = 200

func (s *site) review(r *http.Request, e *inspect.Explainer) (content, error) {
	v := content{Title: "Review", Live: true}
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
	shown := items[:min(len(items), maxItems)]
	v.Body = &reviewBody{target.Name, shown, len(items) - len(shown), tasks}
	v.Object = view.Review(target, tasks, left, e.Now()).JSON(items)
	return v, nil
}

func (b *reviewBody) html(f frame) h.HTML {
	changes := view.Cell("Changes", "", func(i review.Item) any { return orDash(i.Run != "", link(workAddress(i.Run), "diff")) })
	more := fmt.Sprintf("%d more wait: ", b.More)
	return h.Join(
		h.El("h1", "Review"),
		h.If(b.Target != "", h.El("p", "Work that ", bdi(b.Target), " does not have, the most useful to review first.")),
		append(view.Item(), changes).HTML(slices.Concat(b.Items, view.Beside(b.Tasks)),
			view.Page{
				ID: "review", Caption: "Waiting for review", Now: f.Now,
				None: "Nothing waits for review. What a session commits is here with its diff, to be landed or rejected.",
			}),
		h.If(b.More > 0, h.El("p", more, code("stint review"))),
	)
}

// Work describes a session's work in review.
type Work struct {
	Target review.Target
	Item   review.Item
	Diff   string
	Cut    bool // the diff is longer than shown
}

func workAddress(run fleet.RunID) string { return "/review/" + string(run) }

func (s *site) work(r *http.Request, e *inspect.Explainer) (content, error) {
	id, err := runOf(r)
	if err != nil {
		return content{}, err
	}
	w, err := s.o.Work(r.Context(), e, id)
	return content{Title: "Review of run " + string(id), Body: w, Object: view.ReviewDiff(w.Target, w.Diff, w.Cut).JSON(w.Item)}, err
}

func (w Work) html(f frame) h.HTML {
	id := string(w.Item.Run)
	form := func(verb, name string, fields ...any) h.HTML {
		tip := h.El("input", h.Attr("type", "hidden"), h.Attr("name", "tip"), h.Attr("value", w.Item.Tip))
		return h.El("form.filter", h.Attr("method", "post"), h.Attr("action", workAddress(w.Item.Run)+"/"+verb), tip, fields,
			h.El("button", name))
	}
	reason := h.El("label", "Reason, for the next session ",
		h.El("input", h.Attr("name", "reason"), h.Attr("size", "60"), h.Attr("autocomplete", "off"), h.Flag("required", true)))
	return h.Join(
		h.El("h1", "Review of run ", link("/runs/"+id, id)),
		view.Item().HTML([]review.Item{w.Item}, view.Page{ID: "item", Caption: "Work of the session", Now: f.Now}),
		h.If(w.Item.Open(), h.Join(form("land", "Land on "+w.Target.Name), form("reject", "Reject", reason))),
		section("section", "diff", "Changes",
			h.If(w.Cut, h.El("p.unit", "It is cut: ", code("stint review diff "+id))),
			h.El("pre.log#diff", h.Attr("tabindex", "0"), h.Each(strings.Split(strings.TrimSuffix(w.Diff, "\n"), "\n"), diffLine))))
}

// diffLine shows a line of a diff, in the colour of its sign.
func diffLine(line string) h.HTML {
	class := ""
	switch {
	case strings.HasPrefix(line, "+"):
		class = ".good"
	case strings.HasPrefix(line, "-"):
		class = ".bad"
	}
	return h.Join(h.El("span"+class, h.Lines(line)), h.Trusted("\n"))
}

// maxForm bounds the body of a form, in bytes.
const maxForm = 64 << 10

// decide carries out a person's decision about a run's work, and shows the result.
func (s *site) decide(failed string, do func(*http.Request, fleet.RunID) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the check of a landing has a limit of its own
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		id, err := runOf(r)
		if err = errors.Join(err, r.ParseForm()); err == nil {
			err = do(r, id)
		}
		if err != nil {
			s.fail(w, r, failure{Status: http.StatusConflict, Title: failed, Text: err.Error(), Hint: fleet.Hint(err)})
			return
		}
		http.Redirect(w, r, workAddress(id), http.StatusSeeOther)
	}
}

// tasksBody lists the open tasks.
type tasksBody struct{ Tasks []view.TaskEntry }

func (s *site) tasks(r *http.Request, e *inspect.Explainer) (content, error) {
	list, err := s.o.Tasks(r.Context(), e)
	return content{Title: "Tasks", Live: true, Body: tasksBody{list}, Object: view.Tasks().JSON(list)}, err
}

func (b tasksBody) html(f frame) h.HTML {
	page := view.Page{ID: "tasks", Caption: "Open tasks", None: "No task is open.", Now: f.Now}
	return h.Join(h.El("h1", "Tasks"), view.Task().HTML(b.Tasks, page))
}
