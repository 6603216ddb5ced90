package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// branches are all of the clone.
func (g gitter) branches() []string {
	g.t.Helper()
	return strings.Fields(g.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"))
}

func mustOpen(t *testing.T, c Clone, run fleet.RunID, root string) Own {
	t.Helper()
	w := must.Get(c.Open(t.Context(), run, filepath.Join(root, string(run))))(t)
	return w
}

// TestBranchBesideAnyOther makes clones where somebody has a branch with a name that is in
// the way, and takes them away again.
func TestBranchBesideAnyOther(t *testing.T) {
	t.Parallel()
	for taken, want := range map[string]string{
		"stint":     "stint-bob-0own",
		"stint/bob": "stint-bob-0own",
		"stint/eve": "stint/bob/0own",
		"stint-bob": "stint/bob/0own",
	} {
		t.Run(taken, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			root := t.TempDir()
			clone.git("branch", taken)
			before := clone.branches()
			w := mustOpen(t, clone.clone(), own, root)
			if got := clone.at(w.Dir).git("branch", "--show-current"); got != want || w.Branch != want {
				t.Errorf("on %q, by its name %q, want %q", got, w.Branch, want)
			}
			if s, err := clone.clone().Close(t.Context(), w); err != nil || s != (State{}) {
				t.Errorf("got %+v, %v", s, err)
			}
			w = mustOpen(t, clone.clone(), own, root)
			clone.at(w.Dir).add("d", "d")
			if pruned := mustPrune(t, clone, root, Limits{Now: testTime(t)}); len(pruned) != 1 || !pruned[0].Removed {
				t.Errorf("pruned %+v", pruned)
			}
			must.Equal(t, "branches", clone.branches(), slices.Sorted(slices.Values(append(before, want))))
		})
	}
}

// TestBranchesOfOthers has two fleets and people in one clone. A fleet prunes only its own
// branches, on its record, that are in nobody's folder.
func TestBranchesOfOthers(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	bob, eve := clone.clone(), clone.clone()
	eve.Fleet = "eve"
	bob.Root, eve.Root = t.TempDir(), t.TempDir()
	mustOpen(t, eve, "0theirs", eve.Root) // under work
	clone.git("branch", "stint/eve/0ended")
	clone.git("branch", "stint/0person")
	clone.git("branch", "stint/bob/0stranger") // of another store of that name
	clone.git("branch", "stint-bob_two-0a")
	for name, use := range map[string]func(person gitter, branch string){
		"0out":    func(gitter, string) {},
		"0rebase": func(p gitter, _ string) { _, _ = p.try("rebase", "--exec", "false", "HEAD~1") },
		"0bisect": func(p gitter, _ string) { p.git("bisect", "start", "HEAD", "HEAD~1") },
	} {
		branch := "stint/bob/" + name
		dir := filepath.Join(t.TempDir(), name)
		clone.git("worktree", "add", "--quiet", "-b", branch, dir)
		person := clone.at(dir)
		person.commit("merged")
		clone.git("merge", "--quiet", branch)
		use(person, branch)
	}
	before := clone.branches()
	clone.git("branch", "stint/bob/0mine")
	for range 2 {
		mine := []fleet.RunID{"0mine", "0out", "0rebase", "0bisect"}
		pruned, err := bob.Prune(t.Context(), Limits{Now: testTime(t)}, func(run fleet.RunID) bool { return slices.Contains(mine, run) })
		must.Do(t, err)
		if len(pruned) > 0 {
			t.Errorf("got %+v", pruned)
		}
		must.Equal(t, "branches", clone.branches(), before)
	}
	// The session of the other fleet commits on what it began with.
	theirs := clone.at(filepath.Join(eve.Root, "0theirs"))
	theirs.add("d", "d")
	if got := theirs.git("rev-list", "--count", "HEAD"); got == "1" {
		t.Error("its commit is a root commit")
	}
}

// TestPipesInTheClone has pipes in the place of what git keeps: nobody waits for a writer
// while all others wait for their turn, and no branch is deleted that may be in use.
func TestPipesInTheClone(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	clone.git("branch", "stint/bob/0mine")
	common := filepath.Join(clone.dir, ".git")
	for _, path := range []string{common + "/BISECT_START", common + "/info/exclude"} {
		_ = os.Remove(path)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)))
	}
	before := clone.branches()
	if _, err := clone.clone().Prune(t.Context(), Limits{Now: testTime(t)}, func(fleet.RunID) bool { return true }); err == nil {
		t.Error("pruned in spite of a bisection that cannot be read")
	}
	must.Equal(t, "branches", clone.branches(), before)
	if _, text, err := clone.clone().Excluding(t.Context(), "# ours", []string{"tmp"}); err == nil {
		t.Errorf("got %q of a pipe", text)
	}
}
