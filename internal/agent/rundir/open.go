package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// Open opens a file that an agent may have put something else in the place of. A link, a
// pipe that would be waited for, and a file with a second name are refused; so is a run's
// folder, or one in it, that is a link.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY, false) }

// Read reads the beginning of such a file, so many bytes at most.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// First is [Read] of text. A file that is not there is empty.
func First(path string, most int64) (string, error) {
	text, err := Read(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// Last reads the end of such a file, see [First].
func Last(path string, most int64) (string, error) {
	file, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-most), most))
	return string(text), err
}

// Make opens a run's own file for reading and writing, and makes it where it is not there
// yet. It refuses what [Open] refuses.
func Make(path string) (*os.File, error) { return open(path, os.O_RDWR, true) }

// MakeFolder makes a folder of a run, and those that it is in, unless they are there.
func MakeFolder(path string) error {
	dir, _, err := folderOf(filepath.Join(path, "in it"), true)
	if err != nil {
		return err
	}
	return dir.Close()
}

// FreshFolder makes a folder of a run with nothing in it, whatever was in its place, and says how
// to remove it.
func FreshFolder(path string) (remove func() error, err error) {
	remove = func() error {
		dir, name, err := folderOf(path, false)
		if err != nil {
			return err
		}
		defer dir.Close()
		root, err := os.OpenRoot(descriptor(dir))
		if err != nil {
			return err
		}
		defer root.Close() //nolint:errcheck // nothing is written by it
		return removeAll(root, name)
	}
	if err := remove(); err != nil {
		return nil, err
	}
	return remove, MakeFolder(path)
}

// Short is a path to an entry of a run's folder that is short enough for the address of a socket,
// however deep the state folder lies. It leads there until folder is closed.
func Short(path string) (short string, folder *os.File, err error) {
	folder, name, err := folderOf(path, false)
	if err != nil {
		return "", nil, err
	}
	return descriptor(folder) + "/" + name, folder, nil
}

func open(path string, how int, create bool) (*os.File, error) {
	dir, name, err := folderOf(path, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	at, err := openAt(dir, name, unix.O_PATH, path)
	if create && errors.Is(err, fs.ErrNotExist) {
		return openAt(dir, name, how|unix.O_CREAT|unix.O_EXCL, path)
	}
	if err != nil {
		return nil, err
	}
	// It is looked at before it is opened, by a descriptor that opens nothing: to open a pipe
	// waits for its writer. A second name may be one of a file that this process has open: to
	// close that once would drop the locks on it, and the store's are such.
	defer at.Close()
	info, err := at.Stat()
	if err == nil {
		err = refuse(info)
	}
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(descriptor(at), how|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// folderOf finds the folder that a file is in, by a descriptor that can be opened below, and
// the file's name in it. No folder of a run's files is reached through a link.
func folderOf(path string, create bool) (dir *os.File, name string, err error) {
	top, below := fleet.RunsAbove(path)
	if create {
		if err := os.MkdirAll(top, 0o700); err != nil {
			return nil, "", err
		}
	}
	fd, err := unix.Open(cmp.Or(top, "."), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", &fs.PathError{Op: "open", Path: top, Err: err}
	}
	dir = os.NewFile(uintptr(fd), top)
	folders := strings.Split(below, "/")
	for _, folder := range folders[:len(folders)-1] {
		here := filepath.Join(dir.Name(), folder)
		if create {
			err = unix.Mkdirat(int(dir.Fd()), folder, 0o700)
		}
		if !create || err == nil || errors.Is(err, fs.ErrExist) {
			var next *os.File
			if next, err = openAt(dir, folder, unix.O_PATH|unix.O_DIRECTORY, here); err == nil {
				dir.Close()
				dir = next
				continue
			}
		}
		dir.Close()
		if errors.Is(err, unix.ENOTDIR) {
			return nil, "", fmt.Errorf("%s: %w", here, refusal("not a folder"))
		}
		return nil, "", err
	}
	return dir, folders[len(folders)-1], nil
}

func openAt(dir *os.File, name string, how int, path string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, how|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// descriptor is a path that leads to what is open, whatever its name leads to by now.
func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// refusal says why a file is not opened: stint did not put it there.
type refusal string

func (r refusal) Error() string { return string(r) }

// refuse says why something is not to be read.
func refuse(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return refusal("not a regular file")
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
		return refusal("a file with more than one name")
	}
	return nil
}
