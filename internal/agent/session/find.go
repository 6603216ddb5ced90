package session

import (
	"os"

	"stint/internal/agent/command"
	"stint/internal/agent/rundir"
)

// Find says whether an agent's program can be started where it will work, with the
// environment that it will have.
func (Runner) Find(program string, environment []string, dir string) error {
	_, err := command.Runnable(program, environment, dir)
	return err
}

// Open opens a file that a session left, see [rundir.Open].
func (Runner) Open(path string) (*os.File, error) { return rundir.Open(path) }
