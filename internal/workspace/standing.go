package workspace

import (
	"context"
	"slices"
	"strings"
	"time"
)

// commit is what is known of one.
type commit struct {
	id      string
	parents []string
	author  string    // name, address and time: what a rebase and an amendment leave as they are
	dated   time.Time // by the committer: when it was made, or made anew
	subject string
}

// commitFormat is a commit in one line, as [parseCommit] reads it.
const commitFormat = "--format=%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%s"

func parseCommit(line string) (c commit, ok bool) {
	fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 7)
	if len(fields) != 7 {
		return commit{}, false
	}
	return commit{
		id: fields[0], parents: strings.Fields(fields[1]), author: strings.Join(fields[2:5], "\x00"),
		dated: date(fields[5]), subject: fields[6],
	}, true
}

// before is what a commit is compared with.
func (c commit) before() string {
	if len(c.parents) == 0 {
		return emptyTree
	}
	return c.parents[0]
}

// commits lists commits, with arguments that name them.
func (g git) commits(ctx context.Context, args ...string) (list []commit, err error) {
	text, err := g.run(ctx, append([]string{"log", "--no-color", commitFormat}, args...)...)
	for line := range strings.Lines(text) {
		if c, ok := parseCommit(line); ok {
			list = append(list, c)
		}
	}
	return list, err
}

// holders are what makes a commit one that stands. A stash does not: it holds what was
// the HEAD before a reset.
func holders() []string { return []string{"--branches", "--remotes", "--tags", "HEAD"} }

// standing are the steps whose commits stand, each with what it is compared with. For
// one that anybody has rebased since, it is the commit that came of it.
func (g git) standing(ctx context.Context, steps []step) (left []step, err error) {
	if len(steps) == 0 {
		return nil, nil
	}
	args := []string{"--ignore-missing", "--no-walk=unsorted"}
	for _, s := range steps {
		args = append(args, s.to)
	}
	known, err := g.commits(ctx, append(args, "--")...)
	if err != nil {
		return nil, err
	}
	gone, err := g.gone(ctx, args[2:])
	if err != nil {
		return nil, err
	}
	heirs, err := g.heirs(ctx, known, gone)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		i := slices.IndexFunc(known, func(c commit) bool { return c.id == s.to })
		if i < 0 {
			continue // its object is no more
		}
		c := known[i]
		if slices.Contains(gone, s.to) {
			heir, found := heirs[s.to]
			if !found {
				continue
			}
			c, s.from = heir, ""
		}
		s.to, s.merge = c.id, len(c.parents) > 1
		if s.from == "" {
			s.from = c.before()
		}
		if at := slices.IndexFunc(left, func(l step) bool { return l.to == s.to }); at >= 0 {
			left[at].from = c.before() // an own commit, amended after it was rebased
			continue
		}
		left = append(left, s)
	}
	return left, nil
}

// heirs are the commits that came of those that are gone, by their ids: of the same author
// at the same time, with the same subject, and written later. One that was there before is
// another commit, which looks the same.
func (g git) heirs(ctx context.Context, known []commit, gone []string) (map[string]commit, error) {
	if len(gone) == 0 {
		return nil, nil
	}
	objects, err := g.objects(ctx)
	if err != nil {
		return nil, err
	}
	standing, err := g.commits(ctx, append([]string{"--max-count", logged}, append(holders(), "--")...)...)
	heirs := map[string]commit{}
	for _, c := range known {
		if !slices.Contains(gone, c.id) {
			continue
		}
		at := written(objects, c.id)
		for _, heir := range standing {
			if heir.author != c.author || heir.subject != c.subject {
				continue
			}
			made := written(objects, heir.id)
			if made.IsZero() { // it is in a pack: a second is as exact as its date is
				made = heir.dated.Add(time.Second)
			}
			if !made.Before(at) {
				heirs[c.id] = heir
				break
			}
		}
	}
	return heirs, err
}

// gone are those of the commits that nothing holds.
func (g git) gone(ctx context.Context, ids []string) (list []string, err error) {
	args := append([]string{"rev-list", "--ignore-missing"}, ids...)
	text, err := g.run(ctx, append(append(args, "--not"), append(holders(), "--")...)...)
	for id := range strings.Lines(text) {
		if id = strings.TrimSpace(id); slices.Contains(ids, id) {
			list = append(list, id)
		}
	}
	return list, err
}

// branchWith is a branch that holds a commit: the one that is checked out, if it does.
func (g git) branchWith(ctx context.Context, id string) (string, error) {
	text, err := g.run(ctx, "for-each-ref", "--contains", id, "--format=%(HEAD)%(refname:short)", heads)
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, head := strings.CutPrefix(line, "*"); head {
			return name, err
		}
		if first == "" {
			first = line
		}
	}
	return first, err
}

// joined are the steps, with those in one that follow each other directly: a part of one that
// another takes back is no change.
func joined(steps []step) (all []step) {
	for _, s := range steps {
		last := len(all) - 1
		if last >= 0 && all[last].to == s.from && !all[last].merge && !s.merge {
			all[last].to = s.to
			continue
		}
		all = append(all, s)
	}
	return all
}
