package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
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
		text := fmt.Sprintf("%s by %s (%s left)", Line(string(c.Key)), Line(string(c.Holder)), Span(c.ExpiresAt.Sub(v.At)))
		if c.Note != "" {
			text += ": " + Line(c.Note)
		}
		people = append(people, text)
	}
	switch {
	case len(people) == 0 && runs == 0:
		return ""
	case len(people) == 0:
		return many(runs, "claim") + " held by runs, none by people"
	case runs > 0:
		return fmt.Sprintf("%d by runs, %d by people: %s", runs, len(people), strings.Join(people, "; "))
	default:
		return fmt.Sprintf("%d by people: %s", len(people), strings.Join(people, "; "))
	}
}

// alarms adds what keeps sessions from starting, and what needs a person.
func (s *sheet) alarms(v StatusView) {
	var closed, tasks, alarms []string
	for _, p := range v.Pauses {
		left := "until it is resumed"
		if !p.Until.IsZero() {
			left = Span(p.Until.Sub(v.At)) + " left"
		}
		closed = append(closed, because(whose(p.Category)+" paused, "+left, p.Reason))
	}
	for _, g := range v.Closed {
		closed = append(closed, because(whose(g.Category), g.String()))
	}
	for _, f := range v.Failed {
		closed = append(closed, Line(f.String()))
	}
	for _, g := range v.Stopped {
		closed = append(closed, because("agent "+Line(g.Agent), g.Why))
	}
	for _, q := range v.Quarantined {
		tasks = append(tasks, because(Line(string(q.Task))+" in quarantine", q.Why()))
	}
	for _, f := range v.Day.Failing {
		if !slices.ContainsFunc(v.Quarantined, func(q fleet.Quarantine) bool { return q.Task == f.Task }) {
			tasks = append(tasks, because(Line(string(f.Task))+" keeps failing", f.Why()))
		}
	}
	for _, m := range v.Untold {
		tasks = append(tasks, because(Line(string(m.Task)), m.Why()))
	}
	for _, x := range v.Day.Violations {
		alarms = append(alarms, fmt.Sprintf("lane %s.%d was held by two runs at once: %s and %s: stint audit", x.Category, x.Lane, x.First, x.Second))
	}
	for _, f := range v.Day.Fruitless {
		alarms = append(alarms, fmt.Sprintf("all %d runs of %s ended busy, denied or idle: nothing is learnt of it", f.Runs, f.Category))
	}
	s.add("closed", s.some(s.painted(Yellow, closed), mostOf))
	s.add("tasks", s.some(s.painted(Red, tasks), mostOf))
	s.add("alarm", s.some(s.painted(Red, alarms), mostOf))
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
	return text + ": " + Line(reason)
}

func whose(c fleet.Category) string {
	return cmp.Or(string(c), "the whole fleet")
}
