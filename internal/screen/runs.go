package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/why"
)

// roomForAgent is how wide a terminal must be for the agents to be worth a column of it.
const roomForAgent = 100

// Runs is a table of runs, in the order in which they are given. In a pipe it has the time
// at which each was made, on a terminal how long ago that was.
func Runs(list []fleet.RunStatus, now time.Time, s Style) []string {
	if len(list) == 0 {
		return nil
	}
	agents := s.Width <= 0 || s.Width >= roomForAgent
	t := Table{Columns: []Column{{Title: "RUN"}, s.whenColumn(), {Title: "CATEGORY", Least: 6}, {Title: "TASK", Least: 6}}}
	if agents {
		t.Columns = append(t.Columns, Column{Title: "AGENT", Least: 5})
	}
	several := slices.ContainsFunc(list, func(r fleet.RunStatus) bool { return r.Machine != "" })
	if several {
		t.Columns = append(t.Columns, Column{Title: "HOST", Least: 5})
	}
	t.Columns = append(t.Columns, Column{Title: "TOOK", Right: true}, Column{Title: "OUTCOME"},
		Column{Title: "GRADE", Right: true}, Column{Title: "REASON", Least: 6})
	for _, r := range list {
		row := []Cell{Text(string(r.ID)), s.when(r.CreatedAt, now), Text(string(r.Category)), Text(Dash(string(r.Task)))}
		if agents {
			row = append(row, Text(Dash(r.Agent)))
		}
		if several {
			row = append(row, Text(Dash(r.Machine)))
		}
		t.Rows = append(t.Rows, append(row, Text(took(r.Run, now)), signWord(r),
			Text(gradeText(r.Final())), Text(r.Verdict.Reason)))
	}
	return t.Lines(s)
}

// Fires is a table of fires, in the order in which they are given: what each started, or
// why it started nothing.
func Fires(list []fleet.Fire, now time.Time, s Style) []string {
	if len(list) == 0 {
		return nil
	}
	t := Table{Columns: []Column{
		{Title: "FIRE", Right: true},
		s.whenColumn(),
		{Title: "POOL", Least: 6},
		{Title: "STARTED", Least: 8},
		{Title: "WHY NOTHING", Least: 8},
	}}
	for _, f := range list {
		t.Rows = append(t.Rows, []Cell{
			Text(fmt.Sprint(f.ID)), s.when(f.At, now), Text(f.Pool), Text(Dash(strings.Join(f.Started(), ", "))),
			Text(why.Nothing(f)),
		})
	}
	return t.Lines(s)
}

// whenColumn is for times: in a pipe as they are, on a terminal how long ago.
func (s Style) whenColumn() Column {
	if s.Width <= 0 {
		return Column{Title: "WHEN"}
	}
	return Column{Title: "AGO", Right: true}
}

func (s Style) when(t, now time.Time) Cell {
	if s.Width <= 0 {
		return Text(Stamp(t))
	}
	return Text(oneUnit(max(now.Sub(t), 0)))
}

// took is how long a run took, or has taken so far.
func took(r fleet.Run, now time.Time) string {
	switch {
	case r.StartedAt.IsZero():
		return "-"
	case r.EndedAt.IsZero():
		return plain.Span(now.Sub(r.StartedAt))
	default:
		return plain.Span(r.EndedAt.Sub(r.StartedAt))
	}
}
