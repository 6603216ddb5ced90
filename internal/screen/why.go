package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/explain/why"
	"stint/internal/plain"
)

// Why lays out an answer: the verdict, then what is in the way, each with what would have
// to change and the command for it on a line of its own, then the rest.
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
		if o.Command != "" { // whole, for it is to be copied
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

// minParagraph bounds the width of a paragraph from below, however narrow the terminal.
const minParagraph = 20

// Paragraph wraps a text between words, its first line after one indentation and the
// others after another. Only a word that is wider than a line is broken: times, names and
// paths are to be copied.
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

// between puts line breaks between words. [ansi.Wrap] would break at hyphens, too.
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
