package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func mustPrune(t *testing.T, g gitter, root string, limits Limits) []Pruned {
	t.Helper()
	pruned := must.Get(g.clone().Prune(t.Context(), root, limits, func(fleet.RunID) bool { return true }))(t)
	return pruned
}

// mustHaveNo checks that nothing is left of a run's worktree.
func (g gitter) mustHaveNo(root, dir string) {
	g.t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) > 0 {
		g.t.Errorf("folders: %v, %v, want none", entries, err)
	}
	if got := g.git("worktree", "list", "--porcelain"); strings.Contains(got, dir) {
		g.t.Errorf("worktrees: %s", got)
	}
	if got := g.git("branch", "--list", "stint/*"); got != "" {
		g.t.Errorf("branches: %s", got)
	}
	g.mustBeTidy()
}

func TestClose(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(clone, tree gitter)
		want string // why it is kept
	}{
		"untouched":   {func(_, _ gitter) {}, ""},
		"ignored":     {func(_, w gitter) { w.add(".gitignore", "x\n"); w.git("reset", "--quiet", "--hard", "HEAD~1") }, ""},
		"commit":      {func(_, w gitter) { w.add("d", "d") }, "1 unmerged commit"},
		"two commits": {func(_, w gitter) { w.add("d", "d"); w.add("e", "e"); w.write("f", "") }, "2 unmerged commits"},
		"uncommitted": {func(_, w gitter) { w.write("a", "x") }, "uncommitted changes"},
		"untracked":   {func(_, w gitter) { w.write("n", "x") }, "uncommitted changes"},
		"merged": {func(c, w gitter) {
			w.add("d", "d")
			c.git("merge", "--quiet", "--no-ff", "--no-edit", "stint/bob/0own")
		}, ""},
		"picked": {func(c, w gitter) { w.add("d", "d"); c.add("e", "e"); c.git("cherry-pick", "stint/bob/0own") }, ""},
		"pushed": {func(_, w gitter) { w.add("d", "d"); w.git("push", "--quiet", "origin", "HEAD:next") }, "1 unmerged commit"},
		"upstream": {func(_, w gitter) {
			w.add("d", "d")
			w.git("push", "--quiet", "origin", "HEAD:other", "HEAD:refs/heads/main2")
			w.git("update-ref", "refs/remotes/origin/main", "HEAD")
		}, ""},
		"detached":     {func(_, w gitter) { w.git("checkout", "--quiet", "--detach"); w.add("d", "d") }, "1 unmerged commit"},
		"read-only":    {func(_, w gitter) { w.readOnlyFolder() }, ""},
		"other branch": {func(_, w gitter) { w.git("checkout", "--quiet", "-b", "side"); w.add("d", "d") }, "1 unmerged commit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			root := t.TempDir()
			w := must.Get(clone.clone().Open(t.Context(), own, filepath.Join(root, string(own)), FromHead))(t)
			test.do(clone, clone.at(w.Dir))
			s := must.Get(clone.clone().Close(t.Context(), w))(t)
			if got := s.Reason(); got != test.want {
				t.Errorf("kept for %q, want %q", got, test.want)
			}
			if test.want == "" {
				clone.mustHaveNo(root, w.Dir)
			} else if !exists(filepath.Join(w.Dir, "a")) {
				t.Error("the worktree is gone")
			}
		})
	}
}

