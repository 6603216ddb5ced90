package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
)

const (
	// reportSteps is the number of points in a report's lines.
	reportSteps = 60
	// maxDrawn bounds the runs, and the fires, that are read one by one to be drawn: a
	// week of four lanes that work half an hour at a time. All figures are sums that the
	// store makes.
	maxDrawn = 1500
)

// Report says what the fleet did in a span, or from its first run on where that is from the
// beginning of all time. Beliefs and tasks are those of now.
func (e *Explainer) Report(ctx context.Context, span store.Span) (report.Report, error) {
	o := report.Options{
		From: span.From, To: e.end(span), Settings: e.Config.Selector.Settings(), Beliefs: map[fleet.Category]rank.Beta{},
	}
	if e.Store != nil {
		drawn := store.RunQuery{Limit: maxDrawn}
		if !span.To.IsZero() {
			drawn.Before = fleet.NewRunID(span.To, 0)
		}
		var err error
		if o.Runs, err = e.Store.LastRuns(ctx, drawn); err != nil {
			return report.Report{}, err
		}
	}
	r, err := e.pastOf(ctx, span, &o)
	if err != nil || e.Store == nil {
		return report.New(r, o), err
	}
	s, err := e.Store.Snapshot(ctx)
	if err != nil {
		return report.Report{}, err
	}
	for _, b := range e.beliefs(s) {
		o.Beliefs[b.Category] = b.Beta
	}
	before, err := e.Store.RankingAt(ctx, o.From)
	if err != nil {
		return report.Report{}, err
	}
	o.Before = before.Beliefs()
	o.AllRuns = len(o.Runs) < maxDrawn || o.Runs[len(o.Runs)-1].CreatedAt.Before(o.From)
	v, err := e.Look(ctx)
	if err != nil {
		return report.Report{}, err
	}
	o.Tasks = v.Tasks
	fires, err := e.Store.LastFires(ctx, store.FireQuery{Until: span.To, Brief: true, Limit: maxDrawn})
	if err != nil {
		return report.Report{}, err
	}
	o.Fires = plain.Kept(fires, func(f fleet.Fire) bool { return !f.At.Before(o.From) })
	if o.Reviewed, err = e.reviewed(ctx, o); err != nil {
		return report.Report{}, err
	}
	return report.New(r, o), nil
}

// reviewed are the decisions of a span about work, the latest first.
func (e *Explainer) reviewed(ctx context.Context, o report.Options) (list []report.Reviewed, err error) {
	landed, err := e.Landed(ctx, maxDrawn)
	if err != nil {
		return nil, err
	}
	for _, l := range landed {
		list = append(list, report.Reviewed{
			Run: l.ID, Category: l.Category, Task: l.Task, Decision: fleet.DecisionLanded, By: l.By, At: l.At, As: l.As,
		})
	}
	decisions, err := e.Store.Reviews(ctx)
	if err != nil {
		return nil, err
	}
	for run, d := range decisions {
		if d.Decision == fleet.DecisionRejected {
			list = append(list, report.Reviewed{Run: run, Decision: d.Decision, By: d.By, At: d.DecidedAt, Reason: d.Reason})
		}
	}
	list = plain.Kept(list, func(x report.Reviewed) bool { return !x.At.Before(o.From) && x.At.Before(o.To) })
	for i, x := range list {
		if x.Category != "" {
			continue
		}
		r, err := e.Store.Run(ctx, x.Run)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) { // a branch of a run that the record does not know
			return nil, err
		}
		list[i].Category, list[i].Task = r.Category, r.Task
	}
	slices.SortFunc(list, func(a, b report.Reviewed) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Run, a.Run)) })
	return list, nil
}

// pastOf reads the record that the options ask for and sets their step, and their beginning where they ask for all: the step of
// the first run. A fleet that is young beside what is asked for has finer steps.
func (e *Explainer) pastOf(ctx context.Context, s store.Span, o *report.Options) (report.Record, error) {
	const day = 24 * time.Hour
	o.Step = steps(o.To.Sub(o.From))
	r, err := e.past(ctx, s, o.Step, o.Runs)
	for err == nil && len(r.Tallies) > 0 { // a record that covers most of the span is not counted again
		finer := steps(o.To.Sub(r.Tallies[0].From))
		if 2*finer > o.Step {
			break
		}
		o.Step = finer
		r.Tallies, err = e.Store.Tallies(ctx, s, finer)
	}
	if o.From.Unix() <= 0 {
		if o.From = o.To.Add(-day); len(r.Tallies) > 0 {
			o.From = r.Tallies[0].From
		}
	}
	return r, err
}

// end is when a span that is looked back at ends.
func (e *Explainer) end(s store.Span) time.Time {
	if s.To.IsZero() {
		return e.Now()
	}
	return s.To
}

// steps divides a span of time, to the second.
func steps(span time.Duration) time.Duration {
	return max(time.Minute, span/reportSteps).Truncate(time.Second)
}

// Spending says what the runs of a span used, split by some keys. By day, the first day is a whole one.
func (e *Explainer) Spending(ctx context.Context, s store.Span, by []report.Key) (report.Spending, error) {
	const day = 24 * time.Hour
	step := time.Duration(0)
	if slices.Contains(by, report.ByDay) {
		s.From, step = s.From.UTC().Truncate(day), day
	}
	var tallies []fleet.Tally
	if e.Store != nil {
		var err error
		if tallies, err = e.Store.Tallies(ctx, s, step); err != nil {
			return report.Spending{}, err
		}
		hosts, _, err := e.Store.Hosts(ctx)
		if err != nil {
			return report.Spending{}, err
		}
		for i, t := range tallies {
			if n := slices.IndexFunc(hosts, func(h fleet.Host) bool { return h.ID == t.Host }); n >= 0 { // else it is forgotten, or nobody knew
				tallies[i].Host = hosts[n].Name
			}
		}
	}
	return report.NewSpending(tallies, s.From, e.end(s), by), nil
}
