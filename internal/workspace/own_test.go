package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func mustPrune(t *testing.T, g gitter, root string, limits Limits) []Pruned {
	t.Helper()
	c := g.clone()
	c.Root = root
	pruned := must.Get(c.Prune(t.Context(), limits, func(fleet.RunID) bool { return true }))(t)
	return pruned
}

// mustHaveNo checks that nothing is left of a run's clone.
func (g gitter) mustHaveNo(root string) {
	g.t.Helper()
	folders := must.Get(filepath.Glob(filepath.Join(root, "[a-z0-9]*")))(g.t) // others go in an hour
	if len(folders) > 0 {
		g.t.Errorf("folders: %v, want none", folders)
	}
	if got := g.git("for-each-ref", "refs/stint", "refs/heads/stint"); got != "" {
		g.t.Errorf("refs: %s", got)
	}
	g.mustBeTidy()
}

func TestClose(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(clone, tree gitter)
		want string // what it left
		kept bool   // the folder
		home string // the subjects of the commits on its branch, the last first
	}{
		"untouched":   {do: func(_, _ gitter) {}},
		"ignored":     {do: func(_, w gitter) { w.add(".gitignore", "x\n"); w.git("reset", "--quiet", "--hard", "HEAD~1") }},
		"commit":      {do: func(_, w gitter) { w.add("d", "d") }, want: "1 unmerged commit", home: "d"},
		"two commits": {do: func(_, w gitter) { w.add("d", "d"); w.add("e", "e"); w.write("f", "") }, want: "2 unmerged commits", home: "e d"},
		"uncommitted": {do: func(_, w gitter) { w.write("a", "x") }, want: "uncommitted changes"},
		"untracked":   {do: func(_, w gitter) { w.write("n", "x") }, want: "uncommitted changes"},
		"picked": {do: func(c, w gitter) {
			w.add("d", "d")
			c.add("e", "e")
			c.git("-c", "protocol.file.allow=always", "fetch", "-q", w.dir, "HEAD")
			c.git("cherry-pick", "FETCH_HEAD")
		}, home: "d"},
		"pushed":    {do: func(_, w gitter) { w.add("d", "d"); w.git("push", "--quiet", "origin", "HEAD:next") }, want: "1 unmerged commit", home: "d"},
		"detached":  {do: func(_, w gitter) { w.git("checkout", "--quiet", "--detach"); w.add("d", "d") }, want: "1 unmerged commit", home: "d"},
		"read-only": {do: func(_, w gitter) { w.readOnlyFolder() }},
		"other branch": {
			do: func(_, w gitter) { w.git("checkout", "--quiet", "-b", "side"); w.add("d", "d") }, want: "1 unmerged commit", home: "d",
		},
		"a branch, and back": {
			do:   func(_, w gitter) { w.git("switch", "-q", "-c", "side"); w.add("d", "d"); w.git("switch", "-q", "main") },
			want: "1 unmerged commit", home: "d",
		},
		"two branches": {do: func(_, w gitter) {
			w.add("d", "d")
			w.git("switch", "-q", "-c", "side", "main")
			w.add("e", "e")
		}, want: "1 unmerged commit", kept: true, home: "e"},
		"a stash": {do: func(_, w gitter) { w.write("a", "x"); w.git("stash", "-q") }, want: "uncommitted changes", kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			root := t.TempDir()
			w := must.Get(clone.clone().Open(t.Context(), own, filepath.Join(root, string(own))))(t)
			test.do(clone, clone.at(w.Dir))
			s := must.Get(clone.clone().Close(t.Context(), w))(t)
			if got := s.Reason(); got != test.want {
				t.Errorf("left %q, want %q", got, test.want)
			}
			if exists(w.Dir) != test.kept || (s.Kept == w.Dir) != test.kept {
				t.Errorf("the folder is there: %v, want %v", exists(w.Dir), test.kept)
			}
			if test.home != "" {
				if got := strings.Join(strings.Fields(clone.git("log", "--format=%s", w.Branch, "--not", "main~1", "origin/main")), " "); !strings.HasPrefix(got, test.home) {
					t.Errorf("home came %q, want %q", got, test.home)
				}
			}
			if test.want == "uncommitted changes" && !test.kept {
				if got := clone.git("diff", "--name-only", "main", wipRef(w.Dir)); got == "" {
					t.Error("what was uncommitted is gone")
				}
			}
			if test.want == "" && test.home == "" {
				clone.mustHaveNo(root)
			}
		})
	}
}

