// Package web shows the fleet to browsers and Prometheus: pages, a JSON object for each, and whether something has
// changed. It reads the fleet anew for every request, keeps no answer, and carries out what a person decides about work
// in review.
//
// Every page works without a script, by reloading; a script replaces its content when something has changed. Nothing is
// fetched from other sites. The words of tasks, agents, logs and other people end up as text: package markup escapes
// them and shows control characters and marks that reorder text; the content-security policy forbids whatever we did not
// write ourselves.
package web

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plot"
	"stint/internal/screen"
	"stint/internal/view"
)

// Options configure the pages.
type Options struct {
	// With runs a function with the fleet as it is at that moment. Many requests may call it at once. Its engine's store
	// is nil while nothing has run.
	With      func(context.Context, func(*inspect.Explainer) error) error
	Fleet     fleet.Name
	Version   string // of stint
	Token     string // requests must bring it; if it is empty, all are refused
	TokenFile string // the file that holds it
	// Tasks returns the open tasks.
	Tasks func(context.Context, *inspect.Explainer) ([]view.TaskEntry, error)
	// Work returns a session's work in review.
	Work func(context.Context, *inspect.Explainer, fleet.RunID) (Work, error)
	// Land and Reject decide about a run's work at the commit that the person saw. They end with the server, not with
	// the request: a check may take longer than a browser waits.
	Land   func(run fleet.RunID, tip string) error
	Reject func(run fleet.RunID, tip, reason string) error
	Open   func(path string) (*os.File, error) // opens a log, and refuses anything else
	Hosts  []string                            // names in the page's address, beside localhost and addresses
	Log    *slog.Logger
	Now    func() time.Time
}

type site struct {
	o       Options
	working chan struct{} // bounds the requests that read the fleet at once
	summing chan struct{} // held by the one request that sums up the record

	looks    sync.Mutex
	lookedAt time.Time // when the version was read
	last     string    // the version then
}

// maxLooks bounds the requests that read the store at once: each opens it for itself. Others wait.
const maxLooks = 16

// takenWithin bounds the time in which a client must take a finished page.
const takenWithin = 30 * time.Second

//go:embed static
var files embed.FS

// New returns the handler of all pages.
func New(o Options) http.Handler {
	s := &site{o: o, working: make(chan struct{}, maxLooks), summing: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	for _, p := range []struct {
		path string
		page page
		look look
	}{
		{"/{$}", s.status, s.with},
		{"/status.json", s.status, s.with},
		{"/ranking", s.ranking, s.with},
		{"/review", s.review, s.alone},
		{"/review/{run}", s.work, s.alone},
		{"/tasks", s.tasks, s.with},
		{"/claims", s.claims, s.with},
		{"/fires", s.fires, s.with},
		{"/fires/{fire}", s.fire, s.with},
		{"/runs", s.runs, s.with},
		{"/runs/{run}", s.run, s.with},
		{"/report", s.report, s.alone},
	} {
		mux.Handle("GET "+p.path, s.page(p.page, p.look))
		if !strings.ContainsAny(p.path, "{.") {
			mux.Handle("GET "+p.path+".json", s.page(p.page, p.look))
		}
	}
	mux.HandleFunc("POST /review/{run}/land", s.decide("Not landed", func(r *http.Request, run fleet.RunID) error {
		return s.o.Land(run, r.PostFormValue("tip"))
	}))
	mux.HandleFunc("POST /review/{run}/reject", s.decide("Not rejected", func(r *http.Request, run fleet.RunID) error {
		return s.o.Reject(run, r.PostFormValue("tip"), r.PostFormValue("reason"))
	}))
	mux.HandleFunc("GET /runs/{run}/log", s.log)
	mux.HandleFunc("GET /runs/{run}/changes", s.runChanged)
	mux.HandleFunc("GET /changes", s.changed)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", s.healthz)
	for name, kind := range map[string]string{
		"style.css": "text/css; charset=utf-8", "script.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		mux.HandleFunc("GET /"+name, asset(name, kind))
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, failure{Status: http.StatusNotFound, Title: "Not found", Text: "there is no such page"})
	})
	return s.guard(mux)
}

