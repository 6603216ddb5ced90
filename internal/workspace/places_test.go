package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestEnvironmentNames has who commits in the workspace in variables, for an agent that overlooks the person's settings alone.
func TestEnvironmentNames(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	clone.git("config", "user.email", "bob@example.org")
	p := clone.places(resolved(t.TempDir()))
	names := func(named bool, dir string) (list []string) {
		for _, pair := range p.Environment(t.Context(), dir, clone.files(own), named) {
			if strings.Contains(pair, "_EMAIL=") {
				list = append(list, pair)
			}
		}
		return list
	}
	must.Equal(t, "named", names(true, clone.dir), []string{"GIT_AUTHOR_EMAIL=bob@example.org", "GIT_COMMITTER_EMAIL=bob@example.org"})
	must.Equal(t, "not", names(false, clone.dir), []string(nil))
	must.Equal(t, "in a clone", names(true, filepath.Join(p.Root, string(own))), []string(nil))
}

// TestGitDirs finds what a session must be able to write for a commit: in the workspace,
// in a clone of its own, before that is there, and where there is no git.
func TestGitDirs(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	p := clone.places(resolved(t.TempDir()))
	gitDir, dir := resolved(filepath.Join(clone.dir, ".git")), filepath.Join(p.Root, string(own))
	check := func(name string, p Places, dir, wantOwn, wantCommon string) {
		t.Helper()
		got, common, _, err := p.GitDirs(t.Context(), dir)
		if err != nil || got != wantOwn || common != wantCommon {
			t.Errorf("%s: got %s and %s, %v; want %s and %s", name, got, common, err, wantOwn, wantCommon)
		}
	}
	check("workspace", p, clone.dir, gitDir, gitDir)
	check("clone to be", p, dir, filepath.Join(dir, ".git"), filepath.Join(dir, ".git"))
	made, leave, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
	must.Do(t, err)
	check("clone", p, made.Dir, filepath.Join(dir, ".git"), filepath.Join(dir, ".git"))
	if _, _, borrowed, err := p.GitDirs(t.Context(), made.Dir); err != nil || len(borrowed) != 1 || borrowed[0] != filepath.Join(gitDir, "objects") {
		t.Errorf("borrowed: %v, %v", borrowed, err)
	}
	if _, err := leave(t.Context()); err != nil {
		t.Error(err)
	}
	below := filepath.Join(clone.dir, "below")
	must.Do(t, os.Mkdir(below, 0o755))
	check("folder in the clone", p, below, gitDir, gitDir)
	// A file that a session plants in the clone's, so that git goes by another one, is gone.
	for _, name := range []string{"commondir", "gitdir"} {
		clone.write(".git/"+name, "../evil\n")
	}
	check("planted", p, clone.dir, gitDir, gitDir)
	for _, name := range []string{"commondir", "gitdir"} {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	empty := t.TempDir()
	check("no git", Places{Clone: cloneAt(empty)}, empty, filepath.Join(empty, ".git"), filepath.Join(empty, ".git"))
}

// counting returns what gives the processes of git that stint has started since. In a box each has bubblewrap and the helper before
// it.
func counting(t *testing.T, c *Clone) (processes func() int) {
	t.Helper()
	dir, walls, inside := t.TempDir(), c.Walls, 0
	count, program := filepath.Join(dir, "count"), must.Get(exec.LookPath("git"))(t)
	writeProgram(t, filepath.Join(dir, "git"), "#!/bin/sh\necho >>"+count+"\nexec "+program+" \"$@\"\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	c.Walls = func(ctx context.Context, dir string, read []string) ([]string, error) {
		inside++
		return walls(ctx, dir, read)
	}
	return func() (n int) {
		outside, _ := os.ReadFile(count)
		n, inside = len(outside)+3*inside, 0
		_ = os.Remove(count)
		return n
	}
}

// TestProcesses bounds what a session in a clone of its own costs, beside its agent: that is a process more, as is stint, and
// its box is two, which is tried once before there is a clone.
func TestProcesses(t *testing.T) { //nolint:paralleltest // it sets PATH
	for commits, most := range []int{18, 26} {
		_, clone := pair(t)
		p := clone.places(t.TempDir())
		p.Found = &sync.Map{}
		processes, files := counting(t, &p.Clone), clone.files(own)
		_, _, _, err := p.GitDirs(t.Context(), filepath.Join(p.Root, string(own)))
		must.Do(t, err)
		site, leave, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
		must.Do(t, err)
		n := processes() + 6
		if commits > 0 {
			clone.at(site.Dir).add("d", "d\n")
			processes()
		}
		work := must.Get(p.Work(t.Context(), site.Dir, files))(t)
		must.Get(leave(t.Context()))(t)
		must.Equal(t, "commits", work.Standing, commits)
		if n += processes(); n > most {
			t.Errorf("%d commits: %d processes, want at most %d", commits, n, most)
		}
	}
}

// TestSettingsOfNow has a long-lived process, and settings that change meanwhile: in the repository, in a file that it includes, and
// in one of the operator that was not there.
func TestSettingsOfNow(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	c := clone.clone()
	c.Found = &sync.Map{}
	home := t.TempDir()
	c.Environment = slices.DeleteFunc(c.Environment, func(pair string) bool { return strings.HasPrefix(pair, "GIT_CONFIG") })
	c.Environment = append(c.Environment, "HOME="+home, "XDG_CONFIG_HOME="+home)
	must.Do(t, os.Mkdir(filepath.Join(home, "git"), 0o700))
	clone.git("config", "include.path", "more")
	for _, path := range []string{filepath.Join(clone.dir, ".git/config"), filepath.Join(clone.dir, ".git/more"), filepath.Join(home, ".gitconfig"), filepath.Join(home, "git/config")} {
		for _, value := range []string{"one", "two"} {
			clone.git("config", "--file", path, "x.y", value)
			g, _, err := c.git(t.Context(), clone.dir)
			must.Do(t, err)
			must.Equal(t, path, g.value("x.y"), value)
			clone.git("config", "--file", path, "--unset", "x.y")
		}
	}
}

// TestRescueOfAPipe has a session leave a pipe where git in its clone reads a file: a fire says so once, and goes on.
func TestRescueOfAPipe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"packed-refs", "HEAD", "index", "refs/heads/x"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			_, clone := pair(t)
			p := clone.places(resolved(t.TempDir()))
			site, _, err := p.Enter(t.Context(), own, fleet.Place{Own: true})
			must.Do(t, err)
			clone.at(site.Dir).add("c", "c\n")
			pipe := filepath.Join(site.Dir, ".git", filepath.FromSlash(name))
			must.Do(t, errors.Join(os.RemoveAll(pipe), unix.Mkfifo(pipe, 0o600)))
			over := func(fleet.RunID) bool { return true }
			if err := p.Rescue(t.Context(), over); !errors.Is(err, errHangs) {
				t.Errorf("got %v", err)
			}
			must.Do(t, p.Rescue(t.Context(), over))
			if left := must.Get(p.Leftovers(t.Context()))(t)[own]; !strings.Contains(left, site.Dir) {
				t.Errorf("left: %q", left)
			}
		})
	}
}
