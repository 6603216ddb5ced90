package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// writing reports whether a command of git's changes what git keeps of the repository.
func writing(args []string) bool {
	switch args[0] {
	case "commit", "fetch", "merge", "push", "read-tree", "rebase", "reset", "stash", "update-index", "update-ref":
		return true
	case "diff": // refreshes the index, whatever GIT_OPTIONAL_LOCKS says
		return true
	case "worktree":
		return args[1] != "list"
	case "symbolic-ref":
		return slices.Contains(args, "-m")
	}
	return false
}

// unlinked refuses to have git write where a link leads out of its folders: git truncates, appends
// to or replaces the file at the end of most links, and a session can make one to any file of the
// operator's. It looks at the files that git writes at the top of its folders, and at all logs.
func (g git) unlinked() error {
	for _, dir := range g.kept {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // git reports that itself
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			info, err := os.Stat(path)
			whole := err == nil && info.IsDir() && !slices.Contains([]string{"logs", "refs", "worktrees"}, e.Name())
			if e.Type()&fs.ModeSymlink == 0 || whole {
				continue // a folder of objects, hooks or the like may be elsewhere
			}
			if err := g.inside(path); err != nil {
				return err
			}
		}
		err = filepath.WalkDir(filepath.Join(dir, "logs"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				return g.inside(path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inside refuses a link that leads out of git's folders, also to a file that is not there yet.
func (g git) inside(link string) error {
	target := resolved(link)
	if target == link { // it leads nowhere
		to, err := os.Readlink(link)
		if err != nil {
			return nil //nolint:nilerr // the link is gone
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		target = resolvedFile(to)
	}
	info, err := os.Lstat(target)
	chained := err == nil && info.Mode()&fs.ModeSymlink != 0 // leads nowhere by another link, which may lead out
	for _, dir := range g.kept {
		if strings.HasPrefix(target, resolved(dir)+"/") && !chained {
			return nil
		}
	}
	return fleet.WithHint(fmt.Errorf("%s is a link to %s, out of git's folder, and git would write there", link, target),
		"remove the link: rm "+fleet.ShellWord(link))
}
