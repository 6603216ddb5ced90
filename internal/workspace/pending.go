package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// Pending lists the branches of the fleet's runs with commits of their own, and how the target
// has them. An empty target is the branch that the workspace has checked out. The commits that
// runs made, as far as they are on record, separate a branch that was merged from one on which
// nothing happened. It changes nothing, and asks git for all branches at once.
func (c Clone) Pending(ctx context.Context, target string, made func([]fleet.RunID) (map[fleet.RunID][]string, error)) (t review.Target, all []review.Branch, err error) {
	g, t, err := c.target(ctx, target)
	if err != nil || t.Tip == "" {
		return t, nil, err
	}
	if all, err = c.tips(ctx, g); err != nil || len(all) == 0 {
		return t, all, err
	}
	runs := plain.Each(all, func(b review.Branch) fleet.RunID { return b.Run })
	commits, err := made(runs)
	if err != nil {
		return t, nil, err
	}
	p := pending{git: g, target: t.Tip}
	if err := p.read(ctx, all); err != nil {
		return t, nil, err
	}
	for i := range all {
		p.land(&all[i], commits[all[i].Run])
	}
	all = slices.DeleteFunc(all, func(b review.Branch) bool { return b.Landing == "" }) // nothing was committed on it
	return t, all, p.measure(ctx, all)
}

// Target is what the name of a branch stands for, or what is checked out; without a tip there is no repository, or no
// commit in it. A name that is no branch is an error.
func (c Clone) Target(ctx context.Context, name string) (review.Target, error) {
	_, t, err := c.target(ctx, name)
	return t, err
}

func (c Clone) target(ctx context.Context, name string) (g git, t review.Target, err error) {
	g, _, err = c.git(ctx, string(c.Dir))
	switch dir := string(c.Dir); {
	case errors.Is(err, errBare):
		return g, t, fleet.WithHint(fmt.Errorf("workspace %s: %w", dir, err),
			"make one, and name it as workspace in stint.toml: git -C "+fleet.ShellWord(dir)+" worktree add "+fleet.ShellWord(dir+"-work"))
	case errors.Is(err, errNoRepository):
		return g, t, nil
	case err != nil:
		return g, t, err
	}
	g = g.asItIs()
	t, err = g.target(ctx, name)
	return g, t, err
}

// target resolves the name of a branch, or what is checked out.
func (g git) target(ctx context.Context, name string) (t review.Target, err error) {
	if name != "" {
		id, there, err := g.tip(ctx, heads+name)
		if err == nil && !there {
			id, there, err = g.revision(ctx, "refs/remotes/"+name+"^{commit}") // and no tag of the name
		}
		if err == nil && !there {
			err = fleet.WithHint(errors.New("no branch "+strconv.Quote(name)), "name one of: git branch --all")
		}
		return review.Target{Name: name, Tip: id}, err
	}
	ref, _, err := g.asks(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return t, err
	}
	id, there, err := g.revision(ctx, "HEAD^{commit}")
	if err == nil && !there {
		id, _, err = g.revision(ctx, beginning)
	}
	return review.Target{Name: strings.TrimPrefix(ref, heads), Tip: id}, err
}

// tips are the branches of the fleet's runs, by run.
func (c Clone) tips(ctx context.Context, g git) (all []review.Branch, err error) {
	t := &turn{git: g, clone: c}
	branches, err := t.branches(ctx)
	if err != nil || len(branches) == 0 {
		return nil, err
	}
	trees, err := t.trees(ctx)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for _, tree := range trees {
		dirs[tree.branch] = tree.dir
	}
	for run, b := range branches {
		dir := dirs[heads+b.name]
		if own := filepath.Join(c.Root, string(run)); dir == "" && exists(own) {
			dir = own
		}
		all = append(all, review.Branch{
			Run: run, Name: b.name, Tip: b.tip, Dir: dir, Since: b.dated, Apart: dir != "" && filepath.Base(dir) != string(run),
		})
	}
	slices.SortFunc(all, func(a, b review.Branch) int { return strings.Compare(string(a.Run), string(b.Run)) })
	return all, nil
}

// pending is what git says of the branches and of the target's history beside them.
type pending struct {
	git
	target  string
	own     map[string]commit   // that the target does not have
	bases   map[string]string   // by tip: where a branch left the target
	ranges  map[string]patch    // by tip: of all of a branch's commits together
	singles map[string]patch    // by commit, where a branch has several
	history []review.Commit     // of the target, oldest first
	at      map[string]int      // in history, by id
	files   map[string][]string // that a commit of the history changed
	touched map[string]int      // by file: the last place in history that changed it
}

// mostHistory bounds how much of the target's history is compared: work that came back later
// than that many commits is found by its name alone.
const mostHistory = 20_000

