package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// watcher prints what is new in the record, each thing once.
type watcher struct {
	out  screen
	told map[string]bool
}

// event is something that happened, and how it is printed.
type event struct {
	at   time.Time
	tell func()
}

// tell prints what happened since it was last called, in order, and reports whether
// anything did.
func (w *watcher) tell(s status) bool {
	var news []event
	for _, f := range oldest(s.Fires) {
		if w.isNew("fire", f.Fire) {
			news = append(news, event{f.At, func() { w.fire(f) }})
		}
	}
	for _, r := range oldest(s.Runs) {
		if r.StartedAt != nil && r.Task != "" && w.isNew("begin", r.Run) {
			news = append(news, event{*r.StartedAt, func() { w.begin(r) }})
		}
		if r.EndedAt != nil && w.isNew("end", r.Run) {
			news = append(news, event{*r.EndedAt, func() { w.end(r) }})
		}
	}
	slices.SortStableFunc(news, func(a, b event) int { return a.at.Compare(b.at) })
	for _, e := range news {
		e.tell()
	}
	return len(news) > 0
}

func (w *watcher) isNew(kind string, id any) bool {
	key := fmt.Sprint(kind, " ", id)
	seen := w.told[key]
	w.told[key] = true
	return !seen
}

func (w *watcher) line(at time.Time, what, text string) {
	w.out.printf("%s  %-6s %s\n", at.Local().Format(time.TimeOnly), what, text)
}

// more continues a line under its text.
func (w *watcher) more(text string) { w.out.printf("%17s%s\n", "", cut(text, 63)) }

func (w *watcher) begin(r session) {
	w.line(*r.StartedAt, "begins", fmt.Sprintf("%-7s %-14s lane %d", r.Category, r.Task, r.Lane))
}

func (w *watcher) end(r session) {
	verdict := w.out.outcome(r.Outcome, fmt.Sprintf("%-10s %4s", r.Outcome, r.grade()))
	w.line(*r.EndedAt, "ends", fmt.Sprintf("%-7s %-14s %s  %s", r.Category, r.Task, verdict, cut(r.Reason, 23)))
}

// fire prints what a fire starts, and why it leaves out the rest: one line a reason.
func (w *watcher) fire(f fire) {
	started := strings.Join(f.started(), ", ")
	if started == "" {
		started = "nothing"
	}
	w.line(f.At, fmt.Sprintf("fire %d", f.Fire), w.out.bold("starts "+started))
	var reasons []string
	names := map[string][]string{}
	for _, c := range f.Categories {
		if c.Decision == "spawn" {
			continue
		}
		reason := why(c)
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], c.Category)
	}
	for _, reason := range reasons {
		w.more("leaves out " + strings.Join(names[reason], ", ") + ": " + reason)
	}
}

// why is the reason of a choice without the name of the run that it may end in.
func why(c choice) string {
	reason, _, _ := strings.Cut(c.Reason, ": ")
	return reason
}
