package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stint/internal/agent/preset"
	"stint/internal/config"
	"stint/internal/testkit/must"
	"stint/internal/top"
)

// TestReadLogEnd reads whole lines of the end of a log, and nothing where there is none.
func TestReadLogEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if got, err := readLogEnd(path, preset.CLI{}); err != nil || got != (top.Log{}) {
		t.Errorf("without a log: %+v, %v; want an empty one", got, err)
	}
	line := strings.Repeat("x", 999) + "\n"
	for _, lines := range []int{1, 1000} {
		must.Do(t, os.WriteFile(path, []byte(strings.Repeat(line, lines)), 0o600))
		got, err := readLogEnd(path, preset.CLI{})
		if err != nil || got.Size != int64(lines*len(line)) {
			t.Errorf("%d lines: size %d, %v; want %d", lines, got.Size, err, lines*len(line))
		}
		if want := min(lines, maxOfLog/len(line)); got.Text != strings.Repeat(line, want) {
			t.Errorf("%d lines: %d bytes of text, want %d whole lines", lines, len(got.Text), want)
		}
	}
}

// TestReadLogEndOfJSON makes text of what the agent printed, and counts what it read.
func TestReadLogEndOfJSON(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	const line = `{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}` + "\n"
	must.Do(t, os.WriteFile(path, []byte(line), 0o600))
	want := top.Log{Text: "Done.\n", Read: int64(len(line)), Size: int64(len(line))}
	if got, err := readLogEnd(path, config.Preset("claude").CLI); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestSaid makes of what is logged what fits on a screen.
func TestSaid(t *testing.T) {
	t.Parallel()
	a, said := topScreen{&app{}}.quiet()
	a.log.WarnContext(t.Context(), "task left out", slog.String("reason", "tasks/x.md: no front matter"))
	for range 2 {
		a.log.WarnContext(t.Context(), "odd", slog.Any("err", errors.New("oh")))
	}
	fmt.Fprintln(a.Stderr, "stint: nothing has run yet")
	want := []string{"task left out: tasks/x.md: no front matter", "odd: oh", "nothing has run yet"}
	if !slices.Equal(said.list, want) {
		t.Errorf("said %q, want %q", said.list, want)
	}
}

func TestUnwritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "not", "there", "yet")} {
		if got := unwritable(path); got != "" {
			t.Errorf("%s: %q, want that it can be written", path, got)
		}
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	if got := unwritable(filepath.Join(file, "state")); !strings.Contains(got, "not a directory") {
		t.Errorf("below a file: %q, want that it is not a directory", got)
	}
}
