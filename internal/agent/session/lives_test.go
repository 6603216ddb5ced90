package session

import (
	"os"
	"path/filepath"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestSupervised knows a supervisor by the lock that it has open.
func TestSupervised(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s, files := Sessions{State: state}, fleet.FilesOf(state, "0s1")
	must.Do(t, os.MkdirAll(files.Dir, 0o700))
	alive := must.Get(os.Create(files.Alive))(t)
	if !s.Supervised(fleet.Run{ID: "0s1", PID: os.Getpid()}) {
		t.Error("this process has the lock open, and is not taken for the supervisor")
	}
	link := filepath.Join(t.TempDir(), "state")
	must.Do(t, os.Symlink(state, link))
	if !(Sessions{State: link}).Supervised(fleet.Run{ID: "0s1", PID: os.Getpid()}) {
		t.Error("by another name of the state folder, this process is not taken for the supervisor")
	}
	if s.Supervised(fleet.Run{ID: "0s1"}) || s.Supervised(fleet.Run{ID: "0s1", PID: 1 << 30}) {
		t.Error("a run without a process has a supervisor")
	}
	must.Do(t, alive.Close())
	if s.Supervised(fleet.Run{ID: "0s1", PID: os.Getpid()}) {
		t.Error("a process without the lock is taken for the supervisor")
	}
}
