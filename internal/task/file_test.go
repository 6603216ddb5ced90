package task_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"stint/internal/task"
	"stint/internal/testkit/must"
)

func TestReplaceLeavesWhatChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.md")
	writeFile(t, path, "saved by a person")
	done, err := task.Replace(path, []byte("read before"), []byte("edited"), 0o644)
	if done || !errors.Is(err, task.ErrMoved) {
		t.Errorf("got %v, %v, want %v", done, err, task.ErrMoved)
	}
	if got, want := readFile(t, path), "saved by a person"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	must.Equal(t, "files", fileNames(t, filepath.Dir(path)), []string{"a.md"})
}

func TestReplaceDoesNotBringBackWhatIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.md")
	done, err := task.Replace(path, []byte("read before"), []byte("edited"), 0o644)
	if done || err == nil {
		t.Errorf("got %v, %v, want an error", done, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}
