package screen

import (
	"fmt"
	"strings"

	"stint/internal/explain/inspect"
	"stint/internal/plain"
)

// claimsText lists the claims that people hold. The claims of runs show with the lanes.
func claimsText(v StatusView) string {
	var people []string
	runs := 0
	for _, c := range v.Claims {
		if _, ok := c.Holder.Run(); ok {
			runs++
			continue
		}
		text := fmt.Sprintf("%s by %s (%s left)", plain.Line(string(c.Key)), plain.Line(string(c.Holder)), plain.Span(c.ExpiresAt.Sub(v.At)))
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

// awayText tells until when the reviewer is away.
func awayText(v StatusView) string {
	if v.Away == nil {
		return ""
	}
	text := "away since " + Stamp(v.Away.Since)
	if !v.Away.Until.IsZero() {
		text += " until " + Stamp(v.Away.Until)
	}
	return because(text, v.Away.Reason)
}

// alarms lists what keeps sessions from starting, and what needs a person. Runs and timers have lines of their own.
func (s *sheet) alarms(v StatusView) {
	texts := map[inspect.AlertKind][]string{}
	for _, a := range v.Alerts() {
		if a.Kind == inspect.AlertBroken {
			a.Text += ": " + a.Command
		}
		texts[a.Kind] = append(texts[a.Kind], plain.Line(a.Text))
	}
	for _, kind := range []inspect.AlertKind{inspect.AlertClosed, inspect.AlertTask, inspect.AlertReview, inspect.AlertBroken} {
		paint := Red
		if kind == inspect.AlertClosed || kind == inspect.AlertReview {
			paint = Yellow
		}
		s.add(string(kind), s.some(paint, texts[kind]))
	}
}

// some shows the first texts, each in two lines at most, and counts the others. In a pipe it shows all.
func (s *sheet) some(p Paint, texts []string) (lines []string) {
	for i, text := range texts {
		if s.Width > 0 && i == maxOf-1 && len(texts) > maxOf {
			return append(lines, s.Paint(Dim, fmt.Sprintf("… and %d more", len(texts)-i)))
		}
		for _, line := range s.clipped(s.wrap(text), 2) {
			lines = append(lines, s.Paint(p, line))
		}
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
