package trust

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff compares two contents, in lines that begin with "-" or "+", or with a blank for the three
// around them. A program is one line, with its size and its sum.
func Diff(before, after Content) string {
	_, hunks, _ := strings.Cut(string(diff.Diff("", before.text(), "", after.text())), "+++ \n")
	var out strings.Builder
	for line := range strings.Lines(hunks) {
		if line[0] != '@' && line[0] != '\\' { // where it is, and that the last line has no end
			out.WriteString("  " + line)
		}
	}
	return out.String()
}

// text is a content as a person reads it. A NUL is shown as \0: shells run a script that has one.
func (c Content) text() []byte {
	switch {
	case c.program() && c.Size == 0:
		return []byte("a program that was not kept, SHA-256 " + c.Sum + "\n")
	case c.program():
		return fmt.Appendf(nil, "an ELF program of %d bytes, SHA-256 %s\n", c.Size, c.Sum)
	}
	return []byte(strings.ReplaceAll(string(c.Text), "\x00", `\0`))
}
