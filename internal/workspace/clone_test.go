package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// childMode makes the test binary a process that does one thing to the clone in
// childDir.
const (
	childMode = "STINT_TEST_WORKSPACE"
	childDir  = "STINT_TEST_CLONE"
	childTree = "STINT_TEST_TREE"
)

func TestMain(m *testing.M) {
	mode, child := os.LookupEnv(childMode)
	if !child {
		os.Exit(m.Run())
	}
	c := cloneAt(os.Getenv(childDir))
	if count := os.Getenv("COUNT"); count != "" {
		c.Environment = os.Environ() // what the crash needs to know
		_ = os.WriteFile(count+".pid", []byte(strconv.Itoa(os.Getpid())), 0o600)
	}
	if err := act(mode, c, os.Getenv(childTree)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func act(mode string, c Clone, tree string) error {
	ctx := context.Background()
	switch mode {
	case "sync":
		_, err := c.Sync(ctx, own)
		return err
	case "open":
		_, err := c.Open(ctx, own, tree)
		return err
	case "take up":
		_, err := c.Open(ctx, own, tree, neighbour)
		return err
	case "reopen":
		c.Root = filepath.Dir(tree)
		_, err := c.Reopen(ctx, neighbour, own, time.Time{})
		return err
	case "close":
		c.Root = filepath.Dir(tree)
		_, err := c.Close(ctx, Own{Run: own, Dir: tree, Branch: "stint/bob/" + string(own)})
		return err
	case "land":
		return landAll(ctx, c, tree)
	}
	return fmt.Errorf("mode %q", mode)
}

// person is whom git takes the commits for, in an environment without anybody's
// settings.
func person() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
}

func cloneAt(dir string) Clone {
	return Clone{
		Dir: Folder(dir), Fleet: "bob", Environment: person(), Patience: time.Minute, Timeout: time.Minute, Walls: walls, Restate: restate,
	}
}

// restate is for tasks whose state is their first line.
func restate(_ string, was, now, lands []byte) ([]byte, bool) {
	parts := func(text []byte) (state, rest string) {
		if line, after, _ := strings.Cut(string(text), "\n"); strings.HasPrefix(line, "state: ") {
			return line + "\n", after
		}
		return "", string(text)
	}
	_, before := parts(was)
	state, since := parts(now)
	_, rest := parts(lands)
	return []byte(state + rest), state != "" && since == before
}

// walls let git write in a clone, and nowhere else.
func walls(_ context.Context, dir string, _ []string) ([]string, error) {
	return []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", dir, dir, "--chdir", dir, "--"}, nil
}

func (g gitter) clone() Clone { return cloneAt(g.dir) }

func (g gitter) write(name, text string) {
	g.t.Helper()
	file := filepath.Join(g.dir, name)
	must.Do(g.t, os.MkdirAll(filepath.Dir(file), 0o700))
	must.Do(g.t, os.WriteFile(file, []byte(text), 0o600))
}

func (g gitter) read(name string) string {
	g.t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(g.dir, name)))(g.t)
	return string(text)
}

// add commits a file with that text.
func (g gitter) add(name, text string) {
	g.t.Helper()
	g.write(name, text)
	g.git("add", "--", name)
	g.commit(name)
}

// pair is a repository with files a and b, and a clone of it.
func pair(t testing.TB) (origin, clone gitter) {
	t.Helper()
	origin = repository(t)
	origin.add("a", "a\n")
	origin.add("b", "b\n")
	clone = origin.at(filepath.Join(t.TempDir(), "clone"))
	origin.git("clone", "--quiet", "--template=", origin.dir, clone.dir)
	return origin, clone
}

// template prepares a pair once and returns what makes copies of its clone.
func template(t *testing.T, prepare func(origin, clone gitter)) func(t *testing.T) gitter {
	t.Helper()
	origin, clone := pair(t)
	prepare(origin, clone)
	clone.git("remote", "set-url", "origin", "../origin")
	return func(t *testing.T) gitter {
		t.Helper()
		dir := t.TempDir()
		for name, g := range map[string]gitter{"origin": origin, "clone": clone} {
			must.Do(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(g.dir)))
		}
		return gitter{t: t, dir: filepath.Join(dir, "clone"), state: clone.state}
	}
}

// testTime is the time that files get.
func testTime(t testing.TB) time.Time {
	t.Helper()
	info := must.Get(os.Stat(t.TempDir()))(t)
	return info.ModTime()
}

