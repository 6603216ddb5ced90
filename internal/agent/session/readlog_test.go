package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// readAll reads to the end of what there is.
func readAll(t rapid.TB, l *LogReader, piece int) string {
	t.Helper()
	var all bytes.Buffer
	buffer := make([]byte, piece)
	for {
		n, err := l.Read(buffer)
		all.Write(buffer[:n])
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLogReaderFollows reads a log while it is written and cut down: what comes is what was
// written, in order and once, except for what was cut out before it was read, which a line
// stands for.
func TestLogReaderFollows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const limit = minLogLimit
	missing := regexp.MustCompile(`\n\[stint: +\d+ bytes are missing here: the log had reached its limit\]\n`)
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, "log")
		must.Do(rt, os.WriteFile(path, nil, 0o600))
		log := must.Get(openLog(path, limit))(rt)
		defer log.file.Close()
		f := must.Get(os.Open(path))(rt)
		reader := newLogReader(f, limit)
		defer reader.file.Close()
		always := rapid.Bool().Draw(rt, "reads after each write")
		var all, got strings.Builder
		for i, words := range rapid.SliceOfN(rapid.IntRange(0, limit/8), 1, 20).Draw(rt, "words") {
			for j := range words {
				word := fmt.Sprintf("%02d%05d ", i, j) // 8 bytes, all different
				all.WriteString(word)
				_, _ = log.Write([]byte(word))
				if always && j%32 == 0 || !always && rapid.IntRange(0, 99).Draw(rt, "look") == 0 {
					got.WriteString(readAll(rt, reader, rapid.SampledFrom([]int{7, 512, 1 << 16}).Draw(rt, "piece")))
				}
			}
		}
		got.WriteString(readAll(rt, reader, 1<<16))
		parts := missing.Split(got.String(), -1)
		if always && len(parts) > 1 {
			rt.Fatalf("%d gaps for one that reads all the time, want none", len(parts)-1)
		}
		rest := all.String()
		for i, part := range parts {
			at := strings.Index(rest, part)
			if at < 0 || i == 0 && at > 0 {
				rt.Fatalf("part %d of %d, %q, is not in what was written after the part before it", i, len(parts), part)
			}
			rest = rest[at+len(part):]
		}
		if rest != "" {
			rt.Fatalf("%d bytes of the end are missing", len(rest))
		}
	})
}

// TestLogReaderWaits sees that a log is being cut down, and takes nothing of it until it
// has been.
func TestLogReaderWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	log := mustOpenLog(t, path, minLogLimit)
	_, _ = log.Write(bytes.Repeat([]byte("a"), minLogLimit))
	f := must.Get(os.Open(path))(t)
	reader := newLogReader(f, minLogLimit)
	defer reader.file.Close()
	if got := readAll(t, reader, 1<<16); len(got) != minLogLimit {
		t.Fatalf("%d bytes, want %d", len(got), minLogLimit)
	}
	// The line about the gap is there, what comes after it is not.
	must.Get(log.file.WriteAt([]byte(gap(1000)), minLogLimit/2))(t)
	done := make(chan string)
	go func() { done <- readAll(t, reader, 1<<16) }()
	_, _ = log.Write([]byte("more")) // cuts it down as its writer would
	if got := <-done; got != "more" && got != "" {
		t.Errorf("%q, want what was written after, or nothing yet", got)
	}
}

// TestReadLogRefuses opens nothing that an agent put in the place of a log.
func TestReadLogRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, fifo, link, twin := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "twin")
	must.Do(t, errors.Join(os.WriteFile(file, []byte("text"), 0o600), syscall.Mkfifo(fifo, 0o600), os.Symlink(file, link)))
	if _, err := ReadLog(filepath.Join(dir, "none")); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("no log: %v, want not found", err)
	}
	for _, path := range []string{fifo, link, dir} {
		if l, err := ReadLog(path); err == nil {
			l.file.Close()
			t.Errorf("%s was opened, want a refusal", path)
		}
		if text, err := rundir.Last(path, 10); err == nil {
			t.Errorf("%s: %q, want a refusal", path, text)
		}
	}
	if got, err := rundir.First(file, 2); got != "te" || err != nil {
		t.Errorf("the beginning is %q, %v, want te", got, err)
	}
	if got, err := rundir.Last(file, 2); got != "xt" || err != nil {
		t.Errorf("the end is %q, %v, want xt", got, err)
	}
	must.Do(t, os.Link(file, twin))
	if _, err := rundir.Last(file, 2); err == nil {
		t.Error("a file with two names was read, want a refusal")
	}
}
