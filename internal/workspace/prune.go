package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stint/internal/fleet"
)

// Limits say which worktrees without unmerged commits are kept.
type Limits struct {
	Keep   int           // at most so many, the youngest
	MaxAge time.Duration // and none that nothing was changed in for longer; zero: of any age
	Now    time.Time
}

// Pruned is what became of one run's worktree.
type Pruned struct {
	Run     fleet.RunID
	Dir     string // empty: there was only a branch
	Removed bool
	Reason  string // why it is kept, or was removed
}

// Prune goes through the worktrees below root, each in a folder named like its run, and
// the branches of the fleet's runs. A worktree with commits that are merged nowhere is never
// removed, nor is a branch on which somebody works. An empty one is removed; one with
// uncommitted changes is kept within the limits. A run for which over says no is left alone:
// over is asked in the turn in which the run's worktree would be removed, and says no of what
// is not on record. Leftovers of crashes are put right on the way.
//
// The rest goes on when one cannot be judged or removed; the error names each.
func (c Clone) Prune(ctx context.Context, root string, limits Limits, over func(fleet.RunID) bool) ([]Pruned, error) {
	var found map[fleet.RunID]remains
	err := c.inTurn(ctx, "", "prune", func(ctx context.Context, t *turn) (err error) {
		found, err = t.find(ctx, root)
		return err
	})
	if errors.Is(err, errNoRepository) {
		return nil, nil
	}
	var (
		all  []Pruned
		kept int
		errs = []error{err, c.unstackLeft(ctx)}
	)
	// By id, the youngest first.
	for _, run := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		// A turn for each: syncs need not wait for a large folder after the other.
		err := c.inTurn(ctx, run, "prune", func(ctx context.Context, t *turn) error {
			if !over(run) {
				return nil
			}
			p, err := t.prune(ctx, run, found[run], limits, kept)
			if err == nil && p.Reason != "" {
				all = append(all, p)
			}
			if err == nil && !p.Removed {
				kept++
			}
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("prune the worktree of run %s: %w", run, err))
		}
	}
	return all, errors.Join(errs...)
}

// remains are what a run left in the clone.
type remains struct {
	dir, branch string // empty: none
	tip         string // of the branch
}

// find lists the runs that have a folder, an entry in git's list or a branch.
func (t *turn) find(ctx context.Context, root string) (map[fleet.RunID]remains, error) {
	branches, err := t.branches(ctx)
	if err != nil {
		return nil, err
	}
	found := map[fleet.RunID]remains{}
	for run, branch := range branches {
		found[run] = remains{branch: branch.name, tip: branch.tip}
	}
	trees, err := t.trees(ctx)
	if err != nil {
		return nil, err
	}
	for _, tree := range trees {
		if run, err := fleet.ParseRunID(filepath.Base(tree.dir)); err == nil && filepath.Dir(tree.dir) == resolved(root) {
			found[run] = remains{tree.dir, branches[run].name, branches[run].tip}
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if run, err := fleet.ParseRunID(entry.Name()); err == nil && entry.IsDir() {
			found[run] = remains{filepath.Join(resolved(root), entry.Name()), branches[run].name, branches[run].tip}
		}
	}
	return found, nil
}

func (t *turn) prune(ctx context.Context, run fleet.RunID, r remains, limits Limits, kept int) (Pruned, error) {
	dir := r.dir
	p := Pruned{Run: run, Dir: dir}
	age, there := idle(dir, limits.Now)
	s, head, err := t.state(ctx, r.branch, dir)
	orphan := errors.Is(err, errNoRepository)
	if orphan {
		// It has no entry in git's list. Its files were not committed, or are on a branch: the folder
		// goes when it is old. One in which git was killed before it had put anything there goes at
		// once.
		s.Dirty = !bare(dir)
		s.Unmerged, err = t.countUnmerged(ctx, tipsOf(r.branch))
	}
	if err != nil {
		return p, err
	}
	used := ""
	if dir == "" {
		if used, err = t.usedIn(ctx, r.branch); err != nil {
			return p, err
		}
	}
	tooOld := limits.MaxAge > 0 && age > limits.MaxAge
	switch {
	case s.Unmerged > 0 && !orphan:
		p.Reason = s.Reason()
		if head == "" || head == r.tip {
			return p, nil
		}
		return p, t.regain(ctx, run, r.branch, head)
	case used != "":
		p.Reason = "somebody works on its branch in " + used
		return p, nil
	case s.Dirty && !tooOld && kept < limits.Keep:
		p.Reason = "uncommitted changes"
		return p, nil
	case s.Dirty && tooOld:
		p.Reason = fmt.Sprintf("uncommitted changes, and older than %v", limits.MaxAge)
	case s.Dirty:
		p.Reason = fmt.Sprintf("uncommitted changes, and %d younger ones are kept", kept)
	case there:
		p.Reason = "nothing in it that is not merged"
	default:
		p.Reason = "left behind without a folder"
	}
	p.Removed = true
	if dir != "" {
		if err := t.remove(ctx, dir); err != nil {
			return p, err
		}
	}
	if r.branch == "" {
		return p, nil
	}
	return p, t.dropBranch(ctx, r.branch)
}

// bare reports whether a folder holds nothing but what git begins a worktree with.
func bare(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != ".git" || !e.Type().IsRegular() })
}

// idle is how long ago a folder was changed, and whether there is one. The folder and git's own
// entry in it count, not its other contents.
func idle(dir string, now time.Time) (time.Duration, bool) {
	info, err := os.Stat(dir)
	if dir == "" || err != nil {
		return 0, false
	}
	return now.Sub(info.ModTime()), true
}
