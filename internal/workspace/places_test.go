package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestGitDirs finds what a session must be able to write for a commit: in the workspace,
// in a clone of its own, before that is there, and where there is no git.
func TestGitDirs(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	p := clone.places(resolved(t.TempDir()))
	gitDir, dir := resolved(filepath.Join(clone.dir, ".git")), filepath.Join(p.Root, string(own))
	check := func(name string, p Places, dir, wantOwn, wantCommon string) {
		t.Helper()
		got, common, _, err := p.GitDirs(t.Context(), dir)
		if err != nil || got != wantOwn || common != wantCommon {
			t.Errorf("%s: got %s and %s, %v; want %s and %s", name, got, common, err, wantOwn, wantCommon)
		}
	}
	check("workspace", p, clone.dir, gitDir, gitDir)
	check("clone to be", p, dir, filepath.Join(dir, ".git"), filepath.Join(dir, ".git"))
	made, leave, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
	must.Do(t, err)
	check("clone", p, made.Dir, filepath.Join(dir, ".git"), filepath.Join(dir, ".git"))
	if _, _, borrowed, err := p.GitDirs(t.Context(), made.Dir); err != nil || len(borrowed) != 1 || borrowed[0] != filepath.Join(gitDir, "objects") {
		t.Errorf("borrowed: %v, %v", borrowed, err)
	}
	if _, err := leave(t.Context()); err != nil {
		t.Error(err)
	}
	below := filepath.Join(clone.dir, "below")
	must.Do(t, os.Mkdir(below, 0o755))
	check("folder in the clone", p, below, gitDir, gitDir)
	// A file that a session plants in the clone's, so that git goes by another one, is gone.
	for _, name := range []string{"commondir", "gitdir"} {
		clone.write(".git/"+name, "../evil\n")
	}
	check("planted", p, clone.dir, gitDir, gitDir)
	for _, name := range []string{"commondir", "gitdir"} {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	empty := t.TempDir()
	check("no git", Places{Clone: cloneAt(empty)}, empty, filepath.Join(empty, ".git"), filepath.Join(empty, ".git"))
}
