package workspace

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestHomeSparesAnothersBranch has somebody put other commits on the run's branch. What a session makes of its own work
// in two looks, and of the work that it goes on with, comes home.
func TestHomeSparesAnothersBranch(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Found, c.Root = new(sync.Map), t.TempDir()
	w := mustOpen(t, c, own, c.Root)
	tree := clone.at(w.Dir)
	home := func() (string, error) {
		_, err := c.bringHome(t.Context(), w.Dir, w.Branch)
		return clone.git("log", "-1", "--format=%s", w.Branch), err
	}
	mustCome := func(want string) {
		t.Helper()
		if got, err := home(); err != nil || got != want {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
	tree.add("d", "d")
	mustCome("d")
	tree.add("e", "e")
	mustCome("e")
	tree.git("commit", "-q", "--amend", "-m", "amended")
	c.remember(w.Dir, look{start: tree.git("rev-parse", "HEAD~2"), tip: clone.git("rev-parse", w.Branch)}) // by this process
	mustCome("amended")
	other := clone.git("commit-tree", "-p", "main", "-m", "another's", "main^{tree}")
	clone.git("branch", "-f", w.Branch, other)
	tree.add("f", "f")
	if got, err := home(); err == nil || !strings.Contains(err.Error(), "work of somebody else") || got != "another's" {
		t.Errorf("got %s, %v", got, err)
	}
	if !exists(w.Dir) {
		t.Error("the clone is gone")
	}
}

// TestAPinHoldsTips has the workspace forget what a clone has a copy of, and clean up.
func TestAPinHoldsTips(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	origin.git("switch", "-q", "-c", "theirs")
	origin.add("d", "d")
	clone.git("fetch", "-q")
	w := mustOpen(t, clone.clone(), own, t.TempDir())
	clone.git("update-ref", "-d", "refs/remotes/origin/theirs")
	must.Do(t, os.Remove(filepath.Join(clone.dir, ".git", "FETCH_HEAD")))
	clone.git("reflog", "expire", "--expire=now", "--all")
	clone.git("gc", "-q", "--prune=now")
	must.Equal(t, "in the clone", clone.at(w.Dir).git("log", "-1", "--format=%s", "origin/theirs"), "d")
}

// TestAlone has sessions make branches beside their own where the process knows what it had made: loose, packed and below a folder.
func TestAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(w gitter)
		want string
	}{
		"none":   {func(gitter) {}, ""},
		"loose":  {func(w gitter) { w.git("branch", "side"); w.git("reset", "-q", "--hard", "HEAD~1") }, "side"},
		"folder": {func(w gitter) { w.git("branch", "a/b/side"); w.git("reset", "-q", "--hard", "HEAD~1") }, "a/b/side"},
		"packed": {func(w gitter) {
			w.git("branch", "side")
			w.git("reset", "-q", "--hard", "HEAD~1")
			w.git("pack-refs", "--all")
		}, "side"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			c := clone.clone()
			c.Found = new(sync.Map)
			w := mustOpen(t, c, own, t.TempDir())
			tree := clone.at(w.Dir)
			tree.add("d", "d")
			tree.add("e", "e")
			test.do(tree)
			l := must.Get(c.bringHome(t.Context(), w.Dir, w.Branch))(t)
			must.Equal(t, "beside", strings.Join(l.aside, " "), test.want)
		})
	}
}

// TestHomeKeepsEarlierWork has a session go on with the work of an earlier one, while the workspace's branch has moved. Whatever it
// looks at, the work stays until somebody replaces it.
func TestHomeKeepsEarlierWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do       func(w, origin gitter)
		work     string // on the branch of the run
		kept, by string // in the folder; and the commits that the session made
	}{
		"nothing":               {func(gitter, gitter) {}, "d", "", ""},
		"looks at main":         {func(w, _ gitter) { w.git("switch", "-q", "main") }, "d", "", ""},
		"main without a branch": {func(w, _ gitter) { w.git("switch", "-q", "--detach", "main") }, "d", "", ""},
		"away with it":          {func(w, _ gitter) { w.git("reset", "-q", "--hard", "main") }, "d", "", ""},
		"a later upstream": {func(w, origin gitter) {
			origin.add("later", "later")
			w.git("fetch", "-q", "origin")
			w.git("reset", "-q", "--hard", "origin/main")
		}, "d", "", ""},
		"on":      {func(w, _ gitter) { w.add("e", "e") }, "e", "", "e"},
		"on main": {func(w, _ gitter) { w.git("switch", "-q", "main"); w.add("e", "e") }, "e", "", "e"},
		"on a later upstream": {func(w, origin gitter) {
			origin.add("later", "later")
			w.git("fetch", "-q", "origin")
			w.git("rebase", "-q", "origin/main")
		}, "d", "", "d"},
		"beside": {func(w, _ gitter) {
			w.git("switch", "-q", "-c", "side", "main")
			w.add("e", "e")
			w.git("switch", "-q", "-")
			w.add("f", "f")
		}, "f", "commits that are not in review are on side", "f"},
		"elsewhere": {func(w, _ gitter) { w.git("switch", "-q", "-c", "side"); w.add("e", "e"); w.git("switch", "-q", "main") }, "e", "", "e"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, clone := pair(t)
			c := clone.clone()
			c.Found, c.Root = new(sync.Map), t.TempDir()
			first := mustOpen(t, c, own, c.Root)
			clone.at(first.Dir).add("d", "d")
			must.Get(c.Close(t.Context(), first))(t)
			clone.add("m", "m") // by a person
			c.Found = new(sync.Map)
			w := must.Get(c.Reopen(t.Context(), neighbour, own, time.Time{}))(t)
			test.do(clone.at(w.Dir), origin)
			work := must.Get(c.work(t.Context(), w.Dir, w.Branch))(t)
			s := must.Get(c.Close(t.Context(), Own{Run: neighbour, Dir: w.Dir, Branch: w.Branch}))(t)
			kept := ""
			if s.Kept != "" {
				kept = string(must.Get(os.ReadFile(keptMark(w.Dir)))(t))
			}
			var by []string
			for _, id := range work.Revisions {
				by = append(by, clone.git("log", "-1", "--format=%s", id))
			}
			must.Equal(t, "branch", clone.git("log", "-1", "--format=%s", w.Branch), test.work)
			must.Equal(t, "left", kept, test.kept)
			must.Equal(t, "commits", strings.Join(by, " "), test.by)
		})
	}
}

