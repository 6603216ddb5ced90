package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestLeft names what a session leaves beside the commits of its branch, and where its commits were: at its end, and
// later, while it is there.
func TestLeft(t *testing.T) {
	t.Parallel()
	const later = uncommitted + " are at refs/stint/wip/0own"
	for name, test := range map[string]struct {
		do    func(w gitter)
		want  string // DIR is its folder
		later string
	}{
		"nothing":  {do: func(_ gitter) {}},
		"a commit": {do: func(w gitter) { w.add("d", "d") }},
		"uncommitted": {
			do: func(w gitter) { w.add("d", "d"); w.write("e", "e") }, want: uncommitted, later: later,
		},
		"another branch": {
			do: func(w gitter) { w.git("switch", "-q", "-c", "side"); w.add("d", "d") }, want: "its commits were on side",
		},
		"another branch, and back": {
			do:   func(w gitter) { w.git("switch", "-q", "-c", "side"); w.add("d", "d"); w.git("switch", "-q", "-") },
			want: "its commits were on side",
		},
		"another branch without commits": {do: func(w gitter) { w.git("switch", "-q", "-c", "side") }},
		"a detached head": {
			do: func(w gitter) { w.git("switch", "-q", "--detach"); w.add("d", "d") }, want: "its commits were on no branch",
		},
		"a stash": {
			do: func(w gitter) { w.write("a", "x"); w.git("stash", "-q") }, want: "a stash is in DIR", later: "a stash is in DIR",
		},
		"all": {
			do: func(w gitter) {
				w.add("d", "d")
				w.git("switch", "-q", "-c", "side", "main")
				w.add("e", "e")
				w.write("a", "x")
				w.git("stash", "-q")
				w.write("a", "y")
			},
			want:  uncommitted + "; a stash is in DIR; commits that are not in review are on stint/bob/0own; its commits were on side",
			later: uncommitted + "; a stash is in DIR; commits that are not in review are on stint/bob/0own; its commits were on side",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			p := clone.places(t.TempDir())
			w := mustOpen(t, p.Clone, own, p.Root)
			test.do(clone.at(w.Dir))
			work := must.Get(p.Work(t.Context(), w.Dir, fleet.RunFiles{}))(t)
			must.Equal(t, "left", strings.ReplaceAll(strings.Join(work.Left, "; "), w.Dir, "DIR"), test.want)
			must.Get(p.Close(t.Context(), w))(t)
			must.Equal(t, "later", strings.ReplaceAll(must.Get(p.Leftovers(t.Context()))(t)[own], w.Dir, "DIR"), test.later)
		})
	}
}

// TestLeftOnAnUnbornBranch has a session end on a branch without a commit, as for a site's pages. What it committed before, and
// what is in its folder, comes home.
func TestLeftOnAnUnbornBranch(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"commits": true, "no commit": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			p := clone.places(t.TempDir())
			w := mustOpen(t, p.Clone, own, p.Root)
			tree := clone.at(w.Dir)
			if commits {
				tree.add("d", "d")
			}
			tree.git("switch", "-q", "--orphan", "pages")
			tree.write("page", "page")
			work := must.Get(p.Work(t.Context(), w.Dir, fleet.RunFiles{}))(t)
			must.Equal(t, "commits", work.Commits == 1, commits)
			must.Get(p.Close(t.Context(), w))(t)
			must.Equal(t, "left", clone.git("ls-tree", "--name-only", wipRef(w.Dir)), "page")
			if commits {
				must.Equal(t, "branch", clone.git("show", w.Branch+":d"), "d")
			}
		})
	}
}

// TestLeftIsOfItsOwnFolder has a session name another folder as the work tree of its clone.
func TestLeftIsOfItsOwnFolder(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	p := clone.places(t.TempDir())
	w := mustOpen(t, p.Clone, own, p.Root)
	tree, elsewhere := clone.at(w.Dir), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(elsewhere, "another's"), nil, 0o600))
	tree.write("begun", "begun")
	tree.git("config", "core.worktree", elsewhere)
	must.Get(p.Work(t.Context(), w.Dir, fleet.RunFiles{}))(t)
	must.Get(p.Close(t.Context(), w))(t)
	must.Equal(t, "left", clone.git("diff", "--name-status", "HEAD", wipRef(w.Dir)), "A\tbegun")
}

