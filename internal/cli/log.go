package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"

	"stint/internal/plain"
)

// level is the priority of a line of standard error, in the words of the journal.
type level string

const (
	levelError   level = "<3>"
	levelWarning level = "<4>"
	levelNotice  level = "<5>"
	levelInfo    level = "<6>"
)

// inJournal reports whether standard error is the journal: the service manager names in
// $JOURNAL_STREAM the device and inode of the stream that it connected. The variable
// alone says little: every process below a service inherits it, with another output.
func inJournal(getenv func(string) string, stderr io.Writer) bool {
	named := getenv("JOURNAL_STREAM")
	f, isFile := stderr.(*os.File)
	if named == "" || !isFile {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && named == fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

// journal is standard error when that is the journal. Every line gets a priority, which
// the journal takes off again, so that no text in it can pass for one: not the later
// lines of an error, and not what an agent prints. Lines are info unless said otherwise.
type journal struct {
	mu   sync.Mutex
	w    io.Writer
	open bool // the last line written has no end yet
}

func (j *journal) Write(p []byte) (int, error) { return j.write(levelInfo, p) }

// write writes text in one call, so that lines of several writers stay whole.
func (j *journal) write(l level, p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var marked bytes.Buffer
	for line := range bytes.Lines(p) {
		if !j.open {
			marked.WriteString(string(l))
		}
		marked.Write(line)
		j.open = line[len(line)-1] != '\n'
	}
	if _, err := j.w.Write(marked.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// leveled is w for lines of a level, which only the journal gets to know.
func leveled(w io.Writer, l level) io.Writer {
	if j, ok := w.(*journal); ok {
		return journalLevel{j, l}
	}
	return w
}

type journalLevel struct {
	*journal
	level level
}

func (j journalLevel) Write(p []byte) (int, error) { return j.write(j.level, p) }

// warn says what is wrong and does not end the command.
func (a *app) warn(text string) {
	fmt.Fprintf(leveled(a.Stderr, levelWarning), "stint: warning: %s\n", plain.Text(text))
}

// levelOfStatus returns the priority of a command's exit status. A fire that finds
// nothing to do and a session that a person stops are no trouble: an idle fleet is not to put a
// warning into the journal every half hour.
func levelOfStatus(status int) level {
	switch status {
	case statusNothing, statusDenied, statusBusy, statusInterrupted, statusTerminated:
		return levelNotice
	}
	return levelError
}

// newLog writes to standard error, with JSON as JSON, so that all of it can be parsed. The
// journal stamps lines itself, and knows their level by the priority.
//
// The keys are a closed list, which the lint file has: task_id, category, claim_epoch,
// run_id and unit say what a line is about; outcome, reason, elapsed and err what of it.
func newLog(stderr io.Writer, asJSON bool) *slog.Logger {
	j, ok := stderr.(*journal)
	if !ok {
		return slog.New(newHandler(stderr, asJSON, nil))
	}
	return slog.New(prioritized{newHandler(j, asJSON, withoutTimeAndLevel), j, asJSON})
}

func newHandler(w io.Writer, asJSON bool, replace func([]string, slog.Attr) slog.Attr) slog.Handler {
	options := &slog.HandlerOptions{ReplaceAttr: replace}
	if asJSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// spoken says warnings as a command says them to a person.
type stderrHandler struct {
	slog.Handler
	w io.Writer
}

// Enabled reports whether records of a level are said, or handed on.
func (s stderrHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn || s.Handler.Enabled(ctx, l)
}

func (s stderrHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return s.Handler.Handle(ctx, r)
	}
	var parts []string
	r.Attrs(func(a slog.Attr) bool {
		text := a.Value.String()
		if a.Key != "reason" && a.Key != "err" {
			text = a.Key + " " + text
		}
		parts = append(parts, text)
		return true
	})
	text := r.Message
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	_, err := fmt.Fprintf(s.w, "stint: warning: %s\n", plain.Text(text))
	return err
}

func withoutTimeAndLevel(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// prioritized gives each record the priority of its level. The program has no log with attributes of its own, whose
// records would have that of info.
type prioritized struct {
	slog.Handler
	j      *journal
	asJSON bool
}

// Handle writes a record.
func (p prioritized) Handle(ctx context.Context, r slog.Record) error {
	l := levelInfo
	switch {
	case r.Level >= slog.LevelError:
		l = levelError
	case r.Level >= slog.LevelWarn:
		l = levelWarning
	}
	return newHandler(journalLevel{p.j, l}, p.asJSON, withoutTimeAndLevel).Handle(ctx, r)
}
