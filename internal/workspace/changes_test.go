package workspace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// leaves compares what is left of a run with what is wanted: the subjects of its commits,
// and the rest.
func (g gitter) leaves(want left) {
	g.t.Helper()
	c := must.Get(g.clone().shared(g.t.Context(), own))(g.t)
	got := left{files: c.Files, tests: c.Tests, inserted: c.Insertions, deleted: c.Deletions, notes: notes(c)}
	for _, id := range c.Revisions {
		got.commits = append(got.commits, g.git("log", "-1", "--format=%s", id))
	}
	if got.branch = c.Branch; got.branch == "main" {
		got.branch = "" // the usual one
	}
	must.Equal(g.t, "left", got, want, cmp.AllowUnexported(left{}))
}

type left struct {
	commits                         []string
	branch                          string
	files, tests, inserted, deleted int
	notes                           string
}

// notes say why work is less than its commits look like.
func notes(w fleet.Work) string {
	var all []string
	for _, n := range []struct {
		applies bool
		note    string
	}{
		{w.Copies > 0 && isID(w.CopyOf), fmt.Sprint(w.Copies, " copied")},
		{w.Generated > 0, fmt.Sprint(w.Generated, " generated")},
		{w.Renamed, "renamed"},
		{w.TakenBack, "taken back"},
	} {
		if n.applies {
			all = append(all, n.note)
		}
	}
	return strings.Join(all, ", ")
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(own, other gitter)
		want left
	}{
		"none":     {func(_, o gitter) { o.add("c", "c\n") }, left{}},
		"one":      {func(w, _ gitter) { w.add("c", "c\n") }, left{commits: []string{"c"}, files: 1, inserted: 1}},
		"one file": {func(w, _ gitter) { w.add("a", "x\ny\n"); w.add("a", "z\n") }, left{commits: []string{"a", "a"}, files: 1, inserted: 1, deleted: 1}},
		"a repository of its own, which is gone": {func(w, _ gitter) {
			w.git("init", "-q", "nest")
			nest := w.at(filepath.Join(w.dir, "nest")).as(own)
			nest.git("config", "user.name", "n")
			nest.git("config", "user.email", "n@example.org")
			nest.add("c", "c\n")
			must.Do(w.t, os.RemoveAll(nest.dir))
		}, left{}},
		"empty":    {func(w, _ gitter) { w.commit("x") }, left{commits: []string{"x"}}},
		"binary":   {func(w, _ gitter) { w.add("bin", "\x00\x01") }, left{commits: []string{"bin"}, files: 1}},
		"no lines": {func(w, _ gitter) { w.add("c", "") }, left{commits: []string{"c"}, files: 1}},
		"a line moved": {func(w, o gitter) {
			o.add("a", "one\ntwo\n")
			o.apart()
			w.add("a", "two\none\n")
		}, left{commits: []string{"a"}, files: 1, inserted: 1, deleted: 1}},
		"amended": {func(w, _ gitter) {
			w.add("c", "c\n")
			w.write("c", "c\nd\n")
			w.git("commit", "-qa", "--amend", "--no-edit")
		}, left{commits: []string{"c"}, files: 1, inserted: 2}},
		"picked": {func(w, o gitter) {
			o.git("checkout", "-q", "-b", "s")
			o.add("c", "c\n")
			o.add("d", "d\n")
			o.git("checkout", "-q", "main")
			o.add("e", "e\n")
			w.git("cherry-pick", "main..s")
		}, left{commits: []string{"c", "d"}, files: 2, notes: "2 copied"}},
		"beside a neighbour's": {func(w, o gitter) {
			w.hookNeighbour(o, "theirs")
			w.add("c", "c\n")
		}, left{commits: []string{"c"}, files: 1, inserted: 1}},
		"beside a neighbour's that has its name": {func(w, o gitter) {
			w.hookNeighbour(o, "c")
			w.add("c", "c\n")
		}, left{commits: []string{"c"}, files: 1, inserted: 1}},
		"neighbour's": {func(w, o gitter) {
			o.add("c", "c\n")
			o.apart()
			w.add("d", "d\n")
			o.apart()
			o.as(neighbour).add("e", "e\n")
		}, left{commits: []string{"d"}, files: 1, inserted: 1}},
		"amends a neighbour's": {func(w, o gitter) {
			o.add("c", "c\n")
			o.apart()
			w.write("c", "c\nd\n")
			w.git("commit", "-qa", "--amend", "--no-edit")
		}, left{commits: []string{"c"}, files: 1, inserted: 1}},
		"reset": {func(w, _ gitter) { w.add("c", "c\n"); w.git("reset", "-q", "--hard", "HEAD~1") }, left{}},
		"reset beside one that looks the same": {func(w, o gitter) {
			const day = "--date=2026-01-01T00:00:00Z"
			o.as(neighbour).git("commit", "-q", "--allow-empty", "-m", "same", day)
			o.apart()
			w.git("commit", "-q", "--allow-empty", "-m", "same", day, "--author=a <a@b>")
			w.git("reset", "-q", "--hard", "HEAD~1")
		}, left{}},
		"one of two reset": {func(w, _ gitter) {
			w.add("c", "c\n")
			w.add("d", "d\n")
			w.git("reset", "-q", "--hard", "HEAD~1")
		}, left{commits: []string{"c"}, files: 1, inserted: 1}},
		"reset with a stash": {func(w, _ gitter) {
			w.add("c", "c\n")
			w.write("c", "more\n")
			w.git("stash")
			w.git("reset", "-q", "--hard", "HEAD~1")
		}, left{}},
		"reset and kept on a branch": {func(w, _ gitter) {
			w.add("c", "c\n")
			w.git("branch", "kept")
			w.git("reset", "-q", "--hard", "HEAD~1")
		}, left{commits: []string{"c"}, branch: "kept", files: 1, inserted: 1}},
		"three made one": {func(w, _ gitter) {
			w.add("c", "c\n")
			w.add("d", "d\n")
			w.add("e", "e\n")
			w.git("reset", "-q", "--soft", "HEAD~3")
			w.commit("all")
		}, left{commits: []string{"all"}, files: 3, inserted: 3}},
		"reverted": {func(w, _ gitter) { w.add("a", "x\n"); w.git("revert", "--no-edit", "HEAD") }, left{commits: []string{"a", `Revert "a"`}, notes: "taken back"}},
		"reverted after a neighbour's": {func(w, o gitter) {
			o.add("a", "1\n2\n3\n4\n5\n6\n7\n8\n")
			o.apart()
			w.add("a", "one\n2\n3\n4\n5\n6\n7\n8\n")
			mine := w.git("rev-parse", "HEAD")
			o.apart()
			o.as(neighbour).add("a", "one\n2\n3\n4\n5\n6\n7\neight\n")
			o.apart()
			w.git("revert", "--no-edit", mine)
		}, left{commits: []string{"a", `Revert "a"`}, notes: "taken back"}},
		"half taken back after a neighbour's": {func(w, o gitter) {
			w.add("c", "1\n2\n3\n")
			o.apart()
			o.as(neighbour).add("d", "d\n")
			o.apart()
			w.add("c", "1\n")
		}, left{commits: []string{"c", "c"}, files: 1, inserted: 1}},
		"a file made and removed": {func(w, o gitter) {
			w.add("bin", "\x00\x01")
			o.apart()
			o.as(neighbour).add("d", "d\n")
			o.apart()
			w.git("rm", "-q", "bin")
			w.commit("away")
		}, left{commits: []string{"bin", "away"}, notes: "taken back"}},
		"blank space": {func(w, _ gitter) { w.add("a", "\ta \n\n\n"); w.add("b", "  b") }, left{commits: []string{"a", "b"}}},
		"a mode":      {func(w, _ gitter) { w.git("update-index", "--chmod=+x", "a"); w.commit("x") }, left{commits: []string{"x"}}},
		"a test":      {func(w, _ gitter) { w.add("a_test.go", "x\n"); w.add("latest.go", "x\n") }, left{commits: []string{"a_test.go", "latest.go"}, files: 2, tests: 1, inserted: 2}},
		"a name that is quoted": {func(w, _ gitter) {
			w.add("test \"ü\"\n", "x\n")
			w.add("a b.txt", "x\n")
		}, left{commits: []string{`test "ü"`, "a b.txt"}, files: 2, inserted: 2}},
		"lines like a header": {func(w, _ gitter) { w.add("c", "++ b/d\n-- a\n@@ x\ndiff --git a/x b/x\n") }, left{commits: []string{"c"}, files: 1, inserted: 4}},
		"rebased by another": {func(w, o gitter) {
			o.git("checkout", "-q", "-b", "s")
			w.add("c", "c\n")
			w.add("d", "d\n")
			o.git("checkout", "-q", "main")
			o.add("e", "e\n")
			o.apart()
			o.git("rebase", "-q", "main", "s")
		}, left{commits: []string{"c", "d"}, branch: "s", files: 2, inserted: 2}},
		"amended after a rebase": {func(w, o gitter) {
			o.git("checkout", "-q", "-b", "s")
			w.add("c", "c\n")
			o.git("checkout", "-q", "main")
			o.add("e", "e\n")
			o.apart()
			o.git("rebase", "-q", "main", "s")
			o.apart()
			w.write("c", "c\nd\n")
			w.git("commit", "-qa", "--amend", "--no-edit")
		}, left{commits: []string{"c"}, branch: "s", files: 1, inserted: 2}},
		"a conflict solved": {func(w, o gitter) {
			o.git("checkout", "-q", "-b", "s")
			o.add("a", "theirs\n")
			o.add("big", "1\n2\n3\n")
			o.git("checkout", "-q", "main")
			o.add("a", "ours\n")
			o.apart()
			_, _ = w.try("merge", "s")
			w.write("a", "both\n")
			w.git("commit", "-qam", "solve")
		}, left{commits: []string{"solve"}, files: 1}},
		"an old commit again": {func(w, o gitter) {
			o.git("config", "diff.noprefix", "true")
			o.write("more", "x\n")
			o.git("add", "more")
			o.add("c", "1\n2\n")
			o.git("rm", "-q", "c", "more")
			o.commit("away")
			w.add("d", "d\n")
			w.git("-c", "alias.later=!GIT_COMMITTER_DATE=2035-01-01T00:00:00Z git cherry-pick HEAD~2", "later")
		}, left{commits: []string{"d", "c"}, files: 3, inserted: 1, notes: "1 copied"}},
		"a part of an old commit": {func(w, o gitter) {
			o.write("more", "x\n")
			o.git("add", "more")
			o.add("c", "1\n2\n")
			o.git("rm", "-q", "c", "more")
			o.commit("away")
			w.add("c", "1\n2\n")
		}, left{commits: []string{"c"}, files: 1, inserted: 2}},
		"a copy, changed": {func(w, o gitter) {
			o.git("checkout", "-q", "-b", "s")
			o.add("c", "1\n2\n3\n")
			o.git("checkout", "-q", "main")
			o.add("e", "e\n")
			w.git("cherry-pick", "s")
			w.add("c", "1\n2\nthree\n")
		}, left{commits: []string{"c", "c"}, files: 1, inserted: 1, notes: "1 copied"}},
		"a copy, reverted": {func(w, o gitter) {
			o.git("checkout", "-q", "-b", "s")
			o.add("c", "1\n2\n3\n")
			o.git("checkout", "-q", "main")
			o.add("e", "e\n")
			w.git("cherry-pick", "s")
			w.git("revert", "--no-edit", "HEAD")
		}, left{commits: []string{"c", `Revert "c"`}, notes: "1 copied, taken back"}},
		"copied by a person": {func(w, o gitter) {
			w.add("c", "c\n")
			o.git("checkout", "-q", "-b", "s", "HEAD~1")
			o.git("-c", "alias.later=!GIT_COMMITTER_DATE=2035-01-01T00:00:00Z git cherry-pick main", "later")
			o.git("checkout", "-q", "main")
		}, left{commits: []string{"c"}, files: 1, inserted: 1}},
		"renamed": {func(w, _ gitter) {
			w.add("c", "1\n2\n")
			w.git("mv", "c", "c_test")
			w.commit("mv")
		}, left{commits: []string{"c", "mv"}, files: 1, tests: 1, inserted: 2}},
		"another's, renamed": {func(w, o gitter) {
			o.add("c", "1\n2\n3\n")
			o.apart()
			w.git("mv", "c", "c_test")
			w.commit("mv")
		}, left{commits: []string{"mv"}, files: 2, notes: "renamed"}},
		"removed, and there again by another name": {func(w, o gitter) {
			o.add("c", "1\n2\n3\n")
			o.apart()
			w.git("rm", "-q", "c")
			w.commit("rm")
			w.add("tests/d", "1\n2\n3\n4\n")
		}, left{commits: []string{"rm", "tests/d"}, files: 2, tests: 1, inserted: 1}},
		"a binary test":    {func(w, _ gitter) { w.add("bin_test", "\x00\x01") }, left{commits: []string{"bin_test"}, files: 1}},
		"lines off a test": {func(w, o gitter) { o.add("a_test", "1\n2\n"); o.apart(); w.add("a_test", "1\n") }, left{commits: []string{"a_test"}, files: 1, deleted: 1}},
		"a generated test": {func(w, _ gitter) { w.add("a_test.go", "// Code generated by x; DO NOT EDIT.\nx\n") }, left{commits: []string{"a_test.go"}, files: 1, notes: "1 generated"}},
		"a generated test, made later": {func(w, _ gitter) {
			w.add("c", "c\n")
			w.write("a_test.go", "// Code generated by x; DO NOT EDIT.\nx\n")
			w.git("add", "a_test.go")
			w.git("-c", "alias.later=!GIT_COMMITTER_DATE=2035-01-01T00:00:00Z git commit -q -m x", "later")
		}, left{commits: []string{"c", "x"}, files: 2, inserted: 1, notes: "1 generated"}},
		"one of a generator": {func(w, o gitter) {
			o.add("a_test.py", "# @generated\n"+strings.Repeat("#\n", 20))
			o.apart()
			w.add("a_test.py", "# @generated\n"+strings.Repeat("#\n", 20)+"more\n")
		}, left{commits: []string{"a_test.py"}, files: 1, notes: "1 generated"}},
		"an orphan": {func(w, _ gitter) {
			w.git("checkout", "-q", "--orphan", "o")
			w.commit("all anew")
		}, left{commits: []string{"all anew"}, branch: "o"}},
		"an orphan with a change": {func(w, _ gitter) {
			w.git("checkout", "-q", "--orphan", "o")
			w.add("c", "c\n")
		}, left{commits: []string{"c"}, branch: "o", files: 1, inserted: 1}},
		"detached": {func(w, _ gitter) { w.git("checkout", "-q", "--detach"); w.add("c", "c\n") }, left{commits: []string{"c"}, files: 1, inserted: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			clone.apart()
			test.do(clone.as(own), clone)
			at := clone
			at.t = t
			at.leaves(test.want)
		})
	}
}

