package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/doctor"
	"stint/internal/plain"
)

// Findings lays out what a doctor found: a line each, and below what is amiss why it matters
// and what fixes it. A command is never broken, as it is to be copied.
func Findings(list []doctor.Finding, s Style) []string {
	widest := 0
	for _, f := range list {
		widest = max(widest, ansi.StringWidth(f.Check))
	}
	var lines []string
	for _, f := range list {
		sign, paint := findingSign(f.State)
		head := sign + "  " + f.Check + strings.Repeat(" ", widest-ansi.StringWidth(f.Check)) + "  "
		text := s.paragraph(Normal, "", strings.Repeat(" ", ansi.StringWidth(head)), f.What)
		text[0] = s.Paint(paint, sign) + strings.TrimPrefix(head, sign) + text[0]
		lines = append(lines, text...)
		if f.Why != "" {
			lines = append(lines, s.paragraph(Dim, findingIndent, findingIndent, f.Why)...)
		}
		if f.Fix != "" {
			lines = append(lines, findingIndent+"fix: "+s.Paint(Bold, plain.Line(f.Fix)))
		}
	}
	return append(lines, doctor.Summary(list))
}

const findingIndent = "     "

func findingSign(s doctor.State) (string, Paint) {
	switch s {
	case doctor.OK:
		return "✓", Green
	case doctor.Warning:
		return "!", Yellow
	case doctor.Problem:
		return "✗", Red
	case doctor.Unknown:
	}
	return "?", Dim
}
