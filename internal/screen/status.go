package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/explain/why"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// StatusView holds a fleet at one moment, and the room for it.
type StatusView struct {
	inspect.Status
	Fleet fleet.Name
	Rows  int // lines that the screen has; 0: no limit
	Last  int // runs to show; below 0: as many as fit

	HostTable func(Style) []string // lists the fleet's hosts
}

// idle marks a lane without a run.
const idle = "○"

// maxOf bounds the lines of one kind on a terminal.
const maxOf = 6

// Status shows the fleet on one screen. Empty sections take no line.
func Status(v StatusView, s Style) []string {
	head := sheet{Style: s}
	head.lines = append(head.lines, s.Fit(s.Paint(Bold, "fleet "+string(v.Fleet))+" at "+Stamp(v.At)))
	head.text("timer", TimerText(v.Timers, v.At, s))
	head.text("fire", fireText(v, s))

	if len(v.Hosts) > 0 {
		head.add("hosts", v.HostTable(head.inner()))
	}

	lanes := sheet{Style: s}
	lanes.running(v)
	lanes.text("idle", idleText(v))

	trouble := sheet{Style: s}
	trouble.add("claims", trouble.clipped(trouble.wrap(claimsText(v)), 2))
	if len(v.Unboxed) > 0 {
		trouble.text("no box", strings.Join(safe(v.Unboxed), ", "))
	}
	if len(v.Weak) > 0 {
		trouble.text("weak box", strings.Join(safe(v.Weak), ", ")+" (landlock)")
	}
	trouble.text("reviewer", awayText(v))
	trouble.alarms(v)

	blocks := [][]string{head.lines, lanes.lines, trouble.lines, day(v, s, false)}
	switch {
	case len(v.Runs) == 0 && len(v.Fires) == 0 && len(v.Open) == 0:
		next := sheet{Style: s}
		next.add("next", firstSteps(v, next.inner()))
		blocks[3] = next.lines
	case v.Rows > 0 && len(slices.Concat(blocks...)) > v.Rows:
		blocks[3] = day(v, s, true)
	}
	last, next := sheet{Style: s}, sheet{Style: s}
	last.add("runs", lastRuns(v, last.inner()))
	if len(v.Runs)+len(v.Fires)+len(v.Open) > 0 {
		next.add("next", next.clipped(next.wrap(nextText(v, s)), 2))
	}
	return assemble(blocks, last.lines, next.lines, v)
}

// nextText names the command that frees the most categories, and why.
func nextText(v StatusView, s Style) string {
	next := v.Next()
	if next.Command == "" {
		return ""
	}
	text := s.Paint(Bold, plain.Line(next.Command))
	if next.Frees > 0 {
		text += " frees " + plain.Plural(next.Frees, "category")
	}
	return because(text, next.Text)
}

// assemble puts the blocks onto one screen. Blank lines part them if a few runs still fit. Then come as many runs as
// fit, and last the next command.
func assemble(blocks [][]string, runs, next []string, v StatusView) (lines []string) {
	const few = 3
	taken, between := 0, 0
	for _, b := range append(slices.Clone(blocks), next) {
		taken += len(b)
		if len(b) > 0 {
			between++
		}
	}
	airy := v.Rows <= 0 || taken+between+min(few, len(runs)) <= v.Rows
	if !airy {
		between = 0
	}
	if v.Last < 0 && v.Rows > 0 {
		runs = runs[:min(len(runs), max(v.Rows-taken-between, 0))]
	}
	for _, b := range append(blocks, runs, next) {
		if airy && len(lines) > 0 && len(b) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, b...)
	}
	return lines
}

