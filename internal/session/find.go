package session

import "stint/internal/command"

// Find looks for an agent's program in the PATH that the agent will have.
func (Runner) Find(program string, environment []string) error {
	_, err := command.LookPath(program, environment)
	return err
}
