package session

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"stint/internal/plain"
)

// The echo is for people who follow the journal, which keeps other programs' lines too:
// these are all that an agent gets of it, less than 100 MiB in an hour.
const (
	echoLine  = 1 << 10 // bytes of a line; the rest of it is in the log
	echoBurst = 1000    // lines at once
	echoRate  = 20      // lines a second, after that
	// echoTime bounds the wait for a reader of the echo at the session's end.
	echoTime = 2 * time.Second
	// echoMark begins each line: the journal would take "<0>" there for a priority, and
	// show it to everybody who is logged in.
	echoMark = "| "
)

// echo shows an agent's lines as they come, without ever making it wait: lines that come
// too fast, or that nobody reads, are counted and left out.
type echo struct {
	lines chan string
	room  atomic.Int64 // lines that may still be shown
	done  chan struct{}

	line    []byte // what has come of the next line
	partial bool   // something has
	skipped int
}

func newEcho(w io.Writer) *echo {
	e := &echo{lines: make(chan string, 2*echoBurst), done: make(chan struct{})}
	e.room.Store(echoBurst)
	go e.show(w)
	return e
}

// show writes the lines. No more room is made while the writer does not return.
func (e *echo) show(w io.Writer) {
	defer close(e.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case line, ok := <-e.lines:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line) // nobody needs to know of a reader that went away
		case <-tick.C:
			if room := e.room.Load(); room < echoBurst {
				e.room.Add(min(echoRate, echoBurst-room))
			}
		}
	}
}

// add takes the next piece of the output.
func (e *echo) add(p []byte) {
	for len(p) > 0 {
		if e.room.Load() <= 0 && !e.partial {
			p = e.skip(p)
			continue
		}
		piece, rest, ended := bytes.Cut(p, []byte{'\n'})
		e.line = append(e.line, piece[:min(len(piece), echoLine+1-len(e.line))]...)
		e.partial = true
		if ended {
			e.flush()
		}
		p = rest
	}
}

// skip leaves out the whole lines of p, and returns what comes after them.
func (e *echo) skip(p []byte) []byte {
	whole := bytes.LastIndexByte(p, '\n') + 1
	if whole == 0 {
		e.line, e.partial = append(e.line, p[:min(len(p), echoLine+1)]...), true
		return nil
	}
	e.skipped += bytes.Count(p[:whole], []byte{'\n'})
	return p[whole:]
}

// flush sends the line that has come.
func (e *echo) flush() {
	line := e.line
	e.line, e.partial = e.line[:0], false
	if e.room.Load() <= 0 {
		e.skipped++
		return
	}
	if e.skipped > 0 {
		e.send(skippedLines(e.skipped))
		e.skipped = 0
	}
	cut := ""
	if len(line) > echoLine {
		line, cut = line[:echoLine], "…"
	}
	e.send(echoMark + plain.Line(string(line)) + cut + "\n")
}

func (e *echo) send(line string) {
	select {
	case e.lines <- line:
		e.room.Add(-1)
	default:
		e.skipped++
	}
}

func skippedLines(n int) string {
	if n == 1 {
		return "[stint: 1 line is not shown here; see the run's log]\n"
	}
	return fmt.Sprintf("[stint: %d lines are not shown here; see the run's log]\n", n)
}

// finish shows what is left, unless nobody takes it. A writer that never returns is
// left behind with its goroutine.
func (e *echo) finish() {
	if e.partial {
		e.flush()
	}
	if e.skipped > 0 {
		e.send(skippedLines(e.skipped))
	}
	close(e.lines)
	select {
	case <-e.done:
	case <-time.After(echoTime):
	}
}
