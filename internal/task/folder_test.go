package task_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

// newFolder makes a folder of the files given by name.
func newFolder(t testing.TB, files map[string]string) task.Folder {
	t.Helper()
	f := task.Folder{
		Dir:             t.TempDir(),
		DefaultCategory: "code",
		Tags:            map[string]fleet.Category{"docs": "content", "paper": "research"},
	}
	for name, text := range files {
		writeFile(t, filepath.Join(f.Dir, name), text)
	}
	return f
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return string(data)
}

func ids(tasks []fleet.Task) []fleet.TaskID {
	var ids []fleet.TaskID
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

func fileNames(t testing.TB, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestListOrdersByID(t *testing.T) {
	t.Parallel()
	// In file names "-" sorts before ".md", in ids "a" sorts before "a-b".
	f := newFolder(t, map[string]string{"a.md": "---\n---\n", "a-b.md": "---\n---\n", "B.md": "---\n---\n"})
	tasks, problems, err := f.List(t.Context())
	if err != nil || len(problems) != 0 {
		t.Fatalf("List: problems %v, error %v", problems, err)
	}
	must.Equal(t, "ids", ids(tasks), []fleet.TaskID{"B", "a", "a-b"})
}

func TestListKeepsOddNames(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	want := []fleet.TaskID{
		` lead`, `$HOME`, `%n`, `-rf`, `..a`, `a b`, `it's "so"`, `étude 🔥`, fleet.TaskID(strings.Repeat("本", 84)),
	}
	for _, id := range want {
		writeFile(t, filepath.Join(f.Dir, string(id)+".md"), "---\nstate: todo\n---\n")
	}
	want = append(want[:4:4], want[5:]...) // A dot in front hides a file.
	tasks, problems, err := f.List(t.Context())
	if err != nil || len(problems) != 0 {
		t.Fatalf("List: problems %v, error %v", problems, err)
	}
	must.Equal(t, "ids", ids(tasks), want)
	for _, id := range want {
		got, err := f.Get(t.Context(), id)
		if err != nil || got.ID != id || got.Title != string(id) {
			t.Errorf("Get(%q) = id %q, title %q, %v", id, got.ID, got.Title, err)
		}
		if changed, err := f.SetState(t.Context(), id, fleet.StateDone); !changed || err != nil {
			t.Errorf("SetState(%q) = %v, %v", id, changed, err)
		}
	}
}

func TestListIgnores(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{
		"README.md": "# About\n", "note.txt": "x", ".hidden.md": "x", "x.MD": "x", "x.md~": "x", ".md": "x", "md": "x",
	})
	must.Do(t, os.Mkdir(filepath.Join(f.Dir, "archive.md"), 0o755))
	must.Do(t, os.Symlink("archive.md", filepath.Join(f.Dir, "linked.md")))
	tasks, problems, err := f.List(t.Context())
	if err != nil || len(tasks) != 0 || len(problems) != 0 {
		t.Errorf("List = %v, %v, %v; want nothing", tasks, problems, err)
	}
}

func TestReadmeWithFrontMatterIsATask(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"README.md": "\ufeff---\r\nstate: done\r\n---\r\n"})
	tasks, problems, err := f.List(t.Context())
	if err != nil || len(problems) != 0 || len(tasks) != 1 || tasks[0].State != fleet.StateDone {
		t.Errorf("List = %v, %v, %v; want README, done", tasks, problems, err)
	}
}