// world returns everything that a person sees of a work tree.
func (g gitter) world() string {
	g.t.Helper()
	return strings.Join([]string{
		g.git("status", "--porcelain", "--branch"), g.git("diff", "HEAD"), g.git("diff", "--cached"),
		g.git("log", "--format=%s"), g.git("stash", "list"), g.git("branch", "--list"),
	}, "\n--\n")
}

func mustSync(t *testing.T, g gitter) Synced {
	t.Helper()
	s := must.Get(g.clone().Sync(t.Context(), own))(t)
	g.mustBeTidy()
	return s
}

// mustBeTidy checks that nothing is under way in the clone.
func (g gitter) mustBeTidy() {
	g.t.Helper()
	common := g.git("rev-parse", "--path-format=absolute", "--git-common-dir")
	info, err := os.Stat(filepath.Join(common, lockName))
	if err != nil || info.Size() > 0 {
		g.t.Errorf("lock file: %v, %v, want an empty one", info, err)
	}
	for _, name := range append(rebaseDirs(common), filepath.Join(common, "index.lock"), filepath.Join(common, "HEAD.lock")) {
		if exists(name) {
			g.t.Errorf("%s is left", name)
		}
	}
	if exists(filepath.Join(common, "FETCH_HEAD")) {
		g.t.Error("FETCH_HEAD was written")
	}
}

func TestSync(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(origin, clone gitter)
		want string // the subjects of the clone's log by the first parents, then its status
	}{
		"nothing new": {func(_, _ gitter) {}, "b a first|"},
		"theirs":      {func(o, _ gitter) { o.add("c", "c") }, "c b a first|"},
		"own":         {func(_, c gitter) { c.add("d", "d") }, "d b a first|"},
		"both":        {func(o, c gitter) { o.add("c", "c"); c.add("d", "d") }, "d c b a first|"},
		"same change": {func(o, c gitter) { o.add("c", "c"); c.add("c", "c") }, "c b a first|"},
		"uncommitted": {func(o, c gitter) { o.add("c", "c"); c.write("a", "x"); c.write("new", "") }, "c b a first| M a\n?? new"},
		"forced":      {func(o, _ gitter) { o.git("reset", "--hard", "HEAD~1"); o.add("c", "c") }, "c a first|"}, // what was dropped there is not replayed
		"merge": {func(o, c gitter) {
			c.git("checkout", "--quiet", "-b", "side")
			c.add("d", "d")
			c.git("checkout", "--quiet", "main")
			c.git("merge", "--quiet", "--no-ff", "-m", "merged", "side")
			o.add("c", "c")
		}, "merged c b a first|"},
		"uncommitted, same file": {func(o, c gitter) {
			o.add("c", "1\n2\n3\n4\n5\n")
			must.Get(c.clone().Sync(c.t.Context(), own))(c.t)
			o.write("c", "one\n2\n3\n4\n5\n")
			o.commit("c")
			c.write("c", "1\n2\n3\n4\nfive\n")
		}, "c c b a first| M c"},
		"crowded index": {func(o, c gitter) { o.add("c", "c"); c.write("d", "d"); c.git("add", "d") }, "c b a first|A  d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, clone := pair(t)
			test.do(origin, clone)
			mustSync(t, clone)
			got := strings.ReplaceAll(clone.git("log", "--first-parent", "--format=%s"), "\n", " ") + "|" + strings.TrimRight(clone.untrimmed("status", "--porcelain"), "\n")
			must.Equal(t, "clone", got, test.want)
		})
	}
}

func (g gitter) untrimmed(args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", g.dir}, args...)...)
	cmd.Env = person()
	out := must.Get(cmd.Output())(g.t)
	return string(out)
}

func TestSyncWithNothingToDo(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(clone gitter){
		"detached":       func(c gitter) { c.git("checkout", "--quiet", "--detach") },
		"no upstream":    func(c gitter) { c.git("branch", "--unset-upstream") },
		"no remote":      func(c gitter) { c.git("remote", "remove", "origin") },
		"no such branch": func(c gitter) { c.git("config", "branch.main.merge", "refs/heads/none") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			do(clone)
			before := clone.world()
			if s := mustSync(t, clone); s.Idle == "" {
				t.Errorf("got %+v, want a reason", s)
			}
			if diff := cmp.Diff(clone.world(), before); diff != "" {
				t.Errorf("changed:\n%s", diff)
			}
		})
	}
	t.Run("no repository", func(t *testing.T) {
		t.Parallel()
		if s, err := cloneAt(t.TempDir()).Sync(t.Context(), own); err != nil || s.Idle == "" {
			t.Errorf("got %+v, %v, want a reason", s, err)
		}
	})
}

