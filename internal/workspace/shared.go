package workspace

import (
	"context"
	"errors"
	"slices"
	"strings"

	"stint/internal/review"
)

// Shared lists the work of runs without a branch of their own that is on some branch of the clone,
// and how the target has it: of each run from the first to the last of its commits that the target
// lacks. Commits that no branch has any more are left out. It changes nothing, and asks git for
// all runs at once.
func (c Clone) Shared(ctx context.Context, t review.Target, runs []review.Watched) (all []review.Branch, err error) {
	g, _, err := c.git(ctx, string(c.Dir))
	if errors.Is(err, errNoRepository) || len(runs) == 0 {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	g = g.asItIs()
	p := pending{git: g, target: t.Tip, starts: map[string]string{}}
	if all, err = c.onBranches(ctx, p, runs); err != nil || len(all) == 0 {
		return nil, err
	}
	wholes, err := g.wholes(ctx, t, all)
	if err != nil {
		return nil, err
	}
	if err := p.read(ctx, all); err != nil {
		return nil, err
	}
	for i := range all {
		b := &all[i]
		p.land(b, nil)
		b.From = p.starts[b.Tip]
		whole := wholes[b.Name]
		if b.Left = whole.Left; b.Landing == review.Waiting && whole.Landing != review.Waiting { // in a squash of the branch
			b.Landing, b.By, b.Landed, b.Commits = whole.Landing, whole.By, whole.Landed, nil
		}
	}
	return all, p.measure(ctx, all)
}

// onBranches are the runs with commits that the target lacks and a branch has, each by the last of
// them. It notes where the work of each starts.
func (c Clone) onBranches(ctx context.Context, p pending, runs []review.Watched) (all []review.Branch, err error) {
	names := []string{"^" + p.target}
	for _, w := range runs {
		names = append(names, w.Commits...)
	}
	list, err := p.feed(lines(names)).commits(ctx, "--ignore-missing", "--stdin")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	own := make(map[string]commit, len(list))
	for _, c := range list {
		own[c.id] = c
	}
	var tips []string
	for _, w := range runs {
		for _, id := range slices.Backward(w.Commits) {
			if c, lacks := own[id]; lacks {
				all = append(all, review.Branch{Run: w.Run, Tip: id, Since: c.dated, Shared: true})
				tips, p.starts[id] = append(tips, id), start(id, own, w.Commits)
				break
			}
		}
	}
	if len(tips) == 0 {
		return nil, nil
	}
	on, err := c.branchesOf(ctx, p.git, tips)
	if err != nil {
		return nil, err
	}
	trees, err := (&turn{git: p.git, clone: c}).trees(ctx)
	for i := range all {
		all[i].Name = on[i]
		if at := slices.IndexFunc(trees, func(t tree) bool { return t.branch == heads+on[i] }); at >= 0 {
			all[i].Dir = trees[at].dir
		}
	}
	return slices.DeleteFunc(all, func(b review.Branch) bool { return b.Name == "" }), err
}

// start is the commit before the first that a run made, on the way back from its last.
func start(tip string, own map[string]commit, made []string) (before string) {
	for at := tip; ; {
		c, lacks := own[at]
		if !lacks {
			return before
		}
		next := ""
		if len(c.parents) > 0 {
			next = c.parents[0]
		}
		if slices.Contains(made, at) {
			before = next
		}
		at = next
	}
}

// branchesOf are the branches that commits are on, those of runs left out; empty: none has it.
func (c Clone) branchesOf(ctx context.Context, g git, ids []string) ([]string, error) {
	args := []string{"name-rev", "--name-only", "--refs=" + heads + "*", "--exclude=" + heads + c.nested() + "*", "--exclude=" + heads + c.flat() + "*"}
	text, err := g.run(ctx, append(args, ids...)...)
	names := strings.Split(text, "\n")
	if err == nil && len(names) != len(ids) {
		err = errors.New("git name-rev did not name each commit")
	}
	for i := range names {
		if below := strings.IndexAny(names[i], "~^"); below >= 0 { // where under a branch the commit is
			names[i] = names[i][:below]
		}
		if names[i] == "undefined" {
			names[i] = ""
		}
	}
	return names, err
}

// wholes are the branches of the items, by name, each with how the target has all of it.
func (g git) wholes(ctx context.Context, t review.Target, items []review.Branch) (map[string]review.Branch, error) {
	var (
		all   []review.Branch
		found = map[string]review.Branch{}
	)
	for _, i := range items {
		if _, known := found[i.Name]; known {
			continue
		}
		tip, _, err := g.revision(ctx, heads+i.Name)
		if err != nil {
			return nil, err
		}
		found[i.Name] = review.Branch{}
		all = append(all, review.Branch{Name: i.Name, Tip: tip})
	}
	p := pending{git: g, target: t.Tip}
	if err := p.read(ctx, all); err != nil {
		return nil, err
	}
	for i := range all {
		p.land(&all[i], nil)
	}
	err := p.measure(ctx, all)
	for _, b := range all {
		found[b.Name] = b
	}
	return found, err
}