func TestListReportsWhatIsNoTask(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{
		"good.md": "---\nstate: todo\n---\n", "bad.md": "---\ntags:\n- a\nstate: nope\n---\n", "a\nb.md": "---\n---\n",
		"category:x.md": "---\n---\n", "caf\xe9.md": "---\n---\n", "readme.md": "# About\n",
		"big.md": "---\n---\n" + strings.Repeat("x", 1<<20),
	})
	must.Do(t, syscall.Mkfifo(filepath.Join(f.Dir, "fifo.md"), 0o644))
	for link, target := range map[string]string{"gone.md": "nowhere", "loop.md": "loop.md", "null.md": os.DevNull} {
		must.Do(t, os.Symlink(target, filepath.Join(f.Dir, link)))
	}
	tasks, problems, err := f.List(t.Context())
	must.Do(t, err)
	must.Equal(t, "ids", ids(tasks), []fleet.TaskID{"good"})
	var got []string
	for _, p := range problems {
		got = append(got, strings.ReplaceAll(p.String(), f.Dir+"/", ""))
	}
	want := []string{
		`"a\nb.md": task id: key "a\nb": control characters are not allowed: rename the file`,
		`bad.md:4: state: state "nope": want one of active, todo, backlog, waiting, ready_for_review, someday, done, cancelled, expired, or say under [tasks] what it means, as in states = { "nope" = "todo" }`,
		`big.md: larger than 1 MiB: keep the task short and link to the rest`,
		`"caf\xe9.md": task id: key "caf\xe9": not valid UTF-8: rename the file`,
		`category:x.md: task id: key "category:x": the prefix "category:" is reserved for lanes: rename the file`,
		`fifo.md: not a regular file: move it out of the folder`,
		`gone.md: the link leads nowhere: fix it or remove it`,
		`loop.md: unreadable: too many levels of symbolic links: fix it or move it out of the folder`,
		`null.md: not a regular file: move it out of the folder`,
		`readme.md:1: no front matter: the first line must be ---`,
	}
	must.Equal(t, "problems", got, want)
}

func TestListWithoutFolder(t *testing.T) {
	t.Parallel()
	f := task.Folder{Dir: filepath.Join(t.TempDir(), "tasks")}
	_, _, err := f.List(t.Context())
	if !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("List: %v, want %v", err, fleet.ErrNotFound)
	}
	if got := fleet.Hint(err); !strings.Contains(got, "mkdir -p") {
		t.Errorf("hint %q, want a mkdir", got)
	}
	if _, _, err := (task.Folder{Dir: os.DevNull}).List(t.Context()); err == nil || errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("List of a file: %v, want an error other than %v", err, fleet.ErrNotFound)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": "---\n---\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, listErr := f.List(ctx)
	_, getErr := f.Get(ctx, "a")
	_, setErr := f.SetState(ctx, "a", fleet.StateDone)
	_, addErr := f.Add(ctx, task.Draft{Title: "b"}, false)
	for _, err := range []error{listErr, getErr, setErr, addErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	}
	must.Equal(t, "files", fileNames(t, f.Dir), []string{"a.md"})
}

func TestGetErrors(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"README.md": "# About\n", ".x.md": "---\n---\n", "bad.md": "---\nstate: todo\nwait: soon\n---\n"})
	must.Do(t, os.Mkdir(filepath.Join(f.Dir, "sub.md"), 0o755))
	for _, test := range []struct {
		id   fleet.TaskID
		want error
	}{
		{"absent", fleet.ErrNotFound},
		{"README", fleet.ErrNotFound},
		{".x", fleet.ErrNotFound},
		{"sub", fleet.ErrNotFound},
		{fleet.TaskID(strings.Repeat("x", 400)), fleet.ErrNotFound},
		{"", fleet.ErrUsage},
		{"../README", fleet.ErrUsage},
		{"a\nb", fleet.ErrUsage},
	} {
		_, err := f.Get(t.Context(), test.id)
		if !errors.Is(err, test.want) || !strings.Contains(fleet.Hint(err), "stint task list") {
			t.Errorf("Get(%q): %v, hint %q; want %v and a hint", test.id, err, fleet.Hint(err), test.want)
		}
	}
	_, err := f.Get(t.Context(), "bad")
	want := fmt.Sprintf(`read task "bad": %s/bad.md:3: wait: date "soon": want 2026-01-02 or 2026-01-02T15:04:05Z`, f.Dir)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": "---\n---\n# A\n\nText.\n"})
	tasks, _, err := f.List(t.Context())
	if err != nil || len(tasks) != 1 || tasks[0].Body != "" {
		t.Fatalf("List = %v, %v; want a task without its body", tasks, err)
	}
	if got, err := f.Body(t.Context(), tasks[0]); got != "# A\n\nText.\n" || err != nil {
		t.Errorf("Body = %q, %v", got, err)
	}
	elsewhere := fleet.Task{ID: "a", Path: "beads", Body: "Other text."}
	if got, err := f.Body(t.Context(), elsewhere); got != elsewhere.Body || err != nil {
		t.Errorf("Body = %q, %v; want %q", got, err, elsewhere.Body)
	}
	must.Do(t, os.Remove(tasks[0].Path))
	if _, err := f.Body(t.Context(), tasks[0]); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("Body of a task that is gone: %v, want %v", err, fleet.ErrNotFound)
	}
}

