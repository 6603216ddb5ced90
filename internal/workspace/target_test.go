package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/testkit/must"
)

// TestTargetNames has a tag and a branch of a remote beside, or in the place of, a branch.
func TestTargetNames(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	aiming := func(name string) Clone {
		c := clone.clone()
		c.Target = name
		return c
	}
	clone.git("tag", "main", "HEAD~1")
	clone.git("tag", "v1", "HEAD~1")
	for name, want := range map[string]string{"main": "refs/heads/main", "origin/main": "refs/remotes/origin/main"} {
		must.Equal(t, name, must.Get(aiming(name).Latest(t.Context()))(t).Tip, clone.git("rev-parse", want))
	}
	for _, name := range []string{"v1", "HEAD", clone.git("rev-parse", "HEAD")} {
		if got, err := aiming(name).Latest(t.Context()); err == nil || !strings.Contains(err.Error(), "no branch") {
			t.Errorf("%s: got %+v, %v, want no branch", name, got, err)
		}
	}
}

// TestLatest has work begin at, and measured against, the target or what that follows, whichever is ahead.
func TestLatest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		do     func(origin, clone gitter)
		target string
		want   string
	}{
		{"the same", func(_, _ gitter) {}, "", "main"},
		{"ahead", func(_, clone gitter) { clone.add("own", "x\n") }, "", "main"},
		{"behind", func(origin, clone gitter) { origin.add("theirs", "x\n"); clone.git("fetch", "-q") }, "", "origin/main"},
		{"not fetched", func(origin, _ gitter) { origin.add("theirs", "x\n") }, "", "main"},
		{"diverged", func(origin, clone gitter) {
			origin.add("theirs", "x\n")
			clone.add("own", "x\n")
			clone.git("fetch", "-q")
		}, "", "main"},
		{"behind, and another branch is checked out", func(origin, clone gitter) {
			clone.git("checkout", "-q", "-b", "side")
			clone.add("own", "x\n")
			origin.add("theirs", "x\n")
			clone.git("fetch", "-q")
		}, "main", "origin/main"},
		{"of two branches", func(_, clone gitter) { clone.git("branch", "next", "main~1") }, "next", "next"},
		{"gone", func(_, clone gitter) { clone.git("update-ref", "-d", "refs/remotes/origin/main") }, "", "main"},
		{"detached", func(_, clone gitter) { clone.git("checkout", "-q", "--detach", "HEAD~1") }, "", "HEAD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			origin, clone := pair(t)
			test.do(origin, clone)
			c := clone.clone()
			c.Root, c.Target = t.TempDir(), test.target
			want := clone.git("rev-parse", test.want)
			must.Equal(t, "target", must.Get(c.Latest(t.Context()))(t).Tip, want)
			w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own))))(t)
			if got := clone.at(w.Dir).git("rev-parse", "HEAD"); got != want {
				t.Errorf("a clone begins at %s, want %s", got, want)
			}
			if got := clone.at(w.Dir).git("branch", "--show-current"); got != w.Branch {
				t.Errorf("on %q, want %q", got, w.Branch)
			}
			if _, err := c.Open(t.Context(), own, w.Dir); err == nil || !exists(w.Dir) {
				t.Errorf("opened twice, or gone: %v", err)
			}
		})
	}
}

// TestPendingOfAnUpstream shows what a session changed, and nothing of what colleagues did.
func TestPendingOfAnUpstream(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	for i := range 20 {
		origin.add(fmt.Sprintf("theirs%d", i), text(nil))
	}
	clone.git("fetch", "-q")
	clone.git("checkout", "-q", "-b", "stint/bob/"+string(worked), "origin/main")
	clone.record("one", "own", "x\ny\n", "theirs3", text(nil)+"more\n")
	clone.git("checkout", "-q", "main")
	_, all, err := clone.clone().Pending(t.Context(), unknown)
	must.Do(t, err)
	if len(all) != 1 || len(all[0].Files) != 2 || all[0].Lines != 3 || len(all[0].Commits) != 1 {
		t.Errorf("got %+v, want 2 files, 3 lines and 1 commit", all)
	}
	// Once upstream has it, it has landed, wherever the target is.
	origin.git("pull", "-q", "--no-edit", clone.dir, "stint/bob/"+string(worked))
	clone.git("fetch", "-q")
	made := func([]fleet.RunID) (map[fleet.RunID][]string, error) {
		return map[fleet.RunID][]string{worked: {all[0].Tip}}, nil
	}
	if _, all, err = clone.clone().Pending(t.Context(), made); err != nil || len(all) != 1 || all[0].Landing != review.Merged {
		t.Errorf("got %+v, %v, want it merged", all, err)
	}
}

