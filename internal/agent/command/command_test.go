package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/agent/command"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// shell is a command that runs a script, with only what it needs to find programs.
func shell(t *testing.T, script string) command.Command {
	t.Helper()
	return command.Command{
		Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: time.Minute,
	}
}

// output returns the command's output.
func output(t *testing.T, c command.Command) string {
	t.Helper()
	got := must.Get(c.Output(t.Context()))(t)
	return string(got)
}

// refusal is the error of the command, in which FOLDER stands for where it runs.
func refusal(t *testing.T, c command.Command) string {
	t.Helper()
	got, err := c.Output(t.Context())
	if err == nil {
		t.Fatalf("got %q, want an error", got)
	}
	return strings.ReplaceAll(err.Error(), c.Dir, "FOLDER")
}

func TestOutput(t *testing.T) {
	t.Parallel()
	c := shell(t, `pwd; env | grep -v -e ^PATH= -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=; cat; printf '%s\n' "$0" "$@"`)
	c.Argv = append(c.Argv, "$HOME %n", "a b", "")
	c.Env = append(c.Env, "A=1 2", "B=$A")
	c.Stdin = []byte("in\n")
	must.Equal(t, "output", output(t, c), c.Dir+"\nA=1 2\nB=$A\nin\n$HOME %n\na b\n\n")
}

func TestOutputWithoutStdinReadsNothing(t *testing.T) {
	t.Parallel()
	if got := output(t, shell(t, "cat; echo end >&2; printf end")); got != "end" {
		t.Errorf("got %q, want what it printed to its output alone", got)
	}
}

func TestOutputOfOneThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c := shell(t, "echo done")
	c.Stdin = make([]byte, 1<<20)
	if got := output(t, c); got != "done\n" {
		t.Errorf("got %q, want done", got)
	}
}

func TestOutputFindsRelativePrograms(t *testing.T) {
	t.Parallel()
	c := shell(t, "")
	script := filepath.Join(c.Dir, "list")
	syscall.ForkLock.RLock() // a child that still had it open for writing would make it busy
	err := os.WriteFile(script, []byte("#!/bin/sh\necho listed\n"), 0o700)
	syscall.ForkLock.RUnlock()
	must.Do(t, err)
	c.Argv = []string{"./list"}
	if got := output(t, c); got != "listed\n" {
		t.Errorf("got %q, want the program in its folder", got)
	}
	c.Argv, c.Env = []string{"list"}, []string{"PATH=.:"}
	if got, want := refusal(t, c), `run list: not found in its PATH "." and 1 more`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutputErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*command.Command)
		want   string
	}{
		"status": {
			func(c *command.Command) { c.Argv[2] = "echo out; exit 7" },
			"run sh -c echo out; exit 7: exit status 7",
		},
		"last lines": {
			func(c *command.Command) {
				c.Argv = []string{"sh", "-c", `seq 2000 >&2; printf 'e\033[1m\302\205\n' >&2; exit 1`}
			},
			`run sh -c seq 2000 >&2; printf 'e\033[1m\302\205\n' >&2; exit 1: exit status 1: 1999 | 2000 | e�[1m�`,
		},
		"signal": {
			func(c *command.Command) { c.Argv[2] = "kill -SEGV $$" },
			"run sh -c kill -SEGV $$: ended by signal: segmentation fault",
		},
		"no program": {
			func(c *command.Command) { c.Argv = []string{"./none"} },
			"run ./none: fork/exec ./none: no such file or directory",
		},
		"none named": {
			func(c *command.Command) { c.Argv = nil },
			"run command: no program",
		},
		"not in its PATH": {
			func(c *command.Command) { c.Env = nil },
			`run sh -c : not found in its PATH ""`,
		},
		"no folder": {
			func(c *command.Command) { c.Dir = "/nowhere" },
			"run sh -c : stat FOLDER: no such file or directory",
		},
		"too much": {
			func(c *command.Command) { c.Argv[2], c.Limit = "trap '' PIPE; yes 2>&-", 1000 },
			"run sh -c trap '' PIPE; yes 2>&-: stopped: it printed more than 1000 bytes",
		},
		"long name": {
			func(c *command.Command) { c.Argv = []string{"sh", "-c", "exit 1 # " + strings.Repeat("é", 200)} },
			"run sh -c exit 1 # " + strings.Repeat("é", 120-16) + "…: exit status 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, "")
			test.change(&c)
			got := refusal(t, c)
			must.Equal(t, "error", got, test.want)
		})
	}
}

func TestOutputHints(t *testing.T) {
	t.Parallel()
	_, err := command.Command{Argv: []string{"bd"}}.Output(t.Context())
	if fleet.Hint(err) == "" {
		t.Errorf("%v: want a hint", err)
	}
}

func TestExitErrorHasTheStatus(t *testing.T) {
	t.Parallel()
	_, err := shell(t, "exit 3").Output(t.Context())
	var exit *command.ExitError
	if !errors.As(err, &exit) || exit.Status != 3 {
		t.Errorf("got %v, want exit status 3", err)
	}
}

func TestOutputEndsItsGroup(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, want string }{
		"obedient": {"sleep 300 & echo $! >pid; mv pid child; wait", "stopped: time-out after 3s"},
		"deaf":     {"trap '' TERM; sh -c 'trap \"\" TERM; sleep 300; sleep 300' & echo $! >pid; mv pid child; while :; do sleep 300; done", "stopped: time-out after 3s"},
		"failed":   {"sleep 300 >&- 2>&- & echo $! >child; exit 1", "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, test.script)
			if strings.HasPrefix(test.want, "stopped") {
				c.Timeout = 3 * time.Second
			}
			if got := refusal(t, c); !strings.HasSuffix(got, test.want) {
				t.Errorf("got %q, want it to end in %q", got, test.want)
			}
			wantGone(t, filepath.Join(c.Dir, "child"))
		})
	}
}

// wantGone waits until the process named in the file is gone, except for the zombie that its
// new parent has yet to collect.
func wantGone(t *testing.T, file string) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	pid := must.Get(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		<-tick.C
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d is left", pid)
}

func TestOutputOfOneThatLeavesItsOutputOpen(t *testing.T) {
	t.Parallel()
	c := shell(t, "sleep 300 & echo $! >child; echo done")
	if got := output(t, c); got != "done\n" {
		t.Errorf("got %q, want done", got)
	}
	wantGone(t, filepath.Join(c.Dir, "child"))
}

func TestOutputEndsWithItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("told to stop")
	for name, begun := range map[string]bool{"before": false, "during": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c := shell(t, "echo >ready; exec sleep 300")
			if begun {
				ready := filepath.Join(c.Dir, "ready")
				must.Do(t, syscall.Mkfifo(ready, 0o600))
				go func() {
					_, _ = os.ReadFile(ready) // once the command has begun
					cancel(why)
				}()
			} else {
				cancel(why)
			}
			if _, err := c.Output(ctx); !errors.Is(err, why) {
				t.Errorf("got %v, want %v", err, why)
			}
		})
	}
}