// TestReopen goes on with the commits of an earlier run and with what it left uncommitted, in a clone of its own.
func TestReopen(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	w := mustOpen(t, c, own, c.Root)
	first := clone.at(w.Dir)
	first.add("d", "d")
	first.write("begun", "begun")
	must.Do(t, os.Remove(filepath.Join(w.Dir, "b")))
	first.git("config", "core.fsmonitor", "touch planted")
	must.Get(c.Close(t.Context(), w))(t)
	again := must.Get(c.Reopen(t.Context(), neighbour, own, time.Time{}))(t)
	second := clone.at(again.Dir)
	if again.Dir != w.Dir || again.Branch != w.Branch || second.git("branch", "--show-current") != w.Branch || second.git("log", "-1", "--format=%s") != "d" {
		t.Errorf("got %+v, want to go on with %+v", again, w)
	}
	if got := second.git("status", "--porcelain"); got != "D b\n?? begun" {
		t.Errorf("status %q, want what the first left", got)
	}
	if out, err := second.try("config", "core.fsmonitor"); err == nil {
		t.Errorf("the setting of the first is there: %s", out)
	}
	second.add("e", "e")
	if s := must.Get(c.Close(t.Context(), again))(t); s.Unmerged != 2 {
		t.Errorf("got %+v, want 2 commits", s)
	}
}

// TestReopenConversation makes the same path again where nothing was committed, with what landed since.
func TestReopenConversation(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	for _, left := range []bool{true, false} {
		w := mustOpen(t, c, own, c.Root)
		if left {
			clone.at(w.Dir).write("begun", "begun")
		}
		must.Get(c.Close(t.Context(), w))(t)
		if _, err := c.Reopen(t.Context(), neighbour, own, time.Time{}); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("without a conversation: got %v, want no branch", err)
		}
		cut := testTime(t).Add(-time.Hour)
		clone.add("landed", fmt.Sprint("landed", left))
		again := must.Get(c.Reopen(t.Context(), neighbour, own, cut))(t)
		if again.Dir != w.Dir || again.Branch != w.Branch || again.Left.There != left || len(again.News) == 0 || !strings.HasSuffix(again.News[0], " landed") {
			t.Errorf("left %t: got %+v, want to go on with %+v, and with the news", left, again, w)
		}
		if got := clone.at(again.Dir).read("landed"); got != fmt.Sprint("landed", left) {
			t.Errorf("left %t: got %q, want what landed", left, got)
		}
		clone.at(again.Dir).git("clean", "-q", "-f")
		must.Get(c.Close(t.Context(), again))(t)
	}
}

// TestOwnCloneIsApart has a session do to its clone what misled others when git's data was everybody's.
func TestOwnCloneIsApart(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	w := mustOpen(t, c, own, c.Root)
	tree := clone.at(w.Dir)
	before := clone.git("for-each-ref")
	tree.add("d", "d")
	for _, args := range [][]string{
		{"tag", "EVIL"}, {"update-ref", "refs/heads/main", "HEAD"}, {"replace", "main~1", "HEAD"}, {"config", "core.hooksPath", "evil"}, {"branch", "stint/bob/0neighbour"},
	} {
		tree.git(args...)
	}
	must.Do(t, syscall.Mkfifo(filepath.Join(w.Dir, ".git/refs/heads/pipe"), 0o600))
	must.Get(c.Open(t.Context(), neighbour, filepath.Join(c.Root, string(neighbour))))(t)
	got := strings.Split(clone.git("for-each-ref"), "\n")
	for line := range strings.SplitSeq(before, "\n") {
		if i := slices.Index(got, line); i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
	}
	if len(got) != 1 || !strings.HasSuffix(got[0], keepRef(string(neighbour))) {
		t.Errorf("the workspace has %v beside %s", got, before)
	}
}

// TestHomeTellsNothing has a session name a filter, which git runs when the work comes home: it sees none of the operator's variables.
func TestHomeTellsNothing(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Environment = append(c.Environment, "API_KEY=secret")
	w := mustOpen(t, c, own, t.TempDir())
	tree, seen := clone.at(w.Dir), filepath.Join(w.Dir, ".git/seen")
	tree.git("config", "filter.x.clean", "env >"+seen+"; cat")
	tree.write(".git/info/attributes", "* filter=x\n")
	tree.write("a", "y\n")
	if _, err := c.bringHome(t.Context(), w.Dir, w.Branch); err != nil {
		t.Fatal(err)
	}
	if text := readText(t, seen); !strings.Contains(text, "PATH=") || strings.Contains(text, "secret") {
		t.Errorf("the filter saw %s", text)
	}
}

