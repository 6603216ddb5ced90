package review

import (
	"regexp"
	"strings"
)

// maxQuestions bounds how many lines of open questions are shown.
const maxQuestions = 20

// Questions are the lines that an agent printed below its last heading "Open questions", up to the
// next heading or the end of the paragraph or list.
func Questions(printed string) (lines []string) {
	head := regexp.MustCompile(`(?i)^[\s#*_]*open questions?[\s:*_]*$`)
	entry := regexp.MustCompile(`^\s*([-*+]|[0-9]+[.)])\s`)
	within, gap := false, false
	for line := range strings.Lines(printed) {
		text := strings.TrimRight(line, " \t\r\n")
		switch {
		case head.MatchString(text):
			lines, within, gap = nil, true, false
		case !within:
		case text == "":
			gap = len(lines) > 0
		case strings.HasPrefix(text, "#"), gap && !entry.MatchString(text), len(lines) == maxQuestions:
			within = false
		default:
			lines, gap = append(lines, text), false
		}
	}
	return lines
}