func (p *pending) read(ctx context.Context, all []review.Branch) error {
	p.own, p.bases = map[string]commit{}, map[string]string{}
	tips := plain.Each(all, func(b review.Branch) string { return b.Tip })
	slices.Sort(tips)
	tips = slices.Compact(tips)
	own, err := p.feed(lines(append(slices.Clone(tips), "^"+p.target))).commits(ctx, "--stdin")
	if err != nil {
		return err
	}
	for _, c := range own {
		p.own[c.id] = c
	}
	if err := p.findBases(ctx, tips); err != nil {
		return err
	}
	var pairs []string
	for _, tip := range tips {
		if base := p.bases[tip]; base != "" && base != tip {
			pairs = append(pairs, tip+" "+base)
		}
	}
	if p.ranges, err = p.diffs(ctx, pairs); err != nil {
		return err
	}
	if err := p.readHistory(ctx); err != nil {
		return err
	}
	return p.readPatches(ctx, tips)
}

// readPatches identifies the single commits of the branches that may have come into the target as
// others, and those commits of the target that change the same files as one of them.
func (p *pending) readPatches(ctx context.Context, tips []string) (err error) {
	var singles []string
	alike := map[string]bool{} // by files
	for _, tip := range tips {
		if p.bases[tip] == "" || p.apart(tip) {
			continue
		}
		alike[names(p.ranges[tip].files)] = true
		if own := p.ownCommits(tip); len(own) > 1 {
			singles = append(singles, slices.DeleteFunc(own, func(id string) bool { return len(p.own[id].parents) > 1 })...)
		}
	}
	if p.singles, err = p.diffs(ctx, singles); err != nil {
		return err
	}
	for _, single := range p.singles {
		alike[names(single.files)] = true
	}
	var history []string
	for _, c := range p.history {
		if files := p.files[c.ID]; len(files) > 0 && alike[names(files)] {
			history = append(history, c.ID)
		}
	}
	patches, err := p.diffs(ctx, history)
	for i := range p.history {
		p.history[i].Patch = patches[p.history[i].ID].id
	}
	return err
}

// names are files in one text.
func names(files []string) string { return strings.Join(files, "\x00") }

// findBases finds where each branch left the target. For a branch without merges that is the
// parent of its oldest commit; git is asked for others.
func (p *pending) findBases(ctx context.Context, tips []string) error {
	for _, tip := range tips {
		at := tip
		for c, ours := p.own[at]; ours && len(c.parents) == 1; c, ours = p.own[at] {
			at = c.parents[0]
		}
		if _, ours := p.own[at]; !ours {
			p.bases[tip] = at
			continue
		}
		base, _, err := p.asks(ctx, "merge-base", p.target, tip)
		if err != nil {
			return err
		}
		p.bases[tip] = base // empty: it has a root of its own
	}
	return nil
}

// readHistory reads what the target did since the oldest of the branches left it.
func (p *pending) readHistory(ctx context.Context) error {
	bases := slices.Sorted(maps.Values(p.bases))
	bases = slices.DeleteFunc(slices.Compact(bases), func(id string) bool { return id == "" || id == p.target })
	p.at = map[string]int{}
	if len(bases) == 0 {
		return nil
	}
	// A commit that all of the bases have is older than each of them.
	args := []string{"log", "--no-color", "-z", "--max-count=" + strconv.Itoa(mostHistory), "--topo-order", "--format=%H%x01%P%x01%B", "--stdin"}
	oldest, _, err := p.asks(ctx, append([]string{"merge-base", "--octopus"}, bases...)...)
	if err != nil {
		return err
	}
	names := []string{p.target}
	if oldest != "" {
		names = append(names, "^"+oldest)
	}
	text, err := p.feed(lines(names)).run(ctx, args...)
	if err != nil {
		return err
	}
	reverts := regexp.MustCompile(`This reverts commit ([0-9a-f]{40,64})`)
	copies := regexp.MustCompile(`(?m)(?:^commit |\(cherry picked from commit )([0-9a-f]{40,64})\)?$`) // of merge --squash, and of cherry-pick -x
	var ids []string
	for entry := range strings.SplitSeq(text, "\x00") {
		fields := strings.SplitN(entry, "\x01", 3)
		if len(fields) != 3 {
			continue
		}
		c := review.Commit{ID: fields[0]}
		for _, match := range reverts.FindAllStringSubmatch(fields[2], -1) {
			c.Reverts = append(c.Reverts, match[1])
		}
		for _, match := range copies.FindAllStringSubmatch(fields[2], -1) {
			c.Copies = append(c.Copies, match[1])
		}
		if parents := strings.Fields(fields[1]); len(parents) > 1 {
			c.Merges = parents[1:]
		} else {
			ids = append(ids, c.ID)
		}
		p.history = append(p.history, c)
	}
	slices.Reverse(p.history)
	for i, c := range p.history {
		p.at[c.ID] = i
	}
	return p.readTouched(ctx, ids)
}

