package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stint/internal/fleet"
)

// recover cleans up after a holder of the turn that died. Nothing that it began is still
// running: that would have kept the lock.
func (t *turn) recover(ctx context.Context, dead note) error {
	if err := t.dropLocks(ctx, dead); err != nil {
		return err
	}
	if dead.Branch == "" || !exists(dead.Top) {
		return nil
	}
	// The work tree may be another than the one that this turn was taken for.
	there := &turn{clone: t.clone}
	var err error
	if there.git, there.layout, err = t.clone.git(ctx, dead.Top); err != nil {
		return err
	}
	there.turn = t.turn
	if there.common != t.common || there.gitDir != dead.GitDir {
		return nil // no turn of this clone wrote that
	}
	if dead.Land != "" {
		return there.recoverLanding(ctx, dead)
	}
	return there.recoverRebase(ctx, dead)
}

// recoverRebase takes back a rebase that was cut short. One that was done, with the
// uncommitted changes back in place, is left as it is.
func (t *turn) recoverRebase(ctx context.Context, dead note) error {
	if rebasing(t.gitDir) {
		if !ours(t.gitDir, dead) {
			return unfinished(t.layout)
		}
		if _, err := t.run(ctx, "rebase", "--abort"); err != nil {
			// Git cannot read what it had only begun to write, or had half taken away.
			if err := t.unrebase(ctx, dead); err != nil {
				return err
			}
		}
		if err := t.dropPick(ctx, dead); err != nil {
			return err
		}
		return t.reinstate(ctx, dead)
	}
	if err := t.dropPick(ctx, dead); err != nil {
		return err
	}
	conflicts, err := t.unmerged(ctx)
	if err != nil {
		return err
	}
	head, err := t.run(ctx, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return err
	}
	if unfinished(t.layout) == nil && (len(conflicts) > 0 || head == dead.Back) {
		// It died before or while it took back a rebase that went well, except for the
		// uncommitted changes, which do not fit on it.
		if _, err := t.run(ctx, "reset", "--quiet", "--hard", dead.From); err != nil {
			return err
		}
		return t.reinstate(ctx, dead)
	}
	if dead.Saved == "" || head != dead.From {
		return nil
	}
	// It died while it took the rebase back: the branch has not moved, and the changes may be
	// cleared away, or in place but not staged. If the tree has other changes, somebody has worked
	// there since, with nothing to be put back.
	there, clean, err := t.holds(ctx, dead.Saved)
	if err != nil || !there && !clean {
		return err
	}
	return t.reinstate(ctx, dead)
}

// dropPick forgets the commit that a rebase was about to apply. Any other that is being
// picked is a person's.
func (t *turn) dropPick(ctx context.Context, dead note) error {
	pick, there, err := t.revision(ctx, "CHERRY_PICK_HEAD")
	if err != nil || !there {
		return err
	}
	if _, ours, err := t.asks(ctx, "merge-base", "--is-ancestor", pick, dead.From); err != nil || !ours {
		return err
	}
	_, err = t.run(ctx, "update-ref", "-d", "CHERRY_PICK_HEAD")
	return err
}

// ours reports whether the rebase under way is the one that the crashed holder began.
func ours(gitDir string, dead note) bool {
	for _, dir := range rebaseDirs(gitDir) {
		text, err := readFile(filepath.Join(dir, "orig-head"))
		if err == nil {
			return strings.TrimSpace(string(text)) == dead.From
		}
	}
	return true // it had not come to that, and a person's would have by now
}

// unrebase does by hand what git's own abort does.
func (t *turn) unrebase(ctx context.Context, dead note) error {
	for _, dir := range rebaseDirs(t.gitDir) {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if _, attached, err := t.on(ctx); err != nil {
		return err
	} else if attached {
		return nil // it had not begun to move anything, or had ended
	}
	if _, err := t.run(ctx, "reset", "--quiet", "--hard", dead.From); err != nil {
		return err
	}
	_, err := t.run(ctx, "symbolic-ref", "-m", "stint: sync taken back", "HEAD", dead.Branch)
	return err
}

// dropLocks removes git's lock files that the crashed holder left behind, which nobody else ever
// would. A file does not show whose it is: they are taken away only while no git works
// in the clone.
func (t *turn) dropLocks(ctx context.Context, dead note) error {
	locks := locksOf(t.common)
	for _, dir := range []string{t.gitDir, dead.GitDir} {
		if dir != "" && dir != t.common {
			locks = append(locks, locksIn(dir)...)
		}
	}
	slices.Sort(locks)
	locks = slices.Compact(locks)
	if len(locks) == 0 {
		return nil
	}
	trees, err := t.trees(ctx)
	if err != nil {
		return err
	}
	dirs := []string{t.common, t.top}
	for _, tree := range trees {
		dirs = append(dirs, tree.dir)
	}
	err = insist(ctx, func() error {
		if pid := gitIn(dirs); pid != 0 {
			return unfinishedError{"git command, pid " + strconv.Itoa(pid), t.top}
		}
		return nil
	})
	if err != nil {
		return fleet.WithHint(fmt.Errorf("take away %s: %w", list(locks), err), "when no git command runs there: rm "+strings.Join(locks, " "))
	}
	var errs []error
	for _, lock := range locks {
		if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// locksOf are the lock files of what all worktrees share, and of the first of them.
func locksOf(common string) []string {
	locks := locksIn(common)
	_ = filepath.WalkDir(filepath.Join(common, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			locks = append(locks, path)
		}
		return nil // what cannot be listed cannot be tidied
	})
	return locks
}

// locksIn are the lock files of the index, HEAD and their like.
func locksIn(dir string) (locks []string) {
	entries, _ := os.ReadDir(dir) // what cannot be listed cannot be tidied
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".lock") && entry.Name() != lockName {
			locks = append(locks, filepath.Join(dir, entry.Name()))
		}
	}
	return locks
}

// gitIn is a process of git that works in one of the folders; 0: there is none.
func gitIn(dirs []string) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return -1 // nobody knows
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		name, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "comm"))
		if err != nil || !strings.HasPrefix(string(name), "git") {
			continue
		}
		at, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err == nil && slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, at) }) {
			return pid
		}
	}
	return 0
}