// hookNeighbour has a neighbour commit before the next command ends that commits.
func (g gitter) hookNeighbour(o gitter, subject string) {
	g.t.Helper()
	hook := filepath.Join(g.dir, ".git", "hooks", "post-commit")
	text := fmt.Sprintf("#!/bin/sh\nrm \"$0\"\n%s git commit --quiet --allow-empty --message=%s\n", reflogMarked(neighbour), subject)
	must.Do(g.t, errors.Join(os.MkdirAll(filepath.Dir(hook), 0o700), os.WriteFile(hook, []byte(text), 0o700))) //nolint:gosec // git runs it
	o.as(neighbour)
}

// apart writes a file until its time is so much later that files of before and after differ.
func (g gitter) apart() {
	g.t.Helper()
	probe := filepath.Join(g.t.TempDir(), "probe")
	written := func() time.Time {
		err := os.WriteFile(probe, nil, 0o600)
		info, statErr := os.Stat(probe)
		must.Do(g.t, errors.Join(err, statErr))
		return info.ModTime()
	}
	began := written()
	for now := began; now.Sub(began) <= 24*time.Millisecond; {
		now = written()
	}
}

// TestWork has a session bring a colleague's commit into its clone, and push its own: only its own commit is its work.
func TestWork(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	p := clone.places(resolved(t.TempDir()))
	site, _, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
	must.Do(t, err)
	tree := clone.at(site.Dir)
	origin.add("theirs", "x\n")
	tree.add("c", "c\n")
	tree.add("c_test.go", "d\n")
	clone.add("neighbours", "x\n")
	tree.git("pull", "-q", "--rebase", "origin", "main")
	tree.git("push", "-q", "origin", "HEAD:side")
	tree.write("c", "not committed\n")
	w := must.Get(p.Work(t.Context(), site.Dir, clone.files(own)))(t)
	if len(w.Revisions) != 2 || w.Revisions[1] != tree.git("rev-parse", "HEAD") || clone.git("rev-parse", site.Branch) != w.Revisions[1] {
		t.Errorf("commits: %v, on %s", w.Revisions, site.Branch)
	}
	w.Revisions = nil
	must.Equal(t, "work", w, fleet.Work{
		Commits: 2, Branch: site.Branch, Known: true, Standing: 2, Files: 2, Tests: 1, Insertions: 2,
		Left: []string{uncommitted},
	})
	again := must.Get(p.Work(t.Context(), site.Dir, clone.files(own)))(t)
	if again.Commits != 2 {
		t.Errorf("asked again: %d commits", again.Commits)
	}
}