func TestModified(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"a.md": "---\n---\n"})
	path := filepath.Join(f.Dir, "a.md")
	for _, mtime := range []time.Time{time.Unix(0, 0), time.Date(2100, 1, 2, 3, 4, 5, 6, time.UTC)} {
		must.Do(t, os.Chtimes(path, mtime, mtime))
		info := must.Get(os.Stat(path))(t)
		want := time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix()).UTC()
		if got, err := f.Get(t.Context(), "a"); err != nil || !got.Modified.Equal(want) {
			t.Errorf("modified %v, %v, want %v", got.Modified, err, want)
		}
	}
}

func TestCategory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		front string
		want  fleet.Category
	}{
		{"category: ops\ntags: [docs]", "ops"},
		{"tags: [other, paper, docs]", "research"},
		{"tags: docs", "content"},
		{"category: null\ntags: [other]", "code"},
		{"", "code"},
	} {
		f := newFolder(t, map[string]string{"a.md": "---\n" + test.front + "\n---\n"})
		got, err := f.Get(t.Context(), "a")
		if err != nil || got.Category != test.want {
			t.Errorf("%q: got %q, %v, want %q", test.front, got.Category, err, test.want)
		}
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		f := newFolder(b, nil)
		for i := range n {
			writeFile(b, filepath.Join(f.Dir, fmt.Sprintf("task-%06d.md", i)), fullTask)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if tasks, problems, err := f.List(b.Context()); len(tasks) != n || len(problems) != 0 || err != nil {
					b.Fatalf("%d tasks, %v, %v", len(tasks), problems, err)
				}
			}
		})
	}
}

// TestFoldersBelow has tasks in folders below that of tasks, and what is none there.
func TestFoldersBelow(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{
		"a.md": "---\nstate: todo\n---\n# A\n", "sub/b.md": "---\nstate: active\n---\n# B\n", "sub/deep/c.md": "---\nstate: todo\n---\n", "sub/notes.md": "# Notes\n", "sub/doc.md": "---\ntitle: Doc\n---\n",
		"repo/.git/HEAD": "", "repo/d.md": "---\nstate: todo\n---\n", "repo/in/f.md": "---\nstate: todo\n---\n",
		".hidden/d.md": "---\nstate: todo\n---\n", "templates/e.md": "---\nstate: todo\n---\n", "other/a.md": "---\nstate: todo\n---\n",
		"a (conflicted copy 2026-01-02).md": "# A\n", "sub/b.sync-conflict-20260102-101010-ABCDEFG.md": "---\nstate: todo\n---\n",
	})
	tasks, problems, err := f.List(t.Context())
	must.Do(t, err)
	var ids []string
	for _, task := range tasks {
		ids = append(ids, string(task.ID)+" "+string(task.State))
	}
	must.Equal(t, "tasks", ids, []string{"a todo", "b active", "c todo", "d todo"})
	var reasons []string
	for _, p := range problems {
		rel, _ := filepath.Rel(f.Dir, p.Path)
		reasons = append(reasons, rel+": "+p.Reason)
	}
	slices.Sort(reasons)
	const copied = ": a conflict copy of a program that syncs folders: merge it into its original and remove it"
	must.Equal(t, "problems", reasons, []string{
		"a (conflicted copy 2026-01-02).md" + copied, "other/a.md: the id \"a\" is that of a.md already: rename one",
		"sub/b.sync-conflict-20260102-101010-ABCDEFG.md" + copied,
	})
	changed, err := f.SetState(t.Context(), "c", fleet.StateDone)
	if got := must.Get(f.Get(t.Context(), "c"))(t); err != nil || !changed || got.State != fleet.StateDone || got.Path != filepath.Join(f.Dir, "sub/deep/c.md") {
		t.Errorf("got %v, %v, %+v", changed, err, got)
	}
	if _, err := f.Get(t.Context(), "notes"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("notes: %v", err)
	}
	const conflict = "b.sync-conflict-20260102-101010-ABCDEFG"
	_, gotten := f.Get(t.Context(), conflict)
	_, set := f.SetState(t.Context(), conflict, fleet.StateDone)
	for _, err := range []error{gotten, set} {
		if err == nil || !strings.Contains(err.Error(), copied) {
			t.Errorf("a conflict copy: %v", err)
		}
	}
}
