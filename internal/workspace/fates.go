package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/review"
)

// Fates finds what became of the work of runs, by what the target has of it. A branch that is gone is no matter as long as git has
// its commits. It changes nothing, and asks git for all runs at once.
func (c Clone) Fates(ctx context.Context, runs []review.Watched) ([]fleet.ReviewOutcome, error) {
	g, t, err := c.target(ctx)
	if err != nil || t.Tip == "" {
		return nil, err
	}
	tips, err := g.tipsOfAll(ctx, runs)
	if err != nil {
		return nil, err
	}
	p, m := pending{git: g, target: t.Tip}, c.recall(ctx, g, t.Tip)
	var all []*review.Branch
	for i, w := range runs {
		for _, tip := range tips[i] {
			known := review.Branch{Tip: tip}
			if !m.tells(&known, w.Commits) || known.Landing != review.Waiting || known.Untried {
				all = append(all, &review.Branch{Run: w.Run, Tip: tip})
			}
		}
	}
	if err := p.judge(ctx, all, func(b *review.Branch) []string { return []string{b.Tip} }); err != nil {
		return nil, err
	}
	if _, err := p.tryMerges(ctx, all); err != nil {
		return nil, err
	}
	by := map[fleet.RunID][]review.Branch{}
	for _, b := range all {
		by[b.Run] = append(by[b.Run], *b)
	}
	var fates []fleet.ReviewOutcome
	for _, w := range runs {
		f, b, news := w.Fate(by[w.Run])
		if news {
			fates = append(fates, f)
		}
		if !w.Touchable(b) || len(fates) >= maxTried {
			continue
		}
		f, touched, err := p.touchedAgain(ctx, w, b)
		if err != nil {
			return fates, err
		}
		if touched {
			fates = append(fates, f)
		}
	}
	return fates, nil
}

// tipsOfAll are, of each run, the last commit that it made and what its branch has by now, as far as
// git has them.
func (g git) tipsOfAll(ctx context.Context, runs []review.Watched) ([][]string, error) {
	tips := make([][]string, len(runs))
	var names []string
	for _, w := range runs {
		branch := w.Branch
		if branch != "" {
			branch = heads + branch
		}
		names = append(names, w.Commits[len(w.Commits)-1]+"^{commit}", branch+"^{commit}")
	}
	text, err := g.feed(lines(names)).run(ctx, "cat-file", "--batch-check=%(objectname)")
	at := 0
	for line := range strings.Lines(text) {
		// Git answers "NAME missing", or another word after a blank, for a name without one commit.
		if id := strings.TrimSpace(line); !strings.Contains(id, " ") && at < len(names) && !slices.Contains(tips[at/2], id) {
			tips[at/2] = append(tips[at/2], id)
		}
		at++
	}
	return tips, err
}

// touchedAgain finds out whether others have written anew what a run added, since it came into the
// target as it was made. Git is asked only if the target has changed one of its files since. A file
// that is gone is left out: it may have another name now.
func (p *pending) touchedAgain(ctx context.Context, w review.Watched, b review.Branch) (f fleet.ReviewOutcome, touched bool, err error) {
	base := p.bases[b.Tip]
	if base == "" || base == b.Tip { // its commits are the target's own
		base = w.Commits[0] + "^"
	}
	if _, there, err := p.revision(ctx, base+"^{commit}"); err != nil || !there {
		return f, false, err
	}
	work, err := p.between(ctx, base, b.Tip)
	if err != nil {
		return f, false, err
	}
	since, last := p.at[b.Tip], -1
	if at, found := p.at[b.By]; found {
		since = at
	}
	var files []string
	for file := range work {
		if at, known := p.touched[file]; known && at > since {
			files, last = append(files, file), max(last, at)
		}
	}
	if len(files) == 0 {
		return f, false, nil
	}
	slices.Sort(files)
	later, err := p.between(ctx, b.Tip, p.target, files...)
	if err != nil {
		return f, false, err
	}
	added, gone := 0, 0
	for file, d := range work {
		inserted, _ := sum(d.inserted)
		added += inserted
		if now := later[file]; now != nil && now.deleted[mark("file")] == 0 {
			for line, count := range d.inserted {
				gone += min(count, now.deleted[line])
			}
		}
	}
	return fleet.ReviewOutcome{
		Run: w.Run, Kind: fleet.FateTouched, Witness: p.history[last].ID, Reason: fmt.Sprintf("%d of its %d lines", gone, added),
	}, review.Rewritten(gone, added), nil
}