// TestWorkOfACopy has sessions in clones of their own commit what is there already, in each place where they can read it.
func TestWorkOfACopy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(origin, clone gitter)
		do     func(tree gitter)
		want   left
	}{
		"another run's": {
			func(_, o gitter) {
				o.git("checkout", "-q", "-b", "stint/bob/0other")
				o.add("c_test", "c\n")
				o.git("checkout", "-q", "main")
			},
			func(w gitter) {
				w.git("fetch", "-q", w.state, "stint/bob/0other")
				w.git("cherry-pick", "FETCH_HEAD")
				w.add("d", "d\n")
			},
			left{commits: []string{"c_test", "d"}, files: 2, inserted: 1, notes: "1 copied"},
		},
		"a person's": {
			func(_, o gitter) {
				o.git("checkout", "-q", "-b", "feature")
				o.add("c", "c\n")
				o.git("checkout", "-q", "main")
			},
			func(w gitter) { w.add("c", "c\n") },
			left{commits: []string{"c"}, files: 1, notes: "1 copied"},
		},
		"a colleague's": {
			func(o, c gitter) {
				o.git("checkout", "-q", "-b", "feature")
				o.add("c", "c\n")
				o.git("checkout", "-q", "main")
				c.git("fetch", "-q")
			},
			func(w gitter) { w.add("e", "e\n"); w.git("cherry-pick", "origin/feature") },
			left{commits: []string{"e", "c"}, files: 2, inserted: 1, notes: "1 copied"},
		},
		"an old one, with dates of long ago": {
			func(_, o gitter) {
				o.add("c", "a\nb\nc\nd\ne\n")
				o.add("c", "a\nb\nC\nd\ne\n")
				o.git("rm", "-q", "c")
				o.commit("rm")
			},
			func(w gitter) {
				old := "GIT_COMMITTER_DATE=2001-01-01T00:00:00Z git cherry-pick HEAD~3 HEAD~2"
				w.git("-c", "alias.old=!"+old, "old")
			},
			left{commits: []string{"c", "c"}, files: 1, notes: "2 copied"},
		},
		"a commit of its own, pushed and rebased, with one of the operator's": {
			func(o, _ gitter) { o.add("theirs", "x\n") },
			func(w gitter) {
				w.add("c", "c\n")
				w.git("push", "-q", "origin", "HEAD:side")
				w.git("pull", "-q", "--rebase", "origin", "main")
				w.at(w.state).git("fetch", "-q")
			},
			left{commits: []string{"later", "c"}, files: 2, inserted: 1, notes: "1 copied"},
		},
		"a colleague's, and none of its own": {
			func(o, _ gitter) { o.add("theirs", "x\n") },
			func(w gitter) { w.git("fetch", "-q", "origin"); w.git("reset", "-q", "--hard", "origin/main") },
			left{},
		},
		"pushed to what the workspace follows": {
			func(o, _ gitter) { o.git("config", "receive.denyCurrentBranch", "ignore") },
			func(w gitter) { w.add("c", "c\n"); w.git("push", "-q", "origin", "HEAD:main") },
			left{commits: []string{"c"}, files: 1, inserted: 1},
		},
		"a history that is not all here": {
			func(_, o gitter) {
				o.add("c", "c\n")
				o.git("rm", "-q", "c")
				o.commit("rm")
				id := o.git("rev-parse", "HEAD~1:c")
				must.Do(o.t, os.Remove(filepath.Join(o.dir, ".git", "objects", id[:2], id[2:])))
			},
			func(w gitter) { w.add("c", "d\n") },
			left{commits: []string{"c"}, files: 1, inserted: 1},
		},
		"an orphan": {
			func(_, _ gitter) {},
			func(w gitter) { w.git("checkout", "-q", "--orphan", "o"); w.commit("all") },
			left{commits: []string{"all"}},
		},
		"reverted": {
			func(_, _ gitter) {},
			func(w gitter) { w.add("c", "c\n"); w.git("revert", "--no-edit", "HEAD") },
			left{commits: []string{"c", `Revert "c"`}, notes: "taken back"},
		},
		"two in one second, one without an environment": {
			func(_, o gitter) { o.git("config", "user.name", "n"); o.git("config", "user.email", "n@example.org") },
			func(w gitter) {
				w.git("-c", "alias.now=!GIT_COMMITTER_DATE=2030-01-01T00:00:00Z git commit -q --allow-empty -m", "now", "one")
				w.git("-c", "alias.now=!GIT_COMMITTER_DATE=2030-01-01T00:00:00Z git commit -q --allow-empty -m", "now", "two")
				w.write("c", "c\n")
				w.git("add", "c")
				w.git("-c", `alias.bare=!env -i PATH="$PATH" git commit -q -m`, "bare", "three")
			},
			left{commits: []string{"one", "two", "three"}, files: 1, inserted: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, clone := pair(t)
			origin.t, clone.t = t, t
			test.before(origin, clone)
			clone.add("later", "x\n") // a copy has another parent, and so another id
			p := clone.places(resolved(t.TempDir()))
			site, _, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
			must.Do(t, err)
			tree := clone.at(site.Dir)
			tree.state = clone.dir
			test.do(tree)
			w := must.Get(p.Work(t.Context(), site.Dir, clone.files(own)))(t)
			got := left{files: w.Files, tests: w.Tests, inserted: w.Insertions, deleted: w.Deletions, notes: notes(w)}
			for _, id := range w.Revisions {
				got.commits = append(got.commits, clone.git("log", "-1", "--format=%s", id))
			}
			must.Equal(t, "left", got, test.want, cmp.AllowUnexported(left{}))
		})
	}
}

