package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stint/internal/testkit/must"
)

// landStops are the stops on the way of work into the target, and publishStops those on its way
// to a forge.
func landStops() []string {
	return []string{
		"TargetBranch.Landings", "TargetBranch.Stack", "Graders.Check", "Store.SaveReview checked", "TargetBranch.Advance", "Store.SaveReview landed",
		"Store.Take", "Sources.SetState", "Store.LeaveTask", "Store.Release", "TargetBranch.Drop", "TargetBranch.Unstack", "TargetBranch.PushTarget",
	}
}

func publishStops() []string {
	return []string{"TargetBranch.Push", "Hook.Ask", "Store.SaveReview published"}
}

const crashLandConfig = `fleet = "crash"
state = %STATE%
[agent.sh]
box = "open"
command = ["sh", "-c", "echo new >base; git commit -q -a -m work"]
[category.code]
workspace = "clone"
[review]
check = ["grep", "-qx", "new", "base"]
publish = ["./request", "{branch}"]
push = true
`

// crashForge opens a request for a branch once, as "gh pr create" does, and else prints the address of the
// one that there is.
const crashForge = `#!/bin/sh
grep -qx "$1" forge 2>/dev/null || echo "$1" >>forge
echo Opening a request.
echo "https://forge.example/$1"
`

// newCrashItem is a fleet with the work of one run in review.
func newCrashItem(t *testing.T) (f *crashFleet, run string) {
	t.Helper()
	f = newCrashFleet(t)
	f.write("stint.toml", strings.Replace(crashLandConfig, "%STATE%", `"`+filepath.Join(f.dir, "state")+`"`, 1))
	f.write(".gitconfig", "[user]\n\tname = t\n\temail = t@example.org\n")
	f.write("base", "old\n")
	f.write("request", crashForge)
	must.Do(t, os.Chmod(filepath.Join(f.dir, "request"), 0o700))
	f.git("init", "-q", "-b", "main")
	f.git("add", "base", "tasks")
	f.git("commit", "-q", "-m", "begin")
	f.git("init", "-q", "--bare", "remote.git")
	f.git("remote", "add", "origin", "remote.git")
	f.exits(0, "run", "--category", "code", "--task", "fix")
	branch := f.git("branch", "--list", "--format=%(refname:short)", "stint/*")
	return f, filepath.Base(branch)
}

func (f *crashFleet) git(args ...string) string {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), "git", append([]string{"-C", f.dir}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+f.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// mayDie runs a command that is killed if it comes to the stop.
func (f *crashFleet) mayDie(at string, command ...string) {
	f.Helper()
	cmd, stderr := f.command(command...)
	cmd.Env = append(cmd.Env, crashStop+"="+at)
	err := cmd.Run()
	exit := (*exec.ExitError)(nil)
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		f.Errorf("stint %s: %v\n%s", strings.Join(command, " "), err, stderr)
	}
}

// TestCrashLand kills a landing before and after each step, and its repetition once more. The
// target has none or all of the work, and the next call does the rest.
func TestCrashLand(t *testing.T) {
	t.Parallel()
	for _, stop := range landStops() {
		for _, when := range []string{"before", "after"} {
			t.Run(when+" "+stop, func(t *testing.T) {
				t.Parallel()
				f, run := newCrashItem(t)
				before := f.git("rev-parse", "main")
				land := []string{"review", "land", run}
				f.dies(when+" "+stop, land...)
				for range 2 {
					if got := f.git("log", "--format=%s", before+"..main", "--", "base"); got != "" && got != "work" {
						t.Errorf("main has, half way, %q", got)
					}
					f.exits(0, "status")
					f.exits(0, "review", "--all")
					f.exits(0, "audit")
					f.mayDie(when+" "+stop, land...)
				}
				f.exits(0, land...)
				f.exits(0, "reap")
				if got := f.git("log", "--format=%s", before+"..main", "--", "base"); got != "work" {
					t.Errorf("main has %q", got)
				}
				if got := f.git("--git-dir", "remote.git", "rev-parse", "main"); got != f.git("rev-parse", "main") {
					t.Errorf("the remote has %s", got)
				}
				if got := f.git("status", "--porcelain", "--untracked-files=no") + f.git("stash", "list"); got != "M tasks/fix.md" {
					t.Errorf("changes: %q", got)
				}
				if got := f.git("branch", "--list", "stint/*") + f.git("worktree", "list"); strings.Contains(got, run) || strings.Contains(got, "landing") {
					t.Errorf("left: %s", got)
				}
				if text, err := os.ReadFile(filepath.Join(f.dir, "tasks/fix.md")); err != nil || !strings.Contains(string(text), "state: done") {
					t.Errorf("task: %s, %v", text, err)
				}
				f.wantsRow("select decision from reviews where decision <> ''", "landed")
			})
		}
	}
}

// TestCrashPublish kills a publication likewise: there is one request, and its address is on record.
func TestCrashPublish(t *testing.T) {
	t.Parallel()
	for _, stop := range publishStops() {
		for _, when := range []string{"before", "after"} {
			t.Run(when+" "+stop, func(t *testing.T) {
				t.Parallel()
				f, run := newCrashItem(t)
				publish := []string{"review", "publish", run}
				f.dies(when+" "+stop, publish...)
				f.exits(0, "review", "--all")
				f.mayDie(when+" "+stop, publish...)
				f.exits(0, publish...)
				branch := f.git("branch", "--list", "--format=%(refname:short)", "stint/*")
				if got, want := f.git("--git-dir", "remote.git", "rev-parse", branch), f.git("rev-parse", branch); got != want {
					t.Errorf("the remote has %s, want %s", got, want)
				}
				if text, err := os.ReadFile(filepath.Join(f.dir, "forge")); err != nil || string(text) != branch+"\n" {
					t.Errorf("requests: %q, %v", text, err)
				}
				f.wantsRow("select decision || ' ' || url from reviews where decision <> ''", "published https://forge.example/"+branch)
			})
		}
	}
}

func (f *crashFleet) wantsRow(query, want string) {
	f.Helper()
	if got := f.rows(query); len(got) != 1 || got[0] != want {
		f.Errorf("%s: got %q, want %q", query, got, want)
	}
}
