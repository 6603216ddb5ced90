package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxResult bounds what is read of a result file: it holds a handful of fields.
const maxResult = 1 << 20

// readResult reads the file an agent may have written, or says why it cannot be
// read. The agent chose what is at that path, so it may be no file at all.
func readResult(path string) (data []byte, spoilt string) {
	data, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		return nil, err.Error()
	}
	return data, ""
}

func readRegular(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err == nil && len(data) > maxResult {
		return nil, fmt.Errorf("more than %d bytes", maxResult)
	}
	return data, err
}

// Open opens a file that an agent may have put something else in the place of: a link, or a
// pipe that would be waited for, is refused.
func Open(path string) (*os.File, error) {
	// A hard link may lead to a file that this process has open: to close it once would
	// drop the locks on it, and the store's are such.
	if info, err := os.Lstat(path); err == nil && info.Sys().(*syscall.Stat_t).Nlink > 1 && info.Mode().IsRegular() {
		return nil, errors.New("a file with more than one name")
	}
	// Opening a FIFO would wait for a writer without O_NONBLOCK.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
