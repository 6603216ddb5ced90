package command

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"unicode"
)

// ExitError is a command that ran and ended by itself with a status other than 0.
type ExitError struct {
	Status int
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// plain is the error of a wait in words of this package.
func plain(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("ended by signal: %v", status.Signal())
	}
	return &ExitError{Status: exit.ExitCode()}
}

// withStderr adds what the command said last.
func withStderr(err error, said string) error {
	if said == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, said)
}

// Printable is s in one line with nothing in it that a terminal would obey.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
