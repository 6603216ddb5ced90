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

// Alert names something out of order, and the command that helps.
type Alert struct {
	Kind     AlertKind
	Text     string
	Command  string
	Frees    int  // categories that the command lets start sessions, as far as this alone keeps them
	ByItself bool // it ends without a person
}

// Next is the command of a person that frees the most categories, or else is about what matters most. It has no command where nothing
// waits for a person.
func (s Status) Next() (next Alert) {
	frees := map[string]int{}
	alerts := s.Alerts()
	for _, a := range alerts {
		if !a.ByItself {
			frees[a.Command] += a.Frees
		}
	}
	for _, a := range alerts {
		if a.Frees = frees[a.Command]; !a.ByItself && (next.Command == "" || a.Frees > next.Frees) {
			next = a
		}
	}
	without := 0
	for _, b := range s.Bars {
		if b.Kind == fleet.HinderedByTasks {
			without++
		}
	}
	if next.Command == "" && len(s.Open) == 0 && without > 0 && without == s.categories() {
		add := "stint task add TITLE --category " + cmp.Or(string(s.First), "CATEGORY")
		next = Alert{AlertTask, "no category has a task to work on", add, without, false}
	}
	return next
}

// AlertKind names the subject of an alert.
type AlertKind string

const (
	AlertBroken AlertKind = "alarm"  // a promise, or a category's work
	AlertRun    AlertKind = "run"    // one that does not go on
	AlertClosed AlertKind = "closed" // what keeps sessions from starting
	AlertTask   AlertKind = "tasks"  // what only a person brings on
	AlertTimer  AlertKind = "timer"
	AlertReview AlertKind = "review" // work that waits for a person
)

// Alerts lists the things that are out of order, the most important first.
func (s Status) Alerts() (list []Alert) {
	frees, byItself := 0, false // of the alerts that are added next
	add := func(kind AlertKind, command, text, reason string) {
		if text == "" {
			return
		}
		if reason != "" {
			text += ": " + reason
		}
		list = append(list, Alert{kind, text, command, frees, byItself})
	}
	all := s.categories()
	one := func(c fleet.Category) int {
		if c == "" {
			return all
		}
		return 1
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
		frees = one(p.Category)
		add(AlertClosed, strings.TrimSpace("stint resume "+string(p.Category)), whose(p.Category)+" paused, "+left, p.Reason)
	}
	frees = 0
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
		if s.byAgents(g) { // which stand below, each with its end
			continue
		}
		var command string
		command, frees = why(string(g.Category)), one(g.Category)
		switch {
		case g.Category == "":
			command, frees = "stint doctor", 0 // which says more of it
		case g.Kind == fleet.HinderedByReview:
			command = "stint review"
		case g.Kind == fleet.HinderedByTrust:
			command = "stint config trust"
		}
		byItself = g.Kind == fleet.HinderedByBudget || g.Kind == fleet.HinderedBySeats
		add(AlertClosed, command, whose(g.Category), g.String())
	}
	frees, byItself = 0, false
	for _, f := range s.Failed {
		add(AlertClosed, "stint task list", f.String(), "")
	}
	for _, g := range together(s.Stopped) {
		frees, byItself = len(g[0].Categories), g[0].Fix == ""
		add(AlertClosed, cmp.Or(g[0].Fix, "stint doctor"), stopText(g, s.At), "")
	}
	frees, byItself = 0, false
	for _, q := range s.Waiting {
		add(AlertTask, "stint task retry "+fleet.ShellWord(string(q.Task)), string(q.Task)+" waits for a person", q.Why())
	}
	for _, f := range s.Day.Failing {
		if !slices.ContainsFunc(s.Waiting, func(q fleet.Waiting) bool { return q.Task == f.Task }) {
			add(AlertTask, why(string(f.Task)), string(f.Task)+" keeps failing", f.Why())
		}
	}
	for _, m := range s.Unsynced {
		add(AlertTask, "stint why --task "+fleet.ShellWord(string(m.Task)), string(m.Task), m.Why())
	}
	if text := s.Review.Text(s.At); text != "" {
		add(AlertReview, "stint review", text, "")
	}
	if s.Ahead != "" {
		add(AlertReview, s.Pull, s.Ahead, "")
	}
	for _, t := range s.Timers {
		if frees = all; t.Active {
			frees = 0
		}
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

// categories counts them.
func (s Status) categories() int {
	names := map[fleet.Category]bool{}
	for _, l := range s.Lanes {
		names[l.Category] = true
	}
	return len(names)
}

// byAgents reports whether a category starts nothing for want of agents that have alerts of their own.
func (s Status) byAgents(g Blocker) bool {
	return slices.ContainsFunc(s.Stopped, func(a StoppedAgent) bool { return g.Category != "" && slices.Contains(a.Categories, g.Category) })
}

// together are the agents that one thing stops until one time.
func together(stopped []StoppedAgent) (groups [][]StoppedAgent) {
	for _, a := range stopped {
		same := func(g []StoppedAgent) bool {
			return g[0].Fault == a.Fault && g[0].Why == a.Why && g[0].Fix == a.Fix && slices.Equal(g[0].Categories, a.Categories)
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i] = append(groups[i], a)
		} else {
			groups = append(groups, []StoppedAgent{a})
		}
	}
	return groups
}

// stopText is one line of agents that one thing stops: the end, which no screen may cut, before the reason.
func stopText(g []StoppedAgent, now time.Time) string {
	names := strings.Join(plain.Each(g, func(a StoppedAgent) string { return a.Agent }), ", ")
	text, reason := "agent "+names, g[0].Why
	if len(g) > 1 {
		text = "agents " + names
	}
	if g[0].Rests(now) {
		end := plain.Stamp(g[0].Until)
		text, reason = text+" stopped until "+end, strings.Replace(reason, " (until "+end+")", "", 1)
	}
	if c := g[0].Categories; len(c) > 0 {
		text += ", so nothing of " + fleet.Listed(c)
	}
	return text + ": " + reason
}

func whose(c fleet.Category) string { return cmp.Or(string(c), "the whole fleet") }