// TestHomeRefuses has a session leave what git outside must not take.
func TestHomeRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(w gitter)
		want string
	}{
		"a folder .git": {func(w gitter) {
			tree := w.git("mktree", "--missing") // of nothing
			out := must.Get(w.feed("040000 tree "+tree+"\t.git\n", "mktree"))(w.t)
			w.git("reset", "-q", "--soft", w.git("commit-tree", "-p", "HEAD", "-m", "evil", out))
		}, "contains '.git'"},
		"a missing object": {func(w gitter) {
			w.add("d", "d")
			blob := w.git("rev-parse", "HEAD:d")
			must.Do(w.t, os.Remove(filepath.Join(w.dir, ".git/objects", blob[:2], blob[2:])))
		}, "pack-objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			w := mustOpen(t, clone.clone(), own, t.TempDir())
			before := clone.git("count-objects", "-v") + clone.git("for-each-ref")
			test.do(clone.at(w.Dir))
			if _, err := clone.clone().Close(t.Context(), w); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if after := clone.git("count-objects", "-v") + clone.git("for-each-ref"); after != before || !exists(w.Dir) {
				t.Errorf("the workspace has %s, want %s, and the clone to stay", after, before)
			}
		})
	}
}

// TestClonesGoByTheOperator takes along what git goes by for the operator, and nothing that is not for a session.
func TestClonesGoByTheOperator(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	clone.git("config", "user.name", "Opera Tor")
	clone.git("config", "user.signingKey", "secret")
	clone.git("config", "commit.gpgSign", "true")
	clone.git("config", "credential.helper", "!leak")
	clone.git("config", "http.https://localhost/.extraHeader", "Authorization: secret")
	clone.git("config", "alias.st", "status")
	clone.git("config", "remote.origin.url", "https://me:token@localhost/x.git")
	clone.git("tag", "-a", "-m", "v1", "v1")
	clone.hook("pre-commit", "echo refused >&2; exit 1")
	must.Do(t, os.MkdirAll(filepath.Join(clone.dir, ".git/info"), 0o700))
	clone.write(".git/info/exclude", "*.log\n")
	w := mustOpen(t, clone.clone(), own, t.TempDir())
	tree := clone.at(w.Dir)
	for key, want := range map[string]string{"user.name": "Opera Tor", "alias.st": "status", "remote.origin.url": "https://localhost/x.git", "commit.gpgsign": "false"} {
		if got := tree.git("config", key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"user.signingkey", "credential.helper", "http.https://localhost/.extraheader"} {
		if out, err := tree.try("config", key); err == nil {
			t.Errorf("%s: got %q, want nothing", key, out)
		}
	}
	tree.write("x.log", "x")
	if got := tree.git("status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
	if got := tree.git("describe"); got != "v1" {
		t.Errorf("described as %q", got)
	}
	if out, err := tree.try("commit", "--allow-empty", "-m", "x"); err == nil || !strings.Contains(out, "refused") {
		t.Errorf("the operator's hook did not run: %s", out)
	}
	clone.git("gc", "--quiet", "--prune=now")
	tree.git("fsck", "--connectivity-only")
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

// TestOpenWithoutCommit has sessions begin at once in a repository without a commit: all begin at one.
func TestOpenWithoutCommit(t *testing.T) {
	t.Parallel()
	empty, root := gitter{t: t, dir: t.TempDir()}, t.TempDir()
	empty.git("init", "--quiet")
	var wg sync.WaitGroup
	for _, run := range []fleet.RunID{"0a", "0b", "0c", "0d"} {
		wg.Go(func() {
			w, err := empty.clone().Open(t.Context(), run, filepath.Join(root, string(run)))
			if err != nil {
				t.Error(err)
				return
			}
			tree := empty.at(w.Dir)
			if got := tree.git("log", "--format=%an:%s"); got != "stint:Begin" || tree.git("rev-parse", "HEAD") != empty.git("rev-parse", beginning) {
				t.Errorf("begins at %q", got)
			}
		})
	}
	wg.Wait()
	if out, err := empty.try("rev-parse", "--verify", "HEAD"); err == nil {
		t.Errorf("the workspace's branch is at %s", out)
	}
}

func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	root := t.TempDir()
	var wg sync.WaitGroup
	for _, run := range []fleet.RunID{"0a", "0b", "0c", "0d", "0e", "0f"} {
		wg.Go(func() {
			w, err := clone.clone().Open(t.Context(), run, filepath.Join(root, string(run)))
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
	clone.mustHaveNo(root)
}

func TestPrune(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	now := testTime(t)
	open := func(run fleet.RunID, do func(w gitter)) {
		t.Helper()
		do(clone.at(mustOpen(t, c, run, c.Root).Dir))
	}
	stashed := func(days int) func(w gitter) {
		return func(w gitter) {
			w.write("a", "x")
			w.git("stash", "-q")
			at := now.AddDate(0, 0, -days)
			must.Do(t, os.Chtimes(w.dir, at, at))
		}
	}
	open("1old", stashed(30))
	open("2many", stashed(1))
	open("3kept", stashed(1))
	open("4live", stashed(30))
	open("5clean", func(gitter) {})
	open("6work", func(w gitter) { w.add("d", "d"); w.write("a", "x") })
	open("7nofolder", func(w gitter) { must.Do(t, os.RemoveAll(w.dir)) })
	open("8half", func(w gitter) {
		must.Do(t, os.Remove(filepath.Join(w.dir, ".git/packed-refs")))
		must.Do(t, os.Remove(filepath.Join(w.dir, ".git/HEAD")))
		must.Do(t, os.Remove(filepath.Join(w.dir, ".git/index")))
	})
	must.Do(t, os.Mkdir(filepath.Join(c.Root, "cempty"), 0o700))
	clone.git("branch", "stint/bob/abranch")
	must.Do(t, os.Mkdir(filepath.Join(c.Root, "Not-a-run"), 0o700))
	must.Do(t, os.Mkdir(filepath.Join(c.Root, ".home-123"), 0o700))
	must.Do(t, os.Chtimes(filepath.Join(c.Root, ".home-123"), now.Add(-2*time.Hour), now.Add(-2*time.Hour)))
	pruned := must.Get(c.Prune(t.Context(), Limits{Keep: 1, MaxAge: 7 * 24 * time.Hour, Now: now}, func(run fleet.RunID) bool { return run != "4live" }))(t)
	got := map[fleet.RunID]string{}
	for _, p := range pruned {
		got[p.Run] = map[bool]string{true: "removed: ", false: "kept: "}[p.Removed] + p.Reason
		if p.Removed == exists(p.Dir) {
			t.Errorf("%+v: folder there: %v", p, exists(p.Dir))
		}
	}
	const late = "removed: it is older than 168h0m0s, or 1 younger ones are kept"
	must.Equal(t, "pruned", got, map[fleet.RunID]string{
		"1old": late, "2many": late, "3kept": "kept: uncommitted changes", "5clean": "removed: its work is home",
		"6work": "removed: its work is home", "8half": "removed: its work is home", "cempty": "removed: its work is home",
	})
	refs := strings.Fields(clone.git("for-each-ref", "--format=%(refname)", "refs/heads/stint", "refs/stint"))
	must.Equal(t, "refs", refs, []string{"refs/heads/stint/bob/6work", "refs/stint/keep/3kept", "refs/stint/keep/4live", "refs/stint/wip/6work"})
	must.Equal(t, "temporary folder", exists(filepath.Join(c.Root, ".home-123")), false)
	c.Prune(t.Context(), Limits{Keep: 2, MaxAge: time.Hour, Now: now.AddDate(1, 0, 0)}, func(fleet.RunID) bool { return true }) //nolint:errcheck // below
	if got := clone.git("for-each-ref", "refs/stint"); got != "" {
		t.Errorf("a year later: %s", got)
	}
}

// TestClonesInOddFolders has names that mean something to a shell, to git or to a pattern.
func TestClonesInOddFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "p[1]", "*", "a:b", `q"uote`, "#x", `b\s`, "ü", "\xff"} {
		t.Run(strconv.QuoteToASCII(name), func(t *testing.T) {
			t.Parallel()
			origin, _ := pair(t)
			folder := filepath.Join(t.TempDir(), name)
			clone := origin.at(filepath.Join(folder, "clone"))
			origin.git("clone", "--quiet", "--template=", origin.dir, clone.dir)
			c := clone.clone()
			c.Root = filepath.Join(folder, "clones")
			must.Do(t, os.Mkdir(c.Root, 0o700))
			w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own))))(t)
			clone.at(w.Dir).add("d", "d\n")
			must.Get(c.Close(t.Context(), w))(t)
			clone.add("x", "x\n")
			l := fleet.Landing{Run: own, Branch: w.Branch, Tip: clone.git("rev-parse", w.Branch), Target: "main"}
			s := must.Get(c.Stack(t.Context(), l))(t)
			if moved, err := c.Advance(t.Context(), s); err != nil || !moved {
				t.Fatalf("got %v, %v", moved, err)
			}
			must.Do(t, c.Unstack(t.Context()))
			must.Equal(t, "log", clone.git("log", "--format=%s"), "d\nx\nb\na\nfirst")
		})
	}
}