func TestSyncOfAnUnbornBranch(t *testing.T) {
	t.Parallel()
	origin := gitter{t: t, dir: t.TempDir(), state: t.TempDir()}
	origin.git("init", "--quiet", "--initial-branch=main")
	clone := origin.at(filepath.Join(t.TempDir(), "clone"))
	origin.git("-c", "init.defaultBranch=main", "clone", "--quiet", origin.dir, clone.dir)
	if s := mustSync(t, clone); s.Idle == "" {
		t.Errorf("got %+v, want nothing to do", s)
	}
	origin.add("a", "a")
	clone.write("other", "x")
	mustSync(t, clone)
	if got := clone.git("log", "--format=%s"); got != "a" {
		t.Errorf("got %q, want the upstream's commit", got)
	}
}

func TestSyncConflicts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(clone gitter)
		want string
	}{
		"commit":        {func(c gitter) { c.add("a", "mine\n") }, "rebase main onto refs/remotes/origin/main: conflict in a"},
		"second commit": {func(c gitter) { c.add("d", "d"); c.add("a", "mine\n") }, "rebase main onto refs/remotes/origin/main: conflict in a"},
		"commit, staged": {func(c gitter) {
			c.add("a", "mine\n")
			c.write("b", "x")
			c.git("add", "b")
			c.write("b", "y")
			c.write("n", "")
		}, "rebase main onto refs/remotes/origin/main: conflict in a"},
		"uncommitted": {func(c gitter) { c.write("a", "mine\n") }, "rebase uncommitted changes on main onto refs/remotes/origin/main: conflict in a"},
		"staged": {func(c gitter) {
			c.write("a", "mine\n")
			c.git("add", "a")
			c.write("a", "mine\nmore\n")
			c.add("d", "d")
		}, "rebase main onto refs/remotes/origin/main: conflict in a"},
		"ignored":             {func(c gitter) { c.write(".git/info/exclude", "z\n"); c.write("z", "") }, "rebase main onto refs/remotes/origin/main: it would overwrite z, which git does not track here"},
		"ignored, own commit": {func(c gitter) { c.add("d", "d"); c.write(".git/info/exclude", "z\n"); c.write("z/y", "") }, "rebase main onto refs/remotes/origin/main: it would overwrite z/y, which git does not track here"},
		"ignored, above":      {func(c gitter) { c.write(".git/info/exclude", "y\n"); c.write("y", "") }, "rebase main onto refs/remotes/origin/main: it would overwrite y, which git does not track here"},
		"odd name":            {func(c gitter) { c.add("ü\n$(x) y", "mine\n") }, `rebase main onto refs/remotes/origin/main: conflict in "ü\n$(x) y"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, clone := pair(t)
			origin.add("a", "theirs\n")
			origin.add("ü\n$(x) y", "theirs\n")
			origin.add("y/x", "theirs\n")
			origin.add("z", "theirs\n")
			clone.write("s", "another's stash")
			clone.git("add", "s")
			clone.git("stash")
			test.do(clone)
			before := clone.world()
			_, err := clone.clone().Sync(t.Context(), own)
			conflict := (*ConflictError)(nil)
			if !errors.As(err, &conflict) || fleet.Hint(err) == "" {
				t.Fatalf("got %v, want a conflict with a hint", err)
			}
			must.Equal(t, "error", conflict.Error(), test.want)
			clone.mustBeTidy()
			after := strings.ReplaceAll(clone.world(), ", behind 4]", "]")
			must.Equal(t, "the tree is not what it was", strip(after), strip(before))
		})
	}
}

// strip takes the first line away: how far the upstream is ahead is allowed to change.
func strip(world string) string {
	_, rest, _ := strings.Cut(world, "\n")
	return rest
}

func TestSyncLeavesOthersRebasesAlone(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	origin.add("a", "theirs\n")
	clone.add("a", "mine\n")
	clone.git("fetch", "--quiet", "--no-write-fetch-head")
	if out, err := clone.try("rebase", "origin/main"); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	before := clone.git("status")
	_, err := clone.clone().Sync(t.Context(), own)
	if err == nil || !strings.Contains(err.Error(), "a rebase is under way") || !strings.Contains(fleet.Hint(err), "--abort") {
		t.Errorf("got %v, hint %q, want to be told of the rebase", err, fleet.Hint(err))
	}
	if diff := cmp.Diff(clone.git("status"), before); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

func TestSyncAwaitsTheIndex(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	origin.add("c", "c")
	clone.add("d", "d")
	clone.write(".git/index.lock", "")
	time.AfterFunc(300*time.Millisecond, func() { _ = os.Remove(filepath.Join(clone.dir, ".git/index.lock")) })
	mustSync(t, clone)
	if got := clone.read("c"); got != "c" {
		t.Errorf("got %q, want it synced", got)
	}
}

func TestSyncErrorsOfARemote(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	must.Do(t, os.RemoveAll(origin.dir))
	before := clone.world()
	if _, err := clone.clone().Sync(t.Context(), own); err == nil {
		t.Error("synced with a remote that is gone")
	}
	if diff := cmp.Diff(clone.world(), before); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
	clone.mustBeTidy()
}

func TestSyncTakesNoLongerThanItsTime(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	origin.add("c", "c")
	clone.add("d", "d")
	before := clone.world()
	c := clone.clone()
	c.Environment = append(c.Environment, clone.slow("sleep 300"))
	c.Timeout = time.Second
	_, err := c.Sync(t.Context(), own)
	if err == nil || !strings.Contains(err.Error(), "git rebase: time-out after 1s") {
		t.Errorf("got %v, want a time-out", err)
	}
	if diff := cmp.Diff(strip(clone.world()), strip(before)); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
	clone.mustBeTidy()
}

// slow is a variable for an operator in whose own configuration git has a filter that takes its
// time over the file c.
func (g gitter) slow(script string) string {
	g.t.Helper()
	own := filepath.Join(g.t.TempDir(), "config")
	must.Do(g.t, os.WriteFile(own, []byte("[filter \"slow\"]\n\tsmudge = \""+script+"\"\n"), 0o600))
	must.Do(g.t, os.MkdirAll(filepath.Join(g.dir, ".git/info"), 0o700))
	g.write(".git/info/attributes", "c filter=slow\n")
	return "GIT_CONFIG_GLOBAL=" + own
}

func (g gitter) hook(name, script string) {
	g.t.Helper()
	path := filepath.Join(g.dir, ".git/hooks", name)
	must.Do(g.t, os.MkdirAll(filepath.Dir(path), 0o700))
	writeProgram(g.t, path, "#!/bin/sh\n"+script+"\n")
}

// writeProgram writes a file that is to be run. Nothing is forked meanwhile: a child that
// still had it open for writing would make it busy.
func writeProgram(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

func TestSyncWithSubmodules(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	sub := repository(t)
	sub.add("s", "s")
	origin.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "sub")
	origin.commit("submodule")
	mustSync(t, clone)
	clone.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	inside := clone.at(filepath.Join(clone.dir, "sub"))
	inside.add("t", "t") // the submodule is at another commit
	inside.write("s", "changed")
	clone.write("a", "changed")
	origin.add("c", "c")
	clone.add("d", "d")
	before := clone.git("status", "--porcelain")
	mustSync(t, clone)
	must.Equal(t, "status", clone.git("status", "--porcelain"), before)
	if got := inside.read("s") + inside.git("log", "-1", "--format=%s"); got != "changedt" {
		t.Errorf("got %q, want the submodule untouched", got)
	}
}

// child is the test binary as another process that does something to the clone.
func (g gitter) child(mode, tree string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.t.Context(), "/proc/self/exe")
	cmd.Env = append(append(person(), childMode+"="+mode, childDir+"="+g.dir, childTree+"="+tree), env...)
	return cmd
}

func TestSyncOfTenAtOnce(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	origin.add("c", "c")
	clone.add("d", "d")
	clone.write("a", "changed")
	var cmds []*exec.Cmd
	for range 10 {
		cmd := clone.child("sync", "")
		cmd.Stderr = &strings.Builder{}
		must.Do(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stderr)
		}
	}
	clone.mustBeTidy()
	if got := strings.Fields(clone.git("log", "--format=%s")); !cmp.Equal(got, []string{"d", "c", "b", "a", "first"}) {
		t.Errorf("got %v, want both lines of work", got)
	}
	if got := clone.read("a"); got != "changed" {
		t.Errorf("got %q, want the uncommitted change", got)
	}
}
