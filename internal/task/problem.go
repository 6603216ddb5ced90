package task

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"stint/internal/fleet"
)

// problem is the error of a file that is not a task.
type problem struct{ fleet.TaskProblem }

func (p *problem) Error() string { return p.String() }

// newProblem names the path as it can be printed: quoted when it holds control
// characters or is not UTF-8.
func newProblem(path string, line int, format string, args ...any) *problem {
	if strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		path = strconv.Quote(path)
	}
	return &problem{fleet.TaskProblem{Path: path, Line: line, Reason: fmt.Sprintf(format, args...)}}
}

// unreadable drops the path that the operating system's error repeats.
func unreadable(path string, err error) *problem {
	var withPath *fs.PathError
	if errors.As(err, &withPath) {
		err = withPath.Err
	}
	return newProblem(path, 0, "unreadable: %v: mend it or move it out of the folder", err)
}
