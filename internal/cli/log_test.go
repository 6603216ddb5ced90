package cli

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"stint/internal/fleet"
	"stint/internal/systemd"
	"stint/internal/testkit/must"
)

// stream is a pipe in the place of the journal's stream, and what the service manager
// would call it.
func stream(t *testing.T) (read, write *os.File, name string) {
	t.Helper()
	read, write, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { read.Close(); write.Close() })
	var s syscall.Stat_t
	must.Do(t, syscall.Fstat(int(write.Fd()), &s))
	return read, write, fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

// TestInJournal believes the variable only of the stream that it names.
func TestInJournal(t *testing.T) {
	t.Parallel()
	_, write, name := stream(t)
	_, other, _ := stream(t)
	for _, tt := range []struct {
		about    string
		variable string
		stderr   io.Writer
		want     bool
	}{
		{"the stream", name, write, true},
		{"another stream", name, other, false},
		{"no variable", "", write, false},
		{"not a name", "1", write, false},
		{"no file", name, &bytes.Buffer{}, false},
	} {
		if got := inJournal(func(string) string { return tt.variable }, tt.stderr); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.about, got, tt.want)
		}
	}
}

// TestJournalMarksEveryLine lets no text pass for a priority, wherever a write ends.
func TestJournalMarksEveryLine(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	j := &journal{w: &got}
	for _, p := range []string{"<0>all\n", "two\n<1>lines\n", "half", " a line\n", "", "\n"} {
		if n, err := io.WriteString(j, p); n != len(p) || err != nil {
			t.Errorf("wrote %d bytes of %q: %v", n, p, err)
		}
	}
	fmt.Fprint(leveled(j, levelError), "an error\n<7>of two lines\n")
	want := "<6><0>all\n<6>two\n<6><1>lines\n<6>half a line\n<6>\n<3>an error\n<3><7>of two lines\n"
	if got.String() != want {
		t.Errorf("got  %q\nwant %q", got.String(), want)
	}
}

func TestLogToJournal(t *testing.T) {
	t.Parallel()
	for asJSON, want := range map[bool]string{
		false: "<6>msg=begun run_id=r\n<4>msg=odd run_id=r reason=\"two\\n<0>lines\"\n<3>msg=bad run_id=r\n",
		true: `<6>{"msg":"begun","run_id":"r"}` + "\n" + `<4>{"msg":"odd","run_id":"r","reason":"two\n<0>lines"}` + "\n" +
			`<3>{"msg":"bad","run_id":"r"}` + "\n",
	} {
		var got bytes.Buffer
		run := slog.String("run_id", "r")
		log := newLog(&journal{w: &got}, asJSON)
		log.Debug("not shown")
		log.Info("begun", run)
		log.Warn("odd", run, slog.String("reason", "two\n<0>lines"))
		log.Error("bad", run)
		if got.String() != want {
			t.Errorf("JSON %t: got\n%s\nwant\n%s", asJSON, got.String(), want)
		}
	}
	var got bytes.Buffer
	newLog(&got, false).Warn("odd")
	if !strings.HasPrefix(got.String(), "time=") || !strings.HasSuffix(got.String(), " level=WARN msg=odd\n") {
		t.Errorf("elsewhere: got %q, want time and level", got.String())
	}
}

// TestFailureInJournal gives an error its priority on each of its lines.
func TestFailureInJournal(t *testing.T) {
	t.Parallel()
	read, write, name := stream(t)
	status := Main([]string{"claim", "no\n<0>such"}, Surroundings{
		Stdout: io.Discard, Stderr: write,
		Getenv: func(key string) string { return map[string]string{"JOURNAL_STREAM": name}[key] },
	})
	status2 := Main([]string{"no\n<0>such"}, Surroundings{
		Stdout: io.Discard, Stderr: write,
		Getenv: func(key string) string { return map[string]string{"JOURNAL_STREAM": name}[key] },
	})
	write.Close()
	got := must.Get(io.ReadAll(read))(t)
	if status != statusUsage || status2 != statusUsage {
		t.Errorf("got statuses %d and %d, want %d", status, status2, statusUsage)
	}
	for line := range strings.Lines(string(got)) {
		if !strings.HasPrefix(line, "<3>") && !strings.HasPrefix(line, "<5>stint: hint: ") {
			t.Errorf("line %q: want a priority of error, or a hint", line)
		}
	}
	if !strings.Contains(string(got), "<3>stint: error: ") || !strings.Contains(string(got), "<5>stint: hint: ") {
		t.Errorf("got %q, want an error and a hint", got)
	}
}

// TestEndInJournal has no warning of a command that ended well: what the service manager
// counts as a worker's success is none, and neither is a fire that finds nothing to do.
func TestEndInJournal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fleet.ErrNothing, "<5>stint: error: "},
		{fleet.ErrHeld, "<5>stint: error: "},
		{fleet.ErrBusy, "<5>stint: error: "},
		{fleet.OutcomeError{Outcome: fleet.Cancelled}, "<5>stint: error: "},
		{fleet.OutcomeError{Outcome: fleet.Failed}, "<3>stint: error: "},
		{fleet.ErrLost, "<3>stint: error: "},
		{fleet.ErrPartly, "<3>stint: error: "},
		{fleet.ErrUsage, "<3>stint: error: "},
	} {
		var got bytes.Buffer
		a := &app{Surroundings: Surroundings{Stderr: &journal{w: &got}}}
		status := a.finish(tt.err)
		if !strings.HasPrefix(got.String(), tt.want) {
			t.Errorf("%v: got %q, want %q", tt.err, got.String(), tt.want)
		}
		success := slices.Contains(systemd.SuccessExitStatuses(), int32(status))
		if quiet := levelOfStatus(status) == levelNotice; quiet != success {
			t.Errorf("status %d: quiet %t, a success of the unit %t", status, quiet, success)
		}
	}
}
