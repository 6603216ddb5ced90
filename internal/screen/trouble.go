package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// claimsText names the claims that people hold. Those of runs are in the lanes.
func claimsText(v StatusView) string {
	var people []string
	runs := 0
	for _, c := range v.Claims {
		if _, ok := c.Holder.Run(); ok {
			runs++
			continue
		}
		text := fmt.Sprintf("%s by %s (%s left)", plain.Line(string(c.Key)), plain.Line(string(c.Holder)), Span(c.ExpiresAt.Sub(v.At)))
		if c.Note != "" {
			text += ": " + plain.Line(c.Note)
		}
		people = append(people, text)
	}
	switch {
	case len(people) == 0 && runs == 0:
		return ""
	case len(people) == 0:
		return plain.Plural(runs, "claim") + " held by runs, none by people"
	case runs > 0:
		return fmt.Sprintf("%d by runs, %d by people: %s", runs, len(people), strings.Join(people, "; "))
	default:
		return fmt.Sprintf("%d by people: %s", len(people), strings.Join(people, "; "))
	}
}

// Alert is what is out of order, and what to type about it.
type Alert struct {
	Kind    AlertKind
	Text    string // on one line
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
)

// Alerts are what is out of order, what matters most first.
func Alerts(v engine.Status) (list []Alert) {
	add := func(kind AlertKind, command, text, reason string) {
		list = append(list, Alert{kind, because(plain.Line(text), reason), command})
	}
	why := func(name string) string { return "stint why " + fleet.ShellWord(name) }
	if n := len(v.Day.Violations); n > 0 { // one is enough to look into all of them
		x := v.Day.Violations[0]
		text := fmt.Sprintf("lane %s.%d was held by two runs at once: %s and %s", x.Category, x.Lane, x.First, x.Second)
		if n > 1 {
			text += fmt.Sprintf(", and %d times more", n-1)
		}
		add(AlertBroken, "stint audit --since 24h", text, "")
	}
	for _, f := range v.Day.Fruitless {
		add(AlertBroken, why(string(f.Category)), fmt.Sprintf("all %d runs of %s ended busy, denied or idle: nothing is learnt of it", f.Runs, f.Category), "")
	}
	for _, r := range v.Open {
		switch r.State {
		case fleet.RunCrashed:
			add(AlertRun, "stint reap", fmt.Sprintf("run %s of %s crashed (no result recorded)", r.ID, r.Category), "")
		case fleet.RunSuspended:
			add(AlertRun, fmt.Sprintf("kill -CONT %d", r.PID), fmt.Sprintf("run %s of %s is suspended", r.ID, r.Category), "")
		case fleet.RunRunning, fleet.RunPlanned, fleet.RunWaiting, fleet.RunEnded:
		}
	}
	for _, p := range v.Pauses {
		left := "until it is resumed"
		if !p.Until.IsZero() {
			left = Span(p.Until.Sub(v.At)) + " left"
		}
		add(AlertClosed, strings.TrimSpace("stint resume "+string(p.Category)), whose(p.Category)+" paused, "+left, p.Reason)
	}
	for _, g := range v.Closed {
		command := "stint doctor"
		if g.Category != "" {
			command = why(string(g.Category))
		}
		add(AlertClosed, command, whose(g.Category), g.String())
	}
	for _, f := range v.Failed {
		add(AlertClosed, "stint task list", f.String(), "")
	}
	for _, g := range v.Stopped {
		add(AlertClosed, cmp.Or(g.Fix, "stint doctor"), "agent "+g.Agent, g.Why)
	}
	for _, q := range v.Waiting {
		add(AlertTask, "stint task retry "+fleet.ShellWord(string(q.Task)), string(q.Task)+" waits for a person", q.Why())
	}
	for _, f := range v.Day.Failing {
		if !slices.ContainsFunc(v.Waiting, func(q fleet.Waiting) bool { return q.Task == f.Task }) {
			add(AlertTask, why(string(f.Task)), string(f.Task)+" keeps failing", f.Why())
		}
	}
	for _, m := range v.Untold {
		add(AlertTask, "stint why --task "+fleet.ShellWord(string(m.Task)), string(m.Task), m.Why())
	}
	for _, t := range v.Timers {
		switch {
		case !t.Active && t.Last.IsZero():
			add(AlertTimer, "stint init --systemd", "no timer fires pool "+t.Pool, "")
		case !t.Active:
			add(AlertTimer, "systemctl --user start "+fleet.ShellWord(t.Unit), "the timer of pool "+t.Pool+" is stopped", "")
		}
	}
	return list
}

// alarms adds what keeps sessions from starting, and what needs a person. Runs and timers
// have lines of their own.
func (s *sheet) alarms(v StatusView) {
	texts := map[AlertKind][]string{}
	for _, a := range Alerts(v.Status) {
		if a.Kind == AlertBroken {
			a.Text += ": " + a.Command
		}
		texts[a.Kind] = append(texts[a.Kind], a.Text)
	}
	for _, kind := range []AlertKind{AlertClosed, AlertTask, AlertBroken} {
		paint := Red
		if kind == AlertClosed {
			paint = Yellow
		}
		s.add(string(kind), s.some(s.painted(paint, texts[kind]), mostOf))
	}
}

func (s *sheet) painted(p Paint, lines []string) []string {
	inner := s.inner()
	for i, line := range lines {
		lines[i] = s.Paint(p, inner.Fit(line))
	}
	return lines
}

// because adds a reason, if there is one.
func because(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + plain.Line(reason)
}

func whose(c fleet.Category) string {
	return cmp.Or(string(c), "the whole fleet")
}
