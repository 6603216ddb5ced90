package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"stint/internal/fleet"
)

// Worktree is a run's own folder and branch.
type Worktree struct {
	Run    fleet.RunID
	Dir    string
	Branch string // its short name
}

// From is where a worktree starts.
type From string

const (
	FromHead     From = "head"     // what the workspace has checked out
	FromUpstream From = "upstream" // what that follows, as it was last fetched; without one, head
)

// Open makes the run's worktree in a folder that does not exist yet.
//
// If we die in it, there may be a branch without a folder, or a folder that is not
// complete: [Clone.Prune] takes both away.
func (c Clone) Open(ctx context.Context, run fleet.RunID, dir string, from From) (w Worktree, err error) {
	err = c.inTurn(ctx, run, "worktree", func(ctx context.Context, t *turn) error {
		w, err = t.open(ctx, run, dir, from)
		return err
	})
	if err != nil {
		return Worktree{}, fmt.Errorf("open a worktree of %s for run %s: %w", c.Dir, run, err)
	}
	return w, nil
}

func (t *turn) open(ctx context.Context, run fleet.RunID, dir string, from From) (Worktree, error) {
	start, err := t.start(ctx, from)
	if err != nil {
		return Worktree{}, err
	}
	branch, err := t.newBranch(ctx, run)
	if err != nil {
		return Worktree{}, err
	}
	if _, there, err := t.revision(ctx, heads+branch); err != nil {
		return Worktree{}, err
	} else if there || exists(dir) {
		return Worktree{}, fmt.Errorf("branch %s or folder %s: %w", branch, dir, fs.ErrExist)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return Worktree{}, err
	}
	err = insist(ctx, func() error {
		_, err := t.run(ctx, "worktree", "add", "--quiet", "--no-track", "-b", branch, "--", dir, start)
		if err == nil {
			return nil
		}
		ctx, cancel := tidying(ctx)
		defer cancel()
		return errors.Join(err, t.unopen(ctx, branch, dir, start))
	})
	return Worktree{Run: run, Dir: dir, Branch: branch}, err
}

// Reopen readies the folder of an earlier run, on that run's branch, for another to go on there.
// The files in the folder stay; where there is none any more, it is made again.
//
// If we die in it, the note says that the folder is on the way out, and the next turn removes what
// there is of it.
func (c Clone) Reopen(ctx context.Context, run, earlier fleet.RunID) (w Worktree, err error) {
	w = Worktree{Run: run, Dir: filepath.Join(c.Root, string(earlier))}
	err = c.inTurn(ctx, run, "worktree", func(ctx context.Context, t *turn) error {
		branches, err := t.branches(ctx)
		if err != nil {
			return err
		}
		if w.Branch = branches[earlier].name; w.Branch == "" {
			return fmt.Errorf("no branch of run %s: %w", earlier, fleet.ErrNotFound)
		}
		return t.reopen(ctx, w)
	})
	if err != nil {
		return Worktree{}, fmt.Errorf("go on with the work of run %s in run %s: %w", earlier, run, err)
	}
	return w, nil
}

func (t *turn) reopen(ctx context.Context, w Worktree) error {
	if exists(w.Dir) && !bare(w.Dir) {
		tree, err := t.worktree(ctx, w.Dir)
		if err != nil {
			return err
		}
		on, err := tree.back(ctx, heads+w.Branch)
		if err == nil && !on {
			err = fleet.WithHint(fmt.Errorf("%s is not on branch %s", w.Dir, w.Branch), "git -C "+fleet.ShellWord(w.Dir)+" switch "+fleet.ShellWord(w.Branch))
		}
		return err
	}
	if err := t.remove(ctx, w.Dir); err != nil {
		return err
	}
	n := t.note
	n.Remove = w.Dir
	if err := t.write(n); err != nil {
		return err
	}
	err := t.insist(ctx, "worktree", "add", "--quiet", "--", w.Dir, w.Branch)
	return errors.Join(err, t.write(t.note))
}

// unopen takes away what a failed opening may have left, and nothing of anybody else's:
// a folder only if git knows it as the run's, a branch only if nothing was added to it.
func (t *turn) unopen(ctx context.Context, branch, dir, start string) error {
	trees, err := t.trees(ctx)
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if tree.branch == heads+branch && tree.dir == dir {
			if err := t.remove(ctx, dir); err != nil {
				return err
			}
		}
	}
	tip, there, err := t.revision(ctx, heads+branch)
	if err != nil || !there || tip != start {
		return err
	}
	return t.deleteBranch(ctx, branch, start)
}

func (t *turn) start(ctx context.Context, from From) (string, error) {
	if from == FromUpstream {
		commit, there, err := t.upstream(ctx)
		if err != nil || there {
			return commit, err
		}
	}
	commit, born, err := t.revision(ctx, "HEAD^{commit}")
	if err == nil && !born {
		err = fleet.WithHint(errNoCommit, fmt.Sprintf("git -C %s commit --allow-empty -m start", fleet.ShellWord(t.top)))
	}
	return commit, err
}

