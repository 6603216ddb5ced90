package transcript

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Readable passes on what an agent printed as text for people: what the model said, its
// tool calls, what went wrong, and how it ended at what cost. A line that is not of the
// format, or too long for one, is passed on as it is. The text is no safer to show than
// what the agent printed.
type Readable struct {
	w     io.Writer
	read  *session // nil: every line is as it is
	lines lines
	err   error
}

// NewReadable passes on to w, whole lines at a time. Close passes on what has no end yet.
func NewReadable(c preset.CLI, w io.Writer) *Readable {
	r := &Readable{w: w}
	r.lines.each = r.piece
	if len(c.Output) > 0 {
		r.read = newSession(preset.CLI{}, c.Output, time.Time{})
	}
	return r
}

// ReadableText is a whole output as such text.
func ReadableText(c preset.CLI, output string) string {
	var b strings.Builder
	r := NewReadable(c, &b)
	_, _ = io.WriteString(r, output) // a strings.Builder takes everything
	_ = r.Close()
	return b.String()
}

// Write takes the next piece. It may end anywhere.
func (r *Readable) Write(piece []byte) (int, error) {
	if r.read == nil {
		r.pass(piece)
	} else {
		_, _ = r.lines.Write(piece) // it takes everything
	}
	return len(piece), r.err
}

// piece shows a line that is whole.
func (r *Readable) piece(line []byte, first, last bool) {
	object := objectIn(line)
	if object == nil || !first || !last {
		r.pass(line)
		return
	}
	text, ok := r.read.event(object)
	if !ok {
		r.pass(line)
		return
	}
	if before := line[:bytes.Index(line, object)]; len(bytes.TrimSpace(before)) > 0 {
		r.pass(append(bytes.Clone(before), '\n'))
	}
	if text != "" {
		r.pass([]byte(strings.TrimRight(text, "\n") + "\n"))
	}
}

func (r *Readable) pass(text []byte) {
	if len(text) > 0 && r.err == nil {
		_, r.err = r.w.Write(text)
	}
}

// Close shows the last line, if it was begun. The writer below stays open.
func (r *Readable) Close() error {
	r.lines.end()
	return r.err
}

// The lines of a readable text begin with what they are; the model's own words stand as
// they are.
const (
	markCommand = "$ " // that the agent ran
	markTool    = "> " // another tool, and what it was used on
	markWrong   = "! " // an error, a retry, a rate limit
	markState   = "* " // beginning and end of the session
	markThought = "~ " // of the model, shortened
	setIn       = "  " // what a tool gave back, and further lines of a command
)

const (
	// headLines and tailLines are shown of what a tool gave back: what it began with, and
	// what it came to.
	headLines, tailLines = 4, 4
	// maxCommand bounds the lines of a command that are shown: some commands hold whole files.
	maxCommand = 20
)

// show is what people see of an item.
func (s *session) show(r preset.Rule, i item, text string, is func(...string) bool) (shown string) {
	said := cmp.Or(i.filled(r.Show), text)
	switch {
	case is("say"):
		s.repeats = said
		shown = said + "\n"
	case is("thought"):
		shown = markThought + brief(said) + "\n"
	case is("began"):
		s.begun = textOf(i.at(r.ID))
		return marked(markCommand, used(i.at(r.Input)))
	case is("command"):
		if id := textOf(i.at(r.ID)); id == "" || id != s.begun { // its beginning was cut off, or another began meanwhile
			shown = marked(markCommand, used(i.at(r.Input)))
		}
	case is("call", "uses"):
		if tool := strings.TrimSpace(i.filled(r.Tool) + " " + used(i.at(r.Input))); tool != "" {
			shown = marked(markTool, tool)
		}
	case is("note"):
		shown = markState + brief(said) + "\n"
	case is("warning", "fault"):
		if wait := milliseconds(i.at(r.WaitMS)); wait > 0 {
			said += fmt.Sprintf(", in %s", wait.Round(time.Millisecond))
		}
		shown = wrong(brief(said))
	case is("limit"):
		if at := parseTime(textOf(i.at(r.Reset)), s.now); !at.IsZero() {
			said += ", resets " + plain.Stamp(at)
		}
		shown = wrong(brief(said))
	case is("error", "end") && said != "" && said != s.repeats:
		s.repeats = said
		shown = said + "\n"
		if is("error") {
			shown = wrong(said)
		}
	}
	switch {
	case is("result") && i.holds(r.Failed):
		shown += setIn + markWrong + strings.TrimSpace(cmp.Or(excerpt(text), "an error")) + "\n"
	case is("result"):
		shown += excerpt(text)
	case is("end"):
		shown += markState + s.ending(is("error")) + "\n"
	}
	return shown
}

// ending says how a session ended, and at what cost.
func (s *session) ending(failed bool) string {
	text := "ended well"
	if failed {
		text = "ended with an error"
	}
	text += fmt.Sprintf(": turns %d, %s", s.Turns, s.Tokens)
	if s.CostUSD != nil {
		text += fmt.Sprintf(", %.4f USD", *s.CostUSD)
	}
	if s.Denied > 0 {
		text += fmt.Sprintf(", denied %d", s.Denied)
	}
	return text
}

// marked is a text of one or more lines behind a mark.
func marked(mark, text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if more := len(lines) - maxCommand; more > 0 {
		lines = append(lines[:maxCommand], fmt.Sprintf("… %d more lines", more))
	}
	return mark + strings.Join(lines, "\n"+setIn) + "\n"
}

// excerpt is the beginning and the end of what a tool gave back, set in.
func excerpt(text string) string {
	text = strings.Trim(text, "\r\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if more := len(lines) - headLines - tailLines; more > 1 {
		tail := lines[len(lines)-tailLines:]
		lines = append(lines[:headLines:headLines], fmt.Sprintf("… %d lines", more))
		lines = append(lines, tail...)
	}
	for i, line := range lines {
		lines[i] = fleet.Clipped(line, maxText)
	}
	return setIn + strings.Join(lines, "\n"+setIn) + "\n"
}

// wrong is an error in the agent's words; without words it is only said that there was one.
func wrong(text string) string {
	if strings.TrimSpace(text) == "" {
		text = "an error"
	}
	return marked(markWrong, text)
}

// String says how many tokens there were, and of which kind.
func (t Tokens) String() string {
	text := fmt.Sprintf("tokens %d (%d in, %d out", t.Total(), t.Input, t.Output)
	if t.CacheRead > 0 {
		text += fmt.Sprintf(", %d from the cache", t.CacheRead)
	}
	if t.CacheWrite > 0 {
		text += fmt.Sprintf(", %d into it", t.CacheWrite)
	}
	return text + ")"
}
