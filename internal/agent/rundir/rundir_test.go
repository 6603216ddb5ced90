package rundir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// now is when the tests take place.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// state is a state folder.
type state struct {
	*testing.T
	dir string
}

func newState(t *testing.T) state { t.Helper(); return state{t, t.TempDir()} }

func (s state) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// add makes the folder of a run that was made some days ago.
func (s state) add(days int, number uint32) fleet.RunID {
	s.Helper()
	run := fleet.NewRunID(now.AddDate(0, 0, -days), number)
	s.write(run, "log", "hello\n")
	s.write(run, "out/result.json", "{}\n")
	return run
}

func (s state) write(run fleet.RunID, name, text string) {
	s.Helper()
	path := filepath.Join(fleet.FilesOf(s.dir, run).Dir, name)
	s.must(os.MkdirAll(filepath.Dir(path), 0o700))
	s.must(os.WriteFile(path, []byte(text), 0o600))
}

// there are the names in the folder of runs.
func (s state) there() (names []string) {
	s.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	s.must(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (s state) folders(keep int, maxAge time.Duration) rundir.Folders {
	return rundir.Folders{State: s.dir, Keep: keep, MaxAge: maxAge, Out: 100, Now: func() time.Time { return now }}
}

func (s state) sweep(f rundir.Folders, over func(fleet.RunID) bool) int {
	s.Helper()
	removed, err := f.Sweep(over)
	s.must(err)
	return removed
}

func every(fleet.RunID) bool { return true }

func texts(runs ...fleet.RunID) (names []string) {
	for _, r := range runs {
		names = append(names, string(r))
	}
	slices.Sort(names)
	return names
}

func TestSweep(t *testing.T) {
	t.Parallel()
	s := newState(t)
	if removed := s.sweep(s.folders(0, 0), every); removed != 0 {
		t.Errorf("got %d removed of a fleet that never ran", removed)
	}
	old, lives := s.add(40, 1), s.add(40, 2)
	many, kept, young := s.add(3, 1), s.add(2, 1), s.add(1, 1)
	removed := s.sweep(s.folders(2, 30*24*time.Hour), func(r fleet.RunID) bool { return r != lives })
	if diff := cmp.Diff(s.there(), texts(lives, kept, young)); diff != "" || removed != 2 {
		t.Errorf("got %d removed, want %s and %s (-got +want):\n%s", removed, old, many, diff)
	}
	if removed := s.sweep(s.folders(9, 36*time.Hour), every); removed != 2 {
		t.Errorf("got %d removed by age, want 2", removed)
	}
	if removed := s.sweep(s.folders(9, 0), every); removed != 0 {
		t.Errorf("got %d removed although age does not count", removed)
	}
}

// TestSweepGoesOn finds what a crash between the two steps of a removal left.
func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	s := newState(t)
	begun, young := s.add(40, 1), s.add(1, 1)
	dir := fleet.FilesOf(s.dir, begun).Dir
	s.must(os.Rename(dir, dir+".gone"))
	s.sweep(s.folders(9, 0), func(fleet.RunID) bool { t.Error("asked about a run that stays"); return false })
	if diff := cmp.Diff(s.there(), texts(young)); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestSweepFollowsNoLink puts links where runs' folders are, and into one.
func TestSweepFollowsNoLink(t *testing.T) {
	t.Parallel()
	s := newState(t)
	outside := t.TempDir()
	s.must(os.WriteFile(filepath.Join(outside, "log"), nil, 0o600))
	run := s.add(40, 1)
	s.must(os.Symlink(outside, filepath.Join(fleet.FilesOf(s.dir, run).Out, "away")))
	link := fleet.NewRunID(now.AddDate(0, 0, -50), 1)
	s.must(os.Symlink(outside, fleet.FilesOf(s.dir, link).Dir))
	s.must(os.Symlink(outside, fleet.FilesOf(s.dir, link+"0").Dir+".gone"))
	s.must(os.Mkdir(filepath.Join(s.dir, "runs", "Not-a-run"), 0o700))
	if removed := s.sweep(s.folders(0, time.Hour), every); removed != 1 {
		t.Errorf("got %d removed, want 1", removed)
	}
	if got := s.there(); len(got) != 3 || slices.Contains(got, string(run)) {
		t.Errorf("got %v left, want the links and what is no run's", got)
	}
	if _, err := os.Stat(filepath.Join(outside, "log")); err != nil {
		t.Error(err)
	}
}

// TestSweepIsBounded has more old folders than one sweep looks at, the oldest of which can
// never go.
func TestSweepIsBounded(t *testing.T) {
	t.Parallel()
	s := newState(t)
	const all, stuck = 2500, 1200
	for i := range uint32(all) {
		s.must(os.MkdirAll(fleet.FilesOf(s.dir, fleet.NewRunID(now.AddDate(0, 0, -40), i)).Dir, 0o700))
	}
	last := fleet.NewRunID(now.AddDate(0, 0, -40), stuck)
	f := s.folders(0, time.Hour)
	for sweep := range int64(50) {
		f.Now = func() time.Time { return now.Add(time.Duration(sweep * 997)) }
		asked := 0
		s.sweep(f, func(r fleet.RunID) bool { asked++; return r >= last })
		if asked > 1000 {
			t.Fatalf("got %d runs asked about in one sweep", asked)
		}
		if len(s.there()) == stuck {
			return
		}
	}
	t.Errorf("got %d left after 50 sweeps, want %d", len(s.there()), stuck)
}

// TestSweepRemovesWhatMayNotBeWritten has a folder as a cache of Go's modules makes it.
func TestSweepRemovesWhatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	s := newState(t)
	run := s.add(40, 1)
	s.write(run, "out/pkg/mod/a.go", "package a\n")
	s.must(os.Chmod(filepath.Join(fleet.FilesOf(s.dir, run).Out, "pkg/mod"), 0o500))
	s.sweep(s.folders(0, 0), every)
	if got := s.there(); len(got) != 0 {
		t.Errorf("got %v left", got)
	}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	s := newState(t)
	outside := filepath.Join(t.TempDir(), "file")
	s.must(os.WriteFile(outside, []byte("theirs"), 0o600))
	run := s.add(0, 1)
	out := fleet.FilesOf(s.dir, run).Out
	s.write(run, "out/a", strings.Repeat("a", 50))
	s.write(run, "tmp/sealed/file", "")
	s.write(run, "tmp-judge/file", "")
	s.must(os.Chmod(filepath.Join(out, "../tmp/sealed"), 0o500))
	s.write(run, "out/a-big", strings.Repeat("x", 60))
	s.write(run, "out/notes/small", "note")
	s.write(run, "out/sealed/small", "note")
	s.write(run, "out/z", strings.Repeat("z", 39))
	s.must(os.Symlink(outside, filepath.Join(out, "link")))
	s.must(os.Link(outside, filepath.Join(out, "second-name")))
	s.must(syscall.Mkfifo(filepath.Join(out, "fifo"), 0o600))
	s.must(os.Chmod(filepath.Join(out, "sealed"), 0o500))
	trimmed, err := s.folders(0, 0).Trim(run)
	if err != nil || !trimmed {
		t.Errorf("got %v, %v", trimmed, err)
	}
	var got []string
	s.must(filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, out+"/"))
		}
		return err
	}))
	// 3 bytes of the result, then what fits, by name.
	must.Equal(t, "left", got, []string{"a", "notes/small", "result.json", "sealed/small", "z"})
	for _, tmp := range []string{fleet.FilesOf(s.dir, run).Tmp, fleet.FilesOf(s.dir, run).Judge} {
		if _, err := os.Lstat(tmp); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", tmp, err)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "theirs" {
		t.Errorf("got %q, %v", text, err)
	}
	if trimmed, err := s.folders(0, 0).Trim(run); err != nil || trimmed {
		t.Errorf("the second time: got %v, %v", trimmed, err)
	}
}

