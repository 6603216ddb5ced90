package screen

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// ReviewView holds the work of one session, and its run.
type ReviewView struct {
	review.Item
	Target review.Target
	Detail *RunView // nil: the run is not on record
	At     time.Time

	Questions []string // that the agent left open
}

// maxFiles bounds the files of a change that are listed by name.
const maxFiles = 20

// Review shows the work of one session on one screen, for its reviewer.
func Review(v ReviewView, s Style) []string {
	r := sheet{Style: s}
	title := s.Paint(Bold, "run "+string(v.Run))
	for _, word := range []string{string(v.Session.Category), string(v.Session.Task)} {
		if word != "" {
			title += "  " + plain.Line(word)
		}
	}
	r.lines = append(r.lines, s.Fit(title))
	r.text("state", because(string(v.State), v.Why))
	r.text("branch", plain.Line(v.Name)+", for "+plain.Line(v.Target.Name))
	r.text("folder", plain.Line(v.Dir))
	r.text("left", plain.Line(v.Leftovers))
	r.text("commits", commitsText(v.Commits))
	if as := v.LandedAs(); as != "" {
		r.text("landed", "as "+plain.Line(as))
	} else {
		r.text("waits", "since "+Stamp(v.Since)+" ("+plain.Ago(v.Since, v.At)+")")
	}
	if d, ok := v.Decided(); ok {
		r.text("decided", fmt.Sprintf("%s by %s, %s", d.Decision, plain.Line(d.By), Stamp(d.DecidedAt)))
	}
	if len(v.Files) > 0 {
		r.text("changes", fmt.Sprintf("%s in %s, %s", plain.Plural(v.Lines, "line"), plain.Plural(len(v.Files), "file"), plain.Plural(v.Tests, "test")))
	}
	r.add("files", shortened(v.Files))
	r.add("conflicts", safe(v.Conflicts))
	r.text("clashes", strings.Join(plain.Each(v.Collides, func(run fleet.RunID) string { return string(run) }), " "))
	r.text("check", checkText(v.Item))
	if d := v.Detail; d != nil {
		r.text("session", stateText(*d, s))
		r.text("task", leavesText(d.Verdict.TaskState))
		r.text("grade", gradeSum(d.Verdict, s))
		r.add("fate", fateLines(*d))
		r.text("agent", agentText(*d))
		r.text("used", usageText(*d))
		r.text("conversation", plain.Line(d.Conversation.ID))
		r.text("resume", plain.Line(d.Resume))
		r.add("questions", safe(v.Questions))
		r.add("said", r.excerpt(d.Log, maxLog, true))
	}
	return r.lines
}

// checkText gives the result of the check.
func checkText(i review.Item) string {
	green, known := i.Checked()
	switch {
	case !known:
		return ""
	case green:
		return "passed " + Stamp(i.Decision.Check.At)
	}
	return because("failed "+Stamp(i.Decision.Check.At), i.Decision.Check.Reason)
}

// leavesText names the state into which the agent puts its task.
func leavesText(s fleet.TaskState) string {
	if s == "" {
		return ""
	}
	return "the agent leaves it " + string(s)
}

func shortened(files []string) []string {
	if len(files) > maxFiles {
		return append(safe(files[:maxFiles]), fmt.Sprintf("… and %d more", len(files)-maxFiles))
	}
	return safe(files)
}
