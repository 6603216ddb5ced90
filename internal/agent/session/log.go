package session

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"stint/internal/agent/rundir"
)

const (
	// defaultLogLimit holds a day of an agent that prints each step as JSON. Fifty such
	// logs, from one agent that went mad in each of fifty runs, are 3 GiB.
	defaultLogLimit = 64 << 20
	// minLogLimit leaves room around the line that stands for what is missing.
	minLogLimit = 4 << 10
)

// cappedLog writes a log that never takes more than its limit on disk. The first half of
// the limit holds the beginning. Past that it keeps the end: each time the file is full,
// all but the last quarter of the limit gives way to a line that says how much is missing.
// Agents say at the end what came of it, so both ends are worth keeping.
//
// The file is in order and can be read at any time. If we die while it is cut down, some
// of its end is in it twice; nothing repairs that.
type cappedLog struct {
	file    *os.File
	limit   int64
	size    int64
	cut     int64 // bytes that the cuts left out
	dropped int64 // bytes that could not be written
	fault   error // the first
}

// openLog goes on with the log that is there, if any.
func openLog(path string, limit int64) (*cappedLog, error) {
	// Not to append: cutting down writes in the middle.
	file, err := rundir.Make(path)
	if err != nil {
		return nil, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &cappedLog{file: file, limit: max(cmp.Or(limit, defaultLogLimit), minLogLimit), size: size}, nil
}

// Write never fails: an agent is not to suffer from a full disk. Each write tries
// again, for a disk may have room again.
func (l *cappedLog) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n, err := l.writeSome(rest)
		if rest = rest[n:]; err != nil {
			l.dropped += int64(len(rest))
			l.fault = cmp.Or(l.fault, err)
			break
		}
	}
	return len(p), nil
}

func (l *cappedLog) writeSome(p []byte) (int, error) {
	if l.size >= l.limit {
		if err := l.cutDown(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.WriteAt(p[:min(int64(len(p)), l.limit-l.size)], l.size)
	l.size += int64(n)
	return n, err
}

// gap is the line that stands for what is missing. It is of one length, so that it can be
// written again in its place.
func gap(missing int64) string {
	return fmt.Sprintf("\n[stint: %19d bytes are missing here: the log had reached its limit]\n", missing)
}

// cutDown keeps the beginning, a line about the gap, and the end.
func (l *cappedLog) cutDown() error {
	from := l.limit / 2
	to := from + int64(len(gap(0)))
	keep := min(l.limit/4, l.size-to)
	lost := l.size - from - keep
	if l.cut > 0 {
		lost = l.size - to - keep
	}
	if _, err := l.file.WriteAt([]byte(gap(l.cut+lost)), from); err != nil {
		return err
	}
	// Copied towards the front, in order: nothing is overwritten before it was read.
	if _, err := io.Copy(io.NewOffsetWriter(l.file, to), io.NewSectionReader(l.file, l.size-keep, keep)); err != nil {
		return err
	}
	if err := l.file.Truncate(to + keep); err != nil {
		return err
	}
	l.cut, l.size = l.cut+lost, to+keep
	return nil
}
