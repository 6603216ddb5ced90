package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// pieces is a workspace with the work of runs, each of which adds a file and changes one of a folder.
func pieces(t *testing.T, n int) (clone gitter, c Clone, all []fleet.Landing) {
	t.Helper()
	_, clone = pair(t)
	clone.write(".gitignore", "ignored\n")
	clone.write("src/x", "x\n")
	clone.write("src/y", "y\n")
	clone.write("lib/x", "lib\n")
	clone.git("add", ".")
	clone.git("commit", "--quiet", "-m", "folders")
	c = clone.clone()
	c.Root, c.Found = t.TempDir(), &sync.Map{}
	for i := range n {
		run := fleet.RunID(fmt.Sprintf("%down", i))
		w := must.Get(c.Open(t.Context(), run, filepath.Join(c.Root, string(run))))(t)
		clone.at(w.Dir).add(fmt.Sprintf("src/f%d", i), "f\n")
		must.Get(c.Close(t.Context(), w))(t)
		all = append(all, fleet.Landing{Run: run, Branch: w.Branch, Tip: clone.git("rev-parse", w.Branch), Target: "main"})
	}
	return clone, c, all
}

// TestLandingFolder has the check of one piece of work leave what would serve the next one. That finds the files of its commit, as
// they would be in a clone of its own.
func TestLandingFolder(t *testing.T) {
	t.Parallel()
	late := "touch -d '2001-02-03' "
	for name, plant := range map[string]string{
		"nothing":              "",
		"files":                "echo evil >new; mkdir -p build/deep; echo evil >build/deep/new; echo evil >ignored; mkfifo fifo",
		"a repository":         "git init -q src/nested; git -C src/nested commit -q --allow-empty -m x",
		"a change":             "echo evil >src/x",
		"a change of old time": "printf 'z\\n' >src/x; " + late + "src/x",
		"a removal":            "rm -r src",
		"folders swapped":      "mv src s; mv lib src; mv s lib",
		"a folder moved":       "mv src src2",
		"a link":               "rm -r src; ln -s lib src",
		"modes":                "chmod 600 src/x; chmod 755 src/y; chmod 0 src lib",
		"a second name":        "ln -f src/x src/y",
		"an index":             "echo evil >src/x; git update-index --assume-unchanged src/x; git update-index --skip-worktree src/y; echo evil >src/y",
		"an index of its own":  "echo evil >src/x; git add src/x; git commit -qm evil; git reset -q --soft HEAD~1; " + late + ".git/index",
		"settings and hooks":   "git config core.fsmonitor 'touch ran; false'; git config filter.x.smudge 'touch ran; cat'; echo '* filter=x' >.git/info/attributes; mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ran\\n' >.git/hooks/post-checkout; chmod +x .git/hooks/*; cp .git/hooks/post-checkout .git/hooks/post-index-change",
		"git is gone":          "rm -rf .git; mkdir .git; chmod 0 .git",
		"git is a link":        "rm -rf .git; ln -s $PWD/src .git; echo evil >new",
		"objects and refs":     "git update-ref refs/replace/$(git rev-parse HEAD:src/x) $(git rev-parse HEAD:src/y); git pack-refs --all; chmod 0 .git/objects",
		"an attribute":         "echo '* text eol=crlf' >.gitattributes",
		"a rebase under way":   "git commit -q --allow-empty -m e; git rebase -q --exec false HEAD~1 || true",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone, c, all := pieces(t, 2)
			first := must.Get(c.Stack(t.Context(), all[0]))(t)
			shell(t, first.Dir, plant)
			before := versionOf(filepath.Join(first.Dir, "a"))
			if moved, err := c.Advance(t.Context(), first); err != nil || !moved {
				t.Fatal(moved, err)
			}
			s := must.Get(c.Stack(t.Context(), all[1]))(t)
			must.Equal(t, "stands on the first", s.Base, first.Commit)
			if s.Refused != "" || s.Commit == s.Base || len(s.Conflicts) > 0 {
				t.Fatalf("got %+v", s)
			}
			fresh := filepath.Join(t.TempDir(), "fresh")
			clone.git("worktree", "add", "--quiet", "--detach", fresh, s.Commit)
			list := `find . -path ./.git -prune -o -printf '%y %p %l %n\n' | sed 's/^\(d .*\) .*/\1/' | sort; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; stat -c '%n %a' src lib src/* lib/*`
			must.Equal(t, "folder", shell(t, s.Dir, "umask 022; "+list), shell(t, fresh, list))
			must.Equal(t, "status", shell(t, s.Dir, "git status --porcelain --ignored"), "")
			if versionOf(filepath.Join(s.Dir, "a")) != before {
				t.Error("the folder was made anew")
			}
		})
	}
}

