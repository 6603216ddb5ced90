package command

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"stint/internal/plain"
)

// capped keeps all that is written to it, up to its limit.
type capped struct {
	data    []byte
	limit   int
	flooded func() // called once past the limit
}

func (c *capped) Write(p []byte) (int, error) {
	if len(c.data)+len(p) > c.limit {
		c.flooded()
		return 0, errFlooded
	}
	c.data = append(c.data, p...)
	return len(p), nil
}

const (
	tailBytes = 2 << 10 // a screenful
	tailLines = 3       // what a person reads in one line of a log
)

// tail keeps the end of what is written to it.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.data) - tailBytes; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
		for len(t.data) > 0 && !utf8.RuneStart(t.data[0]) {
			t.data = t.data[1:]
		}
	}
	return len(p), nil
}

// String is the last lines in one, harmless to a terminal.
func (t *tail) String() string {
	var lines []string
	for line := range bytes.Lines(t.data) {
		if text := strings.TrimSpace(plain.Line(string(line))); text != "" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], " | ")
}
