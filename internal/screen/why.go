package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/explain/why"
	"stint/internal/plain"
)

// Why lays out an answer: the verdict, then each obstacle with the change that ends it and its command, then the rest.
func Why(a why.Answer, s Style) []string {
	var lines []string
	for i, text := range a.Lead {
		paint := Normal
		switch {
		case i == 0 && len(a.Obstacles) > 0:
			paint = Red
		case i == 0:
			paint = Bold
		}
		lines = append(lines, s.Paragraph(paint, "", "", text)...)
	}
	for _, o := range a.Obstacles {
		lines = append(lines, "")
		lines = append(lines, s.Paragraph(Normal, "- ", "  ", o.Reason)...)
		if o.Change != "" {
			lines = append(lines, s.Paragraph(Dim, "  ", "  ", o.Change)...)
		}
		if o.Command != "" { // whole, to be copied
			lines = append(lines, "    "+s.Paint(Cyan, plain.Line(o.Command)))
		}
	}
	for _, p := range a.Parts {
		lines = append(lines, "", s.Paint(Bold, p.Title+":"))
		for _, text := range p.Sentences {
			lines = append(lines, s.Paragraph(Normal, "  ", "    ", text)...)
		}
	}
	return lines
}

// minParagraph is the least width of a paragraph, however narrow the terminal.
const minParagraph = 20

// Paragraph wraps a text between words. The first line and the others have indentations of their own. Only a word that
// is wider than a line is broken: times, names and paths are to be copied.
func (s Style) Paragraph(p Paint, first, rest, text string) []string {
	text = plain.Line(text)
	if s.Width > 0 {
		text = between(text, max(s.Width-len(rest), minParagraph))
	}
	lines := strings.Split(text, "\n")
	indent := first
	for i, line := range lines {
		lines[i] = indent + s.Paint(p, line)
		indent = rest
	}
	return lines
}

// between breaks lines between words. [ansi.Wrap] would break at hyphens.
func between(text string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.SplitSeq(text, " ") {
		w := ansi.StringWidth(word)
		switch {
		case column == 0:
		case column+1+w > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		if w > width {
			word = ansi.Hardwrap(word, width, true)
			w = ansi.StringWidth(word[strings.LastIndexByte(word, '\n')+1:])
		}
		b.WriteString(word)
		column += w
	}
	return b.String()
}
