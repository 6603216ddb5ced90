package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Gather has the branch of a run's worktree hold the commits that its session made there on another branch, or on none,
// and the folder go back to its branch: review looks for work there alone, and agents like to make branches. It returns
// those of the commits that the branch holds, and the branches with the others: review does not see these. Where each of the
// two has commits that the other lacks, nothing moves, and the error says so.
//
// If we die before it, [Clone.Prune] has the branch go on to what the folder has checked out. If we die in it, the branch
// has the commits, and the folder may be on the other one: [Clone.Reopen] goes back, for a session that is to go on there.
func (c Clone) Gather(ctx context.Context, run fleet.RunID, site fleet.Site, made []string) (held, aside []string, err error) {
	err = c.inTurn(ctx, run, "gather", func(ctx context.Context, t *turn) error {
		t.git = t.asItIs()
		tree, err := t.worktree(ctx, site.Dir)
		if err != nil {
			return err
		}
		branch := heads + site.Branch
		there, err := t.listed(ctx, made, "--no-walk=unsorted") // others are in repositories that tests made, for example
		if err != nil || len(there) == 0 {
			return err
		}
		moved := tree.gather(ctx, branch, there[len(there)-1])
		outside, err := t.listed(ctx, append(slices.Clone(there), "^"+branch))
		held = plain.Kept(there, func(commit string) bool { return !slices.Contains(outside, commit) })
		if err == nil {
			aside, err = t.asides(ctx, branch, plain.Kept(there, func(commit string) bool { return slices.Contains(outside, commit) }))
		}
		return errors.Join(moved, err)
	})
	if err != nil {
		return held, aside, fmt.Errorf("gather the work of run %s on branch %s: %w", run, site.Branch, err)
	}
	return held, aside, nil
}

// asides are the branches with commits of which a branch has no copy.
func (t *turn) asides(ctx context.Context, branch string, commits []string) (names []string, err error) {
	for _, commit := range commits {
		lacks, err := t.run(ctx, "rev-list", "--right-only", "--cherry-pick", "--max-count=1", branch+"..."+commit)
		if err != nil {
			return names, err
		}
		if lacks != commit {
			continue
		}
		name, err := t.branchWith(ctx, commit)
		if err != nil {
			return names, err
		}
		if name = cmp.Or(name, "no branch"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// gather has a worktree's branch go on to a commit, and the folder go back to it.
func (t *turn) gather(ctx context.Context, branch, last string) error {
	tip, ahead, err := t.ahead(ctx, branch, last)
	if err != nil || !ahead {
		return err
	}
	on, _, err := t.asks(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return err
	}
	if on == branch && tip != "" {
		_, err := t.run(ctx, "merge", "--quiet", "--ff-only", last)
		return err
	}
	if _, err := t.run(ctx, "update-ref", branch, last, tip); err != nil {
		return err
	}
	_, err = t.back(ctx, branch)
	return err
}

// ahead reports whether a branch can go on to a commit without the loss of another, and where it is; empty: there is no
// such branch, as an agent may have given it another name.
func (t *turn) ahead(ctx context.Context, branch, commit string) (tip string, ahead bool, err error) {
	tip, there, err := t.revision(ctx, branch+"^{commit}")
	if err != nil || !there {
		return "", !there, err
	}
	if _, within, err := t.asks(ctx, "merge-base", "--is-ancestor", commit, tip); err != nil || within {
		return tip, false, err
	}
	own, err := t.run(ctx, "rev-list", "--count", tip, "--not", commit)
	if err != nil || own == "0" {
		return tip, err == nil, err
	}
	unmerged, err := t.countUnmerged(ctx, []string{tip})
	if err == nil && unmerged > 0 {
		err = fleet.WithHint(fmt.Errorf("commit %.12s is on another branch, and this one has commits of its own", commit),
			"look at both: git log "+strings.TrimPrefix(branch, heads)+" "+commit[:12])
	}
	return tip, err == nil, err
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

// listed are the commits that git lists for these names. A commit that is not in the clone is left out.
func (g git) listed(ctx context.Context, names []string, options ...string) ([]string, error) {
	text, err := g.feed(lines(names)).run(ctx, append(append([]string{"rev-list", "--ignore-missing"}, options...), "--stdin")...)
	return strings.Fields(text), err
}

// regain has the branch of a run that is over go on to what its folder has checked out, where the branch itself has no work:
// its supervisor died before it could gather what the session had committed elsewhere. The folder stays as it is.
func (t *turn) regain(ctx context.Context, run fleet.RunID, branch, head string) (err error) {
	if branch == "" {
		if branch, err = t.newBranch(ctx, run); err != nil {
			return err
		}
	}
	if own, err := t.countUnmerged(ctx, tipsOf(branch)); err != nil || own > 0 {
		return err
	}
	tip, ahead, err := t.ahead(ctx, heads+branch, head)
	if err != nil || !ahead {
		return err
	}
	_, err = t.run(ctx, "update-ref", heads+branch, head, tip)
	return err
}
