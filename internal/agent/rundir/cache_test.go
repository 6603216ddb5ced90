package rundir_test

import (
	"os"
	"path/filepath"
	"testing"

	"stint/internal/agent/rundir"
	"stint/internal/testkit/must"
)

// TestRepair has a session leave a cache that the next could not use. What only the tools of the cache may change stays.
func TestRepair(t *testing.T) {
	t.Parallel()
	cache, outside := filepath.Join(t.TempDir(), "cache"), t.TempDir()
	for _, dir := range []string{"go-build/00", "shut/in", "mod"} {
		must.Do(t, os.MkdirAll(filepath.Join(cache, dir), 0o700))
	}
	for _, file := range []string{"go-build/00/a", "shut/in/b", "mod/c"} {
		must.Do(t, os.WriteFile(filepath.Join(cache, file), nil, 0o600))
	}
	theirs := filepath.Join(outside, "theirs")
	must.Do(t, os.WriteFile(theirs, nil, 0o000))
	must.Do(t, os.Symlink(outside, filepath.Join(cache, "pip")))
	must.Do(t, os.Symlink(theirs, filepath.Join(cache, "mod/link")))
	modes := []struct {
		path      string
		mode, now os.FileMode
	}{
		{"go-build/00/a", 0, 0o600},
		{"shut/in/b", 0o200, 0o600},
		{"shut/in", 0, 0o700},
		{"shut", 0o300, 0o700},
		{"mod/c", 0o444, 0o444},
		{"mod", 0o555, 0o555},
		{"", 0o500, 0o700},
	}
	for _, m := range modes {
		must.Do(t, os.Chmod(filepath.Join(cache, m.path), m.mode))
	}
	rundir.Repair(cache)
	for _, m := range modes {
		must.Equal(t, m.path, must.Get(os.Stat(filepath.Join(cache, m.path)))(t).Mode().Perm(), m.now)
	}
	if _, err := os.Lstat(filepath.Join(cache, "pip")); !os.IsNotExist(err) {
		t.Errorf("a link in the place of a tool's folder: %v", err)
	}
	must.Get(os.Lstat(filepath.Join(cache, "mod/link")))(t)
	must.Equal(t, "a file outside", must.Get(os.Stat(theirs))(t).Mode().Perm(), os.FileMode(0))
	must.Do(t, os.Chmod(filepath.Join(cache, "mod"), 0o700)) // to be removed
}
