package command

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// ExitError is a command that ran and ended by itself with a status other than 0.
type ExitError struct {
	Status int
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// waited is the error of a wait in words of this package.
func waited(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("ended by signal: %v", status.Signal())
	}
	return &ExitError{Status: exit.ExitCode()}
}
