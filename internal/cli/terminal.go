package cli

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"

	"stint/internal/fleet"
	"stint/internal/screen"
)

// style returns the look of screens on standard output: as wide as the terminal, or as
// $COLUMNS says, and coloured, unless $NO_COLOR is set (no-color.org) or the terminal
// knows no colours. In a pipe there is neither.
func (a *app) style() screen.Style {
	var s screen.Style
	if f, ok := terminal(a.Stdout); ok {
		s.Width, _, _ = term.GetSize(f.Fd())
		s.Colour = a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
	}
	if columns, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && columns > 0 {
		s.Width = columns
	}
	return s
}

// terminal returns a stream of this process as a terminal, if it is one.
func terminal(stream any) (*os.File, bool) {
	switch s := stream.(type) {
	case *output:
		stream = s.Writer
	case redactor:
		stream = s.Writer
	}
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(f.Fd())
}

// confirm has a person at a terminal type a word, and refuses where there is none, or another was typed.
func (a *app) confirm(doing, question, word string) error {
	in, isTerminal := terminal(a.Stdin)
	if !isTerminal || a.json {
		return fleet.WithHint(usage(fmt.Errorf("%s: there is no terminal to ask on", doing)), "stint "+doing+" --yes")
	}
	fmt.Fprintf(a.Stderr, "%s: ", question)
	if answer, err := bufio.NewReader(in).ReadString('\n'); err != nil || strings.TrimSpace(answer) != word {
		return fmt.Errorf("%s: %w: %s was not typed", doing, fleet.ErrNothing, word)
	}
	return nil
}