// TestForward has the target follow its upstream after a fetch, wherever that changes nothing of a person's.
func TestForward(t *testing.T) {
	t.Parallel()
	filtered := func(origin, clone gitter) {
		clone.git("config", "filter.x.smudge", "touch "+filepath.Join(clone.dir, "ran"))
		origin.add(".gitattributes", "theirs filter=x\n")
	}
	for _, test := range []struct {
		name  string
		do    func(origin, clone gitter)
		to    string // where the target is afterwards
		stuck string // what Tracking says; empty: nothing
	}{
		{"checked out", func(_, _ gitter) {}, "origin/main", ""},
		{"with a hook", func(_, clone gitter) {
			must.Do(clone.t, os.MkdirAll(filepath.Join(clone.dir, ".git/hooks"), 0o700))
			writeProgram(clone.t, filepath.Join(clone.dir, ".git/hooks/post-merge"), "#!/bin/sh\ntouch "+filepath.Join(clone.dir, "ran")+"\n")
		}, "origin/main", ""},
		{"checked out nowhere", func(_, clone gitter) { clone.git("checkout", "-q", "-b", "side") }, "origin/main", ""},
		{"checked out elsewhere", func(_, clone gitter) {
			clone.git("checkout", "-q", "-b", "side")
			clone.git("worktree", "add", "-q", clone.dir+"-main", "main")
		}, "main@{0}", "main lacks commits of origin/main, and cannot be brought forward: main is checked out in "},
		{"another file is changed", func(_, clone gitter) { clone.write("b", "mine\n") }, "origin/main", ""},
		{"the file is changed", func(_, clone gitter) { clone.write("a", "mine\n") }, "main@{0}", "with changes that nobody committed in a"},
		{"the file is there, and ignored", func(_, clone gitter) {
			clone.write(".git/info/exclude", "theirs\n")
			clone.write("theirs", "mine\n")
		}, "main@{0}", "it would overwrite theirs"},
		{"diverged", func(_, clone gitter) { clone.add("own", "x\n") }, "main@{0}", "have diverged: ahead 1, behind 1"},
		{"ahead", func(origin, clone gitter) { clone.add("own", "x\n"); origin.git("reset", "-q", "--hard", "HEAD~1") }, "main@{0}", ""},
		{"in a rebase", func(_, clone gitter) {
			must.Do(clone.t, os.Mkdir(filepath.Join(clone.dir, ".git/rebase-merge"), 0o700))
		}, "main@{0}", ""},
		{"in a bisection", func(_, clone gitter) {
			clone.add("own", "x\n")
			clone.git("bisect", "start", "HEAD", "HEAD~2")
			clone.git("update-ref", "refs/heads/main", "main~1")
		}, "main@{0}", ""},
		{"a filter", filtered, "main@{0}", "git has a filter for theirs: stint runs none"},
		{"a filter for another file", func(_, clone gitter) { clone.git("config", "filter.x.smudge", "false") }, "origin/main", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			origin, clone := pair(t)
			must.Do(t, os.WriteFile(filepath.Join(origin.dir, "a"), []byte("theirs\n"), 0o600))
			origin.git("add", "a")
			origin.add("theirs", "x\n")
			test.do(origin, clone)
			before, head, status := clone.git("rev-parse", "main"), clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain")
			c := clone.clone()
			c.Target, c.Forwards = "main", true
			s := must.Get(c.Fetch(t.Context(), own))(t)
			want := before
			if test.to == "origin/main" {
				want = origin.git("rev-parse", "main")
			}
			if got := clone.git("rev-parse", "HEAD"); got != head && clone.git("branch", "--show-current") == "" {
				t.Errorf("HEAD is at %s, want %s: %v", got, head, s.Stuck)
			}
			if got := clone.git("rev-parse", "main"); got != want {
				t.Errorf("the target is at %s, want %s: %v", got, want, s.Stuck)
			}
			at := must.Get(c.Tracking(t.Context()))(t)
			if !strings.Contains(at.Text, test.stuck) || at.Stuck != (test.stuck != "") || at.Stuck && at.Fix == "" {
				t.Errorf("got %+v, want %q", at, test.stuck)
			}
			if got := clone.git("status", "--porcelain"); got != status {
				t.Errorf("got status %q, want %q", got, status)
			}
			if exists(filepath.Join(clone.dir, "ran")) {
				t.Error("a program of the repository's ran")
			}
			c.Forwards = false
			if at = must.Get(c.Tracking(t.Context()))(t); at.Stuck && strings.Contains(at.Text, "brought forward") {
				t.Errorf("got %+v where nobody brings it forward", at)
			}
		})
	}
}
