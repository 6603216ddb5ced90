package frontmatter

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrAbsent is a file that does not exist.
	ErrAbsent = errors.New("no such file")
	// ErrFolder is a folder, or a link to one.
	ErrFolder = errors.New("a folder")
	// ErrLink is a link where none is followed.
	ErrLink = errors.New("a link")
)

const moveOut = "fix it or move it out of the folder"

// ReadFile reads at most one byte more than [Kind.Parse] accepts, and what the file
// was when it was read. Its errors are [ErrAbsent], [ErrFolder] and those of type
// *[FileError]. It opens without blocking, so that a FIFO without a writer is refused
// and not waited for.
func ReadFile(path string) ([]byte, fs.FileInfo, error) { return ReadAs(path, 0, path) }

// ReadAs is ReadFile of the file that a name leads to, opened with further flags. Errors call it
// by its path. With O_NOFOLLOW, a link is [ErrLink].
func ReadAs(name string, flags int, path string) ([]byte, fs.FileInfo, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|flags, 0)
	switch {
	case flags&syscall.O_NOFOLLOW != 0 && errors.Is(err, syscall.ELOOP):
		return nil, nil, ErrLink
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, nil, ErrAbsent
	case err != nil:
		return nil, nil, Unreadable(path, err, moveOut)
	}
	defer file.Close() // Only read: nothing can be lost.
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, nil, Unreadable(path, err, moveOut)
	case info.IsDir():
		return nil, nil, ErrFolder
	case !info.Mode().IsRegular():
		return nil, nil, NewError(path, 0, "not a regular file: move it out of the folder")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, nil, Unreadable(path, err, moveOut)
	}
	return data, info, nil
}
