package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

const own, neighbour fleet.RunID = "0own", "0neighbour"

// gitter runs git in a folder, as an agent of a run would; without a run, as
// anybody.
type gitter struct {
	t     testing.TB
	dir   string
	state string // where runs keep their files
	run   fleet.RunID
}

func (g gitter) as(run fleet.RunID) gitter {
	g.run = run
	must.Do(g.t, os.MkdirAll(g.files(run).Out, 0o700))
	return g
}

func (g gitter) at(dir string) gitter {
	g.dir = dir
	return g
}

func (g gitter) files(run fleet.RunID) fleet.RunFiles { return fleet.FilesOf(g.state, run) }

func (g gitter) try(args ...string) (string, error) {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), "git", append([]string{"-C", g.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_EDITOR=true")
	if g.run != "" {
		cmd.Env = append(cmd.Env, reflogMarked(g.run))
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// feed is git with an input.
func (g gitter) feed(input string, args ...string) (string, error) {
	cmd := exec.CommandContext(g.t.Context(), "git", append([]string{"-C", g.dir}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func (g gitter) git(args ...string) string {
	g.t.Helper()
	out, err := g.try(args...)
	if err != nil {
		g.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return out
}

func (g gitter) commit(message string) {
	g.t.Helper()
	g.git("commit", "--quiet", "--allow-empty", "--message", message)
}

// repository is one with a commit of nobody's run, on branch main.
func repository(t testing.TB) gitter {
	t.Helper()
	g := gitter{t: t, dir: t.TempDir(), state: t.TempDir()}
	g.git("init", "--quiet", "--initial-branch=main")
	g.commit("first")
	return g
}

func (g gitter) mustCount(run fleet.RunID, want int) {
	g.t.Helper()
	if w := must.Get(g.clone().shared(g.t.Context(), run))(g.t); w.Commits != want {
		log, _ := g.try("log", "--walk-reflogs", "--format=%h %gs")
		g.t.Errorf("got %d commits of %s, want %d\n%s", w.Commits, run, want, log)
	}
}

func TestCommits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(own, other gitter)
		want int
	}{
		{"none", func(_, _ gitter) {}, 0},
		{"one", func(own, _ gitter) { own.commit("one") }, 1},
		{"three", func(own, _ gitter) { own.commit("one"); own.commit("two"); own.commit("two") }, 3},
		{"a neighbour's", func(_, other gitter) { other.commit("one"); other.as(neighbour).commit("two") }, 0},
		{"between a neighbour's", func(own, other gitter) {
			other.as(neighbour).commit("one")
			own.commit("two")
			other.commit("three")
			own.commit("four")
		}, 2},
		{"with a body", func(own, _ gitter) { own.commit("one\n\nand more\nof it\n") }, 1},
		{"a subject of two lines", func(own, _ gitter) { own.commit("one\nand more of it\n\nbody") }, 1},
		{"a subject with odd spaces", func(own, _ gitter) { own.commit("one  two\tthree") }, 1},
		{"hostile subjects", func(own, _ gitter) {
			own.commit(`$HOME %n %H "a" 'b' \n`)
			own.commit("stint run 0neighbour: Fast-forward")
			own.commit("ünïcode 任务 🎉")
			own.commit(": colon")
		}, 4},
		{"a subject that poses as another's", func(_, other gitter) { other.commit("stint run 0own: x") }, 0},
		{"without a message", func(own, _ gitter) {
			own.git("commit", "--quiet", "--allow-empty", "--allow-empty-message", "--message", "")
		}, 1},
		{"amended", func(own, _ gitter) {
			own.commit("one")
			own.git("commit", "--quiet", "--allow-empty", "--amend", "--message", "better")
		}, 1},
		{"another's amended", func(own, other gitter) {
			other.commit("one")
			own.git("commit", "--quiet", "--allow-empty", "--amend", "--message", "better")
		}, 1},
		{"reset", func(own, _ gitter) { own.commit("one"); own.git("reset", "--quiet", "--hard", "HEAD~1") }, 1},
		{"reset to another's", func(own, other gitter) {
			other.commit("one")
			own.git("reset", "--quiet", "--hard", "HEAD~1")
			own.git("reset", "--quiet", "--hard", "HEAD@{1}")
		}, 0},
		{"checked out", func(own, _ gitter) {
			own.git("checkout", "--quiet", "-b", "side")
			own.git("checkout", "--quiet", "main")
		}, 0},
		{"on a branch", func(own, _ gitter) { own.git("checkout", "--quiet", "-b", "side"); own.commit("one") }, 1},
		{"on a detached HEAD", func(own, _ gitter) { own.git("checkout", "--quiet", "--detach"); own.commit("one") }, 1},
		{"picked", func(own, other gitter) {
			other.git("checkout", "--quiet", "-b", "side")
			other.commit("one")
			other.git("checkout", "--quiet", "main")
			other.commit("two")
			own.git("cherry-pick", "--allow-empty", "side")
		}, 1},
		{"reverted", func(own, other gitter) {
			must.Do(other.t, os.WriteFile(filepath.Join(other.dir, "file"), nil, 0o600))
			other.git("add", "file")
			other.commit("one")
			own.git("revert", "--no-edit", "HEAD")
		}, 1},
		{"by an alias", func(own, _ gitter) { own.git("-c", "alias.ci=commit", "ci", "--allow-empty", "-m", "one") }, 1},
		{"tried only", func(own, _ gitter) {
			must.Do(own.t, os.WriteFile(filepath.Join(own.dir, "file"), nil, 0o600))
			own.git("add", "file")
			own.git("commit", "--dry-run")
		}, 0},
		{"refused", func(own, _ gitter) {
			if out, err := own.try("commit", "-m", "nothing to commit"); err == nil {
				own.t.Errorf("commit of nothing: %s", out)
			}
		}, 0},
		{"a run whose name begins alike", func(own, _ gitter) { own.as("0own2").commit("one") }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := repository(t)
			tt.do(g.as(own), g)
			g.mustCount(own, tt.want)
		})
	}
}

// TestCommitsOfOthers brings a neighbour's commits into the clone in every way
// there is; they stay the neighbour's, and the run's own stay its own.
func TestCommitsOfOthers(t *testing.T) {
	t.Parallel()
	for name, bring := range map[string][][]string{
		"pull, fast-forward":  {{"pull", "--quiet", "--ff-only", "origin", "main"}},
		"pull, merge":         {{"commit", "--quiet", "--allow-empty", "-m", "own"}, {"pull", "--quiet", "--no-rebase", "origin", "main"}},
		"pull, rebase":        {{"commit", "--quiet", "--allow-empty", "-m", "own"}, {"pull", "--quiet", "--rebase", "origin", "main"}},
		"fetch and rebase":    {{"commit", "--quiet", "--allow-empty", "-m", "own"}, {"fetch", "--quiet"}, {"rebase", "--quiet", "origin/main"}},
		"fast-forward by one": {{"fetch", "--quiet"}, {"merge", "--quiet", "--ff-only", "origin/main~1"}},
		"picked by one":       {{"fetch", "--quiet"}, {"cherry-pick", "--ff", "origin/main~1"}},
		"checked out by one":  {{"fetch", "--quiet"}, {"checkout", "--quiet", "--detach", "origin/main~1"}},
		"rebased by one":      {{"fetch", "--quiet"}, {"rebase", "--quiet", "origin/main~1"}},
		"reset by one":        {{"fetch", "--quiet"}, {"reset", "--quiet", "--hard", "origin/main~1"}},
		"fetch and reset":     {{"fetch", "--quiet"}, {"reset", "--quiet", "--hard", "origin/main"}},
		"rebase of the own":   {{"commit", "--quiet", "--allow-empty", "-m", "own"}, {"rebase", "--quiet", "--force-rebase", "HEAD~1"}},
		"interactive, reword": {{"commit", "--quiet", "--allow-empty", "-m", "own"}, {"rebase", "--quiet", "--interactive", "--force-rebase", "HEAD~1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin := repository(t)
			clone := origin.at(filepath.Join(t.TempDir(), "clone")).as(own)
			origin.git("clone", "--quiet", origin.dir, clone.dir)
			origin.commit("theirs")
			origin.as(neighbour).commit("theirs too")
			want := 0
			for _, args := range bring {
				clone.git(args...)
				if args[0] == "commit" || args[0] == "pull" && args[2] == "--no-rebase" { // a merge is a commit
					want++
				}
			}
			clone.mustCount(own, want)
			clone.mustCount(neighbour, 0)
		})
	}
}

// TestCommitsAtOnce has two runs and a person commit in one clone at the same
// time. Git lets one at a time through; who was refused tries again.
func TestCommitsAtOnce(t *testing.T) {
	t.Parallel()
	g := repository(t)
	const each = 5
	var wg sync.WaitGroup
	for _, run := range []fleet.RunID{own, neighbour, ""} {
		wg.Go(func() {
			for i := range each {
				for tries := 0; ; tries++ {
					out, err := g.as(run).try("commit", "--quiet", "--allow-empty", "--message", fmt.Sprintf("%s %d", run, i))
					if err == nil {
						break
					}
					if tries > 1000 {
						t.Errorf("commit: %v: %s", err, out)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	g.mustCount(own, each)
	g.mustCount(neighbour, each)
}

func TestCommitsElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("no repository", func(t *testing.T) {
		t.Parallel()
		gitter{t: t, dir: t.TempDir(), state: t.TempDir()}.mustCount(own, 0)
	})
	t.Run("no commit", func(t *testing.T) {
		t.Parallel()
		g := gitter{t: t, dir: t.TempDir(), state: t.TempDir()}
		g.git("init", "--quiet")
		g.mustCount(own, 0)
		g.as(own).commit("first of all")
		g.as(own).git("commit", "--quiet", "--allow-empty", "--amend", "--message", "better")
		g.mustCount(own, 1)
	})
	t.Run("no reflog", func(t *testing.T) { // then no commit has a mark
		t.Parallel()
		g := repository(t)
		g.git("config", "core.logAllRefUpdates", "false")
		must.Do(t, os.RemoveAll(filepath.Join(g.dir, ".git", "logs")))
		g.as(own).commit("one")
		g.mustCount(own, 0)
	})
	t.Run("a folder of a repository", func(t *testing.T) {
		t.Parallel()
		g := repository(t)
		below := g.at(filepath.Join(g.dir, "a b"))
		must.Do(t, os.Mkdir(below.dir, 0o700))
		below.as(own).commit("one")
		below.mustCount(own, 1)
	})
	t.Run("by a link", func(t *testing.T) {
		t.Parallel()
		g := repository(t)
		link := filepath.Join(t.TempDir(), "link")
		must.Do(t, os.Symlink(g.dir, link))
		g.as(own).commit("one")
		g.at(link).mustCount(own, 1)
	})
	t.Run("a worktree", func(t *testing.T) {
		t.Parallel()
		g := repository(t)
		moved := filepath.Join(t.TempDir(), "[a-c] *") // no pattern
		must.Do(t, os.Rename(g.dir, moved))
		g.dir = moved
		tree := g.at(filepath.Join(t.TempDir(), "tree"))
		g.git("worktree", "add", "--quiet", "--detach", tree.dir)
		tree.as(own).commit("one")
		tree.mustCount(own, 1)
		g.mustCount(own, 1)
	})
	t.Run("a folder called worktrees", func(t *testing.T) {
		t.Parallel()
		g := repository(t)
		named := g.at(filepath.Join(t.TempDir(), "worktrees"))
		must.Do(t, os.Rename(g.dir, named.dir))
		named.as(own).commit("one")
		named.mustCount(own, 1)
		tree := named.at(filepath.Join(t.TempDir(), "tree"))
		named.git("worktree", "add", "--quiet", "--detach", tree.dir)
		tree.as(own).commit("two")
		tree.mustCount(own, 2)
		must.Do(t, os.WriteFile(filepath.Join(named.dir, ".git", "commondir"), []byte("."), 0o600)) // by a session
		named.mustCount(own, 2)
	})
	t.Run("a submodule called worktrees", func(t *testing.T) {
		t.Parallel()
		g, sub := repository(t), repository(t)
		g.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "worktrees/x", sub.dir, "sub")
		inside := g.at(filepath.Join(g.dir, "sub"))
		inside.as(own).commit("one")
		inside.mustCount(own, 1)
	})
	t.Run("a reflog with rubbish", func(t *testing.T) {
		t.Parallel()
		g := repository(t)
		g.as(own).commit("one")
		file := must.Get(os.OpenFile(filepath.Join(g.dir, ".git", "logs", "HEAD"), os.O_WRONLY|os.O_APPEND, 0))(t)
		defer file.Close()
		zero, one := strings.Repeat("0", 40), strings.Repeat("1", 40)
		fmt.Fprintf(file, "\n\x00\xff\n%s\n%s %s a <a@b> 1 +0000\tstint/0own: gone\n%s %s a <a@b> x\tstint/0own\n", zero, zero, one, one, zero)
		g.as(own).commit("two")
		g.mustCount(own, 2)
	})
	t.Run("a reflog that is cut", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "log")
		must.Do(t, os.WriteFile(path, []byte("first line\nsecond\nthird\n"), 0o600))
		if got := must.Get(lastOf(path, 9))(t); got != "third\n" {
			t.Errorf("got %q, want the lines that are whole", got)
		}
	})
	for name, plant := range map[string]func(path string) error{
		"a pipe for a reflog": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link for a reflog": func(path string) error { return os.Symlink("/etc/hostname", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := repository(t)
			g.as(own).commit("one")
			path := filepath.Join(g.dir, ".git", "logs", "HEAD")
			must.Do(t, errors.Join(os.Remove(path), plant(path)))
			if w, err := g.clone().shared(t.Context(), own); err == nil {
				t.Errorf("got %+v, want an error: nobody can tell", w)
			}
		})
	}
}

func BenchmarkCommits(b *testing.B) {
	g := repository(b)
	for i := range 50 {
		g.as(own).commit(fmt.Sprint(i))
	}
	for b.Loop() {
		if w, err := g.clone().shared(b.Context(), own); w.Commits != 50 || err != nil {
			b.Fatalf("got %d, %v, want 50", w.Commits, err)
		}
	}
}

// TestGitHasALimitOfMemory asks the kernel, from within git.
func TestGitHasALimitOfMemory(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	g, _, err := clone.clone().git(t.Context(), clone.dir)
	must.Do(t, err)
	got := must.Get(g.run(t.Context(), "-c", "alias.limit=!sleep 0.1; grep 'Max data size' /proc/$PPID/limits", "limit"))(t)
	if f := strings.Fields(got); len(f) < 5 || f[3] != "4294967296" {
		t.Errorf("got %q, want 4 GiB", got)
	}
}

// TestRemoveAllOutlastsAWriter has an orphan that goes on writing into a folder.
func TestRemoveAllOutlastsAWriter(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	writer := exec.CommandContext(t.Context(), "sh", "-c", `for i in $(seq 300); do mkdir -p "$0/$((i % 7))" && : >"$0/$((i % 7))/$i"; done`, dir)
	must.Do(t, writer.Start())
	for !exists(filepath.Join(dir, "6")) {
		runtime.Gosched()
	}
	must.Do(t, removeAll(dir))
	_ = writer.Wait() // its folder may be gone when it writes
}
