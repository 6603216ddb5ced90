package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/testkit/must"
)

// The stops of a crash: before and after each git command that stint runs, where git is
// done; and at each change of a ref, where git is in the middle, and dies with stint.
const (
	stopBefore = "before"
	stopAfter  = "after"
	stopWithin = "within"
)

// deadlyGit is a git, to be found first in PATH, of which the one that is number $STOP
// takes stint with it.
const deadlyGit = `#!/bin/sh
export PATH="$REAL"
echo >>"$COUNT"
[ "$(wc -l <"$COUNT")" -eq "$STOP" ] || exec git "$@"
[ "$ARM" = before ] || git "$@"
kill -9 $PPID $$
`

// hookedGit is a git that runs the hooks in $HOOKS, which stint would not have it do.
const hookedGit = `#!/bin/sh
export PATH="$REAL"
for word; do
	shift
	[ "$word" != core.hooksPath=/dev/null ] || word="core.hooksPath=$HOOKS"
	set -- "$@" "$word"
done
exec git "$@"
`

// deadlyHook takes stint and all of its git along, at the change of a ref that is number
// $STOP. Git has a process group of its own, whose leader stint started.
const deadlyHook = `
[ -n "$COUNT" ] || exit 0
echo >>"$COUNT"
[ "$(wc -l <"$COUNT")" -eq "$STOP" ] || exit 0
kill -9 "$(cat "$COUNT.pid")"
kill -9 0
`

// deadly is the environment of a child that is to crash.
func (g gitter) deadly(arm string, stop int) []string {
	g.t.Helper()
	dir := g.t.TempDir()
	env := []string{"ARM=" + arm, fmt.Sprintf("STOP=%d", stop), "COUNT=" + filepath.Join(dir, "count"), "REAL=" + os.Getenv("PATH")}
	program := deadlyGit
	if arm == stopWithin {
		program = hookedGit
		g.at(dir).hook("reference-transaction", deadlyHook)
	}
	// Git in a clone gets no such variable, and no stop: its box holds it.
	writeProgram(g.t, filepath.Join(dir, "git"), strings.Replace(program, "\n", "\nREAL='"+os.Getenv("PATH")+"'; COUNT=${COUNT:-/dev/null}\n", 1))
	return append(env, "PATH="+dir+":"+os.Getenv("PATH"), "HOOKS="+filepath.Join(dir, ".git/hooks"))
}

// crash runs the child until its stop, and reports whether it came to one.
func (g gitter) crash(arm string, stop int, mode, tree string) bool {
	g.t.Helper()
	cmd := g.child(mode, tree, g.deadly(arm, stop)...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		g.t.Fatalf("stop %s %d: %v: %s", arm, stop, err, out)
	}
	return true
}

// allStops asks for every stop; without it each arm takes every sixth, and begins with
// another one. All of them take a minute.
const allStops = "STINT_TEST_ALL_STOPS"

// everyStop does something once a stop, until there is none any more. Where a stop takes long, each arm takes fewer.
func everyStop(t *testing.T, do func(t *testing.T, clone gitter, arm string, stop int) (stopped bool), prepare func(origin, clone gitter), strides ...int) {
	t.Helper()
	const most = 100 // more than there are
	again := template(t, prepare)
	stride := 6
	if len(strides) > 0 {
		stride = strides[0]
	}
	if os.Getenv(allStops) != "" {
		stride = 1
	}
	for i, arm := range []string{stopBefore, stopAfter, stopWithin} {
		t.Run(arm, func(t *testing.T) {
			t.Parallel()
			for stop := 1 + i%stride; do(t, again(t), arm, stop); stop += stride {
				if t.Failed() {
					t.Fatalf("at stop %d", stop)
				}
				if stop > most {
					t.Fatalf("there is no end of stops")
				}
			}
		})
	}
}

// TestSyncSurvivesCrashes kills a sync wherever it can be cut; the next finds a clone in
// which it can do all of it.
func TestSyncSurvivesCrashes(t *testing.T) {
	t.Parallel()
	everyStop(t, func(t *testing.T, clone gitter, arm string, stop int) bool {
		t.Helper()
		stopped := clone.crash(arm, stop, "sync", "")
		mustSync(t, clone)
		want := "d c b a first|changed|new|c|"
		got := strings.ReplaceAll(clone.git("log", "--format=%s", "main"), "\n", " ") + "|" + clone.read("a") + "|" + clone.read("new") + "|" + clone.read("c") + "|" + clone.git("stash", "list")
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s %d: clone (-got +want):\n%s", arm, stop, diff)
		}
		if got := clone.git("symbolic-ref", "HEAD"); got != "refs/heads/main" {
			t.Errorf("%s %d: on %s, want main", arm, stop, got)
		}
		return stopped
	}, func(origin, clone gitter) {
		origin.add("c", "c")
		clone.add("d", "d")
		clone.write("a", "changed")
		clone.write("new", "new")
	})
}

// TestConflictSurvivesCrashes kills a sync that comes to a conflict; after the next the
// tree is as before the first.
func TestConflictSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(clone gitter){
		"of commits":     func(c gitter) { c.add("a", "mine\n"); c.write("b", "x\n"); c.git("add", "b"); c.write("b", "y\n") },
		"of uncommitted": func(c gitter) { c.add("d", "d"); c.write("a", "mine\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStop(t, func(t *testing.T, clone gitter, arm string, stop int) bool {
				t.Helper()
				before := clone.world()
				stopped := clone.crashOrFail(arm, stop)
				_, err := clone.clone().Sync(t.Context(), own)
				if conflict := (*ConflictError)(nil); !errors.As(err, &conflict) {
					t.Errorf("%s %d: got %v, want a conflict", arm, stop, err)
				}
				clone.mustBeTidy()
				if diff := cmp.Diff(strip(clone.world()), strip(before)); diff != "" {
					t.Errorf("%s %d: the tree is not what it was (-got +want):\n%s", arm, stop, diff)
				}
				return stopped
			}, func(origin, clone gitter) {
				origin.add("a", "theirs\n")
				prepare(clone)
			})
		})
	}
}

