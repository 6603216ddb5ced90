package task_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

func TestSetState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file, want string
	}{
		{"plain", "---\nstate: todo\n---\n", "---\nstate: done\n---\n"},
		{"comment", "---\nstate:   todo  # not yet\n---\n", "---\nstate:   done  # not yet\n---\n"},
		{"single quotes", "---\nstate: 'todo' # x\n---\n", "---\nstate: 'done' # x\n---\n"},
		{"double quotes", "---\nstate: \"todo\"\n---\n", "---\nstate: \"done\"\n---\n"},
		{"empty quotes", "---\nstate: ''\n---\n", "---\nstate: 'done'\n---\n"},
		{"empty", "---\nstate:\nx: y\n---\n", "---\nstate: done\nx: y\n---\n"},
		{"empty with comment", "---\nstate:  # which?\nx: y\n---\n", "---\nstate: done  # which?\nx: y\n---\n"},
		{"null", "---\nstate: ~\n---\n", "---\nstate: done\n---\n"},
		{"alias of a state", "---\nstate: paused\n---\n", "---\nstate: done\n---\n"},
		{"YAML alias", "---\nx: &s todo\nstate: *s\n---\n", "---\nx: &s todo\nstate: done\n---\n"},
		{"quoted key", "---\n'state' :  todo\n---\n", "---\n'state' :  done\n---\n"},
		{"next line", "---\nstate:\n  todo\n---\n", "---\nstate:\n  done\n---\n"},
		{"explicit key", "---\n? state\n: todo\n---\n", "---\n? state\n: done\n---\n"},
		{"flow", "---\n{x: todo, state: todo, y: todo}\n---\n", "---\n{x: todo, state: done, y: todo}\n---\n"},
		{"nested decoy", "---\nx:\n  state: todo\nstate: todo\n---\nstate: todo\n", "---\nx:\n  state: todo\nstate: done\n---\nstate: todo\n"},
		{"block decoy", "---\nx: |\n  state: todo\nstate: todo\n---\n", "---\nx: |\n  state: todo\nstate: done\n---\n"},
		{"wide characters before", "---\n# é\u2028# 日本\n{\"🔥é\": '日本', state: todo}\n---\n", "---\n# é\u2028# 日本\n{\"🔥é\": '日本', state: done}\n---\n"},
		{"crlf and bom", "\ufeff---\r\nx: 1\r\nstate: todo\r\n---\r\nb\r\n", "\ufeff---\r\nx: 1\r\nstate: done\r\n---\r\nb\r\n"},
		{"no last newline", "---\nstate: todo\n---", "---\nstate: done\n---"},
		{"mixed line ends", "---\r\nstate: todo\nx: 1\r\n---\n\r\n", "---\r\nstate: done\nx: 1\r\n---\n\r\n"},
		{"absent", "---\nx: 1\n---\nb", "---\nx: 1\nstate: done\n---\nb"},
		{"absent, empty", "---\n---\n", "---\nstate: done\n---\n"},
		{"absent, crlf", "---\r\nx: 1\r\n---\r\n", "---\r\nx: 1\r\nstate: done\r\n---\r\n"},
		{"absent, indented", "---\n  x: 1\n  y: 2\n---\n", "---\n  x: 1\n  y: 2\n  state: done\n---\n"},
		{"absent, after a block", "---\nx: |+\n  text\n\n---\n", "---\nx: |+\n  text\n\nstate: done\n---\n"},
		{"absent, after a comment", "---\nx:\n- a\n# end\n---\n", "---\nx:\n- a\n# end\nstate: done\n---\n"},
		{"absent, empty last value", "---\nx:\n---\n", "---\nx:\nstate: done\n---\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, map[string]string{"a.md": test.file})
			changed, err := f.SetState(t.Context(), "a", fleet.StateDone)
			if !changed || err != nil {
				t.Fatalf("got %v, %v", changed, err)
			}
			must.Equal(t, "file", readFile(t, filepath.Join(f.Dir, "a.md")), test.want)
			must.Equal(t, "files", fileNames(t, f.Dir), []string{"a.md"})
		})
	}
}

func TestSetStateRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		want       string // part of the error
	}{
		{"anchored", "---\nx: 1\nstate: &s todo\ny: *s\n---\n", "a.md:3: the state cannot be changed alone"},
		{"tagged", "---\nstate: !!str todo\n---\n", "a.md:2: the state cannot be changed alone"},
		{"escaped", "---\nstate: \"\\x74odo\"\n---\n", "a.md:2: the state cannot be changed alone"},
		{"block", "---\nstate: |-\n  todo\n---\n", "a.md:2: the state cannot be changed alone"},
		{"flow without state", "---\n{x: 1}\n---\n", "a.md:3: the state cannot be changed alone"},
		{"ended document", "---\n...\n---\n", "a.md:3: the state cannot be changed alone"},
		{"no room", "---\n---\n" + strings.Repeat("x", 1<<20-8), "the state cannot be changed alone"},
		{"problem", "---\nstate: todo\nwait: soon\n---\n", "a.md:3: wait: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, map[string]string{"a.md": test.file})
			changed, err := f.SetState(t.Context(), "a", fleet.StateDone)
			if changed || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want %s", changed, err, test.want)
			}
			if readFile(t, filepath.Join(f.Dir, "a.md")) != test.file {
				t.Error("the file was changed")
			}
		})
	}
}

func TestSetStateWrongInput(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": "---\nstate: todo\n---\n", "README.md": "x"})
	for _, test := range []struct {
		id    fleet.TaskID
		state fleet.TaskState
		want  error
	}{
		{"a", "", fleet.ErrUsage},
		{"a", "paused", fleet.ErrUsage},
		{"a", "done\nx: y", fleet.ErrUsage},
		{"a\nb", fleet.StateDone, fleet.ErrUsage},
		{"../a", fleet.StateDone, fleet.ErrUsage},
		{"b", fleet.StateDone, fleet.ErrNotFound},
		{"README", fleet.StateDone, fleet.ErrNotFound},
	} {
		changed, err := f.SetState(t.Context(), test.id, test.state)
		if changed || !errors.Is(err, test.want) || fleet.Hint(err) == "" {
			t.Errorf("SetState(%q, %q) = %v, %v, hint %q, want %v", test.id, test.state, changed, err, fleet.Hint(err), test.want)
		}
	}
}

func TestSetStateWithoutChangeDoesNotWrite(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": "---\nstate: paused\n---\n", "b.md": "---\nx: 1\n---\n"})
	for _, id := range []fleet.TaskID{"a", "b"} {
		before := stat(t, f, id)
		changed, err := f.SetState(t.Context(), id, fleet.StateBacklog)
		if changed || err != nil {
			t.Errorf("%s: got %v, %v, want false", id, changed, err)
		}
		if after := stat(t, f, id); !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
			t.Errorf("%s was written", id)
		}
	}
}

func stat(t testing.TB, f task.Folder, id fleet.TaskID) os.FileInfo {
	t.Helper()
	info := must.Get(os.Stat(filepath.Join(f.Dir, string(id)+".md")))(t)
	return info
}

