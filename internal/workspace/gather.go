package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Gather has the branch of a run's worktree hold the commits that its session made there on another branch, or on none,
// and the folder go back to its branch: review looks for work there alone, and agents like to make branches. It returns
// those of the commits that the branch holds. Where each of the two has commits that the other lacks, nothing moves, and
// the error says so.
//
// If we die in it, the branch has the commits, and the folder may be on the other one: [Clone.Reopen] goes back, for a
// session that is to go on there.
func (c Clone) Gather(ctx context.Context, run fleet.RunID, site fleet.Site, made []string) (held []string, err error) {
	err = c.inTurn(ctx, run, "gather", func(ctx context.Context, t *turn) error {
		t.git = t.asItIs()
		tree, err := t.worktree(ctx, site.Dir)
		if err != nil {
			return err
		}
		if err := tree.gather(ctx, heads+site.Branch, made); err != nil {
			return err
		}
		for _, commit := range made {
			if within, err := t.contains(ctx, heads+site.Branch, commit); err != nil {
				return err
			} else if within {
				held = append(held, commit)
			}
		}
		return nil
	})
	if err != nil {
		return held, fmt.Errorf("gather the work of run %s on branch %s: %w", run, site.Branch, err)
	}
	return held, nil
}

// gather moves a worktree's branch to the last of these commits that is in the clone.
func (t *turn) gather(ctx context.Context, branch string, made []string) error {
	last, err := t.lastOf(ctx, made)
	if err != nil || last == "" {
		return err
	}
	tip, there, err := t.revision(ctx, branch+"^{commit}")
	if err != nil {
		return err
	}
	if there { // an agent may have given it another name
		if within, err := t.contains(ctx, tip, last); err != nil || within {
			return err
		}
		own, err := t.run(ctx, "rev-list", "--count", tip, "--not", last)
		if err != nil {
			return err
		}
		unmerged, err := t.countUnmerged(ctx, []string{tip})
		if err != nil {
			return err
		}
		if own != "0" && unmerged > 0 {
			return fleet.WithHint(fmt.Errorf("commit %.12s is on another branch, and this one has commits of its own", last),
				"look at both: git log "+strings.TrimPrefix(branch, heads)+" "+last[:12])
		}
	}
	on, _, err := t.asks(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return err
	}
	if on == branch && there {
		_, err := t.run(ctx, "merge", "--quiet", "--ff-only", last)
		return err
	}
	if _, err := t.run(ctx, "update-ref", branch, last, tip); err != nil {
		return err
	}
	_, err = t.back(ctx, branch)
	return err
}

// back has a worktree be on a branch whose commit it has checked out, and reports whether it is on it.
func (t *turn) back(ctx context.Context, branch string) (bool, error) {
	on, _, err := t.asks(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil || on == branch {
		return err == nil, err
	}
	head, _, err := t.revision(ctx, "HEAD")
	if err != nil {
		return false, err
	}
	if tip, _, err := t.revision(ctx, branch); err != nil || tip != head {
		return false, err
	}
	_, err = t.run(ctx, "symbolic-ref", "HEAD", branch)
	return err == nil, err
}

// lastOf is the last of the commits that is in the clone: others are in repositories that tests made, for example.
func (g git) lastOf(ctx context.Context, commits []string) (string, error) {
	for _, commit := range slices.Backward(commits) {
		if _, there, err := g.revision(ctx, commit+"^{commit}"); err != nil || there {
			return commit, err
		}
	}
	return "", nil
}

// contains reports whether a commit is in the history of another. One that is not in the clone is in none.
func (g git) contains(ctx context.Context, whole, commit string) (bool, error) {
	if _, there, err := g.revision(ctx, commit+"^{commit}"); err != nil || !there {
		return false, err
	}
	_, within, err := g.asks(ctx, "merge-base", "--is-ancestor", commit, whole)
	return within, err
}