// crashOrFail is crash for a sync that cannot succeed.
func (g gitter) crashOrFail(arm string, stop int) bool {
	g.t.Helper()
	err := g.child("sync", "", g.deadly(arm, stop)...).Run()
	exit := (*exec.ExitError)(nil)
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// TestOwnCloneSurvivesCrashes kills the making and the homecoming of a clone; pruning
// leaves nothing of it, and the next one can be opened.
func TestOwnCloneSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"open", "close"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			everyStop(t, func(t *testing.T, clone gitter, arm string, stop int) bool {
				t.Helper()
				root := t.TempDir()
				dir := filepath.Join(root, string(own))
				if mode == "close" {
					w := must.Get(clone.clone().Open(t.Context(), own, dir))(t)
					tree := clone.at(w.Dir)
					tree.add("done", "done")
					tree.write("begun", "begun")
				}
				stopped := clone.crash(arm, stop, mode, dir)
				mustPrune(t, clone, root, Limits{Now: testTime(t), Keep: 1})
				if mode == "close" {
					if got := clone.git("ls-tree", "--name-only", "refs/stint/wip/"+string(own)); !strings.Contains(got, "begun") {
						t.Errorf("%s %d: what was uncommitted is gone: %s", arm, stop, got)
					}
					clone.git("update-ref", "-d", "refs/stint/wip/"+string(own))
					if got := clone.git("log", "-1", "--format=%s", "stint/bob/"+string(own)); got != "done" {
						t.Errorf("%s %d: the branch is at %q", arm, stop, got)
					}
					clone.git("branch", "-D", "stint/bob/"+string(own))
				}
				clone.mustHaveNo(root)
				if _, err := clone.clone().Open(t.Context(), own, dir); err != nil {
					t.Errorf("%s %d: %v", arm, stop, err)
				}
				return stopped
			}, func(_, _ gitter) {})
		})
	}
}

// TestReopenSurvivesCrashes kills the readying of an earlier run's folder, which is there with changes
// or gone. Nothing of the branch or of the changes is lost, and the next session can go on there.
func TestReopenSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		t.Run(map[bool]string{true: "gone", false: "there"}[gone], func(t *testing.T) {
			t.Parallel()
			everyStop(t, func(t *testing.T, clone gitter, arm string, stop int) bool {
				t.Helper()
				dir := filepath.Join(t.TempDir(), string(own))
				c := clone.clone()
				c.Root = filepath.Dir(dir)
				w := must.Get(c.Open(t.Context(), own, dir))(t)
				tree := clone.at(dir)
				tree.add("done", "done")
				tip := tree.git("rev-parse", "HEAD")
				if gone {
					must.Get(c.Close(t.Context(), w))(t)
				} else {
					tree.write("begun", "begun")
				}
				stopped := clone.crash(arm, stop, "reopen", dir)
				if gone {
					if got := clone.git("rev-parse", w.Branch); got != tip {
						t.Errorf("%s %d: the branch is at %s, want %s", arm, stop, got, tip)
					}
				}
				mustPrune(t, clone, c.Root, Limits{Now: testTime(t), Keep: 1})
				again, err := c.Reopen(t.Context(), neighbour, own, time.Time{})
				if err != nil || again.Dir != dir || again.Branch != w.Branch {
					t.Fatalf("%s %d: got %+v, %v", arm, stop, again, err)
				}
				if got := tree.git("symbolic-ref", "--short", "HEAD"); got != w.Branch || tree.read("done") != "done" {
					t.Errorf("%s %d: on %s, want %s", arm, stop, got, w.Branch)
				}
				want := ""
				if !gone {
					want = "?? begun"
				}
				if got := tree.git("status", "--porcelain"); got != want {
					t.Errorf("%s %d: status %q, want %q", arm, stop, got, want)
				}
				return stopped
			}, func(_, _ gitter) {})
		})
	}
}

// TestGitKeepsTheTurn kills stint alone, with a rebase under way: the next sync waits
// until git is done.
func TestGitKeepsTheTurn(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	origin.add("c", "c")
	clone.add("d", "d")
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	slow := clone.slow(fmt.Sprintf("echo begun >'%s'; read x <'%[1]s'; cat", fifo))
	cmd := clone.child("sync", "", slow, "COUNT="+filepath.Join(t.TempDir(), "count"))
	must.Do(t, cmd.Start())
	if _, err := os.ReadFile(fifo); err != nil { // begun
		t.Fatal(err)
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait()
	c := clone.clone()
	c.Patience = 200 * time.Millisecond
	if _, err := c.Sync(t.Context(), neighbour); err == nil || !strings.Contains(err.Error(), "run 0own has") {
		t.Errorf("got %v, want to be told whose turn it is", err)
	}
	must.Do(t, os.WriteFile(fifo, []byte("go on\n"), 0o600))
	mustSync(t, clone)
	if got := strings.Fields(clone.git("log", "--format=%s")); !cmp.Equal(got, []string{"d", "c", "b", "a", "first"}) {
		t.Errorf("got %v, want both lines of work", got)
	}
}
