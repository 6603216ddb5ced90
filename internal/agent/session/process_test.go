package session

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"stint/internal/testkit/must"
)

func TestParseProcess(t *testing.T) {
	t.Parallel()
	rest := func(state string, threads int) string {
		return fmt.Sprintf("%s 2 3 4 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 %d 0 12345 0 0", state, threads)
	}
	want := process{start: 12345}
	dead := want
	dead.dead = true
	stopped := want
	stopped.stopped = true
	for text, want := range map[string]process{
		"7 (bash) " + rest("S", 1):            want,
		"7 (a) Z 1 1 (b) " + rest("R", 1):     want,
		"7 (\n) ) " + rest("T", 1):            stopped,
		"7 (node) " + rest("Z", 1):            dead,
		"7 (node) " + rest("X", 0):            dead,
		"7 (half a zombie) " + rest("Z", 2):   want,
		"7 (bash) S 2":                        {},
		"":                                    {},
		"7 (bash) " + rest("S", 1) + " 1 2 3": want,
	} {
		got, ok := parseProcess([]byte(text))
		if ok != (want != process{}) || ok && got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, ok, want)
		}
	}
}

// TestOpenSparesAnother does nothing to a process that has the number of the one meant.
func TestOpenSparesAnother(t *testing.T) {
	t.Parallel()
	opened := func(meant bool) (called bool) {
		must.Do(t, open(os.Getpid(), func(int) bool { return meant }, func(int) error { called = true; return nil }))
		return called
	}
	if opened(false) || !opened(true) {
		t.Error("want the process that is meant, and no other")
	}
	must.Do(t, open(1<<22+1, func(int) bool { return true }, func(int) error { return errStays })) // there is none
}

// TestOutputBlocks guards against a pipe that gives the agent an error when it is full.
func TestOutputBlocks(t *testing.T) {
	t.Parallel()
	o := newOrder(t, `grep ^flags: /proc/self/fdinfo/1 /proc/self/fdinfo/2`)
	obeyed(t, o)
	log := readFile(t, o.files().Log)
	if strings.Count(log, "flags:") != 2 {
		t.Errorf("log %q, want the flags of both", log)
	}
	for line := range strings.Lines(log) {
		var flags int
		if _, err := fmt.Sscanf(line[strings.LastIndexByte(line, '\t')+1:], "%o", &flags); err != nil || flags&unix.O_NONBLOCK != 0 {
			t.Errorf("%q, %v: want no O_NONBLOCK", line, err)
		}
	}
}
