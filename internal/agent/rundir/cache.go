package rundir

import (
	"io/fs"
	"os"
	"strings"
)

// Repair makes the folder for caches, which all sessions share, usable again: a session that was killed, or that means harm, may
// leave what no other can read. Modes of files and folders without the owner's bits for reading get these. A link in the place of
// a tool's folder is removed, wherever it leads. What cannot be repaired stays: it is a cache, and the tool says what it misses.
//
// If we die in it, the next session goes on.
func Repair(cache string) {
	_ = os.Chmod(cache, 0o700) //nolint:gosec // a folder
	root, err := os.OpenRoot(cache)
	if err != nil {
		return
	}
	defer root.Close() //nolint:errcheck // nothing is written by it
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return nil //nolint:nilerr // what is gone meanwhile, or cannot be read all the same, stays
		}
		if d.Type()&fs.ModeSymlink != 0 && !strings.Contains(path, "/") {
			_ = root.Remove(path)
			return nil
		}
		least := fs.FileMode(0o400)
		if d.IsDir() {
			least = 0o500
		} else if !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode()&least != least {
			_ = root.Chmod(path, info.Mode().Perm()|least|0o200)
		}
		return nil
	})
}
