package workspace

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// landing is the folder in which a command tries work on the target, one piece after the other. Between two pieces their checks
// run in it, which are the sessions' code. So git's part of it is written anew for each piece, with the index as it was before the
// check; and what is not the very file any more that git had put there is removed. The kernel says so by inode and time of change,
// which no process can set. Git in the box then writes the rest. Where a filter may have run, which can plant files while git
// works, and where anything fails, the folder is made anew.
type landing struct {
	of, target string // the branch that work is to get into, and the commit that it has by now; empty: not known
	sight             // of the refs that the folder has
	filters    bool   // may have run, which leave nothing that can be trusted
	commit     string // that it shows; empty: not known
	index      []byte
	indexed    time.Time          // when git has written that: it looks twice at files as young
	files      map[string]version // all that is in it, by path; nil: it is to be made anew
}

// landing is the folder of this process. The folder of another process is nobody's.
func (c Clone) landing() (k landing) {
	if c.Found != nil {
		known, _ := c.Found.Load(c.landingDir())
		k, _ = known.(landing)
	}
	return k
}

func (c Clone) note(k landing) {
	if c.Found != nil {
		c.Found.Store(c.landingDir(), k)
	}
}

// ready has the folder show a commit, and nothing else.
func (c Clone) ready(ctx context.Context, from source, s *fleet.Stacked, k *landing, start string) (err error) {
	own, same, anew := filepath.Join(s.Dir, ".git"), false, k.files == nil
	if anew {
		if err = c.Unstack(ctx); err == nil {
			k.sight, err = c.see(ctx, from.git, copied()...)
		}
		if err == nil {
			err = c.pin(ctx, from, k.sight, s.Dir, start)
		}
	} else if same, err = k.sweep(s.Dir); err == nil {
		err = removeAll(own)
	}
	if err != nil {
		return err
	}
	files, _, err := c.furnish(from, k.sight, s.Dir, "", start, ref{name: heads + s.Target, id: s.Base})
	if err != nil {
		return err
	}
	if k.filters, err = from.mayFilter(ctx, s.Base, s.Tip); err != nil {
		return err
	}
	machines, _ := readFile("/etc/gitattributes") // most have none
	named := regexp.MustCompile("filter|merge").MatchString(files["info/attributes"] + files[operatorAttributes] + string(machines))
	k.filters = k.filters || named && from.runsPrograms()
	if !anew {
		index := filepath.Join(own, "index")
		if err := errors.Join(os.WriteFile(index, k.index, 0o600), os.Chtimes(index, k.indexed, k.indexed)); err != nil {
			return err
		}
		if same && start == k.commit {
			return nil
		}
	}
	if err = c.fill(ctx, from, s.Dir); err == nil && anew {
		err = k.keep(s.Dir, start)
	}
	return err
}

// keep notes what is in the folder, for the next piece.
func (k *landing) keep(dir, commit string) error {
	if k.commit, k.files = commit, nil; k.filters {
		return nil
	}
	index := filepath.Join(dir, ".git", "index")
	info, err := os.Lstat(index)
	if err != nil {
		return err
	}
	k.indexed = info.ModTime()
	if k.index, err = readFile(index); err != nil || int64(len(k.index)) != info.Size() {
		return err
	}
	k.files = map[string]version{}
	return eachIn(dir, func(path string, _ bool) error {
		k.files[path] = itself(path)
		return nil
	})
}

// itself is the version of a file, or of a link; of a folder it is the inode and the mode.
func itself(path string) version {
	var stat unix.Stat_t
	_ = unix.Lstat(path, &stat) // zero: it is gone
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return version{inode: stat.Ino, mode: stat.Mode}
	}
	return version{inode: stat.Ino, changed: stat.Ctim}
}

// eachIn calls a function for all that is in a folder, without git's part. What a call has removed is not entered.
func eachIn(dir string, do func(path string, folder bool) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir && path != filepath.Join(dir, ".git") {
			err = do(path, d.IsDir())
		}
		if err == nil && d.IsDir() && (path == filepath.Join(dir, ".git") || !exists(path)) {
			err = filepath.SkipDir
		}
		return err
	})
}

// sweep removes from the folder what is not what was noted, and reports whether all of that is still there.
func (k *landing) sweep(dir string) (same bool, err error) {
	gone := maps.Clone(k.files)
	err = eachIn(dir, func(path string, folder bool) error {
		was, now := k.files[path], itself(path)
		if now.inode != was.inode || now.changed != was.changed {
			return removeAll(path)
		}
		if delete(gone, path); folder {
			_ = unix.Lremovexattr(path, "system.posix_acl_default") // which would be that of new files
			return os.Chmod(path, os.FileMode(was.mode)&fs.ModePerm)
		}
		return nil
	})
	return len(gone) == 0, err
}

// mayFilter reports whether files in some commit between two, or in these, name a filter or a way to merge, of which git has some.
func (g git) mayFilter(ctx context.Context, base, tip string) (bool, error) {
	if !g.runsPrograms() {
		return false, nil
	}
	commits, err := g.run(ctx, "rev-list", tip, "^"+base)
	if err != nil {
		return false, err
	}
	args := append([]string{"grep", "--quiet", "--no-textconv", "-e", "filter", "-e", "merge", base}, strings.Fields(commits)...)
	_, found, err := g.asks(ctx, append(args, "--", ":(glob)**/.gitattributes")...)
	return found, err
}

// runsPrograms reports whether git has programs that it would run for a file with some attribute, as it writes or merges it.
func (g git) runsPrograms() bool {
	return len(g.filters()) > 0 || slices.ContainsFunc(g.settings, func(s setting) bool {
		section, name := ends(s.key)
		return section == "merge" && name == "driver"
	})
}
