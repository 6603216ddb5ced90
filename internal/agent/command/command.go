// Package command runs a configured program to its end and hands back what it
// printed: an external selector, a task source. No shell sees
// its arguments, and it gets the environment it is given and no more.
//
// A command has a process group of its own, of which nothing is left when
// [Command.Output] returns. A process that moved to another group or session is not
// looked for: these programs are the operator's own. If we are killed outright, the
// command lives on to its own end, and writes to nobody.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

const (
	// defaultLimit holds a hundred thousand issues of a tracker, and stint can hold it several
	// times over.
	defaultLimit = 64 << 20
	// grace is the time between SIGTERM and SIGKILL of a command, and the time for
	// holders of its output after its end.
	grace = 2 * time.Second
)

// Command is a program to run.
type Command struct {
	Argv    []string      // the program, looked up in the PATH of Env, and its arguments
	Named   []string      // what it is called in errors; empty: as it is in Argv
	Dir     string        // where it runs, and what a relative program is relative to
	Env     []string      // all of its environment, as NAME=value
	Stdin   []byte        // empty: nothing to read
	Timeout time.Duration // after which it is stopped; zero: when the context ends
	Limit   int           // the most bytes it may print; zero: 64 MiB

	Cgroup *os.File // in which it starts; nil: this process's own

	Guard func(argv []string, dir string) error // refuses it; nil: nothing does
}

// Output runs the command and returns its standard output. The error names the
// command, says how it ended, and has the end of its standard error; for one that
// ran to an exit status other than 0 it is an [*ExitError].
//
// A command that ended well has printed what it had to: that another process still
// holds its output open costs time, and is no error.
func (c Command) Output(ctx context.Context) ([]byte, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("run command: no program")
	}
	output, err := c.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.name(), err)
	}
	return output, nil
}

var (
	errOverran = errors.New("the command overran its time")
	errFlooded = errors.New("the command printed too much")
)

func (c Command) run(ctx context.Context) ([]byte, error) {
	program, err := LookPath(c.Argv[0], c.Env)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(c.Dir); c.Dir != "" && err != nil {
		return nil, err // the kernel's own error would name the program
	}
	if c.Guard != nil {
		if err := c.Guard(c.Argv, c.Dir); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errOverran)
		defer cancel()
	}
	stdout := &capped{limit: c.limit(), flooded: func() { stop(errFlooded) }}
	var stderr tail
	cmd := exec.CommandContext(ctx, program)
	cmd.Args, cmd.Dir = c.Argv, c.Dir
	cmd.Env = append([]string{}, c.Env...) // Never nil, which would stand for this process's own.
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	if len(c.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(c.Cgroup.Fd())
	}
	cmd.WaitDelay = grace
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return nil, c.stopped(ctx, err)
	}
	err = cmd.Wait()
	// Processes that it left in its group end with it.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err == nil || cmd.ProcessState.Success() && errors.Is(err, exec.ErrWaitDelay) {
		return stdout.data, nil
	}
	err = c.stopped(ctx, waited(err))
	if said := stderr.String(); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return nil, err
}

func (c Command) limit() int {
	if c.Limit > 0 {
		return c.Limit
	}
	return defaultLimit
}

// stopped is err, or why the command was made to end.
func (c Command) stopped(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFlooded):
		return fmt.Errorf("stopped: it printed more than %d bytes", c.limit())
	case errors.Is(cause, errOverran):
		return fmt.Errorf("stopped: time-out after %v", c.Timeout)
	case cause != nil:
		return fmt.Errorf("stopped: %w", cause)
	}
	return err
}

// name is the command as a person may read it in one line.
func (c Command) name() string {
	const most = 120 // leaves room in a line for what went wrong
	argv := c.Named
	if len(argv) == 0 {
		argv = c.Argv
	}
	return plain.Short(plain.Line(strings.Join(argv, " ")), most)
}

// LookPath finds a program in the PATH that a process with this environment will have,
// which is not always this process's own. A relative entry there would run whatever the
// folder holds, and does not count.
func LookPath(name string, environment []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	path := fleet.Variable(environment, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fleet.WithHint(fmt.Errorf("not found in its PATH %s", firstFolder(path)), "install it, or name it by its path")
}

// firstFolder tells a PATH from others by its first folder, and says how many follow.
func firstFolder(path string) string {
	dirs := filepath.SplitList(path)
	if len(dirs) < 2 {
		return strconv.Quote(path)
	}
	return fmt.Sprintf("%q and %d more", dirs[0], len(dirs)-1)
}
