package task

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"stint/internal/fleet"
)

const moveOut = "fix it or move it out of the folder"

// readAs reads at most one byte more than [newDocument] accepts, and what the file was when it was
// read. It opens what the name leads to, with further flags; errors call it by its path.
//
// Its errors are [errAbsent], [errIgnored] for a folder, and those of type *[fileError], as for a link
// with O_NOFOLLOW. It opens without blocking, so that a FIFO without a writer is refused.
func readAs(name string, flags int, path string) ([]byte, fs.FileInfo, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|flags, 0)
	switch {
	case flags&syscall.O_NOFOLLOW != 0 && errors.Is(err, syscall.ELOOP):
		return nil, nil, newError(path, 0, notLinked)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, nil, errAbsent
	case err != nil:
		return nil, nil, unreadable(path, err, moveOut)
	}
	defer file.Close() // Only read: nothing can be lost.
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, nil, unreadable(path, err, moveOut)
	case info.IsDir():
		return nil, nil, errIgnored
	case !info.Mode().IsRegular():
		return nil, nil, newError(path, 0, "not a regular file: move it out of the folder")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, nil, unreadable(path, err, moveOut)
	}
	return data, info, nil
}

// fileError is the error of a file that is not what it should be.
type fileError struct{ fleet.TaskProblem }

func (e *fileError) Error() string { return e.String() }

// newError names the path as it can be printed: quoted when it holds control
// characters or is not UTF-8.
func newError(path string, line int, format string, args ...any) *fileError {
	if strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		path = strconv.Quote(path)
	}
	return &fileError{fleet.TaskProblem{Path: path, Line: line, Reason: fmt.Sprintf(format, args...)}}
}

// unreadable is the problem of a file or folder that the operating system does not
// give out. It drops the path that the error repeats.
func unreadable(path string, err error, advice string) *fileError {
	if withPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = withPath.Err
	}
	return newError(path, 0, "unreadable: %v: %s", err, advice)
}
