// Package session runs one agent process from its spec to its exit: an own
// process group, an explicit environment, a log file, a deadline. When it returns,
// no process of the group is left, nor any other that carries the run's id in its
// environment, whatever group, session or parent it moved to.
//
// Nothing that a task or a config contains is seen by a shell here: arguments and
// environment are handed to the kernel as they are.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"stint/internal/fleet"
)

// maxArgument is the kernel's limit for one argument (MAX_ARG_STRLEN), with its
// final NUL.
const maxArgument = 128<<10 - 1

// errOverran is the cause of a context whose deadline passed.
var errOverran = errors.New("the agent overran its time")

// Runner runs agents on this machine.
type Runner struct{}

// Run starts the agent, waits for it, and says how it ended. Cancelling ctx asks
// the agent's process group to end and kills it after the spec's grace. An error
// means that the session's files could not be prepared.
func (Runner) Run(ctx context.Context, s fleet.SessionSpec) (fleet.SessionExit, error) {
	if err := os.WriteFile(s.Files.Prompt, []byte(s.Prompt), 0o600); err != nil {
		return fleet.SessionExit{}, err
	}
	log, err := os.OpenFile(s.Files.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fleet.SessionExit{}, err
	}
	defer log.Close()
	cmd, err := command(s)
	if err != nil {
		return fleet.SessionExit{End: fleet.NoProcess, Detail: err.Error()}, nil
	}
	// The agent writes to the file itself: no pipe to fill or to wait for.
	cmd.Stdout, cmd.Stderr = log, log
	if s.PromptMode == fleet.PromptStdin {
		stdin, err := os.Open(s.Files.Prompt)
		if err != nil {
			return fleet.SessionExit{}, err
		}
		defer stdin.Close()
		cmd.Stdin = stdin
	}
	exit := run(ctx, cmd, s)
	exit.Left = Sweep(s.Run)
	exit.Result, exit.Spoilt = readResult(s.Files.Result)
	return exit, nil
}

// command builds the process from the spec.
func command(s fleet.SessionSpec) (*exec.Cmd, error) {
	argv := s.Argv
	if s.PromptMode == fleet.PromptArgument {
		switch {
		case len(s.Prompt) > maxArgument:
			return nil, fmt.Errorf("the prompt is %d bytes; an argument holds at most %d", len(s.Prompt), maxArgument)
		case strings.ContainsRune(s.Prompt, 0):
			return nil, errors.New("the prompt holds a NUL byte, which no argument can")
		}
		argv = append(argv[:len(argv):len(argv)], s.Prompt)
	}
	program, err := lookPath(argv[0], s.Environment)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.Dir); err != nil {
		return nil, err // the kernel's own error would name the program
	}
	return &exec.Cmd{
		Path: program, Args: argv, Dir: s.Dir,
		// Never nil, which would stand for this process's own.
		Env:         append([]string{}, s.Environment...),
		ExtraFiles:  []*os.File{s.Alive},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, nil
}

// lookPath finds a program in the PATH that the agent will have, which is not
// always this process's own.
func lookPath(name string, environment []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	path := ""
	for _, e := range environment {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // a relative entry would run whatever the workspace holds
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%q is not in the agent's PATH %q", name, path)
}

// run starts cmd, stops its group when ctx ends or time is up, and waits.
func run(ctx context.Context, cmd *exec.Cmd, s fleet.SessionSpec) fleet.SessionExit {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, errOverran)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return fleet.SessionExit{End: fleet.Stopped}
	}
	if err := cmd.Start(); err != nil {
		return fleet.SessionExit{End: fleet.NoProcess, Detail: err.Error()}
	}
	group := -cmd.Process.Pid
	var stopped atomic.Bool
	gone := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		stopped.Store(true)
		_ = syscall.Kill(group, syscall.SIGTERM)
		select {
		case <-gone:
		case <-time.After(s.Grace):
			_ = syscall.Kill(group, syscall.SIGKILL)
		}
	})
	err := cmd.Wait()
	close(gone)
	unwatch()
	// Whatever the agent left in its group ends with it.
	_ = syscall.Kill(group, syscall.SIGKILL)
	if stopped.Load() {
		if errors.Is(context.Cause(ctx), errOverran) {
			return fleet.SessionExit{End: fleet.Overran}
		}
		return fleet.SessionExit{End: fleet.Stopped}
	}
	return exitOf(cmd.ProcessState, err)
}

func exitOf(state *os.ProcessState, err error) fleet.SessionExit {
	if state == nil {
		return fleet.SessionExit{End: fleet.Killed, Detail: err.Error()}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fleet.SessionExit{End: fleet.Killed, Detail: status.Signal().String()}
	}
	return fleet.SessionExit{End: fleet.Exited, Status: state.ExitCode()}
}
