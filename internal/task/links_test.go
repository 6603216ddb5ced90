package task_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

const secret = "---\nstate: active\n---\n# Private\n"

// linked is a workspace with one task, in which a session put a link to something of the
// operator's, and the file that it leads to.
func linked(t *testing.T, plant func(workspace, notes string)) (f task.Folder, note string) {
	t.Helper()
	workspace, notes := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(notes, "n.md"), secret)
	must.Do(t, os.MkdirAll(filepath.Join(workspace, "backlog/tasks"), 0o755))
	writeFile(t, filepath.Join(workspace, "backlog/tasks/own.md"), "---\nstate: active\n---\n# Own\n")
	plant(workspace, notes)
	dir := filepath.Join(workspace, "backlog/tasks")
	return task.Folder{Dir: dir, Top: task.TopOf(workspace, dir)}, filepath.Join(notes, "n.md")
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	must.Do(t, os.Symlink(target, path))
}

func TestLinkedTaskFileIsNotFollowed(t *testing.T) {
	t.Parallel()
	f, note := linked(t, func(workspace, notes string) {
		symlink(t, filepath.Join(notes, "n.md"), filepath.Join(workspace, "backlog/tasks/n.md"))
	})
	tasks, problems, err := f.List(t.Context())
	if err != nil || len(tasks) != 1 || len(problems) != 1 || problems[0].Task != "n" || !strings.Contains(problems[0].Reason, "is a link") {
		t.Errorf("got %v, %v, %v, want the own task and the link as a problem", tasks, problems, err)
	}
	if got, err := f.Get(t.Context(), "n"); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("got %v, %v, want a refusal", got, err)
	}
	if changed, err := f.SetState(t.Context(), "n", fleet.StateDone); changed || err == nil {
		t.Errorf("got %v, %v, want a refusal", changed, err)
	}
	if changed, err := f.SetState(t.Context(), "own", fleet.StateDone); !changed || err != nil {
		t.Errorf("got %v, %v, want the own task written", changed, err)
	}
	if got := readFile(t, note); got != secret {
		t.Errorf("the note is %q", got)
	}
}

func TestLinkedFolderIsNotFollowed(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(workspace, notes string){
		"tasks": func(workspace, notes string) {
			must.Do(t, os.RemoveAll(filepath.Join(workspace, "backlog/tasks")))
			symlink(t, notes, filepath.Join(workspace, "backlog/tasks"))
		},
		"above": func(workspace, notes string) {
			must.Do(t, os.RemoveAll(filepath.Join(workspace, "backlog")))
			must.Do(t, os.Rename(filepath.Join(notes, "n.md"), filepath.Join(notes, "kept")))
			must.Do(t, os.Mkdir(filepath.Join(notes, "tasks"), 0o755))
			writeFile(t, filepath.Join(notes, "tasks/n.md"), secret)
			symlink(t, filepath.Join(notes, "tasks/n.md"), filepath.Join(notes, "n.md"))
			symlink(t, notes, filepath.Join(workspace, "backlog"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, note := linked(t, plant)
			tasks, problems, err := f.List(t.Context())
			if err != nil || len(tasks) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Reason, "is a link") {
				t.Errorf("got %v, %v, %v, want the link as the only problem", tasks, problems, err)
			}
			if got, err := f.Get(t.Context(), "n"); err == nil || !strings.Contains(err.Error(), "is a link") {
				t.Errorf("got %v, %v, want a refusal", got, err)
			}
			if _, err := f.Add(t.Context(), task.Draft{ID: "new"}, false); err == nil || !strings.Contains(err.Error(), "is a link") {
				t.Errorf("got %v, want a refusal", err)
			}
			if _, err := f.Add(t.Context(), task.Draft{ID: "new"}, true); err == nil {
				t.Error("the preview is not refused")
			}
			if changed, err := f.SetState(t.Context(), "n", fleet.StateDone); changed || err == nil {
				t.Errorf("got %v, %v, want a refusal", changed, err)
			}
			if got := readFile(t, note); got != secret {
				t.Errorf("the note is %q", got)
			}
			if _, err := os.Lstat(filepath.Join(f.Dir, "new.md")); err == nil {
				t.Error("a task was written through the link")
			}
		})
	}
}

func TestArchiveLinkLeavesTheOthers(t *testing.T) {
	t.Parallel()
	f, _ := linked(t, func(workspace, notes string) { symlink(t, notes, filepath.Join(workspace, "backlog/tasks/archive")) })
	f.Format.Name = fleet.FormatGptme
	tasks, problems, err := f.List(t.Context())
	if err != nil || len(tasks) != 1 || len(problems) != 1 {
		t.Errorf("got %v, %v, %v, want the own task and the link as a problem", tasks, problems, err)
	}
}

func TestTopOf(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(base, "ws/tasks"), 0o755))
	symlink(t, "ws", filepath.Join(base, "link"))
	symlink(t, filepath.Join(base, "ws"), filepath.Join(base, "ws/loop"))
	at := func(path string) string { return filepath.Join(base, path) }
	for _, test := range []struct{ workspace, dir, want string }{
		{at("ws"), at("ws/tasks"), at("ws")},
		{at("ws"), at("link/tasks"), at("link")},
		{at("link"), at("ws/tasks"), at("ws")},
		{at("ws"), at("ws/loop/tasks"), at("ws")},
		{at("ws"), at("notes/tasks"), ""},
		{at("gone"), at("gone/tasks"), at("gone")},
	} {
		if got := task.TopOf(test.workspace, test.dir); got != test.want {
			t.Errorf("TopOf(%s, %s) = %q, want %q", test.workspace, test.dir, got, test.want)
		}
	}
}
