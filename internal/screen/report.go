package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Report shows a fleet's work on one page: the findings first, then the figures and the tables.
func Report(s Style, name fleet.Name, r report.Report, tables ...[]string) []string {
	const minute = "2006-01-02 15:04"
	lines := []string{s.Fit(fmt.Sprintf("%s: %s to %s UTC (%s)", s.Paint(Bold, plain.Line(string(name))),
		r.From.UTC().Format(minute), r.To.UTC().Format(minute), plain.Span(r.To.Sub(r.From))))}
	if r.All.Runs == 0 {
		return append(lines, s.Fit("There were no runs in this time."))
	}
	lines = append(lines, "")
	lines = append(lines, findingLines(s, r.Findings)...)
	for _, part := range slices.Concat([][]string{figureLines(s, r)}, tables, [][]string{outcomeLines(s, r)}) {
		if len(part) > 0 {
			lines = append(append(lines, ""), part...)
		}
	}
	return lines
}

func findingLines(s Style, findings []report.Finding) (lines []string) {
	if len(findings) == 0 {
		return []string{s.Fit("Nothing stands out.")}
	}
	for _, f := range findings {
		paint := Yellow
		if f.Kind == report.FoundViolation || f.Kind == report.FoundFruitless {
			paint = Red
		}
		for i, line := range strings.Split(ansi.Wrap(plain.Line(f.Text), s.Width-2, ""), "\n") {
			sign := "  "
			if i == 0 {
				sign = s.Paint(paint, "!") + " "
			}
			lines = append(lines, s.Fit(sign+line))
		}
	}
	return lines
}

func figureLines(s Style, r report.Report) []string {
	all, a := r.All, r.Audit
	rows := [][2]string{
		{"runs", fmt.Sprintf("%d, %d of them started by fires; %d have ended", all.Runs, all.Spawned, all.Ended)},
		{"sessions", fmt.Sprintf("%d: %.1f a day, %.2f an hour; at most %d at once", all.Sessions, r.PerDay(), r.PerHour(), a.PeakConcurrency)},
		{"grades", gradesText(all)},
		{"noop rate", fmt.Sprintf("%s: %d of %d", report.Percent(all.NoopRate()), all.Empty, all.Ended)},
		{"cost", costText(all)},
		{"claims", fmt.Sprintf("denied %d, of which %d went on to another category", a.Denials, a.Pivots)},
		{"lanes", fmt.Sprintf("acquisitions %d, held by two at once %d", a.TotalAcquisitions, len(a.Violations))},
		{"fires", fmt.Sprintf("external selector failed %d, gave no ranking %d; follow-up sessions %d", a.Fallbacks, a.SafetyNet, r.Respawns)},
		{"neglected", fmt.Sprintf("%d of %d spawned workers were for neglected categories", r.NeglectedSpawned(), all.Spawned)},
	}
	var t Table
	t.Columns = []Column{{}, {}}
	for _, row := range rows {
		t.Rows = append(t.Rows, []Cell{{row[0], Dim}, Text(row[1])})
	}
	return t.Lines(s)
}

func costText(u report.Use) string {
	each := ""
	if u.Productive() > 0 {
		each = fmt.Sprintf(", %s for each productive run", Money{u.USDPerProductive(), u.Guessed})
	}
	return fmt.Sprintf("%s%s%s; %s tokens; %.1f hours", Money{u.USD, u.Guessed}, guessedText(u), each, plain.Count(u.Tokens), u.Worked.Hours())
}

// guessedText gives the part of the cost that no agent reported.
func guessedText(u report.Use) string {
	if !shows(u.Guessed) {
		return ""
	}
	return fmt.Sprintf(" (%s computed from prices or assumed)", Money{USD: u.Guessed})
}

// shows reports whether an amount is worth a cent.
func shows(usd float64) bool { return usd >= 0.005 }

// Money is an amount in USD, and the part of it that is an estimate.
type Money struct{ USD, Guessed float64 }

func (m Money) String() string {
	text := fmt.Sprintf("$%.2f", m.USD)
	if m.Guessed > 0 && m.Guessed >= min(m.USD, 0.005) {
		text = "≈" + text
	}
	return text
}

// CostOf returns the cost of a session; zero: unknown.
func CostOf(u fleet.Usage) (m Money) {
	if u.USD != nil {
		m.USD = *u.USD
	}
	if u.Cost.Estimated() {
		m.Guessed = m.USD
	}
	return m
}

func gradesText(u report.Use) string {
	if u.Graded == 0 {
		return "none"
	}
	alone := u.Alone()
	return fmt.Sprintf("%d, mean %.2f (95 %%: %.2f to %.2f)", u.Graded, alone.Mean, alone.Low, alone.High)
}

// barColumns bounds the length of a bar.
const barColumns = 12

// TargetBar draws a part as a bar, with a mark at the part's target.
func TargetBar(part, target, most float64) string {
	if most <= 0 {
		return ""
	}
	bar := []rune(Bar(part/most, barColumns))
	for len(bar) < barColumns {
		bar = append(bar, ' ')
	}
	if at := min(int(target/most*barColumns), barColumns-1); target > 0 {
		bar[at] = '│'
	}
	return strings.TrimRight(string(bar), " ")
}

// IntervalStrip draws an interval in [0,1], and its mean.
func IntervalStrip(low, mean, high float64) string {
	const columns = 10
	at := func(v float64) int { return min(max(int(v*columns), 0), columns-1) }
	strip := []rune(strings.Repeat("·", columns))
	for i := at(low); i <= at(high); i++ {
		strip[i] = '━'
	}
	strip[at(mean)] = '●'
	return string(strip)
}

func outcomeLines(s Style, r report.Report) []string {
	t := Table{Columns: []Column{{Title: "OUTCOME"}, {Title: "RUNS", Right: true}, {Title: "PART", Right: true}, {}}}
	for _, o := range r.All.Ends() {
		t.Rows = append(t.Rows, []Cell{
			Text(string(o.Outcome)), Text(fmt.Sprint(o.Runs)), Text(report.Percent(o.Part)), {Bar(o.Part, 28), Cyan},
		})
	}
	if open := r.All.Runs - r.All.Ended; open > 0 {
		t.Rows = append(t.Rows, Row("open", fmt.Sprint(open), "", ""))
	}
	return t.Lines(s)
}