// TestChangesTooLarge says of a change that is not read to its end that there is more of it.
func TestChangesTooLarge(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	mine := clone.as(own)
	mine.add("a", "a\n")
	if c := must.Get(clone.clone().shared(t.Context(), own))(t); c.Cut {
		t.Error("a small change is said to be cut")
	}
	mine.add("b", strings.Repeat("b\n", maxPatch/2))
	mine.add("c", "c\n")
	c := must.Get(clone.clone().shared(t.Context(), own))(t)
	if c.Insertions == 0 || c.Insertions > maxPatch || !c.Cut {
		t.Errorf("%d lines, cut %v, want some, cut", c.Insertions, c.Cut)
	}
}

// TestChangesInAPack counts what was committed before git tidied up: once an agent's
// commits are many, git does so by itself.
func TestChangesInAPack(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	clone.as(own).add("c", "c\n")
	clone.git("gc", "--quiet")
	clone.leaves(left{commits: []string{"c"}, files: 1, inserted: 1})
}

// TestChangesElsewhere has a session commit in repositories of its own, as tests of
// programs that use git do, and as one may that wants to have something to show.
func TestChangesElsewhere(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	mine := clone.as(own)
	mine.add("c", "c\n")
	scratch := mine.at(t.TempDir())
	scratch.git("init", "-q", "-b", "main")
	scratch.add("big", strings.Repeat("x\n", 100))
	gone := mine.at(filepath.Join(t.TempDir(), "gone"))
	mine.git("init", "-q", "-b", "main", gone.dir)
	gone.add("big", "x\n")
	must.Do(t, os.RemoveAll(gone.dir))
	clone.leaves(left{commits: []string{"c"}, files: 1, inserted: 1})

	// A worktree of the clone is the clone's, wherever it is.
	tree := mine.at(filepath.Join(t.TempDir(), "tree"))
	mine.git("worktree", "add", "-q", "-b", "side", tree.dir)
	tree.add("d", "d\n")
	clone.leaves(left{commits: []string{"c", "d"}, branch: "side", files: 2, inserted: 2})
}

