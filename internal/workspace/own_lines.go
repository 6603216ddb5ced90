package workspace

import (
	"context"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// onlyOwn counts what branches change by their sessions' commits alone, where others' are on them: those that another run made, and
// those that came from the upstream of a target that has left it.
func (c Clone) onlyOwn(ctx context.Context, p *pending, all []*review.Branch, made map[fleet.RunID][]string) error {
	if len(all) == 0 {
		return nil
	}
	v, err := c.see(ctx, p.git)
	if err != nil {
		return err
	}
	theirs, there, err := v.upstream(ctx)
	if err != nil {
		return err
	}
	upstreams, by := "", map[string]fleet.RunID{}
	if there {
		if upstreams, err = p.run(ctx, "rev-list", theirs, "^"+p.target); err != nil {
			return err
		}
	}
	for run, commits := range made {
		for _, id := range commits {
			by[id] = run
		}
	}
	for _, id := range strings.Fields(upstreams) {
		by[id] = "upstream"
	}
	tests := testNames()
	for _, b := range all {
		commits := p.ownCommits(b.Tip)
		own := plain.Kept(commits, func(id string) bool { return by[id] == "" || by[id] == b.Run || slices.Contains(made[b.Run], id) })
		if len(own) == len(commits) || len(b.Files) == 0 {
			continue
		}
		patches, err := p.stats(ctx, own)
		if err != nil {
			return err
		}
		b.Files, b.Lines = nil, 0
		for _, id := range own {
			b.Files, b.Lines = append(b.Files, patches[id].files...), b.Lines+patches[id].lines
		}
		slices.Sort(b.Files)
		b.Files = slices.Compact(b.Files)
		b.Tests = len(plain.Kept(b.Files, tests.MatchString))
	}
	return nil
}
