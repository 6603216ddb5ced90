// Package session runs one agent process from its spec to its exit: a cgroup, a session
// and a process group of its own, an explicit environment, a log of bounded size, a deadline,
// a limit to its silence. When it returns, no process of the agent's cgroup is left. Without
// a service manager there is no cgroup. Then no descendant of the agent is left, as this
// process adopts orphans; but if this process is killed, they live on.
//
// Everybody is asked to end by SIGTERM first, once, and killed after the spec's grace:
// git, say, removes its lock files when it is asked, and leaves them when it is killed.
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

	"stint/internal/agent/command"
	"stint/internal/agent/rundir"
	"stint/internal/fleet"
)

// maxArgument is the kernel's limit for one argument (MAX_ARG_STRLEN), with its
// final NUL.
const maxArgument = 128<<10 - 1

// diskPoll is the time between two looks at a disk that is gone.
const diskPoll = 200 * time.Millisecond

// Why a session's context ends, other than by its caller's.
var (
	errOverran = errors.New("the agent overran its time")
	errSilent  = errors.New("the agent printed nothing for too long")
)

// Runner runs agents on this machine.
type Runner struct {
	// Stint is this program, which is the first in a box to run.
	Stint string
	// Known receives the layers that held in a trial. Nil: they are not noted.
	Known *atomic.Pointer[fleet.BoxLayers]
	// Scopes gives a session by hand a cgroup. Where it does not, or is nil, this process becomes the
	// reaper of its descendants for the rest of its life. Then it may run one session at a time, and
	// start no other process that leaves its session meanwhile: it would be ended with the agent.
	Scopes Scopes
}

// Run starts the agent, waits for it, and says how it ended. Cancelling ctx asks
// the session to end and kills it after the spec's grace. An error means that the
// session could not be prepared.
func (r Runner) Run(ctx context.Context, s fleet.SessionSpec) (fleet.SessionExit, error) {
	rundir.Repair(s.Files.Cache)
	if err := errors.Join(furnish(s.Files), writePrompt(s.Files.Prompt, s.Prompt)); err != nil {
		return fleet.SessionExit{}, err
	}
	log, err := openLog(s.Files.Log, s.LogLimit)
	if err != nil {
		return fleet.SessionExit{}, err
	}
	defer log.file.Close()
	cmd, err := prepare(s)
	if err != nil {
		return fleet.SessionExit{End: fleet.NoProcess, Detail: err.Error()}, nil
	}
	if s.PromptMode == fleet.PromptStdin {
		// A file and no pipe: one that does not read it holds up nobody.
		stdin, err := rundir.Open(s.Files.Prompt)
		if err != nil {
			return fleet.SessionExit{}, err
		}
		defer stdin.Close()
		cmd.Stdin = stdin
	}
	own, err := r.contain(ctx, s.Run, s.Unit)
	var group cgroup
	if err != nil {
		err = adopt()
	} else {
		group = own.below("agent")
		var at *os.File
		if at, err = group.begin(); err == nil {
			defer at.Close()
			cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(at.Fd())
		}
	}
	if err == nil {
		// If we die after this, whoever looks for what is left looks into the cgroup.
		err = trace{group: own}.write(s.Files.Trace)
	}
	if err != nil {
		return fleet.SessionExit{}, err
	}
	killed := oomKills()
	exit, err := r.run(ctx, cmd, s, log, group)
	exit.OOM = oomKills() - killed
	awaitDisk(ctx, s)
	exit.Result, exit.Spoilt = readResult(s.Files.Result)
	return exit, err
}

// awaitDisk waits while the folder of all runs is gone, as it is where its disk is not mounted: the session's result, log and
// clone are on it. The wait ends with ctx, or after the time that a session may take. If we die in it, the run is open, and the next
// reaping closes it as abandoned.
func awaitDisk(ctx context.Context, s fleet.SessionSpec) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	tick := time.NewTicker(diskPoll)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Dir(s.Files.Dir)); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// furnish makes what the agent finds. The run's folder may be there before its session, and
// another agent may have known its name.
func furnish(files fleet.RunFiles) error {
	if err := errors.Join(rundir.MakeFolder(files.Out), rundir.MakeFolder(files.Tmp), os.MkdirAll(files.Cache, 0o700)); err != nil {
		return err
	}
	prompt, err := rundir.Make(files.Prompt)
	if err != nil {
		return err
	}
	return prompt.Close()
}

func writePrompt(path, text string) error {
	prompt, err := rundir.Make(path)
	if err != nil {
		return err
	}
	_, err = prompt.WriteString(text)
	return errors.Join(err, prompt.Truncate(int64(len(text))), prompt.Close())
}

