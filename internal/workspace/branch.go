package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// heads is the prefix of every branch's ref.
const heads = "refs/heads/"

// nested and flat begin the names of the branches of a fleet's runs: stint/bob/01jd8wz4v0k3m7qa.
// Git can make no branch below one that is there. Where somebody's is named "stint" or
// "stint/bob", a run's is stint-bob-01jd8wz4v0k3m7qa, which can always be made. A fleet's name
// has no "-", so that neither is another fleet's.
func (c Clone) nested() string { return "stint/" + string(c.Fleet) + "/" }

func (c Clone) flat() string { return "stint-" + string(c.Fleet) + "-" }

// above are patterns for the branches below which git can make none. A name that ends in a set of letters stands for itself alone.
func (c Clone) above() []string {
	fleet := strings.TrimSuffix(heads+c.nested(), "/")
	return []string{heads + "stin[t]", fleet[:len(fleet)-1] + "[" + fleet[len(fleet)-1:] + "]"}
}

// newBranch is the name of the branch that is to be made for a run, where those are known that [Clone.above] names.
func (c Clone) newBranch(refs map[string]ref, run fleet.RunID) string {
	for _, above := range []string{"stint/", c.nested()} {
		if _, there := refs[heads+strings.TrimSuffix(above, "/")]; there {
			return c.flat() + string(run)
		}
	}
	return c.nested() + string(run)
}

// branch is a run's.
type branch struct {
	name  string
	tip   string
	dated time.Time // the tip, by its committer
}

// branches are those of the fleet's runs, by run.
func (t *turn) branches(ctx context.Context) (map[fleet.RunID]branch, error) {
	text, err := t.run(ctx, "for-each-ref", "--format=%(objectname) %(committerdate:unix) %(refname)", heads+t.clone.nested(), heads+t.clone.flat()+"*")
	found := map[fleet.RunID]branch{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) != 3 {
			continue
		}
		name := strings.TrimPrefix(fields[2], heads)
		for _, prefix := range []string{t.clone.nested(), t.clone.flat()} {
			rest, ours := strings.CutPrefix(name, prefix)
			if run, err := fleet.ParseRunID(rest); ours && err == nil {
				found[run] = branch{name: name, tip: fields[0], dated: date(fields[1])}
			}
		}
	}
	return found, err
}

// Branches are those of the fleet's runs, by run.
func (p Places) Branches(ctx context.Context) (map[fleet.RunID]string, error) {
	g, _, err := p.git(ctx, string(p.Dir))
	if err != nil {
		return nil, err
	}
	t := &turn{git: g, clone: p.Clone}
	list, err := t.branches(ctx)
	names := make(map[fleet.RunID]string, len(list))
	for run, b := range list {
		names[run] = b.name
	}
	return names, err
}

// branchOf is the branch that a run has, or is to have.
func (t *turn) branchOf(ctx context.Context, run fleet.RunID) (string, error) {
	branches, err := t.branches(ctx)
	if b, there := branches[run]; err != nil || there {
		return b.name, err
	}
	refs, err := t.refs(ctx, t.clone.above()...)
	return t.clone.newBranch(refs, run), err
}

// usedIn returns a folder in which somebody works on a branch, or "": the branch is checked out
// there, or what is under way comes back to it, in a word of [midway].
func (t *turn) usedIn(branch ref) (folder, what string, err error) {
	if folder = branch.worktree; folder == strings.TrimSuffix(t.common, "/.git") { // whatever core.worktree says
		folder, err = t.folderOf(t.common)
	}
	if folder != "" {
		return folder, "", err
	}
	dirs, err := filepath.Glob(plain.GlobIn(t.common, "worktrees/*"))
	if err != nil {
		return "", "", err
	}
	for _, dir := range append(dirs, t.common) {
		for _, sign := range [][2]string{
			{"rebase-merge/head-name", "rebase"}, {"rebase-apply/head-name", "rebase"}, {"BISECT_START", bisection},
		} {
			text, err := readFile(filepath.Join(dir, sign[0]))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", "", err
			}
			if strings.TrimPrefix(strings.TrimSpace(string(text)), heads) == strings.TrimPrefix(branch.name, heads) {
				folder, err = t.folderOf(dir)
				return folder, sign[1], err
			}
		}
	}
	return "", "", nil
}

// folderOf is the work tree of which git keeps something in a folder.
func (t *turn) folderOf(gitDir string) (string, error) {
	switch gitDir {
	case t.gitDir:
		return t.top, nil
	case t.common:
		return strings.TrimSuffix(gitDir, "/.git"), nil
	}
	text, err := readFile(filepath.Join(gitDir, "gitdir"))
	return strings.TrimSuffix(strings.TrimSpace(string(text)), "/.git"), err
}

// dropBranch deletes a run's branch at the commit that it has been looked at with, unless it
// has commits that are merged nowhere or somebody works on it.
func (t *turn) dropBranch(ctx context.Context, branch string) error {
	refs, err := t.refs(ctx, heads+branch)
	r, there := refs[heads+branch]
	if err != nil || !there {
		return err
	}
	if n, err := t.countUnmerged(ctx, []string{r.id}); err != nil || n > 0 {
		return err
	}
	if used, _, err := t.usedIn(r); err != nil || used != "" {
		return err
	}
	return t.insist(ctx, "update-ref", "-d", r.name, r.id)
}
