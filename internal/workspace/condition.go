package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Condition is the state of a workspace before anybody works in it.
type Condition struct {
	Repository bool      // it is in a work tree of git; else nothing else is known
	Midway     string    // what was begun and has not ended: rebase, merge, …; empty: nothing
	Changed    int       // tracked files with changes that are not committed
	Untracked  int       // files and folders that git knows nothing of
	Lock       string    // the lock of the index, if there is one
	LockedAt   time.Time // when it was made
}

// Condition looks at the workspace and changes nothing in it, not even what git remembers
// of its files.
func (c Clone) Condition(ctx context.Context) (Condition, error) {
	g, l, err := c.git(ctx, string(c.Dir))
	if errors.Is(err, errNoRepository) {
		return Condition{}, nil
	}
	if err != nil {
		return Condition{}, fmt.Errorf("look at workspace %s: %w", c.Dir, err)
	}
	status, err := g.run(ctx, "status", "--porcelain", "-z", "--ignore-submodules=dirty")
	if err != nil {
		return Condition{}, fmt.Errorf("look at workspace %s: %w", c.Dir, err)
	}
	state := Condition{Repository: true, Midway: midway(l.gitDir)}
	state.Changed, state.Untracked = countStatus(status)
	lock := filepath.Join(l.gitDir, "index.lock")
	info, err := os.Stat(lock)
	switch {
	case err == nil:
		state.Lock, state.LockedAt = lock, info.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return Condition{}, fmt.Errorf("look at workspace %s: %w", c.Dir, err)
	}
	return state, nil
}

// bisection is the word of [midway] for a bisection.
const bisection = "bisect"

// midway names the operation that git has begun in a work tree and not ended.
func midway(gitDir string) string {
	for _, sign := range [][2]string{
		{"rebase-merge", "rebase"}, // first: a rebase leaves signs of what it does on the way
		{"rebase-apply/applying", "git am"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", bisection},
	} {
		if exists(filepath.Join(gitDir, sign[0])) {
			return sign[1]
		}
	}
	return ""
}

// ending is how a person ends what is under way in a work tree, in a word of [midway].
func ending(what, dir string) string {
	command := "git -C " + fleet.ShellWord(dir) + " " + strings.TrimPrefix(what, "git ")
	if what == bisection {
		return command + " reset"
	}
	return command + " --continue, or " + command + " --abort"
}

// countStatus counts in what git status --porcelain -z prints: XY, a space and a path,
// and after a rename the path it had before.
func countStatus(status string) (changed, untracked int) {
	entries := strings.Split(strings.TrimSuffix(status, "\x00"), "\x00")
	for i := 0; i < len(entries); i++ {
		switch e := entries[i]; {
		case e == "":
		case strings.HasPrefix(e, "??"):
			untracked++
		default:
			changed++
			if e[0] == 'R' || e[0] == 'C' {
				i++
			}
		}
	}
	return changed, untracked
}