// TestTrimOfSockets removes a socket without counting it: it takes no room, and the door of a run that
// was killed is one.
func TestTrimOfSockets(t *testing.T) {
	t.Parallel()
	s := newState(t)
	run := s.add(0, 1)
	door := filepath.Join(fleet.FilesOf(s.dir, run).Out, "door")
	fd := must.Get(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))(t)
	s.must(errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: door}), syscall.Close(fd)))
	if trimmed, err := s.folders(0, 0).Trim(run); err != nil || trimmed {
		t.Errorf("got %v, %v, want nothing trimmed", trimmed, err)
	}
	if _, err := os.Lstat(door); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestTrimOfWhatIsNoFolder has a link in the place of the folder, to what the agent may not
// remove.
func TestTrimOfWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	for _, target := range []string{".", "/"} {
		s := newState(t)
		run := s.add(0, 1)
		files := fleet.FilesOf(s.dir, run)
		s.must(os.RemoveAll(files.Out))
		s.must(os.Symlink(target, files.Out))
		if trimmed, err := s.folders(0, 0).Trim(run); err != nil || !trimmed {
			t.Errorf("%s: got %v, %v", target, trimmed, err)
		}
		if _, err := os.Stat(files.Log); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(files.Out); !os.IsNotExist(err) {
			t.Errorf("%s: the link is left: %v", target, err)
		}
	}
}

// TestTrimCountsFiles has more small files than stay.
func TestTrimCountsFiles(t *testing.T) {
	t.Parallel()
	s := newState(t)
	run := s.add(0, 1)
	for i := range uint32(1100) {
		s.write(run, "out/many/"+string(fleet.NewRunID(now, i)), "")
	}
	if trimmed, err := s.folders(0, 0).Trim(run); err != nil || !trimmed {
		t.Errorf("got %v, %v", trimmed, err)
	}
	left, err := os.ReadDir(filepath.Join(fleet.FilesOf(s.dir, run).Out, "many"))
	if s.must(err); len(left) != 999 {
		t.Errorf("got %d files, want 999 beside the result", len(left))
	}
}
