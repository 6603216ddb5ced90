package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"stint/internal/testkit/must"
)

// TestLongTrace has a report of more bytes than are read, with a commit at its beginning, one
// at its end, and one between them, in a hole, that is not read.
func TestLongTrace(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	g := repository(t).as(own)
	path := g.files(own).Git
	var reports [][]byte
	for _, name := range []string{"early", "between", "late"} {
		g.commit(name)
		report, err := os.ReadFile(path)
		must.Do(t, errors.Join(err, os.Remove(path)))
		reports = append(reports, fmt.Appendf(nil, "\n%s\n", report))
	}
	f := must.Get(os.Create(path))(t)
	for i, at := range []int64{0, maxTrace/2 + 50<<20, maxTrace + 100<<20} {
		must.Get(f.WriteAt(reports[i], at))(t)
	}
	must.Do(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.mustCount(own, 2)
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 256 {
		t.Errorf("got %d MiB allocated, want no more than two lines of the longest", got)
	}
}

// TestManyCommands has a report of hundreds of thousands of commands: those that ended
// without a commit are forgotten, and of those that never end only so many remembered.
func TestManyCommands(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"ended": 0, "running": maxCommands} {
		var report bytes.Buffer
		for i := range 100_000 {
			fmt.Fprintf(&report, `{"event":"start","sid":"%d","argv":["git"]}`+"\n", i)
			if name == "ended" {
				fmt.Fprintf(&report, `{"event":"exit","sid":"%d"}`+"\n", i)
			}
		}
		if commands, err := readCommands(&report); err != nil || len(commands) != want {
			t.Errorf("%s: got %d commands, %v, want %d", name, len(commands), err, want)
		}
	}
}

// TestLongCommands has a report of commands that never end, each with a thousand arguments:
// what is remembered of them is not those. It runs alone, as it looks at all that is held.
func TestLongCommands(t *testing.T) { //nolint:paralleltest // see above
	var report bytes.Buffer
	arguments := strings.Repeat(`,"a"`, 1000)
	for i := range maxCommands {
		fmt.Fprintf(&report, `{"event":"start","sid":"%d","argv":["git"%s]}`+"\n", i, arguments)
		fmt.Fprintf(&report, `{"event":"cmd_name","sid":"%d","hierarchy":"%s"}`+"\n", i, strings.Repeat("x", maxWord+1))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	commands, err := readCommands(&report)
	if err != nil || len(commands) != maxCommands {
		t.Errorf("got %d commands, %v", len(commands), err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; got > 20 {
		t.Errorf("got %d MiB held for %d commands", got, len(commands))
	}
}

// TestTraceIsNoPipe has what a session would wait for ever for in the place of the report.
func TestTraceIsNoPipe(t *testing.T) {
	t.Parallel()
	g := repository(t).as(own)
	must.Do(t, syscall.Mkfifo(g.files(own).Git, 0o600))
	if n, err := Folder(g.dir).Commits(g.files(own)); err == nil {
		t.Errorf("got %d commits of a pipe", n)
	}
}

// TestSubject finds the message in the command lines that agents write.
func TestSubject(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"git|commit|-m|Add x":                        "Add x",
		"git|commit|-mAdd x":                         "Add x",
		"git|-c|a.b=m|commit|-qam|\n Add x \n\nmore": "Add x",
		"git|commit|--message=Add x|-m|more":         "Add x",
		"git|commit|--amend|--message|Add x|--|m|-m": "Add x",
		"git|commit|--amend|--no-edit|-F|m.txt":      "",
		"git|commit|-m":                              "",
		"git|commit|--|name":                         "",
	} {
		if got := subject(strings.Split(line, "|")); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