// TestLeftBesides keeps the clone where git puts something into no commit: a repository within, whether it has a commit or not. The
// rest comes home, as do ignored files that the session had added.
func TestLeftBesides(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do, home string // a file that comes home
		kept     bool
	}{
		"a repository":           {do: "git init -q new/proj; git -C new/proj commit -q --allow-empty -m x; echo x >new/proj/x; echo b >begun", home: "begun", kept: true},
		"one without a commit":   {do: "git init -q new/proj; echo x >new/proj/x; echo b >begun", home: "begun", kept: true},
		"one that is linked":     {do: "git init -q sub; git -C sub commit -q --allow-empty -m x; echo b >begun", home: "begun", kept: true},
		"one that is ignored":    {do: "echo new >>.git/info/exclude; git init -q new/proj; echo b >begun", home: "begun"},
		"an ignored file, added": {do: "echo i >ignored; echo ignored >>.git/info/exclude; git add -f ignored", home: "ignored"},
		"a merge under way": {
			do:   "git commit -q --allow-empty -m x; git switch -q --detach; echo 1 >a; git commit -qam 1; git switch -q -; echo 2 >a; git commit -qam 2; git merge -q @{-1} || echo 3 >a",
			home: "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			shell(t, clone.dir, "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm sub; mkdir sub")
			p := clone.places(t.TempDir())
			w := mustOpen(t, p.Clone, own, p.Root)
			shell(t, w.Dir, test.do)
			must.Get(p.Work(t.Context(), w.Dir, fleet.RunFiles{}))(t)
			s := must.Get(p.Close(t.Context(), w))(t)
			must.Equal(t, "home", clone.git("ls-tree", "--name-only", wipRef(w.Dir), test.home), test.home)
			must.Equal(t, "kept", s.Kept == w.Dir && exists(w.Dir), test.kept)
			if test.kept {
				must.Equal(t, "said", must.Get(p.Leftovers(t.Context()))(t)[own], uncommitted+"; what git adds to no commit is in "+w.Dir)
			}
		})
	}
}

// TestCommittedRepositoryIsKept has a session commit a repository within, which is a link to what only its clone has.
func TestCommittedRepositoryIsKept(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]*sync.Map{"by its own process": {}, "by another": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			p := clone.places(t.TempDir())
			p.Found = found
			w := mustOpen(t, p.Clone, own, p.Root)
			shell(t, w.Dir, "git init -q proj; git -C proj commit -q --allow-empty -m x; git add proj 2>/dev/null; git commit -q -m proj")
			must.Get(p.Work(t.Context(), w.Dir, fleet.RunFiles{}))(t)
			must.Equal(t, "kept", must.Get(p.Close(t.Context(), w))(t).Kept, w.Dir)
			must.Equal(t, "there", exists(filepath.Join(w.Dir, "proj/.git")), true)
		})
	}
}

// TestDamagedCloneIsKept has a clone without a HEAD, as after a power cut, or without its pin. Its work is not home.
func TestDamagedCloneIsKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files []string // of git's in the clone, that are gone
		pin   bool     // is gone
		want  string   // DIR is its folder
	}{
		"no HEAD":                 {files: []string{"HEAD"}, want: "DIR is damaged"},
		"neither HEAD nor refs":   {files: []string{"HEAD", "packed-refs"}, want: "DIR is damaged"},
		"no pin in the workspace": {pin: true, want: "DIR: no pin of it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			p := clone.places(t.TempDir())
			w := mustOpen(t, p.Clone, own, p.Root)
			clone.at(w.Dir).add("d", "d")
			pin, was := clone.git("rev-parse", keepRef(w.Dir)), map[string][]byte{}
			for _, file := range test.files {
				path := filepath.Join(w.Dir, ".git", file)
				was[path] = must.Get(os.ReadFile(path))(t)
				must.Do(t, os.Remove(path))
			}
			if test.pin {
				clone.git("update-ref", "-d", keepRef(w.Dir))
			}
			all := func(fleet.RunID) bool { return true }
			want := strings.ReplaceAll(test.want, "DIR", w.Dir)
			if err := p.Rescue(t.Context(), all); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("rescue: got %v, want why the work is not home", err)
			}
			if _, err := p.Prune(t.Context(), Limits{Now: testTime(t), Keep: 9}, all); err == nil || !exists(w.Dir) {
				t.Errorf("prune: got %v, there: %t", err, exists(w.Dir))
			}
			for path, text := range was {
				must.Do(t, os.WriteFile(path, text, 0o600))
			}
			clone.git("update-ref", keepRef(w.Dir), pin)
			must.Do(t, p.Rescue(t.Context(), all))
			must.Equal(t, "home", clone.git("show", "stint/bob/0own:d"), "d")
		})
	}
}

