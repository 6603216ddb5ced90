package top

import (
	"strings"

	"stint/internal/fleet"
	"stint/internal/screen"
)

// logView is a run's log as it is read.
type logView struct {
	run     fleet.RunID // empty: there is none
	open    bool        // it has the whole screen
	reading bool
	read    bool // once at least
	lines   []string
	size    int64
	shown   int64 // bytes of the log that the lines are from, or come before
	err     error

	// Without follows the lines stay as they were when that ended, or they would move
	// under the reader's eyes when the log is cut down.
	follows bool
	first   int   // line on top; counts when it does not follow
	grown   int64 // size of the log when the lines stayed as they are
}

// take takes in what was read of the log.
func (v logView) take(msg loggedMsg) logView {
	if msg.run != v.run {
		return v
	}
	v.reading, v.read, v.err = false, true, msg.err
	if msg.err != nil {
		return v
	}
	v.size = msg.log.Size
	if v.follows {
		v.lines, v.shown, v.grown = linesOf(msg.log.Text), msg.log.Read, msg.log.Size
	}
	return v
}

// key scrolls, or goes back to the panes.
func (v logView) key(key string, rows int) logView {
	switch key {
	case "esc", "l", "enter", "backspace", "left", "tab":
		v.open, v.follows = false, true
		return v
	}
	by, moves := movesBy(key, max(rows-1, 1))
	if !moves {
		return v
	}
	last := max(len(v.lines)-rows, 0)
	from := v.first
	if v.follows {
		from = last
	}
	v.first = min(max(from+by, 0), last)
	v.follows = from+by >= last
	return v
}

// window is the part of the lines that is to be seen.
func (v logView) window(rows int) []string {
	last := max(len(v.lines)-rows, 0)
	first := min(v.first, last)
	if v.follows {
		first = last
	}
	return v.lines[first:min(first+rows, len(v.lines))]
}

// linesOf are the lines of what an agent printed, safe to show.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	list := screen.PrintedLines(text)
	for i, l := range list {
		list[i] = strings.ReplaceAll(l, "\t", "    ")
	}
	return list
}