// readOnlyFolder is one of files that git ignores.
func (g gitter) readOnlyFolder() {
	g.t.Helper()
	dir := filepath.Join(g.dir, "cache")
	must.Do(g.t, os.MkdirAll(dir, 0o700))
	g.write("cache/.gitignore", "*\n")
	if err := os.Chmod(dir, 0o500); err != nil { //nolint:gosec // a folder
		g.t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	origin.add("c", "c")
	must.Get(clone.clone().Fetch(t.Context(), own))(t)
	root := t.TempDir()
	for run, test := range map[fleet.RunID]struct {
		from From
		want bool
	}{"0head": {FromHead, false}, "0upstream": {FromUpstream, true}} {
		w := must.Get(clone.clone().Open(t.Context(), run, filepath.Join(root, string(run)), test.from))(t)
		if got := exists(filepath.Join(w.Dir, "c")); got != test.want {
			t.Errorf("%s: has the upstream's file: %v, want %v", run, got, test.want)
		}
		if got := clone.at(w.Dir).git("branch", "--show-current"); got != w.Branch {
			t.Errorf("on %q, want %q", got, w.Branch)
		}
		if _, err := clone.clone().Open(t.Context(), run, w.Dir, test.from); err == nil || !exists(w.Dir) {
			t.Errorf("%s opened twice, or gone: %v", run, err)
		}
	}
	empty := gitter{t: t, dir: t.TempDir()}
	empty.git("init", "--quiet")
	if _, err := empty.clone().Open(t.Context(), own, filepath.Join(root, "0x"), FromHead); fleet.Hint(err) == "" {
		t.Errorf("without a commit: %v, want a hint", err)
	}
}

func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	root := t.TempDir()
	var wg sync.WaitGroup
	for _, run := range []fleet.RunID{"0a", "0b", "0c", "0d", "0e", "0f"} {
		wg.Go(func() {
			w, err := clone.clone().Open(t.Context(), run, filepath.Join(root, string(run)), FromHead)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := clone.clone().Close(t.Context(), w); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	clone.mustHaveNo(root, root)
}

func TestPrune(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	root := t.TempDir()
	now := testTime(t)
	open := func(run fleet.RunID, days int, do func(w gitter)) {
		t.Helper()
		w := must.Get(clone.clone().Open(t.Context(), run, filepath.Join(root, string(run)), FromHead))(t)
		do(clone.at(w.Dir))
		at := now.AddDate(0, 0, -days)
		if err := os.Chtimes(w.Dir, at, at); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	dirty := func(w gitter) { w.write("a", "x") }
	open("1old", 30, dirty)
	open("2many", 1, dirty)
	open("3kept", 1, dirty)
	open("4live", 30, dirty)
	open("5clean", 0, func(gitter) {})
	open("6work", 90, func(w gitter) { w.add("d", "d"); w.write("a", "x") })
	open("7nofolder", 0, func(w gitter) { _ = os.RemoveAll(w.dir) })
	open("8locked", 0, func(w gitter) { clone.git("worktree", "lock", w.dir); _ = os.RemoveAll(w.dir) })
	open("9noentry", 30, func(w gitter) {
		w.write("a", "x")
		must.Do(t, os.RemoveAll(filepath.Join(clone.dir, ".git/worktrees/9noentry")))
	})
	// Git was killed when it had made its entry, which names no commit and is locked then; when it
	// had made the folder; and when it had written its file there.
	open("fentry", 0, func(w gitter) {
		entry := filepath.Join(clone.dir, ".git/worktrees/fentry")
		files, err := filepath.Glob(filepath.Join(w.dir, "[a-z]*"))
		for _, path := range append(files, filepath.Join(entry, "index")) {
			err = errors.Join(err, os.Remove(path))
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(entry, "HEAD"), []byte(strings.Repeat("0", 40)+"\n"), 0o600),
			os.WriteFile(filepath.Join(entry, "locked"), []byte("initializing"), 0o600))
		must.Do(t, err)
	})
	for name, files := range map[string][]string{"cempty": nil, "dbegun": {".git"}, "efile": {"a"}} {
		dir := filepath.Join(root, name)
		must.Do(t, os.Mkdir(dir, 0o700))
		for _, file := range files {
			clone.at(dir).write(file, "gitdir: /nowhere/.git/worktrees/"+name+"\n")
		}
	}
	clone.git("branch", "stint/bob/abranch")
	clone.git("branch", "stint/bob/bwork", "stint/bob/6work")
	must.Do(t, os.Mkdir(filepath.Join(root, "Not-a-run"), 0o700))
	limits := Limits{Keep: 4, MaxAge: 7 * 24 * time.Hour, Now: now} // the two with work count, and the one with a file
	pruned := must.Get(clone.clone().Prune(t.Context(), root, limits, func(run fleet.RunID) bool { return run != "4live" }))(t)
	got := map[fleet.RunID]string{}
	for _, p := range pruned {
		verb := "kept: "
		if p.Removed {
			verb = "removed: "
		}
		if p.Dir != "" && p.Removed == exists(p.Dir) {
			t.Errorf("%+v: folder there: %v", p, exists(p.Dir))
		}
		got[p.Run] = verb + p.Reason
	}
	want := map[fleet.RunID]string{
		"1old":      "removed: uncommitted changes, and older than 168h0m0s",
		"2many":     "removed: uncommitted changes, and 4 younger ones are kept",
		"3kept":     "kept: uncommitted changes",
		"5clean":    "removed: nothing in it that is not merged",
		"6work":     "kept: 1 unmerged commit",
		"7nofolder": "removed: left behind without a folder",
		"8locked":   "removed: left behind without a folder",
		"9noentry":  "removed: uncommitted changes, and older than 168h0m0s",
		"abranch":   "removed: left behind without a folder",
		"bwork":     "kept: 1 unmerged commit",
		"cempty":    "removed: nothing in it that is not merged",
		"dbegun":    "removed: nothing in it that is not merged",
		"efile":     "kept: uncommitted changes",
		"fentry":    "removed: nothing in it that is not merged",
	}
	must.Equal(t, "pruned", got, want)
	if got := strings.Fields(clone.git("for-each-ref", "--format=%(refname:lstrip=4)", "refs/heads/stint/bob")); !cmp.Equal(got, []string{"3kept", "4live", "6work", "bwork"}) {
		t.Errorf("branches: %v", got)
	}
}
