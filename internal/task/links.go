package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// notLinked is what to do about a link that is not followed.
const notLinked = "is a link, or reached by one: a session could have made it, so put the file or folder itself there"

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

// open opens a folder of task files. Below Top no link is followed on the way, and the path then
// leads to what was opened, whatever its name leads to by now.
func (f Folder) open(dir string) (opened, error) {
	below, err := filepath.Rel(f.Top, dir)
	if f.Top == "" || err != nil || !filepath.IsLocal(below) {
		return opened{path: dir}, nil
	}
	top, err := unix.Open(f.Top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return opened{}, &fs.PathError{Op: "open", Path: f.Top, Err: err}
	}
	defer func() { _ = unix.Close(top) }() // nothing was written by it
	fd, err := unix.Openat2(top, below, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	switch {
	case errors.Is(err, unix.ELOOP):
		return opened{}, newError(dir, 0, notLinked)
	case err != nil:
		return opened{}, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return opened{path: fmt.Sprintf("/proc/self/fd/%d", fd), at: os.NewFile(uintptr(fd), dir)}, nil
}

func (o opened) close() {
	if o.at != nil {
		o.at.Close()
	}
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