// TestHomeOfAnotherTarget has a session for a branch that the workspace has not checked out die before it did anything.
func TestHomeOfAnotherTarget(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	clone.git("branch", "release")
	clone.add("m", "m")
	c := clone.clone()
	c.Target, c.Root = "release", t.TempDir()
	w := mustOpen(t, c, own, c.Root)
	s := must.Get(c.Close(t.Context(), w))(t)
	must.Equal(t, "left", s, State{})
	must.Equal(t, "branches", strings.Join(clone.branches(), " "), "main release")
}

// TestHomeOfManyFiles has a session leave more files than git can name in a megabyte, beside a commit.
func TestHomeOfManyFiles(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	w := mustOpen(t, c, own, t.TempDir())
	tree := clone.at(w.Dir)
	tree.add("d", "d")
	name := strings.Repeat("n", 200)
	for i := range maxSaid/len(name) + 1 {
		tree.write(name+strconv.Itoa(i), "")
	}
	must.Equal(t, "left", must.Get(c.Close(t.Context(), w))(t), State{Unmerged: 1, Dirty: true})
	must.Equal(t, "branch", clone.git("log", "-1", "--format=%s", w.Branch), "d")
	must.Equal(t, "uncommitted", strings.Count(clone.git("diff", "--name-only", w.Branch, wipRef(w.Dir)), name), maxSaid/len(name)+1)
}

// TestHomeOfChanges has a session leave a file beside a commit, on its branch or back on the workspace's: no commit is in the change.
func TestHomeOfChanges(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"HEAD", "main"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			c := clone.clone()
			w := mustOpen(t, c, own, t.TempDir())
			tree := clone.at(w.Dir)
			tree.add("d", "d")
			tree.git("switch", "-q", "--detach", on)
			tree.write("n", "x")
			must.Get(c.Close(t.Context(), w))(t)
			must.Equal(t, "changed", clone.git("show", "--format=", "--name-status", wipRef(w.Dir)), "A\tn")
			must.Equal(t, "branch", clone.git("log", "-1", "--format=%s", w.Branch), "d")
		})
	}
}

// TestWorkWithoutANetwork has a session and then stint fail to fetch: what it has committed is its work all the same.
func TestWorkWithoutANetwork(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	p := clone.places(resolved(t.TempDir()))
	site, _, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
	must.Do(t, err)
	clone.git("remote", "set-url", "origin", filepath.Join(t.TempDir(), "gone"))
	tree := clone.at(site.Dir)
	if _, err := tree.try("fetch", clone.git("remote", "get-url", "origin")); err == nil || !exists(filepath.Join(site.Dir, ".git", "FETCH_HEAD")) {
		t.Fatal("the session has fetched")
	}
	tree.add("d", "d")
	work := must.Get(p.Work(t.Context(), site.Dir, clone.files(own)))(t)
	must.Equal(t, "commits", work.Revisions, []string{tree.git("rev-parse", "HEAD")})
}

// TestPruneSparesALanding has a fire tidy up while a person lands, and after that person's command has died.
func TestPruneSparesALanding(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	end := must.Get(c.Landings("lands"))(t)
	must.Do(t, os.Mkdir(c.landingDir(), 0o700))
	mustPrune(t, clone, c.Root, Limits{})
	must.Equal(t, "while it lands", exists(c.landingDir()), true)
	must.Do(t, end())
	mustPrune(t, clone, c.Root, Limits{})
	must.Equal(t, "afterwards", exists(c.landingDir()), false)
}

// TestLocksOfALiveGitStay has a turn begin whose last holder died, while a git works in the clone that may have the lock.
func TestLocksOfALiveGitStay(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	die := func(context.Context, *turn) error { return errLeft }
	if err := c.inTurn(t.Context(), own, "die", die); err == nil {
		t.Fatal("the note does not stand")
	}
	lock := filepath.Join(clone.dir, ".git", "HEAD.lock")
	must.Do(t, os.WriteFile(lock, nil, 0o600))
	works := exec.CommandContext(t.Context(), "git", "cat-file", "--batch")
	works.Dir = clone.dir
	stdin := must.Get(works.StdinPipe())(t)
	must.Do(t, works.Start())
	nothing := func(context.Context, *turn) error { return nil }
	if err := c.inTurn(t.Context(), neighbour, "go on", nothing); err == nil || !strings.Contains(err.Error(), "git command, pid "+strconv.Itoa(works.Process.Pid)) {
		t.Errorf("got %v", err)
	}
	must.Equal(t, "lock while git works", exists(lock), true)
	must.Do(t, stdin.Close())
	must.Do(t, works.Wait())
	must.Do(t, c.inTurn(t.Context(), neighbour, "go on", nothing))
	must.Equal(t, "lock afterwards", exists(lock), false)
}
