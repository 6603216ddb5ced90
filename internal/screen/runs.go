package screen

import (
	"time"

	"stint/internal/fleet"
)

// roomForAgent is how wide a terminal must be for the agents to be worth a column of it.
const roomForAgent = 100

// Runs is a table of runs, in the order in which they are given. In a pipe it has the time
// at which each was made, on a terminal how long ago that was.
func Runs(list []fleet.Run, now time.Time, s Style) []string {
	if len(list) == 0 {
		return nil
	}
	agents := s.Width <= 0 || s.Width >= roomForAgent
	t := Table{Columns: []Column{{Title: "RUN"}, {Title: "AGO", Right: true}, {Title: "CATEGORY", Least: 6}, {Title: "TASK", Least: 6}}}
	if s.Width <= 0 {
		t.Columns[1] = Column{Title: "WHEN"}
	}
	if agents {
		t.Columns = append(t.Columns, Column{Title: "AGENT", Least: 5})
	}
	t.Columns = append(t.Columns, Column{Title: "TOOK", Right: true}, Column{Title: "OUTCOME"},
		Column{Title: "GRADE", Right: true}, Column{Title: "REASON", Least: 6})
	for _, r := range list {
		when, outcome := oneUnit(max(now.Sub(r.CreatedAt), 0)), string(r.Verdict.Outcome)
		if s.Width <= 0 {
			when = Stamp(r.CreatedAt)
		}
		if r.EndedAt.IsZero() {
			if outcome = "open"; r.Rests(now) {
				outcome = string(fleet.Resting)
			}
		}
		row := []Cell{Text(string(r.ID)), Text(when), Text(string(r.Category)), Text(Dash(string(r.Task)))}
		if agents {
			row = append(row, Text(Dash(r.Agent)))
		}
		t.Rows = append(t.Rows, append(row, Text(took(r, now)), Cell{outcome, mood(r.Verdict.Outcome)},
			Text(gradeText(r.Verdict.Grade)), Text(r.Verdict.Reason)))
	}
	return t.Lines(s)
}

// took is how long a run took, or has taken so far.
func took(r fleet.Run, now time.Time) string {
	switch {
	case r.StartedAt.IsZero():
		return "-"
	case r.EndedAt.IsZero():
		return Span(now.Sub(r.StartedAt))
	default:
		return Span(r.EndedAt.Sub(r.StartedAt))
	}
}
