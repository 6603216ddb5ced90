package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"

	"stint/internal/fleet"
)

// replaceFile puts a file in the place of an older one, whole or not at all, and of nothing
// else: a link, /dev/null or /dev/stdout would be gone for the whole machine.
//
// If we die in it, the old file is there, and beside it perhaps a temporary one.
func replaceFile(what, path string, text []byte, options ...renameio.Option) error {
	if err := onlyFile(what, path); err != nil {
		return err
	}
	options = append(options, renameio.WithTempDir(filepath.Dir(path)))
	if err := renameio.WriteFile(path, text, 0o644, options...); err != nil {
		return fileError(what, path, err)
	}
	return nil
}

func onlyFile(what, path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return usage(fileError(what, path, errors.New("there is something else than a file")))
	}
	return nil
}

// fileError names the file that was asked for, not the temporary one beside it.
func fileError(what, path string, err error) error {
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		err = cause
	}
	return fleet.WithHint(fmt.Errorf("write %s %s: %w", what, path, err), "name a file in a folder that can be written to")
}
