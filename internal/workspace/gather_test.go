package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestGather has sessions commit beside the branch of their worktree, as agents do that make a branch for each task: all of
// it is on the run's branch in the end, and the folder, too. Commits of a repository that the session made are not.
func TestGather(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		session func(w gitter)
		held    []string // the subjects of the commits that the branch has
		at      string   // where the folder is in the end; empty: on its branch
		apart   bool
		aside   []string // the branches with the others
	}{
		"as it should be":        {session: func(w gitter) { w.add("c", "c\n") }, held: []string{"c"}},
		"a branch":               {session: func(w gitter) { w.git("switch", "-q", "-c", "fix"); w.add("c", "c\n"); w.add("d", "d\n") }, held: []string{"c", "d"}},
		"no branch":              {session: func(w gitter) { w.git("switch", "-q", "--detach"); w.add("c", "c\n") }, held: []string{"c"}},
		"its own, then a branch": {session: func(w gitter) { w.add("c", "c\n"); w.git("switch", "-q", "-c", "fix"); w.add("d", "d\n") }, held: []string{"c", "d"}},
		"with changes left":      {session: func(w gitter) { w.git("switch", "-q", "-c", "fix"); w.add("c", "c\n"); w.write("c", "more\n") }, held: []string{"c"}},
		"a branch, and back":     {session: func(w gitter) { w.git("switch", "-q", "-c", "fix"); w.add("c", "c\n"); w.git("switch", "-q", "-") }, held: []string{"c"}},
		"another name":           {session: func(w gitter) { w.git("branch", "-q", "-m", "fix"); w.add("c", "c\n") }, held: []string{"c"}},
		"a branch, and elsewhere": {session: func(w gitter) {
			w.git("switch", "-q", "-c", "fix")
			w.add("c", "c\n")
			w.git("switch", "-q", "--detach", "HEAD~")
		}, held: []string{"c"}, at: "HEAD"},
		"two branches": {session: func(w gitter) {
			w.git("switch", "-q", "-c", "fix")
			w.add("c", "c\n")
			w.git("switch", "-q", "-")
			w.add("d", "d\n")
			w.git("switch", "-q", "fix")
			w.add("e", "e\n")
		}, held: []string{"d"}, at: "fix", apart: true, aside: []string{"fix"}},
		"another, then its own": {session: func(w gitter) {
			w.git("switch", "-q", "-c", "fix")
			w.add("c", "c\n")
			w.git("switch", "-q", "-")
			w.add("d", "d\n")
		}, held: []string{"d"}, aside: []string{"fix"}},
		"a copy from another": {session: func(w gitter) {
			w.git("switch", "-q", "-c", "fix")
			w.add("c", "c\n")
			w.git("switch", "-q", "-")
			w.add("d", "d\n")
			w.git("cherry-pick", "fix")
		}, held: []string{"d", "c"}},
		"a repository of its own": {session: func(w gitter) {
			w.git("init", "-q", "nest")
			nest := w.at(filepath.Join(w.dir, "nest")).as(own)
			nest.git("config", "user.name", "n")
			nest.git("config", "user.email", "n@example.org")
			nest.add("c", "c\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			c := clone.clone()
			w := must.Get(c.Open(t.Context(), own, filepath.Join(t.TempDir(), string(own)), FromHead))(t)
			tree := clone.at(w.Dir).as(own)
			start := clone.git("rev-parse", "HEAD")
			test.session(tree)
			made := must.Get(c.Changes(t.Context(), Folder(w.Dir), clone.files(own)))(t).Commits
			if len(made) == 0 {
				t.Fatal("the session made no commit")
			}
			held, aside, err := c.Gather(t.Context(), own, fleet.Site{Dir: w.Dir, Branch: w.Branch}, made)
			if test.apart != (err != nil) {
				t.Errorf("error %v", err)
			}
			subjects := strings.Fields(clone.git("log", "--reverse", "--format=%s", start+".."+w.Branch))
			must.Equal(t, "on the branch", subjects, append([]string{}, test.held...))
			if !test.apart && len(held) != len(test.held) {
				t.Errorf("%v are said to be there", held)
			}
			must.Equal(t, "on others", aside, test.aside)
			want := test.at
			if want == "" {
				want = w.Branch
			}
			if at := tree.git("rev-parse", "--abbrev-ref", "HEAD"); at != want {
				t.Errorf("the folder is on %s, want %s", at, want)
			}
			if name == "with changes left" {
				must.Equal(t, "status", tree.git("status", "--porcelain"), "M c")
			}
		})
	}
}