// TestLeftOfAKilledGit has a git die that wrote what was left, with its lock held. The next try does it.
func TestLeftOfAKilledGit(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	p := clone.places(t.TempDir())
	w := mustOpen(t, p.Clone, own, p.Root)
	clone.at(w.Dir).write("begun", "begun")
	dying := p.Clone
	dying.Walls = func(context.Context, string, []string) ([]string, error) {
		return []string{"sh", "-c", `case " $* " in *" add --all "*) : >"$GIT_INDEX_FILE.lock"; kill -9 $$;; esac; exec "$@"`, "sh"}, nil
	}
	if _, err := dying.Close(t.Context(), w); err == nil {
		t.Fatal("git did not die")
	}
	must.Get(p.Close(t.Context(), w))(t)
	must.Equal(t, "left", strings.Contains(clone.git("ls-tree", "--name-only", wipRef(w.Dir)), "begun"), true)
}

// TestTakeUp has the next session at a task begin with what the last one left uncommitted, on top of what others did since.
// What it commits, or undoes, nobody begins with again.
func TestTakeUp(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	mustClose := func(w Own) { t.Helper(); must.Get(c.Close(t.Context(), w))(t) }
	open := func(run fleet.RunID, earlier ...fleet.RunID) (Own, gitter) {
		t.Helper()
		w := must.Get(c.Open(t.Context(), run, filepath.Join(c.Root, string(run)), earlier...))(t)
		return w, clone.at(w.Dir)
	}
	mustHave := func(tree gitter, want string) {
		t.Helper()
		must.Equal(t, "status", tree.git("status", "--porcelain"), want)
	}
	first, tree := open("0first")
	tree.add("d", "d")
	tree.write("a", "changed\n")
	tree.write("begun", "begun\n")
	must.Do(t, os.Remove(filepath.Join(first.Dir, "b")))
	mustClose(first)
	clone.add("theirs", "theirs\n")

	second, tree := open("0second", "0none", "0first")
	if second.Left.Run != "0first" || !second.Left.There {
		t.Errorf("got %+v, want what the first left", second.Left)
	}
	mustHave(tree, "M a\n D b\n?? begun") // and neither the first's commit nor a revert of theirs
	tree.read("theirs")
	if got := clone.git("for-each-ref", "--format=%(refname)", wip); got != wipRef("0second") {
		t.Errorf("kept as %s", got)
	}
	tree.git("add", "begun")
	tree.git("commit", "-q", "-m", "begun")
	mustClose(second)

	clone.add("a", "they changed it, too\n")
	third, tree := open("0third", "0second", "0first")
	if third.Left.Run != "0second" || third.Left.There {
		t.Errorf("got %+v, want a conflict with what the second left", third.Left)
	}
	mustHave(tree, "")
	mustClose(third)

	clone.git("reset", "-q", "--hard", "HEAD~1")
	fourth, tree := open("0fourth", "0third", "0second", "0first")
	mustHave(tree, "M a\n D b")
	tree.git("reset", "-q", "--hard")
	mustClose(fourth)
	fifth, tree := open("0fifth", "0fourth", "0third", "0second", "0first")
	mustHave(tree, "")
	mustClose(fifth)
	if got := clone.git("for-each-ref", wip); got != "" {
		t.Errorf("kept: %s", got)
	}
}

// TestTakeUpSurvivesCrashes kills a session's beginning with what an earlier one left. Another begins with it then.
func TestTakeUpSurvivesCrashes(t *testing.T) {
	t.Parallel()
	everyStop(t, func(t *testing.T, clone gitter, arm string, stop int) bool {
		t.Helper()
		c := clone.clone()
		c.Root = t.TempDir()
		w := mustOpen(t, c, neighbour, c.Root)
		clone.at(w.Dir).write("begun", "begun")
		must.Get(c.Close(t.Context(), w))(t)
		stopped := clone.crash(arm, stop, "take up", filepath.Join(c.Root, string(own)))
		mustPrune(t, clone, c.Root, Limits{Now: testTime(t), Keep: 9})
		next := must.Get(c.Open(t.Context(), "0next", filepath.Join(c.Root, "0next"), own, neighbour))(t)
		if got := clone.at(next.Dir).git("status", "--porcelain"); got != "?? begun" {
			t.Errorf("%s %d: status %q", arm, stop, got)
		}
		return stopped
	}, func(_, _ gitter) {})
}
