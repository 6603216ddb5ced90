package workspace

import (
	"context"

	"stint/internal/fleet"
)

// Changed are the files that a run has changed in a folder of its own, committed or not, since it
// left the target: what the two last had in common. Its index is not refreshed, which a session at
// work would find locked; a file that was only touched may count.
func (p Places) Changed(ctx context.Context, target string, run fleet.RunID) ([]string, error) {
	g, l, err := p.git(ctx, string(p.Dir))
	if err != nil {
		return nil, err
	}
	g = g.asItIs()
	t, err := g.target(ctx, target)
	if err != nil {
		return nil, err
	}
	tree, err := p.tree(ctx, &turn{git: g, layout: l, clone: p.Clone}, run)
	if err != nil || tree == nil {
		return nil, err
	}
	w := tree.asItIs()
	base, related, err := w.asks(ctx, "merge-base", t.Tip, "HEAD")
	if err != nil {
		return nil, err
	}
	if !related {
		base = emptyTree
	}
	changed, err := w.names(ctx, "diff-index", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "-z", base, "--")
	if err != nil {
		return nil, err
	}
	added, err := w.names(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	return append(changed, added...), err
}
