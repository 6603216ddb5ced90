package screen

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// RunView holds all that is known of one run.
type RunView struct {
	inspect.RunDetail
	At     time.Time
	Prompt string   // its beginning; empty: there is none
	Log    string   // its end; empty: there is none
	There  []string // the files that exist
}

// Lines of the prompt and of the log on the screen of a run.
const (
	maxPrompt = 6
	maxLog    = 10
)

// Run shows one run on one screen.
func Run(v RunView, s Style) []string {
	r := sheet{Style: s}
	title := s.Paint(Bold, "run "+string(v.ID)) + "  " + plain.Line(string(v.Category))
	if v.Task != "" {
		title += "  " + plain.Line(string(v.Task))
	}
	r.lines = append(r.lines, s.Fit(title))
	r.text("state", stateText(v, s))
	r.text("grade", gradeSum(v.Verdict, s))
	r.add("fate", fateLines(v))
	r.text("times", timesText(v))
	r.text("fire", originText(v))
	r.text("claim", claimText(v))
	r.text("host", plain.Line(OnOtherHost(v.RunStatus, v.At)))
	r.text("agent", agentText(v))
	r.text("commits", commitsText(v.Commits))
	r.text("branch", plain.Line(v.Branch))
	r.text("folder", plain.Line(v.Dir))
	r.text("left", plain.Line(v.Leftovers))
	r.text("conversation", because(plain.Line(v.Conversation.ID), v.Conversation.Why))
	r.text("resume", plain.Line(v.Resume))
	r.text("used", usageText(v))
	r.text("chain", chainText(v))
	r.add("denied", denials(v.Denials, r.inner()))
	r.text("lessons", lessonsText(v.Lessons))
	r.text("files", v.Swept)
	r.add("files", safe(v.There))
	r.add("prompt", r.excerpt(v.Prompt, maxPrompt, false))
	r.add("log", r.excerpt(v.Log, maxLog, true))
	return r.lines
}

// stateText describes a run's state or end.
func stateText(v RunView, s Style) string {
	if v.State == fleet.RunEnded {
		word := signWord(v.RunStatus)
		return because(s.Paint(word.Paint, word.Text), v.Verdict.Reason)
	}
	glyph, took := pulse(v.RunStatus, v.At)
	text := glyph.Text + " " + took.Text
	if v.State == fleet.RunRunning {
		text = glyph.Text + " running, " + took.Text
	}
	if v.State == fleet.RunCrashed {
		text += "; the next fire closes it, or stint reap"
	}
	return s.Paint(glyph.Paint, text)
}

// gradeSum gives the grade, its terms, and the counts behind them.
func gradeSum(v fleet.Verdict, s Style) string {
	if v.Outcome == "" {
		return ""
	}
	addends, facts := v.Terms()
	var terms []string
	sum := 0.0
	for _, p := range addends {
		terms, sum = append(terms, fmt.Sprintf("%s %+.3f", plain.Line(p.Name), p.Value)), sum+p.Value
	}
	text := "none"
	switch {
	case v.Grade == nil:
	case len(terms) > 0 && math.Abs(sum-*v.Grade) < 0.0005:
		text = fmt.Sprintf("%.3f = %s", *v.Grade, strings.Join(terms, ", "))
		terms = nil
	default:
		text = fmt.Sprintf("%.3f", *v.Grade)
	}
	text = s.Paint(Bold, text)
	for _, p := range facts {
		terms = append(terms, fmt.Sprintf("%s %.4g", plain.Line(p.Name), p.Value))
	}
	if len(terms) > 0 {
		text += " (" + strings.Join(terms, ", ") + ")"
	}
	return text
}

// fateLines lists the review events of the run's work, each with the new grade.
func fateLines(v RunView) (lines []string) {
	for _, f := range v.Fates {
		text := fmt.Sprintf("%s %s by %s", f.Kind, Stamp(f.At), plain.Line(f.Witness))
		if f.Grade != nil {
			text += fmt.Sprintf(", grade %.3f", *f.Grade)
		}
		lines = append(lines, because(text, f.Reason))
	}
	return lines
}

