package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// create writes a new file in dir under the first of the names that is free.
//
// If we die before the link, dir holds a dot-file, which no listing takes for a
// task; from the link on the task is there, complete, and a dot-file may stay
// beside it. A power cut gives one or the other, for the file is flushed before
// it is linked and the folder after.
func create(ctx context.Context, dir string, data []byte, names func(attempt int) (string, error)) (string, error) {
	file, err := pending(dir, data, renameio.WithPermissions(0o644))
	if err != nil {
		return "", err
	}
	defer file.Cleanup() // A file that it fails to remove is a dot-file.
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		name, err := names(attempt)
		if err != nil {
			return "", err
		}
		err = os.Link(file.Name(), filepath.Join(dir, name))
		if err == nil {
			return name, syncDir(dir)
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}

// replace puts data in the place of the file's old bytes, and errMoved when
// those are no longer what is there.
//
// If we die before the rename, the old file is there and a dot-file beside it;
// from the rename on, the new file. A power cut gives one or the other, for the
// new one is flushed before the rename. A hard link elsewhere keeps the old bytes.
func replace(path string, old, data []byte, perm fs.FileMode) (done bool, err error) {
	file, err := pending(filepath.Dir(path), data, renameio.WithStaticPermissions(perm))
	if err != nil {
		return false, err
	}
	defer file.Cleanup() // After the rename there is nothing left to remove.
	current, _, err := Folder{}.readFile(path)
	if err != nil {
		return false, err
	}
	if string(current) != string(old) {
		return false, errMoved
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return false, err
	}
	return true, syncDir(filepath.Dir(path))
}

// pending writes data to a dot-file in dir and flushes it. Its name is short
// whatever the file is to be called: a task's name may be as long as names can be.
func pending(dir string, data []byte, perm renameio.Option) (*renameio.PendingFile, error) {
	file, err := renameio.NewPendingFile(filepath.Join(dir, "stint-"), renameio.WithTempDir(dir), perm)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync()); err != nil {
		return nil, errors.Join(err, file.Cleanup())
	}
	return file, nil
}

// syncDir makes a file's name last through a power cut.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("flush folder: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("flush folder: %w", err)
	}
	return nil
}
