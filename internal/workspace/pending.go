package workspace

import (
	"context"
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

// Pending lists the branches of the fleet's runs with commits of their own, and how the target has them. The commits that runs
// made, where they are on record, separate a branch that was merged from one on which nothing happened. It changes nothing but what
// it remembers, and asks git for all branches at once.
func (c Clone) Pending(ctx context.Context, made func([]fleet.RunID) (map[fleet.RunID][]string, error)) (t review.Target, all []review.Branch, err error) {
	g, t, err := c.target(ctx)
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
	p, m := pending{git: g, target: t.Tip}, c.recall(ctx, g, t.Tip)
	var each, unknown []*review.Branch
	for i := range all {
		if each = append(each, &all[i]); !m.tells(&all[i], commits[all[i].Run]) {
			unknown = append(unknown, &all[i])
		}
	}
	if err := p.judge(ctx, unknown, func(b *review.Branch) []string { return commits[b.Run] }); err != nil {
		return t, nil, err
	}
	if err := c.onlyOwn(ctx, &p, unknown, commits); err != nil {
		return t, nil, err
	}
	tried, err := p.tryMerges(ctx, each)
	if err != nil {
		return t, nil, err
	}
	if len(unknown)+tried > 0 || m.Target != t.Tip || len(m.Branches) > len(all) {
		fresh := memory{Target: t.Tip, Branches: make(map[string]review.Branch, len(all))}
		for _, b := range all {
			fresh.Branches[keyOf(b.Tip, commits[b.Run])] = b
		}
		fresh.keep(c.memory())
	}
	all = slices.DeleteFunc(all, func(b review.Branch) bool { return b.Landing == "" }) // nothing was committed on it
	return t, all, nil
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

// pending has git's answers about the branches, and about the target's history beside them.
type pending struct {
	git
	target  string
	own     map[string][]string // the commits that the target does not have, with their parents
	bases   map[string]string   // by tip: where a branch left the target; empty: nowhere
	ranges  map[string]patch    // by tip: of all of a branch's commits together
	singles map[string]patch    // by commit, where a branch has several
	history []review.Commit     // of the target, oldest first
	at      map[string]int      // in history, by id
	touched map[string]int      // by file: the last place in history that changed it
}

// judge finds out how the target has branches of which nothing is known yet, and what those change that wait. What each run made is
// given.
func (p *pending) judge(ctx context.Context, all []*review.Branch, made func(*review.Branch) []string) error {
	if len(all) == 0 {
		return nil
	}
	if err := p.read(ctx, plain.Each(all, func(b *review.Branch) string { return b.Tip })); err != nil {
		return err
	}
	tests := testNames()
	for _, b := range all {
		p.land(b, made(b))
		if b.Landing != review.Waiting && b.Landing != review.Reverted {
			continue
		}
		b.Files, b.Lines = p.ranges[b.Tip].files, p.ranges[b.Tip].lines
		b.Tests = len(plain.Kept(b.Files, tests.MatchString))
		b.Untried = b.Landing == review.Waiting && !p.apart(b.Tip)
	}
	return nil
}

func (p *pending) read(ctx context.Context, tips []string) error {
	slices.Sort(tips)
	tips = slices.Compact(tips)
	text, err := p.feed(lines(append(slices.Clone(tips), "^"+p.target))).run(ctx, "rev-list", "--parents", "--topo-order", "--stdin")
	if err != nil {
		return err
	}
	p.own = map[string][]string{}
	for line := range strings.Lines(text) {
		ids := strings.Fields(line)
		p.own[ids[0]] = ids[1:]
	}
	if err := p.findBases(ctx, tips); err != nil {
		return err
	}
	var ranges []string
	for _, tip := range tips {
		if base := p.bases[tip]; base != "" && base != tip {
			ranges = append(ranges, tip+" "+base)
		}
	}
	if p.ranges, err = p.stats(ctx, ranges); err != nil {
		return err
	}
	bases := slices.Sorted(maps.Values(p.bases))
	bases = slices.DeleteFunc(slices.Compact(bases), func(id string) bool { return id == "" || id == p.target })
	if len(bases) == 0 {
		return nil
	}
	// A commit that all of the bases have is older than each of them.
	oldest, _, err := p.asks(ctx, append([]string{"merge-base", "--octopus"}, bases...)...)
	if err != nil {
		return err
	}
	files, err := p.readHistory(ctx, oldest)
	if err != nil {
		return err
	}
	return p.readPatches(ctx, files)
}

// findBases finds where each branch left the target. For a branch without merges that is the
// parent of its oldest commit; git is asked for others.
func (p *pending) findBases(ctx context.Context, tips []string) error {
	p.bases = map[string]string{}
	for _, tip := range tips {
		at := tip
		for parents := p.own[at]; len(parents) == 1; parents = p.own[at] {
			at = parents[0]
		}
		if _, ours := p.own[at]; !ours {
			p.bases[tip] = at
			continue
		}
		base, _, err := p.asks(ctx, "merge-base", p.target, tip)
		if err != nil {
			return err
		}
		p.bases[tip] = base
	}
	return nil
}

// maxHistory bounds how much of the target's history is compared: work that came back later
// than that many commits is found by its name alone.
const maxHistory = 20_000

// readHistory reads what the target did since a commit, or ever, and returns the files that each commit of it changed, as one text. A
// merge brings what others changed.
func (p *pending) readHistory(ctx context.Context, oldest string) (files map[string]string, err error) {
	args := []string{
		"log", "-z", "--max-count=" + strconv.Itoa(maxHistory), "--topo-order", "--format=%x00%H %P%x00%B",
		"--name-only", "--no-renames", "--no-color", "--ignore-submodules=dirty", p.target,
	}
	if oldest != "" {
		args = append(args, "^"+oldest)
	}
	fields, err := p.names(ctx, append(args, "--")...)
	if err != nil {
		return nil, err
	}
	reverts := regexp.MustCompile(`This reverts commit ([0-9a-f]{40,64})`)
	copies := regexp.MustCompile(`(?m)(?:^commit |\(cherry picked from commit )([0-9a-f]{40,64})\)?$`) // of merge --squash, and of cherry-pick -x
	named := func(in *regexp.Regexp, text string) (ids []string) {
		for _, match := range in.FindAllStringSubmatch(text, -1) {
			ids = append(ids, match[1])
		}
		return ids
	}
	p.at, p.touched, files = map[string]int{}, map[string]int{}, map[string]string{}
	changed := map[string][]string{}
	for i := 0; i+2 < len(fields); { // an empty field, the ids, the message, and names up to the next empty field
		ids, message := strings.Fields(fields[i+1]), fields[i+2]
		c := review.Commit{ID: ids[0], Reverts: named(reverts, message), Copies: named(copies, message)}
		if len(ids) > 2 {
			c.Merges = ids[2:]
		}
		for i += 3; i < len(fields) && fields[i] != ""; i++ {
			changed[c.ID] = append(changed[c.ID], fields[i])
		}
		if names := changed[c.ID]; len(names) > 0 {
			names[0] = strings.TrimPrefix(names[0], "\n") // between the message and them
			files[c.ID] = together(names)
		}
		p.history = append(p.history, c)
	}
	slices.Reverse(p.history)
	for i, c := range p.history {
		p.at[c.ID] = i
		for _, file := range changed[c.ID] {
			p.touched[file] = i
		}
	}
	return files, nil
}

// readPatches identifies the changes of the branches, and of their single commits, that may have come into the target as others:
// a commit there changes the same files.
func (p *pending) readPatches(ctx context.Context, files map[string]string) (err error) {
	var singles []string
	for tip := range p.ranges {
		if own := p.ownCommits(tip); len(own) > 1 && !p.apart(tip) {
			singles = append(singles, slices.DeleteFunc(own, func(id string) bool { return len(p.own[id]) > 1 })...)
		}
	}
	if p.singles, err = p.stats(ctx, singles); err != nil {
		return err
	}
	there, alike, landed := map[string]bool{}, map[string]bool{}, map[review.PatchID]bool{}
	for _, names := range files {
		there[names] = true
	}
	both := []map[string]patch{p.ranges, p.singles}
	for _, patches := range both {
		err := p.identify(ctx, patches, false, func(one patch) bool {
			names := together(one.files)
			alike[names] = alike[names] || there[names]
			return there[names]
		})
		if err != nil {
			return err
		}
	}
	var history []string
	for id, names := range files {
		if alike[names] {
			history = append(history, id)
		}
	}
	ids, err := p.patchIDs(ctx, history, false)
	if err != nil {
		return err
	}
	for i := range p.history {
		p.history[i].Patch = ids[p.history[i].ID]
		landed[p.history[i].Patch] = true
	}
	for _, patches := range both {
		if err := p.identify(ctx, patches, true, func(one patch) bool { return one.id != "" && landed[one.id] }); err != nil {
			return err
		}
	}
	return nil
}

// identify finds the ids of some patches, or of what takes them back.
func (p *pending) identify(ctx context.Context, patches map[string]patch, back bool, which func(patch) bool) error {
	var changes []string
	for _, one := range patches {
		if which(one) {
			changes = append(changes, one.change)
		}
	}
	ids, err := p.patchIDs(ctx, changes, back)
	for change, id := range ids {
		one := patches[change]
		if back {
			one.inverse = id
		} else {
			one.id = id
		}
		patches[change] = one
	}
	return err
}

// together are the names of files in one text.
func together(files []string) string { return strings.Join(files, "\x00") }

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

// place counts the commits that the target has on top of one of its own. It does not count beyond the history that was read.
func (p *pending) place(id string) int {
	at, found := p.at[id]
	switch {
	case id == "":
		return review.LongAgo
	case id == p.target:
		return 0
	case found:
		return len(p.history) - 1 - at
	}
	return len(p.history)
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
		parents, ours := p.own[id]
		if !ours || seen[id] {
			continue
		}
		seen[id] = true
		ids = append(ids, id)
		next = append(next, parents...)
	}
	slices.Reverse(ids)
	return ids
}

// maxTried bounds how many branches are merged in thought at one look, the oldest first: each
// takes a millisecond. Nobody looks through more at a time.
const maxTried = 200

// tryMerges merges those branches with the target in thought of which nobody knows whether that can be done, and counts them.
func (p *pending) tryMerges(ctx context.Context, all []*review.Branch) (tried int, err error) {
	unsure := plain.Kept(all, func(b *review.Branch) bool { return b.Untried })
	unsure = unsure[:min(len(unsure), maxTried)]
	if len(unsure) == 0 {
		return 0, nil
	}
	outcomes, err := p.mergeTree(ctx, plain.Each(unsure, func(b *review.Branch) string { return p.target + " " + b.Tip }))
	if err != nil {
		return 0, err
	}
	tree, _, err := p.revision(ctx, p.target+"^{tree}")
	for i, b := range unsure {
		b.Untried, b.Conflicts = false, outcomes[i].conflicts
		if outcomes[i].tree == tree {
			b.Landing, b.Commits = review.Covered, nil
		}
	}
	return len(unsure), err
}
