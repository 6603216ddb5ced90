package frontmatter

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"stint/internal/fleet"
)

// FileError is the error of a file that is not what it should be.
type FileError struct{ fleet.TaskProblem }

func (e *FileError) Error() string { return e.String() }

// NewError names the path as it can be printed: quoted when it holds control
// characters or is not UTF-8.
func NewError(path string, line int, format string, args ...any) *FileError {
	if strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		path = strconv.Quote(path)
	}
	return &FileError{fleet.TaskProblem{Path: path, Line: line, Reason: fmt.Sprintf(format, args...)}}
}

// Unreadable is the problem of a file or folder that the operating system does not
// give out. It drops the path that the error repeats.
func Unreadable(path string, err error, advice string) *FileError {
	if withPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = withPath.Err
	}
	return NewError(path, 0, "unreadable: %v: %s", err, advice)
}