// upstream is the commit of what the workspace's branch follows.
func (t *turn) upstream(ctx context.Context) (commit string, there bool, err error) {
	ref, attached, err := t.asks(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil || !attached {
		return "", false, err
	}
	name, err := t.run(ctx, "for-each-ref", "--format=%(upstream)", ref)
	if err != nil || name == "" {
		return "", false, err
	}
	return t.revision(ctx, name+"^{commit}")
}

// State is what a worktree still has that exists nowhere else.
type State struct {
	Unmerged int  // commits that the workspace's branch and its upstream lack
	Dirty    bool // changes that nobody committed, files that nobody added
}

// Reason says why a worktree is kept, or "".
func (s State) Reason() string {
	switch {
	case s.Unmerged == 1:
		return "1 unmerged commit"
	case s.Unmerged > 1:
		return strconv.Itoa(s.Unmerged) + " unmerged commits"
	case s.Dirty:
		return "uncommitted changes"
	}
	return ""
}

// Close removes the run's worktree and branch unless there is something in them that
// exists nowhere else; files that git ignores do not count. It returns what there was: a
// worktree whose state has a reason is kept.
//
// If we die before the folder is gone, the next turn goes on with it. If we die before
// the branch is, [Clone.Prune] takes that away.
func (c Clone) Close(ctx context.Context, w Worktree) (s State, err error) {
	err = c.inTurn(ctx, w.Run, "close", func(ctx context.Context, t *turn) error {
		if s, _, err = t.state(ctx, w.Branch, w.Dir); err != nil || s.Reason() != "" {
			return err
		}
		if err := t.remove(ctx, w.Dir); err != nil {
			return err
		}
		return t.dropBranch(ctx, w.Branch)
	})
	if err != nil {
		return s, fmt.Errorf("close the worktree of run %s: %w", w.Run, err)
	}
	return s, nil
}

// state looks at a run's branch and, if there is one, its folder; head is what that has checked out.
func (t *turn) state(ctx context.Context, branch, dir string) (s State, head string, err error) {
	tips := tipsOf(branch)
	if dir != "" && exists(dir) {
		tree, err := t.worktree(ctx, dir)
		if err != nil {
			return s, head, err
		}
		commit, born, err := tree.revision(ctx, "HEAD")
		if err != nil {
			return s, head, err
		}
		if born && strings.Trim(commit, "0") == "" { // killed in the making of it, git has left this in the place of a commit
			return s, head, fmt.Errorf("%s: %w", dir, errNoRepository)
		}
		changes, err := tree.run(ctx, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty")
		if err != nil {
			return s, head, err
		}
		// Git does not look into submodules, whose configuration is the session's. A worktree that
		// has some of its own counts as changed.
		s.Dirty = changes != "" || exists(filepath.Join(tree.gitDir, "modules"))
		if born {
			head, tips = commit, append(tips, commit)
		}
	}
	s.Unmerged, err = t.countUnmerged(ctx, tips)
	return s, head, err
}

// tipsOf is the branch as a revision; a worktree may have none left.
func tipsOf(branch string) []string {
	if branch == "" {
		return nil
	}
	return []string{heads + branch}
}

func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// countUnmerged counts the commits of the tips that are neither reachable from the
// workspace's branch or its upstream, nor there under another name: the same change on
// another parent. A merge counts, for what it resolved is nowhere else.
func (t *turn) countUnmerged(ctx context.Context, tips []string) (int, error) {
	var bases []string
	head, born, err := t.revision(ctx, "HEAD^{commit}")
	if err != nil {
		return 0, err
	}
	if born {
		bases = append(bases, head)
	}
	upstream, there, err := t.upstream(ctx)
	if err != nil {
		return 0, err
	}
	if there {
		bases = append(bases, upstream)
	}
	unmerged := map[string]bool{}
	for _, tip := range tips {
		tip, there, err := t.revision(ctx, tip+"^{commit}")
		if err != nil {
			return 0, err
		}
		if !there {
			continue
		}
		own, err := t.run(ctx, append([]string{"rev-list", tip, "--not"}, bases...)...)
		if err != nil {
			return 0, err
		}
		for _, commit := range strings.Fields(own) {
			unmerged[commit] = true
		}
		if own == "" {
			continue
		}
		for _, base := range bases {
			cherries, err := t.run(ctx, "cherry", base, tip)
			if err != nil {
				return 0, err
			}
			for line := range strings.Lines(cherries) {
				if same, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
					delete(unmerged, same)
				}
			}
		}
	}
	return len(unmerged), nil
}

// remove takes away a worktree that nobody needs: the folder first, then what git knows
// of it.
//
// If we die in it, half a folder is left, which looks like one with changes: the note
// says that it was on the way out.
func (t *turn) remove(ctx context.Context, dir string) error {
	n := t.note
	n.Remove = dir
	if err := t.write(n); err != nil {
		return err
	}
	if err := removeAll(dir); err != nil {
		return err
	}
	trees, err := t.trees(ctx)
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if tree.dir != dir && tree.dir != resolvedFile(dir) {
			continue
		}
		// Forced twice: also if it is locked, as one is that git was killed in the making of.
		if _, err := t.run(ctx, "worktree", "remove", "--force", "--force", "--", tree.dir); err != nil {
			return err
		}
	}
	return t.write(t.note)
}

// Forget has git forget the worktrees whose folders are gone.
func (c Clone) Forget(ctx context.Context) error {
	g, _, err := c.git(ctx, string(c.Dir))
	if err == nil {
		_, err = g.run(ctx, "worktree", "prune")
	}
	return err
}

// removeAll removes a folder, also what is in folders that may not be written, as a cache
// of Go's modules makes them.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700) //nolint:gosec // a folder, on its way out
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// tree is a worktree as git lists it.
type tree struct{ dir, branch string }

func (t *turn) trees(ctx context.Context) (trees []tree, err error) {
	fields, err := t.names(ctx, "worktree", "list", "--porcelain", "-z")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, " ")
		switch {
		case name == "worktree":
			trees = append(trees, tree{dir: value})
		case name == "branch" && len(trees) > 0:
			trees[len(trees)-1].branch = value
		}
	}
	return trees, err
}
