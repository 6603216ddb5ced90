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