// asset serves an embedded file.
func asset(name, kind string) http.HandlerFunc {
	text, err := files.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it is built in
	}
	if name == "style.css" {
		text = append(text, plot.Style...)
	}
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, kind, text) }
}

// content is the content of a page.
type content struct {
	Title   string
	Live    bool   // it may change while a person looks
	Changes string // the address that tells changes; empty: that of most pages
	Body    body   // for people
	Object  any    // the same for programs
}

// body makes the HTML of a page's content.
type body interface{ html(f frame) h.HTML }

// page reads the content of a page.
type page func(*http.Request, *inspect.Explainer) (content, error)

// frame holds the parts that all pages have.
type frame struct {
	content
	Fleet   fleet.Name
	Section string // the path of the page's kind
	Version string
	Change  string // the version of the fleet that the page shows
	Now     time.Time
}

// page serves a page as HTML, or as JSON if the request wants that.
func (s *site) page(p page, look look) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var (
			v     content
			f     = s.frame(r)
			wrong error // what the page found wrong with the request
		)
		ctx := r.Context()
		err := look(ctx, func(e *inspect.Explainer) error {
			f.Change = e.Version(ctx)
			v, wrong = p(r, e)
			return nil
		})
		// The wait for a turn does not count against the client.
		_ = http.NewResponseController(w).SetWriteDeadline(s.o.Now().Add(takenWithin))
		if err = errors.Join(err, wrong); err != nil {
			s.failed(w, r, err, wrong != nil)
			return
		}
		if wantsJSON(r) {
			writeJSON(w, r, http.StatusOK, v.Object)
			return
		}
		f.content = v
		render(w, http.StatusOK, f)
	})
}

// look runs a function on the fleet.
type look func(context.Context, func(*inspect.Explainer) error) error

// with runs a function on the fleet, once it is the request's turn.
func (s *site) with(ctx context.Context, fn func(*inspect.Explainer) error) error {
	return inTurn(ctx, s.working, func() error { return s.o.With(ctx, fn) })
}

// alone runs a function that reads much, one at a time: the record of a million runs takes seconds, and git takes two
// for ten thousand branches. Requests that wait for it keep no others from looking.
func (s *site) alone(ctx context.Context, fn func(*inspect.Explainer) error) error {
	return inTurn(ctx, s.summing, func() error { return s.with(ctx, fn) })
}

// inTurn runs a function once there is room for it.
func inTurn(ctx context.Context, room chan struct{}, fn func() error) error {
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
		return fn()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *site) frame(r *http.Request) frame {
	section := "/"
	if first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); first != "" {
		section += first
	}
	return frame{Fleet: s.o.Fleet, Section: section, Version: s.o.Version, Now: s.o.Now()}
}

func render(w http.ResponseWriter, status int, f frame) {
	answer(w, status, "text/html; charset=utf-8", f.html().String())
}

// answer sends a whole text.
func answer[Text ~string | ~[]byte](w http.ResponseWriter, status int, kind string, text Text) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client has gone away, and nobody else wants the error
}

// html returns the whole page.
func (f frame) html() h.HTML {
	meta := func(name, content string) h.HTML {
		return h.El("meta", h.Attr("name", name), h.Attr("content", content))
	}
	// Without a script, a page that may change reloads itself.
	reload := h.El("noscript", h.El("meta", h.Attr("http-equiv", "refresh"), h.Attr("content", "10")))
	stamp, changes := screen.Stamp(f.Now), ""
	if f.Live {
		changes = cmp.Or(f.Changes, "/changes")
	}
	return h.Join(h.Trusted("<!doctype html>\n"), h.El("html", h.Attr("lang", "en"),
		h.El("head",
			h.El("meta", h.Attr("charset", "utf-8")),
			meta("viewport", "width=device-width, initial-scale=1"),
			meta("color-scheme", "light dark"),
			h.El("title", f.Title, " · ", f.Fleet, " · stint"),
			h.El("link", h.Attr("rel", "stylesheet"), h.Attr("href", "/style.css")),
			h.El("link", h.Attr("rel", "icon"), h.Attr("type", "image/svg+xml"), h.Attr("href", "/icon.svg")),
			h.El("script", h.Attr("src", "/script.js"), h.Flag("defer", true)),
			h.If(f.Live, reload)),
		h.El("body", h.Attr("data-changes", changes), h.Attr("data-now", fmt.Sprint(f.Now.UnixMilli())),
			link("#main", h.Attr("class", "skip"), "Skip to content"),
			h.El("header",
				link("/", h.Attr("class", "brand"), hidden("span.mark"), "stint ", h.El("b#fleet", f.Fleet)),
				f.navigation(),
				h.El("span#link", h.Attr("role", "status"), h.Flag("hidden", true))),
			h.El("main#main", h.Attr("tabindex", "-1"), h.Attr("data-version", f.Change), f.Body.html(f)),
			h.El("footer", h.El("span", "as of ", h.El("time#as-of", h.Attr("datetime", stamp), stamp)), " ", h.El("span", "stint ", f.Version)))))
}

