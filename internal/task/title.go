package task

import (
	"strings"

	"stint/internal/plain"
)

// title is the text of the body's first heading of the # kind outside code
// blocks, on one line without control characters, or the id.
func title(body, id string) string {
	code := "" // the marker that ends the code block we are in
	for line := range strings.Lines(body) {
		text := strings.TrimLeft(line, " ")
		switch marker := text[:min(3, len(text))]; {
		case len(line)-len(text) > 3: // An indented code block.
		case marker == code:
			code = ""
		case code != "":
		case marker == "```", marker == "~~~":
			code = marker
		case heading(text) != "":
			return heading(text)
		}
	}
	return id
}

func heading(line string) string {
	text := strings.TrimLeft(line, "#")
	if level := len(line) - len(text); level < 1 || level > 6 || text == strings.TrimLeft(text, " \t") {
		return ""
	}
	return oneLine(text)
}

// oneLine is the text as a line that is safe to print.
func oneLine(text string) string { return strings.TrimSpace(plain.Line(text)) }
