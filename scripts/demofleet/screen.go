package main

import (
	"fmt"
	"io"
	"os"
)

// screen is where the demo is watched.
type screen struct {
	w      io.Writer
	colour bool
}

// newScreen has colours on a terminal, unless the user wants none.
func newScreen(f *os.File) screen {
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return screen{f, terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s screen) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }

func (s screen) green(text string) string { return s.paint("32", text) }
func (s screen) bold(text string) string  { return s.paint("1", text) }

// outcome is text in the colour of an outcome.
func (s screen) outcome(outcome, text string) string {
	switch outcome {
	case "productive":
		return s.paint("32", text)
	case "noop":
		return s.paint("33", text)
	default:
		return s.paint("31", text)
	}
}

func (s screen) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// cut shortens text to a number of columns.
func cut(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	return string(runes[:columns-1]) + "…"
}
