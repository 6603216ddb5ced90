package task_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/agent/command"
	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

// script is a command that runs a shell script in the folder.
func script(f task.Folder, text string) command.Command {
	return command.Command{
		Argv: []string{"sh", "-c", text, "sh"}, Dir: f.Dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: time.Minute,
	}
}

// printing is a source whose command runs a shell script.
func printing(f task.Folder, name, text string) task.Source {
	l := beads()
	l.Name = name
	l.Fields["requires"] = "requires"
	return task.Source{Listing: l, Command: script(f, text)}
}

// listed are the tasks, as id, category and what they require, and then the problems.
func listed(t *testing.T, s task.Sources) []string {
	t.Helper()
	tasks, problems, err := s.List(t.Context())
	must.Do(t, err)
	var lines []string
	for _, task := range tasks {
		lines = append(lines, strings.Join(append([]string{string(task.ID), string(task.Category)}, task.Requires...), " "))
	}
	for _, p := range problems {
		lines = append(lines, strings.ReplaceAll(p.String(), s.Dir, "FOLDER"))
	}
	return lines
}

func TestSourcesList(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"b.md": "---\ncategory: code\n---\n", "d.md": "---\n---\n", "bad.md": "x"})
	placed := printing(f, "placed", `echo '{"id":"p","labels":["docs"]}'`)
	placed.Category = "triage"
	s := task.Sources{Folder: f, Commands: []task.Source{
		printing(f, "one", `echo '[{"id":"c"},{"id":"b"},{"id":"a","labels":["docs"]},{"id":"a"},{"id":1},{}]'`),
		printing(f, "two", `echo '{"id":"c"}{"id":1}'`),
		printing(f, "failing", "echo '[]'; echo 'no database found' >&2; exit 1"),
		{Listing: task.Listing{Name: "absent"}, Command: command.Command{Argv: []string{"bd"}}},
		printing(f, "talking", "echo 'Your version is old.'"),
		placed,
	}}
	want := []string{
		"a content", "b code", "c code", "d code", "one-1 code", "p triage", "two-1 code",
		"FOLDER/bad.md:1: no front matter: the first line must be ---",
		`one:6: no id in "id": name the field under fields, as in id = "number"`,
		`one: the id "b" is that of a task file already`,
		`one: the id "a" is that of a task of one already`,
		`two: the id "c" is that of a task of one already`,
		"failing: run sh -c echo '[]'; echo 'no database found' >&2; exit 1 sh: exit status 1: no database found",
		`absent: run bd: not found in its PATH ""`,
		"talking: not JSON: invalid character 'Y' looking for beginning of value",
	}
	must.Equal(t, "tasks and problems", listed(t, s), want)
}

func TestSourcesListWithoutAFolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	missing := task.Folder{Dir: filepath.Join(f.Dir, "none"), DefaultCategory: "code"}
	if _, _, err := (task.Sources{Folder: missing}).List(t.Context()); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("without a command: got %v, want ErrNotFound", err)
	}
	s := task.Sources{Folder: missing, Commands: []task.Source{printing(f, "one", `echo '{"id":"a"}'`)}}
	must.Equal(t, "tasks", listed(t, s), []string{"a code"})
}

func TestSourcesListEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fifo := filepath.Join(f.Dir, "begun")
	s := task.Sources{Folder: f, Commands: []task.Source{printing(f, "one", "echo >"+fifo+"; exec sleep 300")}}
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	go func() {
		_, _ = os.ReadFile(fifo) // once the command has begun
		cancel()
	}()
	if _, _, err := s.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestSourcesGet(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": "---\nstate: todo\n---\n# File\n"})
	s := task.Sources{Folder: f, Commands: []task.Source{
		printing(f, "one", `echo '[{"id":"a","title":"Command"},{"id":"b","title":"Command","description":"Text"}]'`),
		printing(f, "two", "exit 3"),
	}}
	for id, want := range map[fleet.TaskID]string{"a": "File", "b": "Command"} {
		got, err := s.Get(t.Context(), id)
		if err != nil || got.Title != want {
			t.Errorf("Get(%q) = %q, %v; want %q", id, got.Title, err, want)
		}
		if body, err := s.Body(t.Context(), got); err != nil || body != got.Body {
			t.Errorf("Body(%q) = %q, %v; want %q", id, body, err, got.Body)
		}
	}
	_, err := s.Get(t.Context(), "c")
	if !errors.Is(err, fleet.ErrNotFound) || !strings.Contains(err.Error(), "two: run sh -c exit 3") {
		t.Errorf("got %v, want ErrNotFound and which command failed", err)
	}
	if _, err := s.Get(t.Context(), "a/b"); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("got %v, want ErrUsage", err)
	}
}