// TestGatherKilled has the process die once the branch has the commits: the next session at the work goes on in the folder,
// on its branch.
func TestGatherKilled(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own)), FromHead))(t)
	tree := clone.at(w.Dir).as(own)
	tree.git("switch", "-q", "-c", "fix")
	tree.add("c", "c\n")
	clone.git("update-ref", heads+w.Branch, "fix")
	again := must.Get(c.Reopen(t.Context(), "0next", own))(t)
	if at := tree.git("rev-parse", "--abbrev-ref", "HEAD"); at != w.Branch || again.Dir != w.Dir || tree.git("status", "--porcelain") != "" {
		t.Errorf("%s is on %s, want %s on %s", again.Dir, at, w.Dir, w.Branch)
	}
	tree.git("switch", "-q", "fix")
	tree.add("d", "d\n")
	if _, err := c.Reopen(t.Context(), "0next", own); err == nil {
		t.Error("a folder with other commits was reopened")
	}
}

// TestGatherNever has a supervisor die before it gathers: once the run is over, its branch goes on to what the folder has
// checked out, and the folder stays as it is. A branch with work of its own stays, too.
func TestGatherNever(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		session func(w gitter)
		on      []string // the branch
	}{
		"a branch":       {func(w gitter) { w.git("switch", "-q", "-c", "fix"); w.add("c", "c\n") }, []string{"c"}},
		"no branch":      {func(w gitter) { w.git("switch", "-q", "--detach"); w.add("c", "c\n") }, []string{"c"}},
		"another name":   {func(w gitter) { w.git("branch", "-q", "-m", "fix"); w.add("c", "c\n") }, []string{"c"}},
		"its own branch": {func(w gitter) { w.add("c", "c\n") }, []string{"c"}},
		"both":           {func(w gitter) { w.add("c", "c\n"); w.git("switch", "-q", "-c", "fix"); w.add("d", "d\n") }, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			c := clone.clone()
			c.Root = t.TempDir()
			w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own)), FromHead))(t)
			tree := clone.at(w.Dir).as(own)
			start := clone.git("rev-parse", "HEAD")
			test.session(tree)
			at := tree.git("rev-parse", "--abbrev-ref", "HEAD")
			for range 2 {
				must.Get(c.Prune(t.Context(), c.Root, Limits{}, func(fleet.RunID) bool { return true }))(t)
			}
			must.Equal(t, "on the branch", strings.Fields(clone.git("log", "--reverse", "--format=%s", start+".."+w.Branch)), test.on)
			if now := tree.git("rev-parse", "--abbrev-ref", "HEAD"); now != at {
				t.Errorf("the folder is on %s, and was on %s", now, at)
			}
		})
	}
}

// TestCheckOutKilled has git die once it has moved the folder, and before it has written where that is.
func TestCheckOutKilled(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own)), FromHead))(t)
	clone.at(w.Dir).write("mine", "mine\n")
	dir := clone.git("rev-parse", "--show-toplevel") + "-" + string(own)
	must.Do(t, os.Rename(w.Dir, dir))
	for range 2 {
		if got := must.Get(c.CheckOut(t.Context(), own, w.Branch))(t); got != dir {
			t.Errorf("the folder is %s, want %s", got, dir)
		}
	}
	if status := clone.at(dir).git("status", "--porcelain"); status != "?? mine" {
		t.Errorf("got status %q", status)
	}
}
