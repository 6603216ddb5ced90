package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/plain"
)

// Setting is one value in effect, and its origin.
type Setting struct {
	Origin  string // such as stint.toml:31
	Default bool   // the file does not set it
	Text    string // key = value
}

// Settings puts origins first: however long a value is, the columns stay in place. A value that is too wide goes on
// below its beginning.
func Settings(list []Setting, s Style) (lines []string) {
	column := 0
	for _, one := range list {
		column = max(column, ansi.StringWidth(one.Origin)+gap)
	}
	for _, one := range list {
		origin := one.Origin + strings.Repeat(" ", column-ansi.StringWidth(one.Origin))
		if one.Default {
			origin = s.Paint(Dim, origin)
		}
		text := plain.Line(one.Text)
		if s.Width > 0 {
			inner := max(s.Width-column-gap, minParagraph)
			text = ansi.Hardwrap(between(text, inner), inner, true) // a word may be longer than a line
		}
		lines = append(lines, strings.Split(origin+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", column+gap)), "\n")...)
	}
	return lines
}
