package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Detached starts workers as processes of their own session, for machines without
// a service manager. Nothing but the worker itself limits or watches them. Their output goes to
// workers.log in the state folder.
type Detached struct{ State string }

// Start starts every worker and returns one error a spec, nil where it started.
func (d Detached) Start(_ context.Context, specs []fleet.UnitSpec) []error {
	return plain.Each(specs, d.start)
}

func (d Detached) start(s fleet.UnitSpec) error {
	log, err := os.OpenFile(filepath.Join(d.State, "workers.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer log.Close()
	cmd := &exec.Cmd{
		Path: s.Argv[0], Args: s.Argv,
		// The worker needs what it may pass on to its agent.
		Env:    append(os.Environ(), s.Environment...),
		Stdout: log, Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	return cmd.Process.Release()
}