// TestLandingFolderIsMadeAnew has a filter of the session's code run in the box, which may have planted what nobody can tell from git's.
func TestLandingFolderIsMadeAnew(t *testing.T) {
	t.Parallel()
	clone, c, all := pieces(t, 3)
	tree := must.Get(c.Reopen(t.Context(), own, all[1].Run, time.Time{}))(t)
	clone.at(tree.Dir).add(".gitattributes", "* filter=x\n")
	must.Get(c.Close(t.Context(), tree))(t)
	all[1].Tip = clone.git("rev-parse", tree.Branch)
	settings := filepath.Join(t.TempDir(), "gitconfig")
	must.Do(t, os.WriteFile(settings, []byte("[filter \"x\"]\n\tsmudge = cat\n"), 0o600))
	c.Environment = append(c.Environment, "GIT_CONFIG_GLOBAL="+settings)
	clone.git("switch", "--quiet", "--detach")
	var seen []version
	for _, l := range all {
		s := must.Get(c.Stack(t.Context(), l))(t)
		must.Equal(t, "refused", s.Refused, "")
		must.Get(c.Advance(t.Context(), s))(t)
		seen = append(seen, versionOf(filepath.Join(s.Dir, "a")))
	}
	if seen[0] != seen[1] || seen[1] == seen[2] {
		t.Errorf("got %v, want a new folder after the second", seen)
	}
}

// TestLandingCost bounds the processes of a piece of work that is put anew on the target, from the folder to the end of its branch,
// without those of its check, and without one that a rebase starts for its notes.
func TestLandingCost(t *testing.T) { //nolint:paralleltest // it sets PATH
	for _, out := range []bool{true, false} {
		clone, c, all := pieces(t, 3)
		if !out {
			clone.git("switch", "--quiet", "--detach")
		}
		processes := counting(t, &c)
		for i, l := range all {
			processes()
			s := must.Get(c.Stack(t.Context(), l))(t)
			must.Do(t, os.WriteFile(filepath.Join(s.Dir, "built"), nil, 0o600))
			if moved, err := c.Advance(t.Context(), s); err != nil || !moved {
				t.Fatal(moved, err)
			}
			must.Get(c.Drop(t.Context(), l))(t)
			if n := processes(); i > 0 && n > 14 {
				t.Errorf("out %v: %d processes, want at most 14", out, n)
			}
		}
		processes()
	}
}

// TestLandingCatchesUp has a target that is not where its upstream is.
func TestLandingCatchesUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do    func(origin, clone gitter)
		fails string // and what helps
		log   string // of the target in the end
	}{
		"ahead":           {do: func(_, clone gitter) { clone.add("x", "x") }, log: "x d"},
		"behind":          {do: func(origin, _ gitter) { origin.add("x", "x") }, log: "x d"},
		"not checked out": {do: func(origin, clone gitter) { origin.add("x", "x"); clone.git("switch", "--quiet", "--detach") }, log: "x d"},
		"a change beside": {do: func(origin, clone gitter) { origin.add("x", "x"); clone.write("b", "mine") }, log: "x d"},
		"a change in it":  {do: func(origin, clone gitter) { origin.add("a", "x"); clone.write("a", "mine") }, fails: "changes that nobody committed in a: git -C %s stash"},
		"a file in it":    {do: func(origin, clone gitter) { origin.add("x", "x"); clone.write("x", "mine") }, fails: "it would overwrite x, which git does not track there"},
		"diverged":        {do: func(origin, clone gitter) { origin.add("x", "x"); clone.add("y", "y") }, fails: "main and origin/main have diverged: ahead 1, behind 1: git -C %s pull --rebase=merges --autostash"},
		"a filter": {do: func(origin, clone gitter) {
			origin.add(".gitattributes", "x filter=x\n")
			origin.add("x", "x")
			clone.git("config", "filter.x.smudge", "cat")
		}, fails: "git has a filter for x: stint runs none: git -C %s merge --ff-only"},
		"upstream is gone": {do: func(_, clone gitter) { clone.git("update-ref", "-d", "refs/remotes/origin/main") }, log: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, clone := pair(t)
			c := clone.clone()
			c.Root, c.Target = t.TempDir(), "main"
			w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own))))(t)
			clone.at(w.Dir).add("d", "new\n")
			must.Get(c.Close(t.Context(), w))(t)
			l := fleet.Landing{Run: own, Branch: w.Branch, Tip: clone.git("rev-parse", w.Branch), Target: "main"}
			first := clone.git("rev-parse", "HEAD")
			test.do(origin, clone)
			if name != "upstream is gone" {
				clone.git("fetch", "--quiet")
			}
			before := clone.world()
			s, err := c.Stack(t.Context(), l)
			if test.fails != "" {
				what, fix, _ := strings.Cut(test.fails, ": git -C %s")
				if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(fleet.Hint(err), fix) {
					t.Errorf("got %v, hint %q", err, fleet.Hint(err))
				}
				must.Equal(t, "the clone", clone.world(), before)
				return
			}
			must.Do(t, err)
			if moved, err := c.Advance(t.Context(), s); err != nil || !moved {
				t.Fatal(moved, err)
			}
			must.Equal(t, "target", strings.ReplaceAll(clone.git("log", "--reverse", "--format=%s", first+"..main"), "\n", " "), test.log)
		})
	}
}
