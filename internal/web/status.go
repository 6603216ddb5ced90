package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	h "stint/internal/markup"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/view"
)

// statusBody shows the first page.
type statusBody struct {
	inspect.Status
	Never    bool // nothing has run yet
	Busy     []laneView
	Counts   map[fleet.Category]int // lanes by category
	People   int                    // claims of people
	Alerts   []inspect.Alert        // the first of them
	More     int                    // alerts that are not shown
	Running  int
	Next     *fleet.Timer // the timer that fires first; nil: unknown
	Blocked  string       // what keeps work from starting, in one line
	Spans    []spanLink
	Timeline h.HTML
	Cut      bool // the timeline does not show all
}

// laneView shows a lane with its run, or an open run without a lane.
type laneView struct {
	*fleet.RunStatus
	Number int
}

type spanLink struct {
	Name    string
	Current bool
}

const (
	statusFires = 6
	statusRuns  = 12
	// maxOfKind bounds the alerts listed of each kind, and maxOfReason the columns of a reason in the first sentence.
	maxOfKind, maxOfReason = 3, 100
)

func (s *site) status(r *http.Request, e *inspect.Explainer) (content, error) {
	ctx := r.Context()
	const day = 24 * time.Hour
	spans, span, err := chosenSpan(r, "span", "6h", []namedSpan{{"2h", 2 * time.Hour}, {"6h", 6 * time.Hour}, {"24h", day}, {"7d", 7 * day}})
	if err != nil {
		return content{}, err
	}
	st, err := e.Status(ctx, inspect.StatusOptions{Fires: statusFires, Runs: statusRuns})
	if err != nil {
		return content{}, err
	}
	v := content{Title: "Status", Live: true, Object: view.Status(e.Config.Fleet).JSON(st)}
	if wantsJSON(r) {
		return v, nil
	}
	b := statusBody{Status: st, Never: len(st.Fires) == 0 && len(st.Runs) == 0, Spans: spans}
	b.summarize(st)
	b.Busy, b.Counts = busyLanes(st), screen.LaneCounts(st.Lanes)
	b.People = len(plain.Kept(st.Claims, func(c fleet.Claim) bool { _, ofRun := c.Holder.Run(); return !ofRun }))
	if st.NoStore == "" {
		b.Timeline, b.Cut, err = timeline(ctx, e, st, span)
	}
	v.Body = b
	return v, err
}

func (b statusBody) html(f frame) h.HTML {
	return h.Join(
		h.El("h1", f.Fleet),
		h.If(b.Never, b.never()),
		b.summary(f.Now),
		h.If(len(b.Alerts) > 0, b.attention()),
		b.facts(f.Now),
		section("section.brief", "lanes", "Lanes", b.lanes(f.Now)),
		h.If(len(b.Hosts) > 0, b.machines(f.Now)),
		h.If(b.Day.All.Ended > 0, b.day()),
		h.If(len(b.Runs) > 0, section("section.brief.last", "runs", "Last runs", runs(b.Runs, "", f.Now), h.El("p", link("/runs", "All runs")))),
		h.If(len(b.Fires) > 0, section("section.brief.last", "fires", "Last fires", fires(b.Fires, "", f.Now),
			h.El("p", link("/fires", "All fires"), " · ", link("/ranking", "the last ranking explained")))),
	)
}

func (b statusBody) never() h.HTML {
	moved := h.If(b.NoStore != "", h.Join(", or the record was moved: there is no store in ", code(b.NoStore)))
	return h.El("p.empty#never", "Nothing has run yet", moved, ". ", code("stint fanout --dry-run"), " says what a fire would start, ",
		code("stint fanout"), " starts it, and ", code("stint init --systemd"), " installs the timer.")
}

// summary describes the fleet's state in one sentence.
func (b statusBody) summary(now time.Time) h.HTML {
	running := "Nothing runs"
	if b.Running > 0 {
		running = fmt.Sprintf("%d running", b.Running)
	}
	next := any("next fire not known")
	switch {
	case b.Next == nil && len(b.Timers) > 0:
		next = "no timer fires"
	case b.Next == nil:
	case b.Next.Firing:
		next = "a fire is under way"
	case !b.Next.Next.IsZero():
		next = h.Join("next fire ", view.When(b.Next.Next, now))
	}
	return h.El("p.lead#summary", running, ", ", next, h.If(b.Blocked != "", h.Join(", ", bdi(b.Blocked))), ".")
}

