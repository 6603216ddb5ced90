package session

import (
	"os"

	"stint/internal/command"
)

// Find looks for an agent's program in the PATH that the agent will have.
func (Runner) Find(program string, environment []string) error {
	_, err := command.LookPath(program, environment)
	return err
}

// Open opens a file that a session left, see [Open].
func (Runner) Open(path string) (*os.File, error) { return Open(path) }
