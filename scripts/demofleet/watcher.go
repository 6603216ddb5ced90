package main

import (
	"fmt"
	"strings"
	"time"
)

// watcher tells what is new in the record, each thing once.
type watcher struct {
	out  screen
	told map[string]bool
}

// tell prints a line for each fire and for each run that began or ended, in the order
// in which they happened, and reports whether there was any.
func (w *watcher) tell(s status) bool {
	before := len(w.told)
	for _, f := range oldest(s.Fires) {
		if w.isNew("fire", f.Fire) {
			w.fire(f)
		}
	}
	runs := oldest(s.Runs)
	for _, r := range runs {
		if r.StartedAt != nil && r.Task != "" && w.isNew("begin", r.Run) {
			w.line(*r.StartedAt, "begins", fmt.Sprintf("%-7s %-15s lane %d", r.Category, r.Task, r.Lane))
		}
	}
	for _, r := range runs {
		if r.EndedAt != nil && w.isNew("end", r.Run) {
			verdict := w.out.outcome(r.Outcome, fmt.Sprintf("%-10s %4s", r.Outcome, r.grade()))
			w.line(*r.EndedAt, "ends", fmt.Sprintf("%-7s %-15s %s  %s", r.Category, r.Task, verdict, cut(r.Reason, 21)))
		}
	}
	return len(w.told) > before
}

func (w *watcher) isNew(kind string, id any) bool {
	key := fmt.Sprint(kind, " ", id)
	seen := w.told[key]
	w.told[key] = true
	return !seen
}

func (w *watcher) line(at time.Time, what, text string) {
	w.out.printf("%s  %-6s  %s\n", at.Local().Format(time.TimeOnly), what, text)
}

// fire tells what a fire starts, and why it leaves out the rest: one line a reason.
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
		w.out.printf("%18s%s\n", "", cut("not "+strings.Join(names[reason], ", ")+": "+reason, 62))
	}
}

// why is the reason of a choice without the name of the run that it may end in.
func why(c choice) string {
	reason, _, _ := strings.Cut(c.Reason, ": ")
	return reason
}
