package web

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/plot"
	"stint/internal/report"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/wire"
)

// statusBody is the first page.
type statusBody struct {
	inspect.Status
	Never    bool // nothing has run yet
	Busy     []laneView
	Counts   map[fleet.Category]int // of lanes
	People   int                    // claims that no run holds
	Alerts   []inspect.Alert        // the first of them
	More     int                    // alerts
	Running  int
	Next     *fleet.Timer // the first that fires; nil: none is known
	Blocked  string       // what keeps work from starting, on one line
	Spans    []spanLink
	Timeline template.HTML
	Cut      bool // the timeline does not show all
}

// laneView is a lane with a run in it, or an open run without a lane.
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
	// mostOfKind alerts are listed of each kind, and of the reason of one the page's first
	// sentence has mostOfReason columns.
	mostOfKind, mostOfReason = 3, 100
)

func (s *site) status(r *http.Request, e *inspect.Explainer) (view, error) {
	ctx := r.Context()
	name, span, err := spanOf(r)
	if err != nil {
		return view{}, err
	}
	st, err := e.Status(ctx, inspect.StatusOptions{Fires: statusFires, Runs: statusRuns})
	if err != nil {
		return view{}, err
	}
	v := view{Title: "Status", Live: true, Events: "/events", Object: wire.NewStatus(e.Config.Fleet, st)}
	if wantsJSON(r) {
		return v, nil
	}
	b := statusBody{Status: st, Never: len(st.Fires) == 0 && len(st.Runs) == 0}
	b.summarize(st)
	b.Busy, b.Counts = busyLanes(st), screen.LaneCounts(st.Lanes)
	for _, c := range st.Claims {
		if _, ofRun := c.Holder.Run(); !ofRun {
			b.People++
		}
	}
	for _, p := range spans() {
		b.Spans = append(b.Spans, spanLink{p.name, p.name == name})
	}
	if st.NoStore == "" {
		b.Timeline, b.Cut, err = timeline(ctx, e, st, span)
	}
	v.Body = b
	return v, err
}

// summarize says how the fleet does in one sentence, and what is out of order.
func (b *statusBody) summarize(st inspect.Status) {
	for _, r := range st.Open {
		if r.State == fleet.RunRunning {
			b.Running++
		}
	}
	for i, t := range st.Timers {
		if t.Active && (b.Next == nil || t.Firing || !t.Next.IsZero() && t.Next.Before(b.Next.Next)) {
			b.Next = &st.Timers[i]
		}
	}
	of := map[inspect.AlertKind]int{}
	for _, a := range st.Alerts() {
		if of[a.Kind]++; of[a.Kind] > mostOfKind {
			b.More++
			continue
		}
		if b.Alerts = append(b.Alerts, a); a.Kind == inspect.AlertClosed && b.Blocked == "" {
			b.Blocked = screen.Style{Width: mostOfReason}.Fit(a.Text)
		}
	}
	if more := of[inspect.AlertClosed] - 1; more > 0 {
		b.Blocked += fmt.Sprintf(", and %d more keep work from starting", more)
	}
}

// busyLanes are the open runs, those in lanes first.
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

// spans are what the timeline may show.
func spans() []namedSpan {
	return []namedSpan{{"2h", 2 * time.Hour}, {"6h", 6 * time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}
}

func spanOf(r *http.Request) (string, time.Duration, error) {
	name := cmp.Or(r.URL.Query().Get("span"), "6h")
	for _, p := range spans() {
		if p.name == name {
			return name, p.span, nil
		}
	}
	return "", 0, fmt.Errorf("span %q: want 2h, 6h, 24h or 7d: %w", plain.Line(name), fleet.ErrUsage)
}

// The most that a timeline reads, however busy the fleet was.
const (
	timelineRuns  = 1500
	timelineFires = 400
	timelinePage  = 250
)

// timeline draws what was in the lanes. It reports whether there was more than it reads.
func timeline(ctx context.Context, e *inspect.Explainer, st inspect.Status, span time.Duration) (template.HTML, bool, error) {
	since := st.At.Add(-span)
	runs, cut, err := runsOver(ctx, e, since)
	if err != nil {
		return "", false, err
	}
	fires, err := e.Fires(ctx, store.FireQuery{Brief: true, Limit: min(timelineFires, 10+int(span/(3*time.Minute)))})
	if err != nil {
		return "", false, err
	}
	return template.HTML(plot.Fragment(newTimeline(st, runs, fires, since))), cut, nil //nolint:gosec // plot makes text of all that it is given
}

// runsOver reads the runs that may reach into the time since. One that has ended, and was
// created longer before it than sessions usually take, is missed.
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

// spanOfRun is a run as a bar.
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