func (f frame) navigation() h.HTML {
	pages := []struct{ path, name string }{
		{"/", "Status"}, {"/ranking", "Ranking"}, {"/review", "Review"}, {"/tasks", "Tasks"}, {"/claims", "Claims"}, {"/fires", "Fires"}, {"/runs", "Runs"}, {"/report", "Report"},
	}
	var links []any
	for _, p := range pages {
		links = append(links, " ", link(p.path, h.If(f.Section == p.path, h.Attr("aria-current", "page")), p.name))
	}
	return h.El("nav", h.Attr("aria-label", "Pages"), links)
}

// wantsJSON reports whether a program asks: its address ends in ".json", or it accepts JSON.
func wantsJSON(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, ".json") || strings.HasPrefix(r.Header.Get("Accept"), "application/json")
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(fmt.Errorf("%s: %w", r.URL.Path, err)) // every object is made of plain fields
	}
	answer(w, status, "application/json", text.Bytes())
}

// failure describes why there is no page.
type failure struct {
	Status            int
	Title, Text, Hint string
	Token             bool // the token is missing
}

// FailureObject shows to programs why there is no page.
func FailureObject() view.View[failure] {
	return view.View[failure]{
		view.Schema[failure]("stint/page-error@1"),
		view.Int("status", "", "of HTTP", func(f failure) int { return f.Status }),
		view.Text("error", "", "", func(f failure) string { return f.Text }),
		view.Text("hint", "", "", func(f failure) string { return f.Hint }),
	}
}

func (f failure) html(frame) h.HTML {
	form := h.El("form", h.Attr("method", "get"), h.Attr("action", "/"), h.El("label", h.Attr("for", "token"), "Token"), " ",
		h.El("input#token", h.Attr("name", "token"), h.Attr("type", "password"), h.Attr("autocomplete", "off"), h.Flag("required", true)), " ",
		h.El("button", "Look"))
	return h.Join(
		h.El("h1", f.Title),
		h.El("p.error#error", bdi(f.Text)),
		h.If(f.Hint != "", h.El("p.hint", "Hint: ", code(f.Hint))),
		h.If(f.Token, form),
	)
}

// failed tells why a page cannot be shown. A fault of the fleet is not the request's, and may be over at the next one.
func (s *site) failed(w http.ResponseWriter, r *http.Request, err error, ofPage bool) {
	f := failure{Status: http.StatusServiceUnavailable, Title: "Not available", Text: err.Error(), Hint: fleet.Hint(err)}
	switch {
	case r.Context().Err() != nil:
		return // the client has gone away
	case ofPage && errors.Is(err, fleet.ErrNotFound):
		f.Status, f.Title = http.StatusNotFound, "Not found"
	case ofPage && errors.Is(err, fleet.ErrUsage):
		f.Status, f.Title = http.StatusBadRequest, "Not understood"
	default:
		s.o.Log.WarnContext(r.Context(), "page not shown", slog.Any("err", err))
	}
	s.fail(w, r, f)
}

func (s *site) fail(w http.ResponseWriter, r *http.Request, f failure) {
	if wantsJSON(r) {
		writeJSON(w, r, f.Status, FailureObject().JSON(f))
		return
	}
	page := s.frame(r)
	page.content = content{Title: f.Title, Body: f}
	if f.Status == http.StatusServiceUnavailable { // it may be over soon
		page.Live, page.Change = true, unavailable
	}
	render(w, f.Status, page)
}
