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

// Condition is how a workspace stands, before anybody works in it.
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

// Tracking says where a branch, or what is checked out for an empty name, has left its upstream as that was last fetched, and
// what to do. Empty: it has not, or follows none.
func (c Clone) Tracking(ctx context.Context, branch string) (text, fix string, err error) {
	g, l, err := c.git(ctx, string(c.Dir))
	if errors.Is(err, errNoRepository) {
		return "", "", nil
	} else if err != nil {
		return "", "", err
	}
	at := "git -C " + fleet.ShellWord(l.top) + " "
	ref := heads + branch
	if branch == "" {
		if ref, _, err = g.asks(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil {
			return "", "", err
		}
		if ref == "" {
			return "HEAD is detached, so no work can land and no sync comes", at + "switch BRANCH", nil
		}
	}
	track, err := g.run(ctx, "for-each-ref", "--format=%(upstream:track,nobracket)%09%(refname:short)%09%(upstream:short)", ref)
	fields := strings.Split(track, "\t")
	if err != nil || len(fields) != 3 || fields[0] == "" {
		return "", "", err
	}
	own, theirs := fields[1], fields[2]
	ahead, behind, both := strings.Cut(fields[0], ", ")
	n, is := strings.CutPrefix(ahead, "ahead ")
	switch {
	case ahead == "gone":
		return fmt.Sprintf("%s follows %s, which is gone", own, theirs), at + "branch --unset-upstream " + fleet.ShellWord(own), nil
	case both:
		return fmt.Sprintf("%s and %s have diverged: %s, %s", own, theirs, ahead, behind), at + "pull --rebase=merges --autostash", nil
	case is:
		return fmt.Sprintf("%s has commits that %s lacks: %s", own, theirs, n), at + "push", nil
	}
	return "", "", nil
}

// bisection is what [midway] calls one.
const bisection = "bisect"

// midway names the operation that git has begun in a work tree and not ended.
func midway(gitDir string) string {
	for _, sign := range [][2]string{
		{"rebase-merge", "rebase"}, // first: a rebase leaves signs of what it does on the way
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
