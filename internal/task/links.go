package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// notLinked names the remedy for a link that is not followed.
const notLinked = "is a link: a session could have made it, so put the file or folder itself there"

// TopOf is the [Folder.Top] for a folder of tasks: the workspace where the folder lies in it, as
// the path says or as the file system does, else empty. No link below the workspace is followed
// to find out: the first folder from above counts that is the workspace.
func TopOf(workspace, dir string) string {
	own, err := os.Stat(workspace)
	top := ""
	for path := dir; ; path = filepath.Dir(path) {
		info, statErr := os.Stat(path)
		if path == workspace || err == nil && statErr == nil && os.SameFile(own, info) {
			top = path
		}
		if path == filepath.Dir(path) {
			return top
		}
	}
}

// opened is a folder in which files are read and written.
type opened struct {
	path string   // leads to it
	at   *os.File // it, where links are not followed; nil: they are
}

// open opens a folder of task files. Below Top each name on the way is opened by itself and without
// following a link, and the path then leads to what was opened, whatever its name leads to by now. openat2 would do it in one
// call, but systemd refuses that to units with RestrictSUIDSGID, such as the fire's.
func (f Folder) open(dir string) (opened, error) {
	below, err := filepath.Rel(f.Top, dir)
	if f.Top == "" || err != nil || !filepath.IsLocal(below) {
		return opened{path: dir}, nil
	}
	fd, err := unix.Open(f.Top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return opened{}, &fs.PathError{Op: "open", Path: f.Top, Err: err}
	}
	here := f.Top
	for name := range strings.SplitSeq(below, "/") {
		here = filepath.Join(here, name)
		next, err := unix.Openat(fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			var s unix.Stat_t
			if unix.Fstatat(fd, name, &s, unix.AT_SYMLINK_NOFOLLOW) == nil && s.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = newError(here, 0, notLinked)
			} else {
				err = &fs.PathError{Op: "open", Path: here, Err: err}
			}
		}
		_ = unix.Close(fd) // nothing was written by it
		if err != nil {
			return opened{}, err
		}
		fd = next
	}
	return opened{path: fmt.Sprintf("/proc/self/fd/%d", fd), at: os.NewFile(uintptr(fd), dir)}, nil
}

func (o opened) close() {
	if o.at != nil {
		o.at.Close()
	}
}

// named is a failure to write below the folder with the path that people know, in place of the one that leads there.
func (o opened) named(err error, path string) error {
	if cause, is := errors.AsType[syscall.Errno](err); is && o.at != nil {
		return &fs.PathError{Op: "write", Path: path, Err: cause}
	}
	return err
}

// file leads to a file of the folder.
func (o opened) file(name string) string { return filepath.Join(o.path, name) }

// readFile is [readAs] of a file in a folder that is opened for it.
func (f Folder) readFile(path string) ([]byte, fs.FileInfo, error) {
	dir, err := f.open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errAbsent
	}
	if _, ok := errors.AsType[*fileError](err); err != nil && !ok {
		err = unreadable(path, err, "look at its folder")
	}
	if err != nil {
		return nil, nil, err
	}
	defer dir.close()
	how := 0
	if dir.at != nil {
		how = syscall.O_NOFOLLOW
	}
	return readAs(dir.file(filepath.Base(path)), how, path)
}
