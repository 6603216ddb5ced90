package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestHalfMadeWorktrees has two gits killed in "worktree add" before they wrote the way back to the
// repository, so that git itself fails at every other worktree. The next session opens its own all the same, and what
// the killed ones left goes with their runs.
func TestHalfMadeWorktrees(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	root := t.TempDir()
	open := func(run fleet.RunID) (Worktree, error) {
		return clone.clone().Open(t.Context(), run, filepath.Join(root, string(run)), FromHead)
	}
	halve := func(run fleet.RunID) {
		must.Do(t, os.Truncate(filepath.Join(clone.dir, ".git", "worktrees", string(run), "commondir"), 0))
	}
	for _, run := range []fleet.RunID{"0half", "0halfway"} {
		must.Get(open(run))(t)
		halve(run)
	}
	if said, err := clone.try("worktree", "list"); err == nil || !strings.Contains(said, "commondir") {
		t.Fatalf("got %v: %s, want an error of git", err, said)
	}
	must.Get(open(own))(t)
	halve("0half")
	if left := mustPrune(t, clone, root, Limits{}); len(left) != 3 {
		t.Errorf("got %+v, want the killed ones pruned", left)
	}
	if got := clone.git("worktree", "list", "--porcelain"); strings.Contains(got, "half") {
		t.Errorf("worktrees: %s", got)
	}
}

// TestHalfMadeElsewhere has an agent lay a trap: nothing but an empty file of git's own data is filled.
func TestHalfMadeElsewhere(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(admin, outside string) error{
		"a link": func(admin, outside string) error { return os.Symlink(outside, filepath.Join(admin, "commondir")) },
		"not empty": func(admin, _ string) error {
			return os.WriteFile(filepath.Join(admin, "commondir"), []byte("x"), 0o600)
		},
		"a folder":  func(admin, _ string) error { return os.Mkdir(filepath.Join(admin, "commondir"), 0o700) },
		"not there": func(_, _ string) error { return nil },
		"a way about": func(admin, outside string) error {
			return os.Symlink(filepath.Dir(outside), filepath.Join(admin, "up"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			admin, outside := filepath.Join(dir, ".git", "worktrees", "x"), filepath.Join(dir, "outside", "commondir")
			must.Do(t, os.MkdirAll(admin, 0o700))
			must.Do(t, os.MkdirAll(filepath.Dir(outside), 0o700))
			must.Do(t, os.WriteFile(outside, nil, 0o600))
			must.Do(t, lay(admin, outside))
			g := git{dir: dir, kept: []string{filepath.Join(dir, ".git")}}
			for _, path := range []string{".git/worktrees/x/commondir", ".git/worktrees/x/up/worktrees/x/commondir", outside} {
				if g.completed(&gitError{said: "fatal: failed to read " + path + ": Success"}) {
					t.Errorf("%s was written", path)
				}
			}
			must.Equal(t, "outside", string(must.Get(os.ReadFile(outside))(t)), "")
		})
	}
}
