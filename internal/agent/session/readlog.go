package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
)

// LogReader reads the log of a run that may still be written, see [cappedLog]. Text that was
// read comes neither twice nor out of order when the log is cut down meanwhile; the line about
// a cut stands for text that was cut out before it was read.
type LogReader struct {
	file    *os.File
	from    int64 // where the line about what is missing begins, once the log is cut
	at      int64 // offset of the next byte
	missing int64 // bytes that the log lacked when it was looked at last
}

// ReadLog opens the log of a run: [fleet.ErrNotFound] when there is none.
func ReadLog(path string) (*LogReader, error) {
	f, err := rundir.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("log %s: %w", path, fleet.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("log %s: %w", path, err)
	}
	return newLogReader(f, defaultLogLimit), nil
}

func newLogReader(f *os.File, limit int64) *LogReader {
	l := &LogReader{file: f, from: limit / 2}
	l.missing = l.gone()
	return l
}

// Close ends the reading.
func (l *LogReader) Close() error { return l.file.Close() }

// Read returns [io.EOF] at the end of what there is. More may come after it.
func (l *LogReader) Read(p []byte) (int, error) {
	for {
		if err := l.follow(); err != nil {
			return 0, err
		}
		n, err := l.file.ReadAt(p, l.at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err != nil {
			return 0, err
		}
		if l.at+int64(n) > l.from && l.gone() != l.missing {
			continue // it was cut down under our hands: what was read may be any of it
		}
		if n == 0 {
			return 0, io.EOF
		}
		l.at += int64(n)
		return n, nil
	}
}

// follow goes to where the next byte is once the log was cut down.
func (l *LogReader) follow() error {
	gone := l.gone()
	if gone == l.missing {
		return nil
	}
	if err := l.settle(); err != nil {
		return err
	}
	gone = l.gone()
	line := int64(len(gap(0)))
	// The number of the next byte among all that the agent printed, and of the first
	// after the gap.
	next := l.at
	if l.missing > 0 && l.at >= l.from+line {
		next += l.missing - line
	}
	kept := l.from + gone
	switch {
	case next <= l.from:
	case next >= kept:
		l.at = l.from + line + next - kept
	default: // some of what is missing was never read
		l.at = l.from
	}
	l.missing = gone
	return nil
}

// settle waits until the log has been cut down. Meanwhile what follows the line about the
// gap is not in order, and the file is at its limit. That takes milliseconds, unless the
// writer died at it.
func (l *LogReader) settle() error {
	const tries, pause = 200, 5 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for range tries {
		info, err := l.file.Stat()
		if err != nil || info.Size() < 2*l.from {
			return err
		}
		<-tick.C
	}
	return nil
}

// gone returns the number of bytes cut out of the log, from the line that says so.
func (l *LogReader) gone() int64 {
	line := make([]byte, len(gap(0)))
	if n, _ := l.file.ReadAt(line, l.from); n < len(line) {
		return 0
	}
	words := bytes.Fields(line)
	if len(words) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(words[1]), 10, 64)
	if err != nil || string(line) != gap(n) {
		return 0 // an agent's own words at that place
	}
	return n
}