// TestChangesOfAPerson has a session make a commit that looks like one of a person, and
// take it back: what stands is the person's.
func TestChangesOfAPerson(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	const day = "2026-01-01T00:00:00Z"
	clone.write("feature", strings.Repeat("x\n", 100))
	clone.git("add", "feature")
	clone.git("-c", "alias.old=!GIT_COMMITTER_DATE="+day+" git commit -q", "old", "--date="+day, "-m", "a feature")
	clone.git("gc", "--quiet") // as a clone has what it cloned
	mine := clone.as(own)
	mine.git("commit", "-q", "--allow-empty", "-m", "a feature", "--date="+day)
	mine.git("reset", "-q", "--hard", "HEAD~1")
	clone.leaves(left{})
}

// TestReplacedObjects has a session say of its commit that it is another.
func TestReplacedObjects(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	mine := clone.as(own)
	mine.commit("nothing")
	nothing := mine.git("rev-parse", "HEAD")
	clone.git("checkout", "-q", "-b", "aside")
	clone.add("feature", strings.Repeat("x\n", 100))
	clone.git("checkout", "-q", "main")
	clone.git("replace", nothing, "aside")
	text, _, err := clone.clone().Diff(t.Context(), []string{nothing}, 1<<20)
	if err != nil || strings.Contains(text, "+x") || !strings.Contains(text, "nothing") {
		t.Errorf("shown %q, %v, want the commit as it was made", text, err)
	}
	c, err := clone.clone().shared(t.Context(), own)
	if err != nil || len(c.Revisions) != 1 || c.Files != 0 {
		t.Errorf("found %+v, %v, want one commit of nothing", c, err)
	}
}

