package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"stint/internal/plain"
	"stint/internal/review"
)

// patch is the change of a commit, or the change from one commit to another.
type patch struct {
	change      string // as git diff-tree --stdin takes it: a commit, or a tip and its base
	files       []string
	lines       int            // inserted and deleted
	id, inverse review.PatchID // of the patch, and of what takes it back; empty: not asked for
}

// stats are the patches of commits, or, of "tip base", of what leads from base to tip, by the first word. They have no ids yet.
func (g git) stats(ctx context.Context, changes []string) (map[string]patch, error) {
	all, id := make(map[string]patch, len(changes)), ""
	if len(changes) == 0 {
		return all, nil
	}
	for _, change := range changes {
		id, _, _ := strings.Cut(change, " ")
		all[id] = patch{change: change}
	}
	fields, err := g.feed(lines(changes)).names(ctx, "diff-tree", "--stdin", "--root", "-r", "-z", "--numstat", "--no-renames")
	for _, field := range fields {
		counts := strings.SplitN(field, "\t", 3)
		if len(counts) < 3 {
			id = field
			continue
		}
		one := all[id]
		one.files = append(one.files, counts[2])
		for _, count := range counts[:2] {
			n, _ := strconv.Atoi(count) // "-" of a file that is not text
			one.lines += n
		}
		all[id] = one
	}
	return all, err
}

// patchIDs are those of git-patch-id(1), by commit, for changes as [git.stats] takes them, or for what takes them back.
func (g git) patchIDs(ctx context.Context, changes []string, back bool) (map[string]review.PatchID, error) {
	ids := make(map[string]review.PatchID, len(changes))
	if len(changes) == 0 {
		return ids, nil
	}
	args := []string{
		"diff-tree", "--stdin", "--root", "-r", "--patch", "--full-index", "--no-prefix", "--no-renames", "--no-ext-diff",
		"--no-textconv", "--no-color", "--submodule=short",
	}
	if back {
		args = append(args, "-R")
	}
	patches, into, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	shown := make(chan error, 1)
	go func() { shown <- errors.Join(g.feed(lines(changes)).write(ctx, into, args...), into.Close()) }()
	text, err := g.feed(patches).run(ctx, "patch-id", "--stable")
	for line := range strings.Lines(text) {
		if id, change, found := strings.Cut(strings.TrimSpace(line), " "); found {
			ids[change] = review.PatchID(id)
		}
	}
	closed := patches.Close() // ends a writer that nobody reads any more
	return ids, errors.Join(err, closed, <-shown)
}

// Clashes reports which pairs of commits cannot be merged with each other.
func (c Clone) Clashes(ctx context.Context, pairs [][2]string) ([]bool, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return nil, err
	}
	outcomes, err := g.asItIs().mergeTree(ctx, plain.Each(pairs, func(pair [2]string) string { return pair[0] + " " + pair[1] }))
	return plain.Each(outcomes, func(m merged) bool { return len(m.conflicts) > 0 }), err
}

type merged struct {
	tree      string
	conflicts []string
}

// mergeTree merges pairs of commits, without a work tree. Nobody needs the trees later: they go into a folder of the system's for
// what is temporary, which is left there if we die.
func (g git) mergeTree(ctx context.Context, pairs []string) (list []merged, err error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	objects, err := g.objects(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "stint-merge-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g.env = append(slices.Clone(g.env), "GIT_OBJECT_DIRECTORY="+dir, alsoIn(objects))
	// Git looks in a dozen places for a ref that is named like each id, to warn of it.
	fields, err := g.feed(lines(pairs)).names(ctx, "-c", "core.warnAmbiguousRefs=false", "merge-tree", "--write-tree", "--stdin", "-z",
		"--name-only", "--no-messages", "--allow-unrelated-histories")
	for len(fields) > 1 { // "1" if it is clean, the tree, the files in conflict, and an empty field
		m, end := merged{tree: fields[1]}, 2
		for fields[0] != "1" && end < len(fields) && fields[end] != "" {
			m.conflicts, end = append(m.conflicts, fields[end]), end+1
		}
		list, fields = append(list, m), fields[min(end+1, len(fields)):]
	}
	if err == nil && len(list) < len(pairs) {
		err = errors.New("git merge-tree stopped before the last merge")
	}
	return list, err
}

// feed is git with what its next command reads.
func (g git) feed(stdin io.Reader) git {
	g.stdin = stdin
	return g
}

func lines(list []string) io.Reader { return strings.NewReader(strings.Join(list, "\n") + "\n") }
