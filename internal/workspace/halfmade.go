package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// completed writes what "git worktree add" had yet to write when it was killed, if a command failed for the
// want of it: the way from a worktree's data to the repository's. The file is there then, and empty, and
// whatever looks at worktrees fails in it, for everybody: "worktree add", "branch" and "fetch" among others. No
// command of git's repairs that. The worktree can be listed afterwards, and be removed with its run.
func (g git) completed(err error) bool {
	failed, ok := errors.AsType[*gitError](err)
	if !ok {
		return false
	}
	found := regexp.MustCompile(`failed to read (.*/worktrees/[^/]+/commondir): Success`).FindStringSubmatch(failed.said)
	if found == nil {
		return false
	}
	path := found[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.dir, path)
	}
	for _, dir := range g.kept {
		if strings.HasPrefix(resolved(filepath.Dir(path)), resolved(dir)+"/worktrees/") {
			return fill(path, "../..\n") == nil
		}
	}
	return false
}

// fill writes a file that is empty, and no link.
func fill(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > 0) {
		err = errors.New("it has something in it")
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Close())
}
