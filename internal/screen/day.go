package screen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// day sums up the last 24 hours. In brief it gives only the sums: if there is no room for all, trouble comes first.
func day(v StatusView, s Style, brief bool) []string {
	day := sheet{Style: s}
	day.text("24 hours", dayText(v.Day, s))
	if !brief {
		day.add("grades", grades(v.Day.Categories, day.inner()))
	}
	day.text("today UTC", spentText(v.Spent, brief))
	day.text("plans", strings.Join(v.Plans, "; "))
	return day.lines
}

func dayText(a report.Audit, s Style) string {
	if a.All.Ended == 0 {
		return s.Paint(Dim, "no run ended")
	}
	var parts []string
	for _, o := range a.All.Ends() {
		parts = append(parts, s.Paint(MoodPaint(o.Outcome.Sign().Mood), fmt.Sprintf("%d %s", o.Runs, o.Outcome)))
	}
	text := plain.Plural(a.All.Ended, "run") + ": " + strings.Join(parts, ", ")
	if a.All.Graded > 0 {
		text += fmt.Sprintf("; mean grade %.2f of %d", a.All.Mean(), a.All.Graded)
	}
	if a.Denials > 0 {
		text += "; " + plain.Plural(a.Denials, "denied claim")
	}
	return text
}

// grades draws the day's mean grades by category as bars, several to a line.
func grades(list []report.CategoryUse, s Style) (lines []string) {
	const columns, most = 8, 14
	names := 0
	for _, c := range list {
		if c.Graded > 0 {
			names = max(names, len(c.Category))
		}
	}
	width := cmp.Or(s.Width, 80-labelWidth)
	if s.Width > 0 {
		names = min(names, most)
	}
	var cells []string
	for _, c := range list {
		if c.Graded == 0 {
			continue
		}
		bar := Bar(c.Mean(), columns)
		cells = append(cells, padded(ansi.Truncate(string(c.Category), names, "…"), names)+" "+s.Paint(Cyan, bar)+
			strings.Repeat(" ", columns-ansi.StringWidth(bar))+fmt.Sprintf(" %.2f of %-3d", c.Mean(), c.Graded))
	}
	cell := names + 1 + columns + len(" 0.00 of 123")
	perLine := max((width+gap)/(cell+gap), 1)
	for len(cells) > 0 {
		n := min(perLine, len(cells))
		lines = append(lines, strings.Join(cells[:n], strings.Repeat(" ", gap)))
		cells = cells[n:]
	}
	return lines
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// spentText sums up what today's sessions used, and, unless brief, shows each agent's part if there are several.
func spentText(list []fleet.Spent, brief bool) string {
	var all string
	var agents []string
	for _, u := range list {
		text := plain.Plural(u.Runs, "session")
		if u.Tokens > 0 {
			text += ", " + plain.Count(u.Tokens) + " tokens"
		}
		if u.USD > 0 {
			text += ", " + Money{u.USD, u.Guessed}.String()
		}
		if u.Scope == fleet.FleetScope {
			all = text
		} else if name, ok := strings.CutPrefix(string(u.Scope), string(fleet.AgentScope(""))); ok {
			agents = append(agents, plain.Line(name)+" "+text)
		}
	}
	if len(agents) > 1 && !brief {
		return all + "; " + strings.Join(agents, "; ")
	}
	return all
}
