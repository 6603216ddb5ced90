package doctor

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/plain"
	"stint/internal/screen"
)

// Lines lays out findings: a line each, and below a fault its reason and fix. A command is never broken, so that it can
// be copied.
func Lines(list []Finding, s screen.Style) []string {
	widest := 0
	for _, f := range list {
		widest = max(widest, ansi.StringWidth(f.Check))
	}
	var lines []string
	for _, f := range list {
		sign, paint := findingSign(f.State)
		head := sign + "  " + f.Check + strings.Repeat(" ", widest-ansi.StringWidth(f.Check)) + "  "
		text := s.Paragraph(screen.Normal, "", strings.Repeat(" ", ansi.StringWidth(head)), f.What)
		text[0] = s.Paint(paint, sign) + strings.TrimPrefix(head, sign) + text[0]
		lines = append(lines, text...)
		if f.Why != "" {
			lines = append(lines, s.Paragraph(screen.Dim, findingIndent, findingIndent, f.Why)...)
		}
		if f.Fix != "" {
			lines = append(lines, findingIndent+"fix: "+s.Paint(screen.Bold, plain.Line(f.Fix)))
		}
	}
	return append(lines, Summary(list))
}

const findingIndent = "     "

func findingSign(s State) (string, screen.Paint) {
	switch s {
	case OK:
		return "✓", screen.Green
	case Warning:
		return "!", screen.Yellow
	case Problem:
		return "✗", screen.Red
	case Unknown:
	}
	return "?", screen.Dim
}