func (b statusBody) attention() h.HTML {
	alerts := h.Each(b.Alerts, func(a inspect.Alert) h.HTML {
		class, mark := "warn", "!"
		if a.Kind == inspect.AlertBroken || a.Kind == inspect.AlertRun {
			class, mark = "bad", "✗"
		}
		return h.El("li", h.El("span."+class, mark, " ", bdi(a.Text)), " ", code(a.Command))
	})
	more := h.If(b.More > 0, h.El("li.warn", "! and ", b.More, " more: ", code("stint status")))
	return section("section", "attention", "Needs attention", h.El("ul.attention#attention", alerts, more))
}

func (b statusBody) facts(now time.Time) h.HTML {
	var facts []any
	if len(b.Timers) > 1 {
		for _, t := range b.Timers {
			facts = append(facts, fact("Next fire of "+t.Pool, nextOf(t, now)))
		}
	}
	if len(b.Fires) > 0 {
		last := b.Fires[0]
		facts = append(facts, fact("Last fire", link(fireAddress(last.ID), last.ID), ", ", view.When(last.At, now)))
	}
	facts = append(facts, fact("Claims held", link("/claims", len(b.Claims)), h.If(b.People > 0, fmt.Sprintf(", %d by people", b.People))))
	if day := b.Day.All; day.Ended > 0 {
		mean := h.If(day.Graded > 0, ", mean grade "+two(day.Mean()))
		facts = append(facts, fact("Last 24 hours", day.Ended, " runs", mean, ", "+report.Percent(day.NoopRate())+" did nothing"))
	}
	for _, s := range b.Spent {
		if s.Scope == "fleet" {
			facts = append(facts, fact("Used today", fmt.Sprintf("%d runs, %s tokens, %s", s.Runs, plain.Count(s.Tokens), view.Money{USD: s.USD, Guessed: s.Guessed}.String())))
		}
	}
	return h.El("dl.facts#facts", facts...)
}

// machines lists the hosts of a fleet that has several.
func (b statusBody) machines(now time.Time) h.HTML {
	page := view.Page{ID: "machines-list", Caption: "By name", Now: now}
	return section("section.brief", "machines", "Hosts", view.Host().HTML(b.Hosts, page))
}

// nextOf shows when a pool's timer fires.
func nextOf(t fleet.Timer, now time.Time) any {
	switch {
	case t.Firing:
		return "now"
	case !t.Active:
		return view.State(fleet.Sign{Mood: fleet.Ended, Mark: "!", Word: "no timer"})
	case t.Next.IsZero():
		return "not known"
	}
	return view.When(t.Next, now)
}

// lanes shows the lanes in use, the idle ones, and the timeline.
func (b statusBody) lanes(now time.Time) h.HTML {
	busy := view.View[laneView]{
		view.Cell("State", "", func(l laneView) any { return view.State(l.Sign()) }),
		view.Cell("Lane", "", func(l laneView) any { return screen.LaneName(l.Category, l.Number, l.Number) }).Names(),
		view.Cell("Task", ".text", func(l laneView) any { return view.OfTask(l.Task).HTML() }),
		view.Cell("Agent", ".more", func(l laneView) any { return bdi(orDash(l.Agent != "", l.Agent)) }),
		view.Cell("For", "", func(l laneView) any {
			return h.Join(view.Stretch{From: l.StartedAt}.HTML(now), untilTimeout(*l.RunStatus, now))
		}),
		view.Cell("Tokens", ".n.more", func(l laneView) any { return count(l.Tokens) }),
		view.Cell("Run", "", func(l laneView) any { return view.OfRun(l.ID).HTML() }),
	}
	if len(b.Hosts) > 0 {
		busy = append(busy, view.Cell("Host", ".more", func(l laneView) any { return bdi(screen.OnOtherHost(*l.RunStatus, now)) }))
	}
	var idle []any
	for _, l := range b.Idle() {
		idle = append(idle, h.If(len(idle) > 0, ", "), link(ofCategory(l.Category), screen.LaneName(l.Category, l.Number, b.Counts[l.Category])))
	}
	lanes := view.Page{ID: "lanes", Caption: "In use", None: "No lane is in use.", Row: func(i int) h.Attribute {
		return h.Attr("id", "run-"+string(b.Busy[i].ID))
	}}
	parts := []any{busy.HTML(b.Busy, lanes), h.If(len(idle) > 0, h.El("p.idle", "○ idle: ", idle))}
	if b.Timeline != (h.HTML{}) {
		parts = append(parts, h.El("div.timeline#timeline",
			h.El("p.spans", "Timeline of the last", spanLinks("/", "span", b.Spans)), b.Timeline,
			h.If(b.Cut, h.El("p.unit", "There were more runs than the timeline shows."))))
	}
	return h.Join(parts...)
}