// readTouched reads when the target last changed each file. A merge brings what others changed.
func (p *pending) readTouched(ctx context.Context, ids []string) error {
	p.touched, p.files = map[string]int{}, map[string][]string{}
	if len(ids) == 0 {
		return nil
	}
	fields, err := p.feed(lines(ids)).names(ctx, "diff-tree", "--stdin", "--root", "-r", "-z", "--name-only", "--no-renames")
	id := ""
	for _, field := range fields {
		if _, commit := p.at[field]; commit {
			id = field
			continue
		}
		p.files[id] = append(p.files[id], field)
		p.touched[field] = max(p.touched[field], p.at[id])
	}
	return err
}

// apart reports whether the target changed none of a branch's files since the branch left it:
// then it has nothing of the branch, and the two cannot conflict.
func (p *pending) apart(tip string) bool {
	from, known := p.at[p.bases[tip]]
	if !known {
		from = -1 // older than what was read
	}
	files := p.ranges[tip].files
	return len(files) > 0 && !slices.ContainsFunc(files, func(file string) bool {
		at, touched := p.touched[file]
		return touched && at > from
	})
}

// land decides how the target has a branch.
func (p *pending) land(b *review.Branch, made []string) {
	own := p.ownCommits(b.Tip)
	if len(own) == 0 {
		if len(made) > 0 {
			b.Landing, b.By = review.Land(review.Change{Commits: append(slices.Clone(made), b.Tip)}, true, p.history)
		}
		if b.By == "" {
			b.By = b.Tip
		}
		b.Landed = p.place(b.By)
		return
	}
	changes := make([]review.Change, len(own))
	for i, id := range own {
		single := p.singles[id]
		changes[i] = review.Change{Commits: []string{id}, Patch: single.id, Inverse: single.inverse}
	}
	all := p.ranges[b.Tip]
	whole := review.Change{Commits: own, Patch: all.id, Inverse: all.inverse}
	b.Commits, b.Landing, b.By = review.LandAll(changes, whole, p.since(p.bases[b.Tip]))
	b.Others = len(own) - len(b.Commits)
	b.Left, b.Landed = p.place(p.bases[b.Tip]), p.place(b.By)
}

// place is how much of the target's history is as old as a commit; 0: it is older than what was read.
func (p *pending) place(id string) int {
	if at, found := p.at[id]; found {
		return at + 1
	}
	return 0
}

// since is the target's history after a commit: all that is known of it, where the commit is
// older.
func (p *pending) since(base string) []review.Commit {
	if at, found := p.at[base]; found {
		return p.history[at+1:]
	}
	return p.history
}

// ownCommits are those of a branch that the target does not have, oldest first.
func (p *pending) ownCommits(tip string) (ids []string) {
	seen, next := map[string]bool{}, []string{tip}
	for len(next) > 0 {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		c, ours := p.own[id]
		if !ours || seen[id] {
			continue
		}
		seen[id] = true
		ids = append(ids, id)
		next = append(next, c.parents...)
	}
	slices.Reverse(ids)
	return ids
}

// measure says of the branches that wait what they change, and whether they can be merged.
func (p *pending) measure(ctx context.Context, all []review.Branch) error {
	var unsure []*review.Branch
	tests := testNames()
	for i := range all {
		b := &all[i]
		if b.Landing != review.Waiting && b.Landing != review.Reverted {
			continue
		}
		b.Files, b.Lines = p.ranges[b.Tip].files, p.ranges[b.Tip].lines
		b.Tests = len(plain.Kept(b.Files, tests.MatchString))
		if b.Landing == review.Waiting && !p.apart(b.Tip) {
			unsure = append(unsure, b)
		}
	}
	return p.tryMerges(ctx, unsure)
}

// mostTried bounds how many branches are merged in thought at one look, the oldest first: each
// takes a millisecond. Nobody looks through more at a time.
const mostTried = 500

// tryMerges merges branches with the target in thought.
func (p *pending) tryMerges(ctx context.Context, unsure []*review.Branch) error {
	unsure = unsure[:min(len(unsure), mostTried)]
	merges := plain.Each(unsure, func(b *review.Branch) string { return p.target + " " + b.Tip })
	outcomes, err := p.mergeTree(ctx, merges)
	if err != nil {
		return err
	}
	tree, _, err := p.revision(ctx, p.target+"^{tree}")
	for i, b := range unsure {
		if b.Conflicts = outcomes[i].conflicts; outcomes[i].tree == tree {
			b.Landing, b.Commits = review.Covered, nil
		}
	}
	return err
}
