package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Alert is what is out of order, and what to type about it.
type Alert struct {
	Kind    AlertKind
	Text    string
	Command string
}

// AlertKind is what an alert is of.
type AlertKind string

const (
	AlertBroken AlertKind = "alarm"  // a promise, or a category's work
	AlertRun    AlertKind = "run"    // one that does not go on
	AlertClosed AlertKind = "closed" // what keeps sessions from starting
	AlertTask   AlertKind = "tasks"  // what only a person brings on
	AlertTimer  AlertKind = "timer"
	AlertReview AlertKind = "review" // work that waits for a person
)

// Alerts are what is out of order, what matters most first.
func (s Status) Alerts() (list []Alert) {
	add := func(kind AlertKind, command, text, reason string) {
		if text == "" {
			return
		}
		if reason != "" {
			text += ": " + reason
		}
		list = append(list, Alert{kind, text, command})
	}
	why := func(name string) string { return "stint why " + fleet.ShellWord(name) }
	if n := len(s.Day.Violations); n > 0 { // one is enough to look into all of them
		x := s.Day.Violations[0]
		text := fmt.Sprintf("lane %s.%d was held by two runs at once: %s and %s", x.Category, x.Lane, x.First, x.Second)
		if n > 1 {
			text += fmt.Sprintf(", and %d times more", n-1)
		}
		add(AlertBroken, "stint audit --since 24h", text, "")
	}
	if l := s.Lineage; l.Reason() != "" && s.At.Sub(l.Since) < 24*time.Hour {
		add(AlertBroken, "stint help hosts", "since "+plain.Stamp(l.Since), l.Reason())
	}
	for _, f := range s.Day.Fruitless {
		add(AlertBroken, why(string(f.Category)), f.Why(), "")
	}
	for _, c := range s.Day.Categories {
		_, text := c.Trouble()
		add(AlertBroken, why(string(c.Category)), text, "")
	}
	for _, r := range s.Open {
		switch r.State {
		case fleet.RunCrashed:
			add(AlertRun, "stint reap", fmt.Sprintf("run %s of %s crashed (no result recorded)", r.ID, r.Category), "")
		case fleet.RunSuspended:
			add(AlertRun, fmt.Sprintf("kill -CONT %d", r.PID), fmt.Sprintf("run %s of %s is suspended", r.ID, r.Category), "")
		case fleet.RunRunning, fleet.RunPlanned, fleet.RunWaiting, fleet.RunEnded:
		}
	}
	for _, h := range s.Hosts {
		if h.Trouble != "" && !h.Gone() {
			add(AlertRun, "stint host list", fmt.Sprintf("nothing was heard of host %s for %s", h.Name, plain.Span(s.At.Sub(h.HeardAt))), "")
		}
	}
	for _, p := range s.Pauses {
		left := "until it is resumed"
		if !p.Until.IsZero() {
			left = plain.Span(p.Until.Sub(s.At)) + " left"
		}
		add(AlertClosed, strings.TrimSpace("stint resume "+string(p.Category)), whose(p.Category)+" paused, "+left, p.Reason)
	}
	for _, what := range s.Missing {
		add(AlertClosed, "stint config check", what, "")
	}
	for _, reason := range s.Held {
		command := "stint config trust"
		if reason == s.Broken {
			command = "stint config check"
		}
		add(AlertClosed, command, reason, "")
	}
	for _, g := range s.Closed {
		command := "stint doctor"
		if g.Category != "" {
			command = why(string(g.Category))
		}
		add(AlertClosed, command, whose(g.Category), g.String())
	}
	for _, f := range s.Failed {
		add(AlertClosed, "stint task list", f.String(), "")
	}
	for _, g := range s.Stopped {
		add(AlertClosed, cmp.Or(g.Fix, "stint doctor"), "agent "+g.Agent, g.Why)
	}
	for _, q := range s.Waiting {
		add(AlertTask, "stint task retry "+fleet.ShellWord(string(q.Task)), string(q.Task)+" waits for a person", q.Why())
	}
	for _, f := range s.Day.Failing {
		if !slices.ContainsFunc(s.Waiting, func(q fleet.Waiting) bool { return q.Task == f.Task }) {
			add(AlertTask, why(string(f.Task)), string(f.Task)+" keeps failing", f.Why())
		}
	}
	for _, m := range s.Untold {
		add(AlertTask, "stint why --task "+fleet.ShellWord(string(m.Task)), string(m.Task), m.Why())
	}
	if text := s.Review.Text(s.At); text != "" {
		add(AlertReview, "stint review", text, "")
	}
	if s.Ahead != "" {
		add(AlertReview, s.Pull, s.Ahead, "")
	}
	for _, t := range s.Timers {
		switch {
		case !t.Active && t.Last.IsZero():
			add(AlertTimer, "stint init --systemd", "no timer fires pool "+t.Pool, "")
		case !t.Active:
			add(AlertTimer, "systemctl --user start "+fleet.ShellWord(t.Unit), "the timer of pool "+t.Pool+" is stopped", "")
		case t.Failed:
			add(AlertTimer, t.Journal(), "the last fire of pool "+t.Pool+" failed", "")
		}
	}
	return list
}

func whose(c fleet.Category) string { return cmp.Or(string(c), "the whole fleet") }