// spanLinks links to the same page for other spans of time.
func spanLinks(path, name string, spans []spanLink) h.HTML {
	return h.Each(spans, func(s spanLink) h.HTML {
		return h.Join(" ", link(query(path, name, s.Name), h.If(s.Current, h.Attr("aria-current", "true")), s.Name))
	})
}

func (b statusBody) day() h.HTML {
	type category = report.CategoryUse
	outcomes := h.Each(b.Day.All.Ends(), func(c report.OutcomeCount) h.HTML {
		return h.Join(link(query("/runs", "outcome", c.Outcome), h.Attr("class", "chip"), view.State(c.Outcome.Sign()), " ", h.El("b", c.Runs)), " ")
	})
	return section("section.brief", "day", "Last 24 hours", h.El("p.outcomes#outcomes", outcomes), view.View[category]{
		view.Cell("Category", "", func(c category) any { return link(ofCategory(c.Category), c.Category) }),
		view.Cell("Sessions", ".n", func(c category) any { return c.Sessions }),
		view.Cell("Part of all", ".more", func(c category) any { return view.Meter(c.Part, report.Percent(c.Part), view.Target(c.Target)) }),
		view.Cell("Share", ".n.more", func(c category) any { return report.Percent(c.Share) }),
		view.Cell("Graded", ".n.more", func(c category) any { return c.Graded }),
		view.Cell("Mean grade", "", func(c category) any { return orDash(c.Graded > 0, view.Meter(c.Mean(), two(c.Mean()))) }),
	}.HTML(b.Day.Categories, view.Page{ID: "day", Caption: "By category"}))
}

// summarize finds the fleet's state, and its alerts.
func (b *statusBody) summarize(st inspect.Status) {
	b.Running = len(plain.Kept(st.Open, func(r fleet.RunStatus) bool { return r.State == fleet.RunRunning }))
	for i, t := range st.Timers {
		if t.Active && (b.Next == nil || t.Firing || !t.Next.IsZero() && t.Next.Before(b.Next.Next)) {
			b.Next = &st.Timers[i]
		}
	}
	of := map[inspect.AlertKind]int{}
	for _, a := range st.Alerts() {
		if of[a.Kind]++; of[a.Kind] > maxOfKind {
			b.More++
			continue
		}
		if b.Alerts = append(b.Alerts, a); a.Kind == inspect.AlertClosed && b.Blocked == "" {
			b.Blocked = screen.Style{Width: maxOfReason}.Fit(a.Text)
		}
	}
	if more := of[inspect.AlertClosed] - 1; more > 0 {
		b.Blocked += fmt.Sprintf(", and %d more keep work from starting", more)
	}
}

// busyLanes returns the open runs, first those in lanes.
func busyLanes(st inspect.Status) (busy []laneView) {
	for _, l := range st.Lanes {
		if l.Run != nil {
			busy = append(busy, laneView{l.Run, l.Number})
		}
	}
	for i := range st.Open {
		if r := &st.Open[i]; r.Lane == 0 {
			busy = append(busy, laneView{r, 0})
		}
	}
	return busy
}

type namedSpan struct {
	name string
	span time.Duration
}