// TestSignaturesAreNotAsked has a repository name the program that looks at signatures.
func TestSignaturesAreNotAsked(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	evil := filepath.Join(t.TempDir(), "evil")
	clone.write(".git/gpg", "#!/bin/sh\ncat >/dev/null\ntouch "+evil+"\necho '[GNUPG:] SIG_CREATED ' >&2\necho signed\n")
	must.Do(t, os.Chmod(filepath.Join(clone.dir, ".git", "gpg"), 0o700))
	clone.git("config", "gpg.program", filepath.Join(clone.dir, ".git", "gpg"))
	clone.git("config", "log.showSignature", "true")
	mine := clone.as(own)
	mine.write("c", "c\n")
	mine.git("add", "c")
	mine.git("commit", "-q", "-S", "-m", "c")
	if !exists(evil) {
		t.Fatal("the commit was not signed by the program")
	}
	must.Do(t, os.Remove(evil))
	c, err := clone.clone().shared(t.Context(), own)
	if err != nil || len(c.Revisions) != 1 {
		t.Fatalf("found %v, %v, want one commit", c.Revisions, err)
	}
	if _, _, err := clone.clone().Diff(t.Context(), c.Revisions, 1<<20); err != nil {
		t.Fatal(err)
	}
	if exists(evil) {
		t.Error("a program ran that the repository names")
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	clone.add("c", "first\n")
	one := clone.git("rev-parse", "HEAD")
	clone.write(".gitattributes", "* diff=evil\n")
	clone.git("config", "diff.evil.textconv", "touch evil; cat")
	clone.git("config", "color.ui", "always")
	clone.add("d", strings.Repeat("second\n", 1000))
	two := clone.git("rev-parse", "HEAD")
	text, cut, err := clone.clone().Diff(t.Context(), []string{one, two}, 1<<20)
	if err != nil || cut || !strings.Contains(text, "+first\n") || !strings.HasSuffix(text, "+second\n") || strings.Contains(text, "\x1b") {
		t.Errorf("got %d bytes, cut %t, %v, want both commits", len(text), cut, err)
	}
	if exists(filepath.Join(clone.dir, "evil")) {
		t.Error("a program ran that the repository names")
	}
	elsewhere := strings.Repeat("1", 40)
	if text, _, err := clone.clone().Diff(t.Context(), []string{elsewhere, one}, 1<<20); err != nil || !strings.Contains(text, "+first\n") {
		t.Errorf("got %q, %v, want the commit that is here", text, err)
	}
	text, cut, err = clone.clone().Diff(t.Context(), []string{one, two}, 1000)
	if err != nil || !cut || len(text) != 1000 || !strings.Contains(text, "+first\n") {
		t.Errorf("got %d bytes, cut %t, %v, want the first 1000", len(text), cut, err)
	}
	if text, cut, err = clone.clone().Diff(t.Context(), nil, 1000); text != "" || cut || err != nil {
		t.Errorf("of nothing: %q, %t, %v", text, cut, err)
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	g := repository(t)
	g.add("a", "first\n")
	base := g.git("rev-parse", "HEAD")
	g.add("b", "second\n")
	tip := g.git("rev-parse", "HEAD")
	text, cut, err := g.clone().Since(t.Context(), base, tip, 1<<20)
	if err != nil || cut || !strings.Contains(text, "+second\n") || strings.Contains(text, "first") {
		t.Errorf("got %q, %t, %v", text, cut, err)
	}
	if text, cut, err = g.clone().Since(t.Context(), base, tip, 10); len(text) != 10 || !cut || err != nil {
		t.Errorf("got %q, %t, %v, want 10 bytes of it", text, cut, err)
	}
}

// TestOwnersOfCommits has four sessions and a person do at random, and at once, what people do with git in one folder: each
// commit is the run's that made it, or nobody's. The author of a commit says who that is.
func TestOwnersOfCommits(t *testing.T) {
	t.Parallel()
	const histories, moves = 6, 12
	for seed := range uint64(histories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := repository(t)
			for _, name := range []string{"1", "2", "3"} {
				g.add(name, name+"\n")
			}
			g.git("branch", "side", "HEAD~2")
			var all sync.WaitGroup
			for who := range 5 {
				all.Go(func() {
					name := fmt.Sprintf("0s%d", who)
					mark := reflogMarked(fleet.RunID(name))
					if who == 4 {
						mark = "GIT_REFLOG_ACTION_OF_NOBODY="
					}
					chance := rand.New(rand.NewPCG(seed, uint64(who)))
					for move := range moves {
						file := fmt.Sprintf("%s_%d", name, move)
						commit := "echo $f >$f && git add $f && git commit -qm $f"
						choices := []string{
							commit, commit, commit, commit, commit, "echo $f >$f && git add $f && git commit -qm $f -- $f",
							"git commit -q --amend --reset-author -m amended.$f", "git merge -q --no-edit side || git merge --abort",
							"git revert --no-edit HEAD || git revert --abort", "git reset -q --hard HEAD~1", "git checkout -q -b $f",
							"git stash; git stash pop", "git rebase -q side || git rebase --abort", "git checkout -q main",
							"git branch -f side HEAD; git checkout -q main && git merge -q side",
						}
						cmd := exec.CommandContext(t.Context(), "sh", "-c", choices[chance.IntN(len(choices))])
						cmd.Dir = g.dir
						cmd.Env = append(os.Environ(), "f="+file, mark, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_EDITOR=true",
							"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL=a@b")
						_ = cmd.Run() // some are refused, as another holds the index
					}
				})
			}
			all.Wait()
			turn := must.Get(g.clone().looking(t.Context()))(t)
			entries := must.Get(turn.reflogs())(t)
			for who := range 4 {
				run := fleet.RunID(fmt.Sprintf("0s%d", who))
				commits := must.Get(turn.named(t.Context(), run, entries))(t)
				found := map[string]bool{}
				for _, s := range stepsOf(run, entries, commits) {
					found[s.to] = true
				}
				for _, e := range entries {
					author, _ := g.try("log", "-1", "--format=%an", e.id)
					if found[e.id] != (author == string(run)) {
						t.Errorf("%s %q: by %s, found for %s: %t", e.id[:12], e.action, author, run, found[e.id])
					}
				}
			}
		})
	}
}