func TestSetStateKeepsModeAndLink(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	target := filepath.Join(t.TempDir(), "shared.md")
	writeFile(t, target, "---\nstate: todo\n---\n")
	must.Do(t, os.Chmod(target, 0o466))
	must.Do(t, os.Symlink(target, filepath.Join(f.Dir, "a.md")))
	changed, err := f.SetState(t.Context(), "a", fleet.StateDone)
	if !changed || err != nil {
		t.Fatalf("got %v, %v", changed, err)
	}
	if got, err := os.Readlink(filepath.Join(f.Dir, "a.md")); err != nil || got != target {
		t.Errorf("link: got %q, %v, want %q", got, err, target)
	}
	if got := stat(t, f, "a").Mode(); got != 0o466 {
		t.Errorf("mode: got %v, want %v", got, os.FileMode(0o466))
	}
	if got, want := readFile(t, target), "---\nstate: done\n---\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A reader meets the old file or the new one, whatever two writers do.
func TestSetStateIsAtomic(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": fullTask})
	var writers sync.WaitGroup
	for _, state := range []fleet.TaskState{fleet.StateDone, fleet.StateCancelled} {
		writers.Go(func() {
			for i := range 20 {
				s := []fleet.TaskState{state, fleet.StateTodo}[i%2]
				if _, err := f.SetState(t.Context(), "a", s); err != nil && !strings.Contains(err.Error(), "keeps changing") {
					t.Errorf("SetState: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for reads := 0; ; reads++ {
		got, err := f.Get(t.Context(), "a")
		if err != nil || got.Family != "surveys" || !strings.HasSuffix(got.Body, "Body.\n") {
			t.Fatalf("read %d: %+v, %v", reads, got, err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// frontLine generates what may stand in front matter beside the state.
func frontLine(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"# state: todo", "", "x%d: 1", "x%d: 'state: todo'  # c", "x%d:\n  state: todo", "x%d:\n- a\n- b", "x%d: |\n  state: todo\n  b",
		"x%d: \"é\u2028🔥\"", "x%d: {state: todo}", "x%d: >-\n\n  folded\n\n  text", "x%d: plain\n  goes on", "\"x%d\": ~", "? x%d\n: v", "x%d: &a%d v",
	}).Draw(t, "line")
}

func TestSetStateChangesNothingElse(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	path := filepath.Join(f.Dir, "a.md")
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(frontLine), 0, 8).Draw(t, "lines")
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], "%d", string(rune('a'+i)))
		}
		spelling := rapid.SampledFrom([]string{"state: @", "state: '@'", "state:   \"@\" # c", "state:\n  @", "'state': @\t# c", "? state\n: @"}).Draw(t, "spelling")
		from := rapid.SampledFrom(fleet.TaskStates()).Draw(t, "from")
		to := rapid.SampledFrom(fleet.TaskStates()).Draw(t, "to")
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		body := rapid.SampledFrom([]string{"", "\n# T\n\nstate: todo\n", "---\nstate: todo\n---", "no end"}).Draw(t, "body")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		mark := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "bom")

		all := slices.Insert(slices.Clone(lines), at, spelling)
		file := mark + "---\n" + strings.Join(append(all, "---", body), "\n")
		file = strings.ReplaceAll(file, "\n", end)
		must.Do(t, os.WriteFile(path, []byte(strings.Replace(file, "@", string(from), 1)), 0o644))
		changed, err := f.SetState(t.Context(), "a", to)
		if err != nil || changed != (from != to) {
			t.Fatalf("SetState(%q) = %v, %v", to, changed, err)
		}
		data := must.Get(os.ReadFile(path))(t)
		if diff := cmp.Diff(string(data), strings.Replace(file, "@", string(to), 1)); diff != "" {
			t.Fatalf("file (-got +want):\n%s", diff)
		}
	})
}

func FuzzSetState(f *testing.F) {
	f.Add("state: todo", "# T\n", uint8(0))
	f.Add("? x\r\n: |+\r\n  state: todo\r\n\r\nstate:\r", "", uint8(1))
	f.Add("x: &s todo\nstate: *s", "---\n", uint8(2))
	f.Add("{state: 'todo', x: y}", "", uint8(3))
	f.Add("  x: y", "", uint8(6))
	f.Fuzz(func(t *testing.T, front, body string, n uint8) {
		file := "---\n" + front + "\n---\n" + body
		state := fleet.TaskStates()[int(n)%len(fleet.TaskStates())]
		before, err := task.Parse("/t/a.md", []byte(file))
		if err != nil {
			return
		}
		edited, err := task.WithState("/t/a.md", []byte(file), state)
		if err != nil {
			return
		}
		after, err := task.Parse("/t/a.md", edited)
		if err != nil {
			t.Fatalf("%q became %q: %v", file, edited, err)
		}
		before.State = state
		if diff := cmp.Diff(after, before, unseen); diff != "" {
			t.Errorf("%q became %q (-got +want):\n%s", file, edited, diff)
		}
		old, lines := strings.SplitAfter(file, "\n"), strings.SplitAfter(string(edited), "\n")
		if kept := sameLines(old, lines); kept < len(old)-1 || len(lines) > len(old)+1 {
			t.Errorf("%q became %q: %d lines of %d kept", file, edited, kept, len(old))
		}
	})
}

// sameLines counts the lines that a and b begin and end with in common.
func sameLines(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	last := 0
	for last < len(a) && last < len(b) && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	return n + last
}

func TestRestated(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": ""})
	path := filepath.Join(must.Get(filepath.EvalSymlinks(f.Dir))(t), "a.md")
	for name, test := range map[string]struct{ path, was, now, lands, want string }{
		"state alone":   {path, "---\nstate: todo\n---\na\n", "---\nstate: done\n---\na\n", "---\nstate: todo\nx: 1\n---\nb\n", "---\nstate: done\nx: 1\n---\nb\n"},
		"lands another": {path, "---\nstate: todo\n---\n", "---\nstate: done\n---\n", "---\nstate: ready_for_review\n---\n", "---\nstate: done\n---\n"},
		"text as well":  {path, "---\nstate: todo\n---\na\n", "---\nstate: done\n---\nmine\n", "---\nstate: todo\n---\nb\n", ""},
		"field as well": {path, "---\nstate: todo\n---\n", "---\nstate: done\nx: 1\n---\n", "---\nstate: todo\n---\nb\n", ""},
		"no task":       {filepath.Join(t.TempDir(), "a.md"), "---\nstate: todo\n---\n", "---\nstate: done\n---\n", "---\nstate: todo\n---\nb\n", ""},
		"lands broken":  {path, "---\nstate: todo\n---\n", "---\nstate: done\n---\n", "---\nstate: [\n---\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, is := f.Restated(test.path, []byte(test.was), []byte(test.now), []byte(test.lands))
			if is != (test.want != "") || is && string(text) != test.want {
				t.Errorf("got %v, %q, want %q", is, text, test.want)
			}
		})
	}
}
