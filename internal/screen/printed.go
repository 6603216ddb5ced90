package screen

import (
	"bytes"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/plain"
)

// longestLine bounds the part of a line that is kept while its end is awaited, in bytes. A longer line is broken.
const longestLine = 64 << 10

// Printed turns an agent's output into lines that a terminal shows and never obeys. It drops escape sequences and text
// that was rubbed out. Each state of a progress bar becomes a line. Other control characters, and marks that reorder
// text, show as replacement characters.
type Printed struct {
	w        io.Writer
	line     []byte
	returned bool // the last byte was a carriage return, which ended a line
	err      error
}

// NewPrinted writes to w, a whole line at a time. Close writes the last line if it has no end.
func NewPrinted(w io.Writer) *Printed { return &Printed{w: w} }

// Write takes the next piece. It may end anywhere.
func (p *Printed) Write(piece []byte) (int, error) {
	rest := piece
	for len(rest) > 0 && p.err == nil {
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			p.grow(rest)
			break
		}
		p.grow(rest[:end])
		p.end(rest[end])
		rest = rest[end+1:]
	}
	return len(piece), p.err
}

func (p *Printed) grow(piece []byte) {
	for len(piece) > 0 {
		n := min(len(piece), longestLine-len(p.line))
		p.line = append(p.line, piece[:n]...)
		piece, p.returned = piece[n:], false
		if len(p.line) == longestLine {
			p.flush()
		}
	}
}

// end ends a line at a line feed or a carriage return. Both together end one line, and a carriage return alone makes no
// empty line.
func (p *Printed) end(by byte) {
	switch {
	case by == '\r' && len(p.line) == 0:
	case by == '\n' && p.returned && len(p.line) == 0:
		p.returned = false
	default:
		p.flush()
		p.returned = by == '\r'
	}
}

func (p *Printed) flush() {
	_, err := io.WriteString(p.w, printedLine(string(p.line))+"\n")
	if p.err == nil {
		p.err = err
	}
	p.line = p.line[:0]
}

// Close ends the last line, if it was begun. The writer below stays open.
func (p *Printed) Close() error {
	if len(p.line) > 0 {
		p.flush()
	}
	return p.err
}

// PrintedLines returns the lines of an agent's whole output.
func PrintedLines(text string) []string {
	var b strings.Builder
	p := NewPrinted(&b)
	_, _ = io.WriteString(p, text) // a strings.Builder takes everything
	_ = p.Close()
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// printedLine makes one line safe. Tabs stay: they move only the text after them.
func printedLine(line string) string {
	if !strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) {
		return line // like most lines
	}
	if strings.IndexByte(line, '\x1b') >= 0 || strings.Contains(line, "\u009b") || strings.Contains(line, "\u009d") {
		line = ansi.Strip(line)
	}
	if strings.IndexByte(line, '\b') >= 0 {
		line = rubbedOut(line)
	}
	parts := strings.Split(line, "\t")
	for i := range parts {
		parts[i] = plain.Line(parts[i])
	}
	return strings.Join(parts, "\t")
}

// rubbedOut drops the text that a backspace went back over.
func rubbedOut(line string) string {
	var kept []rune
	for _, r := range line {
		switch {
		case r != '\b':
			kept = append(kept, r)
		case len(kept) > 0:
			kept = kept[:len(kept)-1]
		}
	}
	return string(kept)
}
