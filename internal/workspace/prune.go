package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Limits say how much of what sessions left uncommitted is kept.
type Limits struct {
	Keep   int           // at most so many, the youngest
	MaxAge time.Duration // and none that nothing was changed in for longer; zero: of any age
	Now    time.Time
}

// Pruned says what prune did with the remains of one run.
type Pruned struct {
	Run     fleet.RunID
	Dir     string // its clone; empty: there was none
	Removed bool
	Reason  string // why it is kept, or was removed
}

// Prune goes through what runs that are over have left: clones below Root, each in a folder named like its run, pins, what was
// uncommitted, and branches. The work in a clone comes home first. A branch with commits that are merged nowhere is never
// removed, nor is one on which somebody works. What was uncommitted is kept within the limits. A run for which over says no is
// left alone. Leftovers of crashes are put right on the way.
//
// The rest goes on when one cannot be judged or removed; the error names each.
func (c Clone) Prune(ctx context.Context, limits Limits, over func(fleet.RunID) bool) (all []Pruned, err error) {
	var found map[fleet.RunID]remains
	err = c.inTurn(ctx, "", "prune", func(ctx context.Context, t *turn) (err error) {
		found, err = t.find(ctx)
		return err
	})
	if errors.Is(err, errNoRepository) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	t, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	waits := c.waiting(ctx)
	errs, kept := []error{c.unstackLeft(ctx), dropTemporary(c.Root, limits.Now)}, 0
	for _, run := range slices.Backward(slices.Sorted(maps.Keys(found))) { // by id, the youngest first
		r := found[run]
		if waits[r.tip] && r == (remains{branch: r.branch, tip: r.tip}) || !over(run) { // first what costs nothing
			continue
		}
		p, err := t.prune(ctx, run, r, limits, &kept)
		if err != nil {
			errs = append(errs, fmt.Errorf("prune what run %s left: %w", run, err))
		} else if p.Reason != "" {
			all = append(all, p)
		}
	}
	return all, errors.Join(errs...)
}

// dropTemporary removes what a homecoming left that was killed. None takes an hour.
func dropTemporary(root string, now time.Time) (err error) {
	folders, _ := filepath.Glob(plain.GlobIn(root, ".home-*"))
	for _, dir := range folders {
		if info, lost := os.Stat(dir); lost == nil && now.Sub(info.ModTime()) > time.Hour {
			err = errors.Join(err, removeAll(dir))
		}
	}
	return err
}

// remains are the folders and branches that a run left.
type remains struct {
	dir    string // of its clone; empty: there is none
	branch string // empty: none
	tip    string // of the branch
	pinned bool
	wip    string // what was uncommitted; empty: nothing
	left   time.Time
}

// find lists the runs that have a folder, a pin, leftovers or a branch.
func (t *turn) find(ctx context.Context) (map[fleet.RunID]remains, error) {
	branches, err := t.branches(ctx)
	if err != nil {
		return nil, err
	}
	found := map[fleet.RunID]remains{}
	for run, branch := range branches {
		found[run] = remains{branch: branch.name, tip: branch.tip}
	}
	refs, err := t.run(ctx, "for-each-ref", "--format=%(refname) %(objectname) %(committerdate:unix)", "refs/stint/keep", "refs/stint/wip")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(refs) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		run, err := fleet.ParseRunID(path.Base(f[0]))
		if err != nil {
			continue
		}
		r := found[run]
		if r.pinned = r.pinned || strings.Contains(f[0], "/keep/"); strings.Contains(f[0], "/wip/") {
			r.wip, r.left = f[1], date(f[2])
		}
		found[run] = r
	}
	entries, err := os.ReadDir(t.clone.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if run, err := fleet.ParseRunID(entry.Name()); err == nil && entry.IsDir() {
			r := found[run]
			r.dir = filepath.Join(t.clone.Root, entry.Name())
			found[run] = r
		}
	}
	return found, nil
}

func (t *turn) prune(ctx context.Context, run fleet.RunID, r remains, limits Limits, kept *int) (p Pruned, err error) {
	p = Pruned{Run: run, Dir: r.dir}
	own := Own{Run: run, Dir: filepath.Join(t.clone.Root, string(run)), Branch: r.branch}
	if r.dir != "" {
		if own.Branch, err = t.branchOf(ctx, run); err != nil {
			return p, err
		}
		s := State{Dirty: true, Kept: r.dir}
		if !exists(keptMark(r.dir)) {
			s, err = t.clone.Close(ctx, own)
		}
		switch {
		case err != nil && halfMade(filepath.Join(r.dir, ".git")):
			if err := t.clone.discard(ctx, r.dir); err != nil {
				return p, err
			}
		case err != nil:
			s.Kept = r.dir // what cannot come home is kept as long as what was left uncommitted
			if age := idle(r.dir, limits.Now); limits.MaxAge == 0 || age <= limits.MaxAge {
				return p, err
			}
		}
		age := idle(r.dir, limits.Now)
		switch {
		case s.Kept == "":
			p.Removed, p.Reason = true, "its work is home"
		case *kept >= limits.Keep || limits.MaxAge > 0 && age > limits.MaxAge:
			p.Removed, p.Reason = true, fmt.Sprintf("it is older than %v, or %d younger ones are kept", limits.MaxAge, *kept)
			if err := t.clone.discard(ctx, r.dir); err != nil {
				return p, err
			}
		default:
			*kept++
			p.Reason = s.Reason()
			return p, nil
		}
	} else if r.pinned {
		if err := t.clone.dropRefs(ctx, keepRef(own.Dir)); err != nil {
			return p, err
		}
	}
	if r.wip != "" {
		if *kept++; *kept > limits.Keep || limits.MaxAge > 0 && limits.Now.Sub(r.left) > limits.MaxAge {
			if err := t.clone.dropRefs(ctx, wipRef(own.Dir)); err != nil {
				return p, err
			}
		}
	}
	if r.branch == "" {
		return p, nil
	}
	return p, t.clone.inTurn(ctx, run, "prune", func(ctx context.Context, t *turn) error { return t.dropBranch(ctx, r.branch) })
}

// halfMade reports whether no session ever had a clone: git writes its index last, after our files.
func halfMade(own string) bool {
	there := func(name string) bool { return exists(filepath.Join(own, name)) }
	return !there("index") && !(there("packed-refs") && there("HEAD"))
}

// idle returns the time since a folder was changed. The folder and git's own entry in it count, not its other contents.
func idle(dir string, now time.Time) time.Duration {
	info, err := os.Stat(dir)
	if err != nil {
		return 0
	}
	return now.Sub(info.ModTime())
}