// chosenSpan returns the span of time that a request names, and links to all spans.
func chosenSpan(r *http.Request, parameter, usual string, spans []namedSpan) (links []spanLink, span time.Duration, err error) {
	asked := cmp.Or(r.URL.Query().Get(parameter), usual)
	var names []string
	for _, s := range spans {
		if s.name == asked {
			span = s.span
		}
		names = append(names, s.name)
		links = append(links, spanLink{s.name, s.name == asked})
	}
	if !slices.Contains(names, asked) {
		last := len(names) - 1
		err = fmt.Errorf("%s %q: want %s or %s: %w", parameter, plain.Line(asked), strings.Join(names[:last], ", "), names[last], fleet.ErrUsage)
	}
	return links, span, err
}

// Bounds of the rows that a timeline reads, however busy the fleet was.
const (
	timelineRuns  = 1500
	timelineFires = 400
	timelinePage  = 250
)

// timeline draws the runs in the lanes. It reports whether it left any out.
func timeline(ctx context.Context, e *inspect.Explainer, st inspect.Status, span time.Duration) (h.HTML, bool, error) {
	since := st.At.Add(-span)
	runs, cut, err := runsOver(ctx, e, since)
	if err != nil {
		return h.HTML{}, false, err
	}
	fires, err := e.Fires(ctx, store.FireQuery{Brief: true, Limit: min(timelineFires, 10+int(span/(3*time.Minute)))})
	if err != nil {
		return h.HTML{}, false, err
	}
	return h.Trusted(plot.Fragment(newTimeline(st, runs, fires, since))), cut, nil
}

// runsOver reads the runs that may overlap the time since. It misses an ended run that was created more than six hours
// before.
func runsOver(ctx context.Context, e *inspect.Explainer, since time.Time) (list []fleet.RunStatus, cut bool, err error) {
	const longest = 6 * time.Hour
	q := store.RunQuery{Limit: timelinePage}
	for len(list) < timelineRuns {
		page, err := e.Runs(ctx, q)
		if err != nil {
			return nil, false, err
		}
		list = append(list, page...)
		if len(page) < q.Limit || page[len(page)-1].CreatedAt.Before(since.Add(-longest)) {
			return list, false, nil
		}
		q.Before = page[len(page)-1].ID
	}
	return list, list[len(list)-1].CreatedAt.After(since), nil
}

func newTimeline(st inspect.Status, runs []fleet.RunStatus, fires []fleet.Fire, since time.Time) plot.Timeline {
	if n := len(runs); n > 0 && n < timelinePage { // all runs are here: a young fleet has a short timeline
		since = plain.Latest(since, runs[n-1].CreatedAt)
	}
	t := plot.Timeline{
		Title: "Lanes of the last " + plain.Span(st.At.Sub(since)) + ", UTC", From: since, To: st.At, Mark: "fire",
		Series: report.MoodSeries(),
	}
	counts, rows := screen.LaneCounts(st.Lanes), map[string]int{}
	for _, l := range st.Lanes {
		name := screen.LaneName(l.Category, l.Number, counts[l.Category])
		if _, found := rows[name]; !found {
			rows[name] = len(t.Rows)
			t.Rows = append(t.Rows, plot.TimelineRow{Name: name})
		}
	}
	for _, r := range append(runs, st.Open...) {
		row, found := rows[screen.LaneName(r.Category, r.Lane, counts[r.Category])]
		if found && r.Lane > 0 && !r.StartedAt.IsZero() {
			t.Rows[row].Spans = append(t.Rows[row].Spans, spanOfRun(r))
		}
	}
	for _, f := range fires {
		n := f.Count(fleet.Spawn)
		t.Marks = append(t.Marks, plot.TimelineMark{At: f.At, Title: fmt.Sprintf("fire %d at %s started %d", f.ID, screen.Stamp(f.At), n)})
	}
	return t
}

// spanOfRun draws a run as a bar.
func spanOfRun(r fleet.RunStatus) plot.TimelineSpan {
	sign := r.Sign()
	s := plot.TimelineSpan{
		From: r.StartedAt, To: r.EndedAt, Open: r.EndedAt.IsZero(), Link: "/runs/" + string(r.ID), Colour: report.MoodColour(sign.Mood),
	}
	how := sign.Word
	if !s.Open {
		how += " after " + plain.Span(r.EndedAt.Sub(r.StartedAt))
	}
	s.Title = plain.Line(strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", r.Category, r.Task, how)), " "))
	return s
}