func timesText(v RunView) string {
	parts := []string{"made " + Stamp(v.CreatedAt) + " (" + plain.Ago(v.CreatedAt, v.At) + ")"}
	if !v.NotBefore.IsZero() {
		parts = append(parts, "not before "+Stamp(v.NotBefore))
	}
	if !v.StartedAt.IsZero() {
		parts = append(parts, "began "+Stamp(v.StartedAt)+", "+plain.Span(v.StartedAt.Sub(v.CreatedAt))+" later")
	}
	if !v.EndedAt.IsZero() {
		text := "ended " + Stamp(v.EndedAt)
		if !v.StartedAt.IsZero() {
			text += ", took " + plain.Span(v.EndedAt.Sub(v.StartedAt))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// originText tells who started the run, and why.
func originText(v RunView) string {
	switch {
	case v.Fire == 0 && v.Source == fleet.FromRespawn:
		return "none: it follows a run that was started by hand"
	case v.Fire == 0:
		return "none: it was started by hand"
	}
	if v.Choice != nil && strings.HasPrefix(v.Choice.Reason, fleet.ReasonAlone) {
		return because(fmt.Sprint(v.Fire), v.Choice.Reason)
	}
	text := fmt.Sprintf("%d, rank %d, by %s", v.Fire, v.Rank, plain.Line(string(v.Source)))
	if v.Source == fleet.FromRespawn {
		text = fmt.Sprintf("%d, rank %d; it follows a good run", v.Fire, v.Rank)
	}
	if c := v.Choice; c != nil {
		if c.Odds != nil { // stint's own ranking chose
			text += fmt.Sprintf(", score %.3f", c.Score)
		}
		text = because(text, c.Reason)
	}
	return text
}

func claimText(v RunView) string {
	if v.Lane == 0 && v.Key == "" {
		return "none, and no lane"
	}
	text := fmt.Sprintf("lane %s.%d", plain.Line(string(v.Category)), v.Lane)
	if v.Key == "" {
		return text + ", no claim"
	}
	return text + fmt.Sprintf(", key %s, epoch %d", plain.Line(string(v.Key)), v.Epoch)
}

func agentText(v RunView) string {
	parts := []string{plain.Line(Dash(v.Agent))}
	if v.Box != "" {
		parts = append(parts, "box "+plain.Line(v.Box))
	}
	if v.Verdict.ExitStatus != nil {
		parts = append(parts, fmt.Sprintf("exit status %d", *v.Verdict.ExitStatus))
	}
	if v.PID != 0 && v.EndedAt.IsZero() {
		parts = append(parts, fmt.Sprintf("pid %d", v.PID))
	}
	if v.Unit != "" {
		parts = append(parts, "unit "+plain.Line(v.Unit))
	}
	return strings.Join(parts, ", ")
}

// commitsText shortens commit ids, as git does.
func commitsText(ids []string) string {
	const short = 12 // distinguishes any two in a large repository
	list := plain.Each(ids, func(id string) string { return plain.Line(id[:min(short, len(id))]) })
	return strings.Join(list, " ")
}

func usageText(v RunView) string {
	n := cmp.Or(v.Usage.Tokens, v.Tokens)
	var parts []string
	if n != nil {
		parts = append(parts, plain.Count(*n)+" tokens")
	}
	if v.Usage.USD != nil {
		parts = append(parts, CostOf(v.Usage).String()+costSource(v.Usage.Cost))
	}
	if len(v.Usage.Models) > 0 {
		parts = append(parts, "by "+plain.Line(strings.Join(v.Usage.Models, " and ")))
	}
	if !v.QuotaUntil.IsZero() {
		parts = append(parts, "its usage limit ends "+Stamp(v.QuotaUntil))
	}
	return strings.Join(parts, ", ")
}

// costSource tells how a cost is known that no agent reported.
func costSource(c fleet.Cost) string {
	switch c {
	case fleet.CostComputed:
		return " (computed from prices)"
	case fleet.CostAssumed:
		return " (assumed: not known)"
	case fleet.CostReported:
	}
	return ""
}

// chainText names the runs before and after this one in its chain.
func chainText(v RunView) string {
	var parts []string
	if v.ChainDepth > 0 {
		parts = append(parts, plain.Plural(v.ChainDepth, "good run")+" before it")
	}
	switch {
	case v.FollowedBy != "":
		parts = append(parts, "followed "+plain.Line(v.Following()))
	case v.Followed != "":
		parts = append(parts, "not followed: "+plain.Line(v.Followed))
	}
	return strings.Join(parts, "; ")
}

func denials(list []fleet.DeniedClaim, s Style) []string {
	t := Table{Columns: []Column{{Least: 10}, {Least: 10}, {}, {}}}
	for _, d := range list {
		t.Rows = append(t.Rows, Row(string(d.Key), "held by "+string(d.Holder), string(d.Category), Stamp(d.At)))
	}
	return t.Lines(s)
}

func lessonsText(list []fleet.LessonUse) string {
	var given, withheld []string
	for _, u := range list {
		if u.Injected {
			given = append(given, plain.Line(string(u.Lesson)))
		} else {
			withheld = append(withheld, plain.Line(string(u.Lesson)))
		}
	}
	var parts []string
	if len(given) > 0 {
		parts = append(parts, "given "+strings.Join(given, ", "))
	}
	if len(withheld) > 0 {
		parts = append(parts, "withheld by chance "+strings.Join(withheld, ", "))
	}
	return strings.Join(parts, "; ")
}

func safe(texts []string) []string {
	return plain.Each(texts, plain.Line)
}

// excerpt returns the first or the last lines of a text.
func (s *sheet) excerpt(text string, most int, end bool) (lines []string) {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	inner := s.inner()
	for _, line := range PrintedLines(text) {
		lines = append(lines, inner.Fit(plain.Line(line)))
	}
	if len(lines) <= most {
		return lines
	}
	if end {
		return lines[len(lines)-most:]
	}
	return append(lines[:most:most], s.Paint(Dim, "…"))
}