// TimerText tells when each pool fires.
func TimerText(timers []fleet.Timer, now time.Time, s Style) string {
	if len(timers) == 0 {
		return s.Paint(Yellow, "unknown: the service manager cannot be asked")
	}
	var list []string
	for _, t := range timers {
		var text string
		switch {
		case t.Firing:
			text = "fires now"
		case t.Active && t.Next.IsZero():
			text = "will fire"
		case t.Active:
			text = "next fire " + until(t.Next, now)
		case t.Last.IsZero():
			text = s.Paint(Yellow, "no timer is active: stint init --systemd")
		default:
			text = s.Paint(Yellow, "stopped: systemctl --user start "+plain.Line(t.Unit))
		}
		if t.Failed {
			text += ", " + s.Paint(Red, "the last fire failed: "+t.Journal())
		}
		if len(timers) > 1 {
			text = plain.Line(t.Pool) + ": " + text
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// until gives the time left. A timer fires within its accuracy, not before it is due.
func until(t, now time.Time) string {
	if !t.After(now) {
		return "due now"
	}
	return "in " + OneUnit(t.Sub(now))
}

// fireText sums up the last fire.
func fireText(v StatusView, s Style) string {
	if len(v.Fires) == 0 {
		return ""
	}
	f := v.Fires[0]
	names := map[fleet.Decision][]string{}
	for _, c := range f.Choices {
		names[c.Decision] = append(names[c.Decision], string(c.Category))
	}
	text := fmt.Sprintf("%d%s, %s: spawned %s, skipped %d",
		f.ID, ofPool(f, v), short(f.At, v.At), named(names[fleet.Spawn]), len(names[fleet.Skip]))
	if nothing := why.Nothing(f); nothing != "" && len(names[fleet.StartFailed]) == 0 {
		text += ": " + plain.Line(nothing)
	}
	if failed := names[fleet.StartFailed]; len(failed) > 0 {
		text += ", " + s.Paint(Red, "failed to start "+named(failed))
	}
	if f.Fallback != "" {
		text += "; " + s.Paint(Yellow, "its selector was not followed: "+plain.Line(f.Fallback))
	}
	return text
}

// ofPool names a fire's pool if there are several.
func ofPool(f fleet.Fire, v StatusView) string {
	if len(v.Timers) < 2 || f.Pool == "" {
		return ""
	}
	return " of " + plain.Line(f.Pool)
}

// named counts categories and lists them.
func named(names []string) string {
	if len(names) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", len(names), strings.Join(names, ", "))
}

// LaneName names a lane by its category, with a number if the category has several.
func LaneName(c fleet.Category, lane, lanes int) string {
	if lanes > 1 && lane > 0 {
		return fmt.Sprintf("%s.%d", c, lane)
	}
	return string(c)
}

// LaneCounts counts the lanes of each category.
func LaneCounts(lanes []inspect.LaneState) map[fleet.Category]int {
	counts := map[fleet.Category]int{}
	for _, l := range lanes {
		counts[l.Category] = max(counts[l.Category], l.Number)
	}
	return counts
}

// running lists the runs that are open.
func (s *sheet) running(v StatusView) {
	var list []fleet.RunStatus
	for _, l := range v.Lanes {
		if l.Run != nil {
			list = append(list, *l.Run)
		}
	}
	for _, r := range v.Open {
		if r.Lane == 0 {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		s.add("running", []string{s.Paint(Dim, "none")})
		return
	}
	inner, counts := s.inner(), LaneCounts(v.Lanes)
	t := Table{Columns: []Column{{}, {Least: 8}, {Least: 8}, {Least: 5}, {}, {Right: true}}}
	wide := inner.Width <= 0 || inner.Width >= 105
	if wide {
		t.Columns = append(t.Columns, Column{}, Column{})
	}
	if inner.Width <= 0 {
		t.Columns = append(t.Columns, Column{})
	}
	if len(v.Hosts) > 0 {
		t.Columns = append(t.Columns, Column{Least: 6})
	}
	for _, r := range list {
		glyph, took := pulse(r, v.At)
		row := []Cell{glyph, Text(LaneName(r.Category, r.Lane, counts[r.Category])), Text(Dash(string(r.Task))), Text(Dash(r.Agent)), took, Text(tokens(r.Tokens))}
		if wide {
			row = append(row, Cell{elapsedBar(r, v.At), Cyan}, Cell{string(r.ID), Dim})
		}
		if inner.Width <= 0 {
			row = append(row, Text(Dash(r.Unit)))
		}
		if len(v.Hosts) > 0 {
			row = append(row, elsewhere(r, v.At))
		}
		t.Rows = append(t.Rows, row)
	}
	s.add("running", t.Lines(inner))
}

// pulse returns the mark of an open run, and its time so far or its state.
func pulse(r fleet.RunStatus, now time.Time) (mark, took Cell) {
	sign, elapsed := r.Sign(), now.Sub(r.StartedAt)
	mark = SignCell(sign)
	switch r.State {
	case fleet.RunCrashed:
		return mark, Cell{crashed(r), mark.Paint}
	case fleet.RunWaiting:
		return mark, Cell{Waits(r, now), mark.Paint}
	case fleet.RunPlanned:
		return mark, Cell{sign.Word, mark.Paint}
	case fleet.RunSuspended:
		return mark, Cell{fmt.Sprintf("suspended: kill -CONT %d lets it go on", r.PID), mark.Paint}
	case fleet.RunRunning, fleet.RunEnded:
	}
	took = Text(plain.Span(elapsed))
	if r.Timeout > 0 {
		took.Text += " of " + plain.Span(r.Timeout)
	}
	if r.Timeout > 0 && elapsed > r.Timeout*8/10 {
		took.Paint = Yellow
	}
	return mark, took
}

func crashed(r fleet.RunStatus) string {
	if r.StartedAt.IsZero() {
		return "crashed: it never began"
	}
	return "crashed: no result"
}

// Waits tells how much of a run's cooldown is left.
func Waits(r fleet.RunStatus, now time.Time) string { return "waits " + plain.Span(r.RestLeft(now)) }

// elapsedBar draws the part of its time that an open run has used.
func elapsedBar(r fleet.RunStatus, now time.Time) string {
	const columns = 10
	if r.StartedAt.IsZero() || r.Timeout <= 0 || r.State == fleet.RunCrashed {
		return ""
	}
	return Bar(float64(now.Sub(r.StartedAt))/float64(r.Timeout), columns)
}

func tokens(n *int64) string {
	if n == nil {
		return "-"
	}
	return plain.Count(*n) + " tok"
}

// idleText lists the idle lanes.
func idleText(v StatusView) string {
	counts := LaneCounts(v.Lanes)
	names := plain.Each(v.Idle(), func(l inspect.LaneState) string { return LaneName(l.Category, l.Number, counts[l.Category]) })
	if len(names) == 0 {
		return ""
	}
	return idle + " " + strings.Join(names, ", ")
}

// firstSteps lists the first commands for a fleet that has never run.
func firstSteps(v StatusView, s Style) []string {
	t := Table{Columns: []Column{{}, {Least: 10}}}
	category := cmp.Or(string(v.First), "CATEGORY")
	for _, step := range [][2]string{
		{"stint doctor", "checks what it needs"},
		{"stint task add TITLE --category " + category, "a first task"},
		{"stint run --category " + category, "one session, here and now"},
		{"stint fanout --dry-run", "what a fire would start, and why"},
		{"stint init --systemd", "a timer that fires from then on"},
	} {
		t.Rows = append(t.Rows, []Cell{{step[0], Bold}, Text(step[1])})
	}
	return append([]string{NoStore(v.NoStore)}, t.Lines(s)...)
}

// NoStore tells that the fleet has no record. "init" makes a store, so if the folder has none, it may have been moved.
func NoStore(folder string) string {
	if folder == "" {
		return "nothing has run yet"
	}
	return "nothing has run yet, or the record was moved: there is no store in " + folder
}

// lastRuns lists the latest runs that have ended. Open ones are listed with the lanes.
func lastRuns(v StatusView, s Style) []string {
	t := Table{Columns: []Column{{Right: true}, {}, {Least: 6}, {Least: 8}, {}, {Right: true}}}
	wide := s.Width <= 0 || s.Width >= 85
	if wide {
		t.Columns = append(t.Columns, Column{Least: 8})
	}
	ended := plain.Kept(v.Runs, func(r fleet.RunStatus) bool { return r.State == fleet.RunEnded })
	slices.SortStableFunc(ended, func(a, b fleet.RunStatus) int { return b.EndedAt.Compare(a.EndedAt) })
	for _, r := range ended {
		row := []Cell{
			{short(r.EndedAt, v.At), Dim},
			{string(r.ID), Dim},
			Text(string(r.Category)),
			Text(Dash(string(r.Task))),
			signWord(r),
			Text(gradeText(r.Final())),
		}
		if wide {
			row = append(row, Cell{r.Verdict.Reason, Dim})
		}
		if t.Rows = append(t.Rows, row); len(t.Rows) == v.Last {
			break
		}
	}
	if len(t.Rows) == 0 || v.Last == 0 {
		return nil
	}
	return t.Lines(s)
}

func gradeText(g *float64) string {
	if g == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *g)
}
