package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/testkit/must"
)

func TestCondition(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(g gitter)
		want Condition
	}{
		"clean":     {func(gitter) {}, Condition{Repository: true}},
		"untracked": {func(g gitter) { g.write("new", ""); g.write("other", "") }, Condition{Repository: true, Untracked: 2}},
		"changed":   {func(g gitter) { g.write("a", "other"); g.write("staged", ""); g.git("add", "staged") }, Condition{Repository: true, Changed: 2}},
		"renamed":   {func(g gitter) { g.git("mv", "a", "?? b") }, Condition{Repository: true, Changed: 1}},
		"merge": {func(g gitter) {
			g.git("checkout", "--quiet", "-b", "side")
			g.add("side", "x")
			g.git("checkout", "--quiet", "-")
			g.add("main", "x")
			g.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
		}, Condition{Repository: true, Midway: "merge", Changed: 1}},
		"rebase": {func(g gitter) {
			g.git("checkout", "--quiet", "-b", "side")
			g.add("both", "side")
			g.git("checkout", "--quiet", "-")
			g.add("both", "main")
			if _, err := g.try("rebase", "side"); err == nil {
				g.t.Fatal("no conflict")
			}
		}, Condition{Repository: true, Midway: "rebase", Changed: 1}},
		"am": {func(g gitter) {
			g.write("patch", g.git("format-patch", "--stdout", "HEAD~1..HEAD")+"\n")
			if _, err := g.try("am", "patch"); err == nil {
				g.t.Fatal("no conflict")
			}
		}, Condition{Repository: true, Midway: "git am", Untracked: 1}},
		"locked": {func(g gitter) { g.write(".git/index.lock", "") }, Condition{Repository: true, Lock: ".git/index.lock"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			clone.add("a", "a\nfew\nlines\n")
			test.do(clone)
			before := clone.world()
			got := must.Get(clone.clone().Condition(t.Context()))(t)
			if test.want.Lock != "" {
				test.want.Lock = filepath.Join(clone.dir, test.want.Lock)
			}
			if diff := cmp.Diff(got, test.want, cmpopts.IgnoreFields(Condition{}, "LockedAt")); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
			if got.LockedAt.IsZero() != (got.Lock == "") {
				t.Errorf("got lock %q of %v", got.Lock, got.LockedAt)
			}
			if after := clone.world(); after != before {
				t.Errorf("got %s, want all as it was: %s", after, before)
			}
		})
	}
}

func TestConditionWithoutRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, err := cloneAt(dir).Condition(t.Context()); err != nil || got != (Condition{}) {
		t.Errorf("got %+v, %v, want nothing", got, err)
	}
	must.Do(t, os.Remove(dir))
	if _, err := cloneAt(dir).Condition(t.Context()); err == nil {
		t.Error("got no error for a folder that is not there")
	}
}

func TestTracking(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	says := func(when, branch, want string) {
		t.Helper()
		c := clone.clone()
		c.Target = branch
		at, err := c.Tracking(t.Context())
		if got := strings.TrimSuffix(at.Text+": "+strings.TrimPrefix(at.Fix, "git -C "+clone.dir+" "), ": "); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", when, got, err, want)
		}
	}
	says("pushed", "", "")
	clone.add("c", "c\n")
	clone.add("d", "d\n")
	says("ahead", "", "main has commits that origin/main lacks: 2: push")
	clone.git("switch", "-q", "-c", "side")
	says("no upstream", "", "")
	says("another branch", "main", "main has commits that origin/main lacks: 2: push")
	says("no branch", "nope", "")
	origin.add("e", "e\n")
	clone.git("fetch", "-q")
	says("diverged", "main", "main and origin/main have diverged: ahead 2, behind 1: pull --rebase=merges --autostash")
	clone.git("reset", "-q", "--hard", "origin/main~1")
	clone.git("update-ref", "-d", "refs/remotes/origin/main")
	says("gone", "main", "main follows origin/main, which is gone: branch --unset-upstream main")
	clone.git("checkout", "-q", "--detach")
	says("detached", "", "HEAD is detached, so no work can land and no sync comes: switch BRANCH")
	if got, err := cloneAt(t.TempDir()).Tracking(t.Context()); got.Text != "" || err != nil {
		t.Errorf("no repository: got %v, %v", got, err)
	}
}
