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

// replaceFile puts a file that all users may read in the place of an older one, whole or not at all, and of nothing
// else: a link, /dev/null or /dev/stdout would be gone for the whole machine. The error names the file that was asked for.
//
// If we die in it, the old file is there, and beside it perhaps a temporary one.
func replaceFile(what, path string, text []byte) error {
	failed := func(err error) error {
		return fleet.WithHint(fmt.Errorf("write %s %s: %w", what, path, err), "name a file in a folder that can be written to")
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return usage(failed(errors.New("there is something else than a file")))
	}
	err := renameio.WriteFile(path, text, 0o644, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o644))
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		err = cause
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