// prepare builds the process from the spec.
func prepare(s fleet.SessionSpec) (*exec.Cmd, error) {
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
	if _, err := os.Stat(s.Dir); err != nil {
		return nil, err // the kernel's own error would name the program
	}
	program, err := command.Runnable(argv[0], s.Environment, s.Dir)
	if err != nil {
		if !errors.As(err, new(*command.InterpreterError)) { // which names it
			err = fmt.Errorf("%q: %w", argv[0], err)
		}
		return nil, err
	}
	return &exec.Cmd{
		Path: program, Args: argv, Dir: s.Dir,
		// Never nil, which would stand for this process's own.
		Env:         append([]string{}, s.Environment...),
		ExtraFiles:  []*os.File{s.Alive},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, nil
}

// run starts cmd, stops its processes when ctx ends, time is up or it fell silent, and
// returns when nobody of it is left.
func (r Runner) run(ctx context.Context, cmd *exec.Cmd, s fleet.SessionSpec, log *cappedLog, group cgroup) (fleet.SessionExit, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, errOverran)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return fleet.SessionExit{End: fleet.Stopped}, nil
	}
	out, err := newOutput(log, s)
	if err != nil {
		return fleet.SessionExit{}, err
	}
	cmd.Stdout, cmd.Stderr = out.write, out.write
	p, err := newPeer(cmd, out, s.PromptMode)
	if err != nil {
		return fleet.SessionExit{}, err
	}
	if s.Box.Open() {
		err = cmd.Start()
	} else { // a trial is not left half-way: a session that is to stop stops its agent
		err = r.begin(context.WithoutCancel(ctx), cmd, s, out.write)
	}
	p.follow(s)
	if err != nil {
		p.finish(true)
		out.follow()
		out.finish()
		if ctx.Err() != nil {
			return fleet.SessionExit{End: fleet.Stopped}, nil
		}
		return fleet.SessionExit{End: fleet.NoProcess, Detail: err.Error()}, nil
	}
	if s.Silence > 0 {
		silence := time.AfterFunc(s.Silence, func() { stop(errSilent) })
		defer silence.Stop()
		out.heard = func() { silence.Reset(s.Silence) }
	}
	out.follow()
	if group == "" {
		// If we die before this, nobody can end the agent. The lock that it inherited shows that it lives.
		agent, _ := readProcess(cmd.Process.Pid)
		if err := (trace{agent: cmd.Process.Pid, start: agent.start}).write(s.Files.Trace); err != nil {
			out.fault = err
		}
	}
	exit := tree{leader: cmd.Process.Pid, ended: gone(cmd.Process.Pid), group: group}.await(ctx, cmd, s, p)
	exit.Output = out.finish()
	return unboxed(s.Box, exit), nil
}

// await waits until the agent has ended, by itself, because ctx did, or because it has nothing more to say, and then until
// its process tree has.
func (t tree) await(ctx context.Context, cmd *exec.Cmd, s fleet.SessionSpec, p *peer) fleet.SessionExit {
	stopReaping := t.keepReaping()
	stopped, asked := false, false
	select {
	case <-t.ended:
	case <-p.over:
		p.finish(false)
		select {
		case <-t.ended:
		case <-time.After(partTime):
			asked = true
		}
	case <-ctx.Done():
		stopped, asked = true, true
		p.cancel(min(partTime, s.Grace))
	}
	over := time.After(s.Grace)
	if asked {
		t.askAgent()
		t.ask()
		select {
		case <-t.ended:
		case <-over:
			over = time.After(0)
		}
	}
	stopReaping()
	left := t.end(asked, over)
	p.finish(true)
	exit := p.exit(exitOf(cmd, t.ended), asked)
	if stopped {
		exit = stoppedBy(context.Cause(ctx), s)
	}
	exit.Left = left
	return exit
}

// stoppedBy is the exit of an agent that stint stopped.
func stoppedBy(cause error, s fleet.SessionSpec) fleet.SessionExit {
	switch {
	case errors.Is(cause, errOverran):
		return fleet.SessionExit{End: fleet.Overran}
	case errors.Is(cause, errSilent):
		return fleet.SessionExit{End: fleet.Overran, Detail: fmt.Sprintf("it printed nothing for %v", s.Silence)}
	}
	return fleet.SessionExit{End: fleet.Stopped}
}

// exitOf reaps the agent, unless not even SIGKILL ended it.
func exitOf(cmd *exec.Cmd, ended <-chan struct{}) fleet.SessionExit {
	select {
	case <-ended:
	case <-time.After(deathTime):
		return fleet.SessionExit{End: fleet.Killed, Detail: "it cannot be killed"}
	}
	err := cmd.Wait()
	state := cmd.ProcessState
	if state == nil {
		return fleet.SessionExit{End: fleet.Killed, Detail: err.Error()}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fleet.SessionExit{End: fleet.Killed, Detail: status.Signal().String()}
	}
	return fleet.SessionExit{End: fleet.Exited, Status: state.ExitCode()}
}
