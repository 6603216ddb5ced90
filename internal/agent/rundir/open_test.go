package rundir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestOpenRefuses puts what an agent might in the place of a run's file, of its folder, and
// of the run's: nothing is waited for, read, written or made elsewhere.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const theirs = "theirs"
	for name, put := range map[string]func(files fleet.RunFiles, elsewhere string) error{
		"a FIFO":            func(f fleet.RunFiles, _ string) error { return syscall.Mkfifo(f.Result, 0o600) },
		"a folder":          func(f fleet.RunFiles, _ string) error { return os.Mkdir(f.Result, 0o700) },
		"a link":            func(f fleet.RunFiles, to string) error { return os.Symlink(to+"/out/result.json", f.Result) },
		"a link to nothing": func(f fleet.RunFiles, to string) error { return os.Symlink(to+"/new", f.Result) },
		"a second name":     func(f fleet.RunFiles, to string) error { return os.Link(to+"/out/result.json", f.Result) },
		"a linked folder":   func(f fleet.RunFiles, to string) error { return replaceBy(to+"/out", f.Out) },
		"a linked run":      func(f fleet.RunFiles, to string) error { return replaceBy(to, f.Dir) },
		"a file for a folder": func(f fleet.RunFiles, _ string) error {
			return errors.Join(os.Remove(f.Out), os.WriteFile(f.Out, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, elsewhere := fleet.FilesOf(t.TempDir(), "0r1"), t.TempDir()
			must.Do(t, rundir.MakeFolder(files.Out))
			err := errors.Join(os.Mkdir(elsewhere+"/out", 0o700), os.WriteFile(elsewhere+"/out/result.json", []byte(theirs), 0o600), put(files, elsewhere))
			must.Do(t, err)
			for how, open := range map[string]func(string) (*os.File, error){"Open": rundir.Open, "Make": rundir.Make} {
				if f, err := open(files.Result); err == nil {
					t.Errorf("%s opened %s", how, f.Name())
				}
			}
			if err := rundir.MakeFolder(filepath.Join(files.Out, "more")); strings.HasPrefix(name, "a linked") && err == nil {
				t.Error("a folder was made behind a link")
			}
			if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 1 {
				t.Errorf("got %v, %v elsewhere", left, err)
			}
		})
	}
}

func replaceBy(target, path string) error {
	return errors.Join(os.RemoveAll(path), os.Symlink(target, path))
}

// TestMake makes a run's file, opens it again as it is, and reads a file of
// nobody's run through a linked folder, as a home may have one.
func TestMake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := fleet.FilesOf(dir, "0r1")
	must.Do(t, errors.Join(rundir.MakeFolder(files.Out), rundir.MakeFolder(files.Out)))
	for _, text := range []string{"one", "two"} {
		f := must.Get(rundir.Make(files.Result))(t)
		_, err := f.Seek(0, 2)
		if _, wrong := f.WriteString(text); err != nil || wrong != nil {
			t.Error(err, wrong)
		}
		f.Close()
	}
	if got, err := os.ReadFile(files.Result); err != nil || string(got) != "onetwo" {
		t.Errorf("got %q, %v", got, err)
	}
	must.Do(t, os.Symlink(files.Out, dir+"/home"))
	f := must.Get(rundir.Open(dir + "/home/result.json"))(t)
	f.Close()
	if _, err := rundir.Open(dir + "/home/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no such file", err)
	}
}

// TestTrimOfALinkedRun has the folder of a run lead elsewhere: nothing there is removed.
func TestTrimOfALinkedRun(t *testing.T) {
	t.Parallel()
	s := newState(t)
	run, elsewhere := s.add(0, 1), t.TempDir()
	s.must(os.Mkdir(elsewhere+"/out", 0o700))
	s.must(syscall.Mkfifo(elsewhere+"/out/theirs", 0o600))
	s.must(replaceBy(elsewhere, fleet.FilesOf(s.dir, run).Dir))
	if trimmed, err := s.folders(0, 0).Trim(run); err == nil || trimmed {
		t.Errorf("got %v, %v, want an error", trimmed, err)
	}
	if _, err := os.Lstat(elsewhere + "/out/theirs"); err != nil {
		t.Error(err)
	}
}
